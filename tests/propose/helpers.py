"""A module from text, as the search gets one, and what the search makes of a class in it."""

import linecache
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from scanify.propose.request import Answer, Ask
from scanify.propose.search import Search

HEAD = """\
import dataclasses
import enum
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Optional

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim: int, *, key: PRNGKeyArray):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        return x + self.linear(x)
"""


@contextmanager
def module_of(source: str, name: str = "proposed_model", folder: Path | None = None) -> Iterator[ModuleType]:
    """The module that HEAD and `source` make, importable inside the `with`."""
    path = (folder or Path("/nowhere")) / f"{name}.py"
    text = HEAD + textwrap.dedent(source)
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    try:
        exec(compile(text, str(path), "exec"), vars(module))
        yield module
    finally:
        del sys.modules[name]


def line_of(source: str, text: str) -> tuple[int, int]:
    """The line of HEAD and `source` that `text` is on, as the span of a loop's body."""
    lines = (HEAD + textwrap.dedent(source)).splitlines()
    at = next(number for number, line in enumerate(lines, 1) if text in line)
    return at, at


def answer_for(
    source: str,
    cls: str | None = "Model",
    *,
    spans: tuple[tuple[int, int], ...] = (),
    methods: tuple[str, ...] = (),
    others: bool = False,
    seconds: float = 30.0,
) -> Answer:
    """What is proposed for a class of `source`, searched for in this process."""
    with module_of(source) as module:
        ask = Ask(Path(str(module.__file__)), Path.cwd(), cls, methods, spans, others, seconds)
        return Search(ask, module, lambda name: name).answer()


def case_text(source: str, cls: str = "Model") -> str:
    """The text of the case for a class of `source`, for which there must be one."""
    answer = answer_for(source, cls)
    assert answer.case is not None, answer.reasons
    return answer.case.text
