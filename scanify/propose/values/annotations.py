"""Interpret annotations: arrays of jaxtyping and jax, keys, and the forms of `typing`."""

from __future__ import annotations

import collections.abc
import re
import types
import typing
from dataclasses import dataclass
from typing import Any

import jax


@dataclass(frozen=True)
class Shape:
    """The annotation of an array. `dims` are its dimensions: numbers, names or expressions of names.

    `kind` is "float", "int", "bool", "key" or "complex", or None if unspecified. `variadic` is the position of a
    `*name` or `...`, which matches any number of dimensions and is not in `dims`; `dims` is None if the shape is
    unknown.
    """

    kind: str | None
    dims: tuple[str, ...] | None
    variadic: int | None = None


def array_shape(annotation: Any) -> Shape | None:
    """Interpret annotations such as `Float[Array, "seq dim"]` or `jax.Array`; None if it is not an array."""
    if annotation is jax.Array or getattr(annotation, "__name__", "") in ("ArrayLike", "ndarray"):
        return Shape(None, None)
    text = getattr(annotation, "dim_str", None)
    if not isinstance(text, str):
        return None
    dims, variadic = parse_dims(text)
    return Shape(_kind(annotation), dims, variadic)


def parse_dims(text: str) -> tuple[tuple[str, ...], int | None]:
    """Return the dimensions of a jaxtyping shape, and the position of a variadic one.

    `#` (broadcastable) and `?` (differs by leaf) are dropped, `rows=4` is 4, `{self.dim}` and `{dim}` are `dim`, and
    `_` is a dimension called `_`.
    """
    found: list[str] = []
    variadic = None
    for token in re.sub(r"\{\s*(?:\w+\.)*(\w+)\s*\}", r"\1", text).split():
        plain = token.lstrip("#?")
        if plain.startswith("*") or plain == "..." or (plain.startswith("_") and plain[1:2] == "*"):
            variadic = len(found) if variadic is None else variadic
            continue
        found.append(plain.rpartition("=")[2])
    return tuple(found), variadic


def _kind(annotation: Any) -> str | None:
    dtypes = getattr(annotation, "dtypes", None)
    name = str(getattr(getattr(annotation, "dtype", None), "__name__", "")).lower()
    known = [str(each) for each in dtypes] if isinstance(dtypes, list | tuple | set | frozenset) else []
    for kind, sign in (("key", "key"), ("float", "float"), ("int", "int"), ("bool", "bool"), ("complex", "complex")):
        if any(sign in each for each in known):
            return kind
    for kind, signs in {
        "key": ("key",),
        "int": ("int", "integer"),
        "bool": ("bool",),
        "float": ("float", "inexact", "real"),
        "complex": ("complex",),
    }.items():
        if any(sign in name for sign in signs):
            return kind
    return None


def is_key(annotation: Any, name: str) -> bool:
    """True if a parameter is a random key, according to its annotation or, if that is unspecific, its name."""
    options = [each for each in union(annotation) if each is not type(None)]
    names = [str(getattr(each, "__name__", each)) for each in options]
    if any(each in ("PRNGKeyArray", "PRNGKey", "KeyArray", "PRNGKeyArrayLike", "PRNGKeyScalar") for each in names):
        return True
    shapes = [array_shape(each) for each in options]
    if any(shape is not None and shape.kind == "key" for shape in shapes):
        return True
    open_ = not options or all(each is Any or isinstance(each, str) for each in options)
    open_ = open_ or any(shape is not None and shape.kind in (None, "int") for shape in shapes)
    return open_ and re.fullmatch(r"(\w+_)?(key|rng|prng(_?key)?|rng_?key)", name.lower()) is not None


def plain(annotation: Any) -> Any:
    """Resolve wrappers of annotations: Annotated, NewType, type aliases, bounds of a TypeVar."""
    for _ in range(8):
        if typing.get_origin(annotation) in (typing.Annotated, typing.Final, typing.ClassVar):
            annotation = typing.get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        elif isinstance(annotation, typing.TypeVar):
            annotation = annotation.__bound__ or (annotation.__constraints__ or (None,))[0]
        else:
            return annotation
    return annotation


def union(annotation: Any) -> tuple[Any, ...]:
    """Return the members of a union, `NoneType` last; otherwise the annotation itself, or nothing without one."""
    annotation = plain(annotation)
    if annotation is None:
        return ()
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [each for member in typing.get_args(annotation) for each in union(member)]
        return tuple(sorted(members, key=lambda each: each is type(None)))
    return (annotation,)


def is_callable(annotation: Any) -> bool:
    """True for `Callable[...]`."""
    return collections.abc.Callable in (annotation, typing.get_origin(annotation)) or annotation is typing.Callable


def sequence_item(annotation: Any) -> tuple[type, Any, int | None] | None:
    """Interpret `list[T]`, `Sequence[T]`, `tuple[T, ...]` and `tuple[T, T]`: list or tuple, T, and a fixed length.

    None for anything else, such as a tuple of different types.
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection):
        return (list, arguments[0], None) if arguments else None
    if origin is tuple and arguments:
        if arguments[-1] is Ellipsis:
            return (tuple, arguments[0], None)
        if all(each == arguments[0] for each in arguments):
            return (tuple, arguments[0], len(arguments))
    return None


def shown(annotation: Any) -> str:
    """Format an annotation for a message: `Tokenizer`, `Callable`, `dict[str, int]`."""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__qualname__
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(annotation))
