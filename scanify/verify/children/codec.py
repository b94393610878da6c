"""Frozen dataclasses to JSON values and back, by their type hints, to cross process boundaries."""

import base64
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(value: object) -> Any:
    """Convert `value` for `json.dumps`.

    Dataclasses become objects by field name, enumerations their values, tuples lists, paths strings, bytes base64.
    Raises TypeError for any other type.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"expected a dataclass, an enumeration or a plain value, got {type(value).__name__}")


def from_json(kind: type[T], value: Any) -> T:
    """Invert `to_json` for a value of type `kind`. Raises TypeError or ValueError if it is not one."""
    decoded: T = _decode(kind, value)
    return decoded


def _decode(kind: Any, value: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        return _decode_optional(kind, value)
    if get_origin(kind) is tuple:
        return _decode_tuple(kind, value)
    if not isinstance(kind, type):
        raise TypeError(f"no JSON form for the type {kind}")
    if is_dataclass(kind):
        return _decode_dataclass(kind, value)
    if issubclass(kind, Enum) or kind is Path:
        return kind(value)
    if kind is bytes:
        return base64.b64decode(value, validate=True)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is type(None) and value is None:
        return None
    if type(value) is kind and kind in (bool, int, float, str):
        return value
    raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


def _decode_optional(kind: Any, value: Any) -> Any:
    others = [option for option in get_args(kind) if option is not type(None)]
    if value is None and len(others) < len(get_args(kind)):
        return None
    if type(value) in others and type(value) in (bool, int, float, str):
        return value
    if len(others) != 1:
        raise TypeError(f"no JSON form for the union {kind}")
    return _decode(others[0], value)


def _decode_tuple(kind: Any, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    kinds = get_args(kind)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_decode(kinds[0], item) for item in value)
    if len(kinds) != len(value):
        raise TypeError(f"expected {len(kinds)} items, got {len(value)}")
    return tuple(_decode(one, item) for one, item in zip(kinds, value, strict=True))


def _decode_dataclass(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object for {kind.__name__}, got {type(value).__name__}")
    hints = get_type_hints(kind)
    unknown = value.keys() - hints.keys()
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    return kind(**{name: _decode(hints[name], item) for name, item in value.items()})
