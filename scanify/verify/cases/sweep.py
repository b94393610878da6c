"""The variants of a case: its defaults, and then each entry of `sweep`, which sets other values of its parameters.

def gpt(module, batch=2, length=16):
    ...

gpt.sweep = [{"batch": 1}, {"length": 7}]
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scanify.verify.cases.case import CaseError, CaseSpec, article

Arguments = Mapping[str, Any]

_SHOWN = 60


def find_sweep(function: Callable[..., object], spec: CaseSpec) -> tuple[Arguments, ...]:
    """Return the arguments by name of every run of a case, after the module: none, and then each entry of its `sweep`.

    Raises CaseError if `sweep` is not a list of dicts, or has names that are not parameters of the case.
    """
    sweep = getattr(function, "sweep", ())
    name = f"{spec.function}.sweep"
    if not isinstance(sweep, list | tuple):
        raise CaseError(f"{spec.text}: expected {name} to be a list of dicts, {_example(spec)}; got {article(sweep)}")
    parameters = _parameters(function)
    for at, entry in enumerate(sweep):
        if not isinstance(entry, dict):
            raise CaseError(
                f"{spec.text}: expected {name}[{at}] to be a dict of arguments, {_example(spec)}; got {article(entry)}"
            )
        unknown = [key for key in entry if not isinstance(key, str) or not _takes(parameters, key)]
        if unknown:
            takes = ", ".join(_named(parameters)) or "no arguments but the module"
            raise CaseError(
                f"{spec.text}: {name}[{at}] gives {unknown[0]!r}, but {spec.function} takes {takes}. "
                f"Give each size that is swept over a parameter with a default, such as "
                f"def {spec.function}(module, batch=2)"
            )
    return ({}, *sweep)


def shown(function: Callable[..., object], sweep: Sequence[Arguments], given: Arguments) -> tuple[tuple[str, str], ...]:
    """Describe the arguments of one run by name: those that some run of the sweep changes, including defaults."""
    parameters = _parameters(function)
    swept = {key for entry in sweep for key in entry}
    order = [*(name for name in parameters if name in swept), *sorted(swept - parameters.keys())]
    values = {name: p.default for name, p in parameters.items() if p.default is not p.empty} | dict(given)
    return tuple((name, _words(values[name])) for name in order if name in values)


def _parameters(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters after the module; none for a callable without a signature."""
    try:
        return dict(list(inspect.signature(function).parameters.items())[1:])
    except ValueError:
        return {}


def _named(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    return [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _takes(parameters: Mapping[str, inspect.Parameter], name: str) -> bool:
    return name in _named(parameters) or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _example(spec: CaseSpec) -> str:
    return f'such as {spec.function}.sweep = [{{"batch": 1}}]'


def _words(value: object) -> str:
    """Return plain values as written; anything else by its type."""
    if value is not None and not isinstance(value, bool | int | float | str | tuple | list | dict):
        return article(value)
    text = repr(value)
    return text if len(text) <= _SHOWN and "\n" not in text else article(value)
