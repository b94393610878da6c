"""What must hold of a carry: one shape, one dtype and one structure before the first layer and after each."""

import ast
from collections.abc import Iterator

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import statements_in
from scanify.analysis.language.constructor import is_key_name
from scanify.analysis.language.shapes import LAST_AXIS
from scanify.analysis.language.types import Array, Items, Nothing, Object, Static, Type, Unknown, options
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called, dotted

_NARROW = frozenset("bfloat16 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 int bool bool_".split())
"""Dtypes that a layer's parameters usually do not have: what a layer adds to such an array gives another dtype."""
_FILLED = frozenset("zeros ones full empty normal uniform truncated_normal bernoulli reshape asarray array".split())
_OF_NUMBERS = frozenset("array asarray full where exp".split())


def start_conditions(loop: Loop, shape: LoopShape, name: str, start: Type, after: Type) -> Iterator[str]:
    """Yield the conditions on what a carry begins with, by its type and by the expressions that assign it."""
    casts = {each.cast for each in options(after) if isinstance(each, Array)}
    for option in options(start):
        cast = (option.cast if isinstance(option, Array) else None) or ""
        if cast.rpartition(".")[2].strip("'\"") in _NARROW and casts != {cast}:
            yield f"`{name}` keeps its dtype, though it is cast to `{cast}` before the loop"
    before = shape.starts.get(name, ())
    if any(map(_is_row, before)):
        yield f"`{name}` keeps its shape, though it has a single row before the loop, which broadcasts"
    if any(map(_is_weak, before)) and _is_read_for_others(loop, name):
        yield f"`{name}` keeps its dtype, though it is made of a Python number, which raises no other dtype"


def kept_conditions(name: str, start: Type | None, before: Type, after: Type) -> Iterator[str]:
    """Yield the conditions under which an iteration keeps the shape, the dtype and the structure of a carry.

    `start` is what the carry begins with, `before` what an iteration is passed.
    """
    known = {type(each) for each in options(before)}
    for option in options(after):
        match option:
            case Array() if known == {Nothing}:
                yield f"`{name}` is an array before the loop, and not None"
            case Array():
                yield from _array_conditions(name, start, before, option)
            case Items():
                yield from _items_conditions(name, start, before, option)
            case Object(cls=cls, fields=fields) if fields is not None:
                for each in options(before):
                    if isinstance(each, Object) and each.cls == cls:
                        yield from _field_conditions(name, start, each, option)
            case Static(text=text) if Static in known:
                if text is None or not any(isinstance(each, Static) and each.text == text for each in options(before)):
                    yield f"`{name}`, a static field, is the same after each layer"
            case Static():
                yield f"`{name}` is an array after each layer"
            case Unknown(why=why, noted=False):
                yield f"`{name}` keeps its shape and dtype: {why}"
            case _:
                pass


def _array_conditions(name: str, start: Type | None, before: Type, after: Array) -> Iterator[str]:
    shapes = {each.shape for each in options(before) if isinstance(each, Array)}
    if (after.shape or "").removesuffix(LAST_AXIS) not in shapes and not is_key_name(name):
        yield f"`{name}` keeps its shape, which its layers are not shown to keep"
    begun = {each.cast for each in options(start) if isinstance(each, Array)}
    if after.cast == "complex":
        if begun != {"complex"}:
            yield f"`{name}` is complex before the loop, as it is after each layer"
    elif after.cast is not None and begun != {after.cast}:
        yield f"`{name}` keeps its dtype, though it is cast to `{after.cast}`"


def _items_conditions(name: str, start: Type | None, before: Type, after: Items) -> Iterator[str]:
    held = next((each for each in options(before) if isinstance(each, Items)), None)
    begun = next((each for each in options(start) if isinstance(each, Items)), None)
    if held is None or held.kind != after.kind:
        yield f"`{name}` is a {after.kind} before the loop, as it is after each layer"
    elif held.parts is not None and after.parts is not None:
        if len(held.parts) != len(after.parts) or held.keys != after.keys:
            yield f"`{name}` has as many parts after each layer as before"
            return
        names = [repr(each) for each in held.keys] if held.keys is not None else map(str, range(len(held.parts)))
        parts = begun.parts if begun is not None and begun.parts is not None else (None,) * len(held.parts)
        for at, first, one, other in zip(names, parts, held.parts, after.parts, strict=False):
            yield from kept_conditions(f"{name}[{at}]", first, one, other)
    elif after.kind == "dict" and held.parts != after.parts:
        yield f"`{name}` has as many parts after each layer as before"


def _field_conditions(name: str, start: Type | None, before: Object, after: Object) -> Iterator[str]:
    begun = next((each for each in options(start) if isinstance(each, Object)), None)
    held = dict(before.fields or ())
    for field, value in after.fields or ():
        if field in held:
            first = begun.field(field) if begun is not None else None
            yield from kept_conditions(f"{name}.{field}", first, held[field], value)


# -- by the expressions that a carry begins with ---------------------------------------------------------------------


def _is_row(value: ast.expr) -> bool:
    """True if the first axis of an array is shown to have the size 1: `x[None]`, `jnp.zeros((1, 8))`."""
    match value:
        case ast.Subscript(slice=ast.Tuple(elts=[first, *_]) | first):
            none = isinstance(first, ast.Constant) and first.value is None
            return none or (dotted(first) or "").endswith("newaxis")
        case ast.Call(args=[_, ast.Constant(value=0)]) if _last(value) == "expand_dims":
            return True
        case ast.Call(args=args) if _last(value) in _FILLED:
            heads = [each.elts[0] for each in args if isinstance(each, ast.Tuple | ast.List) and len(each.elts) > 0]
            ones = [each for each in heads if isinstance(each, ast.Constant) and each.value == 1]
            rows = [each for each in args if isinstance(each, ast.List) and len(each.elts) == 1]
            nested = [each for each in rows if isinstance(each.elts[0], ast.List)]
            reshaped = _last(value) == "reshape" and any(ast.unparse(each) == "1" for each in args[:2])
            return bool(nested or reshaped or (ones and _last(value) not in ("array", "asarray")))
        case _:
            return False


def _is_weak(value: ast.expr) -> bool:
    """True if an array is made of a Python number without a dtype: such an array raises no other dtype."""
    match value:
        case ast.BinOp(left=left, right=ast.Constant()):
            return _is_weak(left)
        case ast.Call(args=[*_, ast.Constant(value=int() | float())], keywords=[]):
            return _last(value) in _OF_NUMBERS
        case ast.Call(args=[inner], keywords=[]):
            return _last(value) in _OF_NUMBERS and _is_weak(inner)
        case _:
            return False


def _is_read_for_others(loop: Loop, name: str) -> bool:
    """True if the body reads a carry for more than its own next value: a sum that nothing else reads may be weak."""
    for statement in statements_in(loop.body):
        own = isinstance(statement, ast.AugAssign | ast.Assign) and name in {
            getattr(each, "id", "") for each in getattr(statement, "targets", [getattr(statement, "target", None)])
        }
        parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
        reads = (each for part in parts for each in nodes_in(part) if isinstance(each, ast.Name) and each.id == name)
        if not own and any(isinstance(each.ctx, ast.Load) for each in reads):
            return True
    return loop.element is not None


def _last(value: ast.AST) -> str:
    return (called(value) or "").rpartition(".")[2]
