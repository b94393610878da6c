"""The parameters of a constructor or method, with annotations evaluated one by one."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """One parameter. `annotation` is None if missing, and a string if it cannot be evaluated.

    `keyword` and `positional` are true if it can be passed only in that way. `default` is EMPTY without a default.
    """

    name: str
    annotation: Any = None
    default: Any = EMPTY
    keyword: bool = False
    positional: bool = False

    @property
    def required(self) -> bool:
        return self.default is EMPTY


def constructor_parameters(cls: type) -> tuple[Parameter, ...]:
    """Return the parameters of `cls(...)`. Raises ValueError or TypeError if Python cannot determine them."""
    fields = {name: hint for base in reversed(cls.__mro__) for name, hint in _own_annotations(base).items()}
    return _parameters(inspect.signature(cls), _namespace(cls), fields)


def method_parameters(cls: type, name: str) -> tuple[Parameter, ...]:
    """Return the parameters of the method `name` of an instance of `cls`, without `self`."""
    found = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    if isinstance(found, staticmethod | classmethod):
        return function_parameters(found.__func__, skip=isinstance(found, classmethod))
    if not callable(found) and callable(getattr(found, "method", None)):  # Equinox's wrapper of a method.
        found = found.method
    return function_parameters(found, skip=True)


def function_parameters(function: Callable[..., Any], *, skip: bool = False) -> tuple[Parameter, ...]:
    """Return the parameters of a function; with `skip`, without the first one."""
    signature = inspect.signature(function)
    inner = inspect.unwrap(function)
    namespace: Mapping[str, Any] = getattr(inner, "__globals__", {})
    found = _parameters(signature, namespace, {})
    return found[1:] if skip else found


def _parameters(
    signature: inspect.Signature, namespace: Mapping[str, Any], fields: Mapping[str, Any]
) -> tuple[Parameter, ...]:
    found = []
    for each in signature.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        annotation = fields.get(each.name) if each.annotation is EMPTY else each.annotation
        found.append(
            Parameter(
                each.name,
                _evaluated(annotation, namespace),
                each.default,
                each.kind is each.KEYWORD_ONLY,
                each.kind is each.POSITIONAL_ONLY,
            )
        )
    return tuple(found)


def _evaluated(annotation: Any, namespace: Mapping[str, Any]) -> Any:
    """Evaluate a single annotation, since `typing.get_type_hints` fails as a whole if one name is not imported."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(namespace))
    except Exception:
        return annotation


def _own_annotations(cls: type) -> dict[str, Any]:
    return dict(inspect.get_annotations(cls))


def _namespace(cls: type) -> Mapping[str, Any]:
    """Return the globals of the class's constructor, and of its module for generated dataclass constructors."""
    init = inspect.unwrap(next(vars(base)["__init__"] for base in cls.__mro__ if "__init__" in vars(base)))
    spaces = [vars(sys.modules[base.__module__]) for base in reversed(cls.__mro__) if base.__module__ in sys.modules]
    merged: dict[str, Any] = {}
    for space in spaces:
        merged.update(space)
    merged.update(getattr(init, "__globals__", {}))
    return merged
