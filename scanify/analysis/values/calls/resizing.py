"""Operations that give an array of another shape: layers with strides, pools, slices, joined arrays.

What they do is told by numbers that stand in the source. An operation of which that is not known gives no size.
"""

import ast
import functools
import re
from collections.abc import Callable, Sequence

from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.values.calls.extents import asked_for, cut_by, extent_of
from scanify.analysis.values.domain import Array, Const, Instance, Listed, Unknown, Value
from scanify.analysis.values.marks import Marks, Vary
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.effects import Act
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter
from scanify.analysis.values.size import LONGER, NOT_LONGER, SAME, SHORTER, Change, Size, after, common

Moves = tuple[Change, Change]  # of the axes that convolutions walk, and of the whole shape

_KEPT: Moves = (SAME, SAME)
_LOST: Moves = (None, None)

# Functions of one array, and methods of it, whose value has its shape.
_ELEMENTWISE = frozenset(
    "relu relu6 gelu silu swish elu celu selu sigmoid log_sigmoid hard_tanh hard_sigmoid hard_silu hard_swish "
    "leaky_relu softplus soft_sign mish softmax log_softmax standardize tanh sin cos tan sinh cosh exp expm1 log "
    "log1p log2 abs absolute sqrt rsqrt cbrt square negative sign clip round floor ceil nan_to_num astype "
    "stop_gradient erf asarray array copy conj conjugate real imag flip roll sort".split()
)
_BINARY = frozenset("add subtract multiply divide power maximum minimum where logaddexp".split())
_JOINING = frozenset("concatenate concat hstack vstack dstack append stack".split())
_REDUCING = frozenset("mean sum max min prod median std var logsumexp".split())
_RESHAPING = frozenset("reshape ravel flatten transpose swapaxes moveaxis".split())
_LIKE = frozenset("LayerNorm RMSNorm GroupNorm Dropout Identity PReLU".split())


def note(run: Interpreter, env: Env, node: ast.AST) -> None:
    """Note that an operation may give another shape, so that somebody asks what becomes of the carry's."""
    run.effect(Act.RESIZES, "", node, env)


def _resized(run: Interpreter, env: Env, node: ast.AST, values: Sequence[Value], moves: Moves) -> Size | None:
    """The size that an operation gives which moves that of all values that are made from the carry."""
    if moves != _KEPT and moves != _LOST:
        note(run, env, node)
    size = combined(values)
    return size.moved(*moves, env.code(node), env.place(node)) if size is not None and moves != _LOST else None


def combined(values: Sequence[Value]) -> Size | None:
    """The size of what an operation makes of arrays of equal shapes: those that the carry has no part in fit it."""
    arrays = [value for value in values if isinstance(value, Array)]
    return common(array.size for array in arrays if array.size is not None or _is_carried(array.marks))


def _is_carried(marks: Marks) -> bool:
    return any(mark.how is Vary.CARRY for mark in marks)


# -- layers of equinox.nn --------------------------------------------------------------------------------------------


def of_layer(run: Interpreter, env: Env, node: ast.AST, layer: Instance, positional: Sequence[Value]) -> Size | None:
    """The size of what a layer of `equinox.nn` gives."""
    return _resized(run, env, node, positional[:1], _moves_of(layer))


def _moves_of(layer: Instance) -> Moves:
    last = layer.name.rpartition(".")[2]
    if last in _LIKE:
        return _KEPT
    if last == "MultiheadAttention":
        return _KEPT if _field(layer, 4, "output_size") is None else _LOST
    if last == "MLP":
        return _KEPT if _same_size(_field(layer, 0, "in_size"), _field(layer, 1, "out_size")) else _LOST
    if last == "Linear":
        return _KEPT if _same_size(_field(layer, 0, "in_features"), _field(layer, 1, "out_features")) else _LOST
    walked = last in ("Conv", "ConvTranspose", "Pool")
    if last.startswith("ConvTranspose"):
        stride = _numbers(_field(layer, 3 + walked, "stride"), 1)
        return (LONGER, None) if stride and max(stride) > 1 else _LOST
    if last.startswith("Conv"):
        return _of_convolution(layer, int(walked))
    if last in ("AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d"):
        named = (_field(layer, at, name) for at, name in enumerate(("kernel_size", "stride", "padding")))
        kernel, stride, padding = (_numbers(each, default) for each, default in zip(named, (None, 1, 0), strict=True))
        change = _windows(kernel, stride, padding, (1,))
        return (change, change) if change is not None else _LOST
    return _LOST


def _of_convolution(layer: Instance, first: int) -> Moves:
    names = ("kernel_size", "stride", "padding", "dilation")
    given = [_field(layer, first + 2 + at, name) for at, name in enumerate(names)]
    kernel, stride, padding, dilation = (
        _numbers(each, default) for each, default in zip(given, (None, 1, 0, 1), strict=True)
    )
    same = given[2] is not None and _is_same(given[2]) and stride is not None and max(stride) == 1
    space = SAME if same else _windows(kernel, stride, padding, dilation)
    alike = _same_size(_field(layer, first, "in_channels"), _field(layer, first + 1, "out_channels"))
    return (space, space if alike else None) if space is not None else _LOST


