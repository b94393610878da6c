"""The model's own call against one with its list stacked by hand, as each of the two classes of scanify.nn."""

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from scanify.configuration.config import REMATS
from scanify.nn import ArrayStacked, BlockSeq
from scanify.verify.compare.compare import compare_case
from tests.packages.applied import applied
from tests.packages.models import Model
from tests.packages.row import ARRAY_STACKED, BLOCK_SEQ, Row


class Stacks:
    """Stacks the lists of a model, and remembers how long they are: what a case's `by_hand` is given as `stack`."""

    def __init__(self, of: Callable[..., Any]) -> None:
        self.of = of
        self.found: dict[str, None] = {}

    def __call__(self, layers: Any) -> Any:
        stack = self.of(list(layers))
        self.found[f"{len(stack)} layers"] = None
        return stack


def compare_by_hand(model: Model, source: Path, case: ModuleType | None = None) -> list[Row]:
    """One row with `ArrayStacked`, where it takes the layers, and one with `BlockSeq`."""
    case = case or importlib.import_module(model.cases)
    module = importlib.import_module(model.module)
    rows: list[Row] = []
    notes: tuple[str, ...] = ()
    for of, how in ((ArrayStacked.of, ARRAY_STACKED), (BlockSeq.of, BLOCK_SEQ)):
        stacks = Stacks(of)
        try:
            _shapes(functools.partial(case.by_hand, stacks), case.case(module))
        except (ValueError, TypeError) as error:
            if of is BlockSeq.of:
                raise
            notes = (f"as ArrayStacked: {error}",)
            continue
        rows.append(_compared(model, case, module, stacks, how, source, notes))
    return rows


def _shapes(function: Callable[..., Any], built: tuple[Any, ...]) -> Any:
    """Whether the layers can be stacked so shows in the trace of a call."""
    model, args, kwargs = (*built, {})[:3]
    return jax.eval_shape(lambda: function(model, *args, **kwargs))


def _compared(
    model: Model, case: ModuleType, module: ModuleType, stacks: Stacks, how: str, source: Path, notes: tuple[str, ...]
) -> Row:
    def build(function: Callable[..., Any]) -> Callable[[], Any]:
        def built() -> Any:
            made, args, kwargs = (*case.case(module), {})[:3]
            return applied(function, made), args, kwargs

        return built

    def files(name: str) -> str | None:
        path = Path(name)
        return path.relative_to(source).as_posix() if path.is_relative_to(source) else None

    result = compare_case(
        model.name,
        build(lambda made, *args, **kwargs: made(*args, **kwargs)),
        build(functools.partial(case.by_hand, stacks)),
        policies=REMATS,
        requested=None,
        abstract=False,
        measure=False,
        files=files,
    )
    return Row(model.requirement, model.title, how, " and ".join(stacks.found), result, notes=notes)
