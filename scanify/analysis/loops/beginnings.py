"""What the carries of a loop begin with, against what a scan carries: one shape and one dtype from layer to layer."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from scanify.analysis.flow.shape import LoopShape
from scanify.analysis.flow.statements import assignments, statements_in, value_given
from scanify.analysis.loops.judge_effects import Body
from scanify.analysis.lower.loop import Loop, Problem
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import called, dotted
from scanify.analysis.values import tables
from scanify.analysis.values.calls.arrays import WEAK, is_complex
from scanify.analysis.values.domain import (
    Array,
    Const,
    Function,
    Instance,
    Listed,
    Mapped,
    Number,
    Partial,
    Text,
    Value,
    options,
)
from scanify.analysis.values.objects.form import form_of
from scanify.analysis.values.objects.held import held
from scanify.analysis.values.run.interpreter import Interpreter

_NARROW = frozenset("bfloat16 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 int bool bool_".split())
_EQUAL_PARTS = ("split", "array_split", "chunk", "hsplit", "vsplit", "dsplit")
_STRUCTS = ("ShapeDtypeStruct", "eval_shape", "filter_eval_shape")
_LIKE = ("zeros_like", "ones_like", "full_like", "empty_like")
Starts = Mapping[str, Sequence[Value]]


def start_obligations(loop: Loop, shape: LoopShape, body: Body, starts: Starts) -> Iterator[str]:
    """What a run must show of what the carries begin with."""
    for name, values in starts.items():
        known = [option for value in values for option in options(value)]
        arrays = [each for each in known if isinstance(each, Array)]
        cast = next((each.cast for each in arrays if each.cast), "")
        narrow = cast.rpartition(".")[2].strip("'\"") in _NARROW - {body.casts.get(name)}
        if narrow and name not in body.whole:
            yield f"`{name}` keeps its dtype, though it is cast to `{cast}` before the loop"
        if any(map(_is_number, known)):
            yield f"`{name}` keeps its dtype, though it starts as a Python number"
        elif name not in body.weak and any(each.cast == WEAK for each in arrays) and _is_read_for_others(loop, name):
            yield f"`{name}` keeps its dtype, though it is made of a Python number, which raises no other dtype"
        if any(each.rows == 1 for each in arrays) or any(map(_is_row, shape.starts.get(name, ()))):
            yield f"`{name}` keeps its shape, though it has a single row before the loop, which broadcasts"
        if (what := _beside_arrays(known)) is not None:
            yield f"`{name}` holds arrays alone before the loop, as a scan gives them back, and not {what}"
        complex_before = bool(known) and all(map(is_complex, known))
        if name in body.complex and not complex_before:
            yield f"`{name}` is complex before the loop, as it is after each layer"
    for name, field in sorted(body.settings):
        yield f"`{name}.{field}`, a static field, is the same after each layer"
    for name, after in sorted(body.forms.items()):
        known = [option for value in starts.get(name, ()) for option in options(value)]
        before = {form for each in known if (form := form_of(each)) is not None}
        unlike = [form for form in after if any(form.differs(other) for other in before)]
        if any(_last(value) in (*_EQUAL_PARTS, "list") for value in shape.starts.get(name, ())):
            unlike += [form for form in after if form.kind == "tuple"]
        if unlike:
            form = min(unlike)
            said = form if any(form.kind == other.kind for other in before) else f"a {form.kind}"
            yield f"`{name}` is {said} before the loop, as it is after each layer"
    for name, other in sorted(body.swapped):
        if not (_are_alike(shape, name, other) or _are_equal_parts(loop, name, other)):
            yield f"`{name}` has the shape and the dtype of `{other}`, which takes its place after each layer"


def carried_objects(run: Interpreter, loop: Loop, shape: LoopShape, starts: Starts) -> list[Problem]:
    """Carries that no scan can carry: objects of classes that are no pytrees, shapes without arrays, functions."""
    return [*_opaque(run, loop, shape, starts), *_structs(loop, shape), *_functions(loop, shape, starts)]


def _opaque(run: Interpreter, loop: Loop, shape: LoopShape, starts: Starts) -> Iterator[Problem]:
    for name, values in starts.items():
        objects = (option for value in values for option in options(value) if isinstance(option, Instance))
        cls = next((each.name for each in objects if run.classes.is_opaque(each.cls)), None)
        if cls is not None:
            reason = f"`{name}` is a `{cls}`, which is no pytree: a scan carries arrays and what jax finds arrays in"
            remedy = f"register `{cls}` (`jax.tree_util.register_dataclass`), or make it an `equinox.Module`"
            yield Problem("SCN206", reason, shape.names.read_first.get(name, loop.node), remedy)


def _structs(loop: Loop, shape: LoopShape) -> Iterator[Problem]:
    for name in shape.carry:
        for made in (*shape.starts.get(name, ()), *_given_in(loop, name)):
            if _last(made) in _STRUCTS:
                remedy = "keep the loop: it computes shapes, and no arrays"
                yield Problem(
                    "SCN206", f"`{name}` is what `{_last(made)}` gives, a shape without an array", made, remedy
                )


def _functions(loop: Loop, shape: LoopShape, starts: Starts) -> Iterator[Problem]:
    for name, values in starts.items():
        if any(isinstance(option, Function | Partial) for value in values for option in options(value)):
            reason = f"`{name}` is a function that each layer makes another one of"
            yield Problem("SCN206", reason, shape.names.read_first.get(name, loop.node))


def _given_in(loop: Loop, name: str) -> Iterator[ast.expr]:
    """What the body assigns to a name."""
    for statement in assignments(loop.body, name):
        yield from value_given(statement, name)


def _is_number(value: Value) -> bool:
    return isinstance(value, Number) or (isinstance(value, Const) and isinstance(value.value, complex | float | int))


def _beside_arrays(values: Sequence[Value]) -> str | None:
    """A Python value in a container, in words: None, a number, a text or an empty container; None if there is none."""
    for value in values:
        for part, _ in held(value) if isinstance(value, Instance | Listed | Mapped) else ():
            if isinstance(part, Const):
                return f"`{part.value!r}`"
            if isinstance(part, Number | Text):
                return "a Python number" if isinstance(part, Number) else "a text"
            if isinstance(part, Listed | Mapped) and part is not value and len(held(part)) == 1:
                return "an empty container"
    return None


def _is_read_for_others(loop: Loop, name: str) -> bool:
    """Whether the body reads a name for anything but its own next value: what is added up raises the dtype of nothing
    else, so that the sum may begin with a weak type, which a scan gives up at once."""
    for statement in statements_in(loop.body):
        match statement:
            case ast.AugAssign(target=ast.Name(id=target)) | ast.Assign(targets=[ast.Name(id=target)]):
                own = target == name
            case _:
                own = False
        parts = [part for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)]
        reads = (each for part in parts for each in nodes_in(part) if isinstance(each, ast.Name) and each.id == name)
        if not own and any(isinstance(each.ctx, ast.Load) for each in reads):
            return True
    return loop.element is not None


def _are_alike(shape: LoopShape, name: str, other: str) -> bool:
    """Whether two carries are shown to begin with one shape: they are one value, or one is made like the other.

    One that begins as None is what takes its place, as soon as there is a shape.
    """
    before = {each: shape.starts.get(each, ()) for each in (name, other)}
    texts = {each: {ast.unparse(_scaled(value)) for value in before[each]} for each in before}
    if texts[name] == {"None"}:
        return True
    if texts[name] and texts[name] == texts[other] and not any(map(_draws, before[name])):
        return True
    for mine, theirs in ((name, other), (other, name)):
        likes = [value for value in before[mine] if _last(value) in _LIKE]
        if likes and len(likes) == len(before[mine]) and all(_made_like(each, theirs, texts[theirs]) for each in likes):
            return True
    return False


def _are_equal_parts(loop: Loop, name: str, other: str) -> bool:
    """Whether two carries begin as parts of what is split into equal ones: `a, b = jnp.split(x, 2)`."""
    inside = set(assignments([loop.node], name)) | set(assignments([loop.node], other))
    body = getattr(loop.scope.function.node, "body", [])
    given = [[each for each in assignments(body, one) if each not in inside] for one in (name, other)]
    if len(given[0]) != 1 or given[0] != given[1]:
        return False
    match given[0][0]:
        case ast.Assign(targets=[ast.Tuple()], value=ast.Call(args=[_, ast.Constant(value=int())]) as call):
            return _last(call) in _EQUAL_PARTS
        case _:
            return False


def is_scalar(value: ast.expr) -> bool:
    """Whether an expression is a number, or an array of one without axes: `jnp.zeros(())`, `jnp.array(0.0)`."""
    match value:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return is_scalar(operand)
        case ast.Call(args=[first, *_]) if _last(value) in ("zeros", "ones", "full", "empty"):
            return isinstance(first, ast.Tuple) and not first.elts
        case ast.Call(args=[first, *_]) if _last(value) in ("array", "asarray", *tables.DTYPES):
            return is_scalar(first)
        case _:
            return False


def _is_row(value: ast.expr) -> bool:
    """Whether an expression puts an axis of one before those that there are: `x[None]`, `jnp.expand_dims(x, 0)`."""
    match value:
        case ast.Subscript(slice=ast.Tuple(elts=[first, *_]) | first):
            return (isinstance(first, ast.Constant) and first.value is None) or (dotted(first) or "").endswith(
                "newaxis"
            )
        case ast.Call(args=[_, ast.Constant(value=0)]):
            return _last(value) == "expand_dims"
        case _:
            return False


def _scaled(value: ast.expr) -> ast.expr:
    """What an expression is a multiple of, or a constant away from, which has its shape: `x` of `-2 * x`."""
    match value:
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner) if not _is_literal(value):
            return _scaled(inner)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Add() | ast.Sub() | ast.Div(), right=right):
            if _is_literal(left) or _is_literal(right):
                return _scaled(right if _is_literal(left) else left)
    return value


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is a number as it is written, which has no shape."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _draws(value: ast.expr) -> bool:
    """Whether an expression may give another shape each time: `next(sizes)`."""
    return any(_last(each) in ("next", "pop") for each in nodes_in(value) if isinstance(each, ast.Call))


def _last(value: ast.AST) -> str:
    return (called(value) or "").rpartition(".")[2]


def _made_like(value: ast.expr, name: str, texts: set[str]) -> bool:
    first = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return first is not None and ast.unparse(first) in {name, *texts}