def _windows(
    kernel: Sequence[int] | None,
    stride: Sequence[int] | None,
    padding: Sequence[int] | None,
    dilation: Sequence[int] | None,
) -> Change:
    """How windows that are moved along an axis change its length."""
    if stride is not None and max(stride) > 1:
        return SHORTER
    if kernel is None or stride is None or padding is None or dilation is None:
        return None
    wide = {2 * pad - step * (width - 1) for width in kernel for pad in padding for step in dilation}
    if len(wide) != 1:
        return None
    return LONGER if min(wide) > 0 else SHORTER if min(wide) < 0 else SAME


def _field(layer: Instance, position: int, name: str) -> Value | None:
    return layer.fields.get(name, layer.fields.get(f"argument {position}"))


def _is_same(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str) and value.value.upper() == "SAME"


def _same_size(mine: Value | None, other: Value | None) -> bool:
    """Whether two sizes are one value, be it one that the source does not show."""
    if isinstance(mine, Const) and isinstance(other, Const):
        return mine.value == other.value
    return mine is not None and mine is other


def _numbers(value: Value | None, default: int | None) -> tuple[int, ...] | None:
    """The numbers along each axis, where they stand in the source."""
    if value is None:
        return (default,) if default is not None else None
    if isinstance(value, Const):
        return (value.value,) if type(value.value) is int else None
    if not isinstance(value, Listed) or not value.cell.whole or not value.cell.groups:
        return None
    found = [_numbers(group.element, None) for group in value.cell.groups]
    return tuple(number for each in found if each is not None for number in each) if None not in found else None


# -- functions, methods and subscripts of arrays ---------------------------------------------------------------------


