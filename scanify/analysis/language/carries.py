"""Conditions on a carry: its shape and dtype are the same before the first layer and after each layer."""

import ast
from collections.abc import Iterator, Sequence

from scanify.analysis.language import types as t
from scanify.analysis.language.constructor import is_key_name
from scanify.analysis.language.shapes import LAST_AXIS

_NARROW = ("bfloat16", "float16", "int", "uint", "bool", "complex")
"""Dtypes that a layer's parameters usually do not have: adding a layer's output to such an array changes its dtype."""


def start_conditions(name: str, made: Sequence[ast.expr], start: t.Type, after: t.Type) -> Iterator[str]:
    """Yield the conditions on the initial value of a carry, by its type and by the expressions that make it."""
    casts = _casts(after)
    for cast in _casts(start) - {None}:
        if str(cast).startswith(_NARROW) and casts != {cast}:
            yield f"`{name}` keeps its dtype, though it is cast to `{cast}` before the loop"
    if any(map(_may_broadcast, made)):
        yield f"`{name}` keeps its shape, though it may have an axis of size 1 before the loop, which broadcasts"


def kept_conditions(name: str, start: t.Type, before: t.Type, after: t.Type) -> Iterator[str]:
    """Yield the conditions under which an iteration keeps the shape and the dtype of a carry.

    `start` is the type of the initial value, `before` the type that an iteration assumes.
    """
    shapes = {each.shape for each in t.options(before) if isinstance(each, t.Array)}
    for option in t.options(after):
        match option:
            case t.Array(shape=shape, cast=cast):
                if (shape or "").removesuffix(LAST_AXIS) not in shapes and not is_key_name(name):
                    yield f"`{name}` keeps its shape, which its layers are not shown to keep"
                if cast is not None and _casts(start) != {cast}:
                    yield f"`{name}` keeps its dtype, though it is cast to `{cast}`"
            case t.Unknown(noted=noted, why=why):
                yield from () if noted else [f"`{name}` keeps its shape and dtype: {why}"]
            case t.LibraryObject(qualname="equinox.nn.State"):
                pass
            case _ if isinstance(option, t.Items | t.Object) or option not in t.options(before):
                yield f"`{name}` keeps its structure, and the shapes and dtypes in it"
            case _:
                pass


def _casts(value: t.Type) -> set[str | None]:
    return {each.cast for each in t.options(value) if isinstance(each, t.Array)}


def _may_broadcast(made: ast.expr) -> bool:
    """True if an expression may create an axis of size 1: `x[None]`, `jnp.zeros((1, 8))`, `jnp.array([[0.0]])`."""
    for each in ast.walk(made):
        match each:
            case ast.Subscript(slice=ast.Constant(value=None)) | ast.List(elts=[_]):
                return True
            case ast.Tuple(elts=sizes) if {getattr(size, "value", 0) for size in sizes} & {None, 1}:
                return True
            case ast.Attribute(attr="newaxis" | "expand_dims" | "atleast_2d"):
                return True
            case _:
                pass
    return False