def of_function(
    run: Interpreter, env: Env, node: ast.AST, last: str, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """The size of what a function of a library gives, or a method of the first of its arguments."""
    if last in _ELEMENTWISE:
        return combined(positional[:1])
    if last in _BINARY:
        return combined(positional)
    rule = _FUNCTIONS.get(last)
    return rule(run, env, node, positional, named) if rule is not None else None


def _joined(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """Several arrays in one: it is longer than the longest of them."""
    first = positional[0] if positional else None
    if isinstance(first, Listed):
        cell = first.cell
        parts = [group.element for group in cell.groups]
        shown = cell.whole and all(group.count == 1 and not group.conditional for group in cell.groups)
    else:
        parts, shown = list(positional[:2]), all(isinstance(each, Array) for each in positional[:2])
    if not shown or len(parts) < 2:
        return None
    note(run, env, node)
    sizes = [part.size for part in parts if isinstance(part, Array) and part.size is not None]
    longest = next((size for size in sizes if size.total is not None and size.total >= SAME), None)
    return longest.moved(None, LONGER, env.code(node), env.place(node)) if longest is not None else None


def _reduced(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """An array with one axis less."""
    return _resized(run, env, node, positional[:1], (None, SHORTER) if "keepdims" not in named else _LOST)


def _windowed(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """`jax.lax.reduce_window(x, start, function, windows, strides, padding)`."""
    strides = _numbers(positional[4] if len(positional) > 4 else named.get("window_strides"), None)
    shorter = strides is not None and max(strides) > 1
    return _resized(run, env, node, positional[:1], (SHORTER, SHORTER) if shorter else _LOST)


def _reshaped(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """The same numbers along other axes."""
    size = combined(positional[:1])
    return size.moved(None, SAME, "", None) if size is not None else None


def _expanded(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    return _resized(run, env, node, positional[:1], (None, LONGER))


def _padded(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    return _resized(run, env, node, positional[:1], (LONGER, LONGER))


def _repeated(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    times = _numbers(positional[1] if len(positional) > 1 else named.get("repeats", named.get("reps")), None)
    longer = times is not None and max(times) > 1
    return _resized(run, env, node, positional[:1], (None, LONGER) if longer else _LOST)


def _to_sizes(at: int, name: str) -> "Rule":
    """`jax.image.resize(x, (channels, 2 * height, 2 * width), method)`: where its sizes stand, and their name."""

    def size(
        run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
    ) -> Size | None:
        note(run, env, node)
        sizes = positional[at] if len(positional) > at else named.get(name)
        return _resized(run, env, node, positional[:1], asked_for(positional[0] if positional else None, sizes))

    return size


def _of_extent(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """`jax.lax.dynamic_slice_in_dim(x, start, size)`."""
    note(run, env, node)
    array = positional[0] if positional else None
    extent = extent_of(positional[2] if len(positional) > 2 else named.get("slice_size"))
    of = array.size.of if isinstance(array, Array) and array.size is not None else None
    shorter = extent is not None and extent.of == of and extent.change == SHORTER
    return _resized(run, env, node, positional[:1], (None, SHORTER) if shorter else _LOST)


def _split(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """The size of each of the parts that `jnp.split(x, 2)` or `jnp.split(x, [2, 4])` gives."""
    at = positional[1] if len(positional) > 1 else named.get("indices_or_sections")
    several = isinstance(at, Listed) and bool(at.cell.groups) and all(each.count for each in at.cell.groups)
    several = several or (isinstance(at, Const) and type(at.value) is int and at.value > 1)
    size = _resized(run, env, node, positional[:1], (None, SHORTER) if several else _LOST)
    return replace(size, each=True) if size is not None else None


def _thinned(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """`jnp.diff(x)`, and `jnp.delete(x, 0)`."""
    return _resized(run, env, node, positional[:1], (None, SHORTER))


def _by_pattern(
    run: Interpreter, env: Env, node: ast.AST, positional: Sequence[Value], named: dict[str, Value]
) -> Size | None:
    """`einops.reduce(x, "c (h 2) (w 2) -> c h w", "mean")`: an axis that only the left side has is gone."""
    pattern = positional[1] if len(positional) > 1 else named.get("pattern")
    text = pattern.value if isinstance(pattern, Const) and isinstance(pattern.value, str) else ""
    left, arrow, right = text.partition("->")
    words = [set(re.findall(r"[A-Za-z_]\w*|[2-9]\d*|1\d+", side)) for side in (left, right)]
    return _resized(run, env, node, positional[:1], (None, SHORTER) if arrow and words[0] > words[1] else _LOST)


Rule = Callable[[Interpreter, Env, ast.AST, Sequence[Value], dict[str, Value]], Size | None]
_FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(_JOINING, _joined),
    **dict.fromkeys(_REDUCING, _reduced),
    **dict.fromkeys(_RESHAPING, _reshaped),
    **dict.fromkeys(("split", "array_split", "hsplit", "vsplit", "dsplit"), _split),
    **dict.fromkeys(("diff", "delete"), _thinned),
    **dict.fromkeys(("expand_dims", "insert"), _expanded),
    "dynamic_slice": _to_sizes(2, "slice_sizes"),
    "dynamic_slice_in_dim": _of_extent,
    "reduce_window": _windowed,
    "pad": _padded,
    "repeat": _repeated,
    "reduce": _by_pattern,
    "resize": _to_sizes(1, "shape"),
    "tile": _repeated,
}


def of_subscript(run: Interpreter, env: Env, node: ast.Subscript, owner: Array) -> Size | None:
    """The size of a part of an array: shorter where numbers cut some of it off, longer with an axis that is added."""
    if is_updated(node):
        return None  # what is updated there is in the whole
    if owner.size is not None and owner.size.each:
        return owner.size if isinstance(node.slice, ast.Slice) else of_each(owner)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    moves = [_of_part(run, env, part, owner.size) for part in parts]
    if None in moves:
        return None
    if not any(moves):
        return owner.size
    return _resized(run, env, node, [owner], (None, functools.reduce(after, moves)))


def is_updated(node: ast.Subscript) -> bool:
    """Whether a subscript says what is updated: `x.at[i]`."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "at"


def of_each(owner: Array) -> Size | None:
    """The size of one of several arrays that a call has cut one into. A row of an array has another one."""
    return replace(owner.size, each=False) if owner.size is not None and owner.size.each else None


def _of_part(run: Interpreter, env: Env, part: ast.expr, size: Size | None) -> Change:
    match part:
        case ast.Constant(value=value) if value is ...:
            return SAME
        case ast.Constant(value=None) | ast.Attribute(attr="newaxis"):
            return LONGER
        case ast.Constant(value=int()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return SHORTER
        case ast.Slice(lower=None, upper=None, step=None):
            return SAME
        case ast.Slice(lower=lower, upper=upper, step=step):
            if _cuts(lower, upper, step):
                return SHORTER
            bounds = (_bound(run, env, lower), _bound(run, env, upper)) if size is not None and size.extent else None
            return SHORTER if size is not None and bounds and cut_by(*bounds, size.of) else NOT_LONGER
        case _:
            return None


def _cuts(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> bool:
    """Whether a slice leaves something out of an axis of any length: every other one, the first, the last."""
    every = isinstance(step, ast.Constant) and isinstance(step.value, int) and step.value > 1
    front = isinstance(lower, ast.Constant) and isinstance(lower.value, int) and lower.value > 0 and upper is None
    back = isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub) and isinstance(upper.operand, ast.Constant)
    return every or front or (back and (lower is None or front))


def _bound(run: Interpreter, env: Env, bound: ast.expr | None) -> Value | None:
    """What a bound of a slice stands for, which has been evaluated before: a call would be run a second time."""
    from scanify.analysis.values.code.expressions import evaluate

    if bound is None:
        return None
    calls = any(isinstance(each, ast.Call) and ast.unparse(each.func) not in ("len", "int") for each in nodes_in(bound))
    return evaluate(run, env, bound) if not calls else Unknown("a call")
