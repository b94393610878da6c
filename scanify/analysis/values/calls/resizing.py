"""What shape and dtype operations give: which of them keep those of the carry, and which are shown to change them.

Operations that are not listed here may give any shape. What strides, pools and slices do is told by numbers that stand
in the source.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence

from scanify.analysis.values import tables
from scanify.analysis.values.calls.extents import asked_for, extent_of, is_shape_of_carry, listed
from scanify.analysis.values.domain import Array, Const, Instance, Listed, Value, options
from scanify.analysis.values.marks import Marks, Vary
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.size import LONGER, NOT_LONGER, NOT_SHORTER, SAME, SHORTER, Change, Size, together

Named = Mapping[str, Value]
Moves = tuple[Change, Change]  # of the axes that convolutions walk, and of the whole shape

_KEPT: Moves = (SAME, SAME)
_LOST: Moves = (None, None)

# Functions of one array, and methods of it, whose value has its shape.
_ELEMENTWISE = frozenset(
    "relu relu6 gelu silu swish elu celu selu sigmoid log_sigmoid hard_tanh hard_sigmoid hard_silu hard_swish "
    "leaky_relu softplus soft_sign mish softmax log_softmax standardize tanh sin cos tan sinh cosh arctan exp expm1 "
    "log log1p log2 abs absolute sqrt rsqrt cbrt square negative sign clip round floor ceil nan_to_num logistic "
    "stop_gradient erf asarray array copy conj conjugate real imag flip roll sort zeros_like ones_like full_like "
    "empty_like with_sharding_constraint checkpoint_name optimization_barrier error_if set reciprocal "
    "logical_not isnan isfinite convert_element_type".split()
)
_BINARY = frozenset(
    "add sub subtract mul multiply div divide power pow maximum minimum where select logaddexp mod arctan2 "
    "logical_and logical_or equal not_equal greater greater_equal less less_equal".split()
)
_PRODUCTS = frozenset("dot matmul".split())
_JOINING = frozenset("concatenate concat hstack vstack dstack append stack".split())
_REDUCING = frozenset("mean sum max min prod median std var logsumexp norm all any".split())
_RESHAPING = frozenset("ravel flatten transpose swapaxes moveaxis".split())
_TO_SHAPE = frozenset("reshape broadcast_to resize".split())  # to that of the carry, given whole
# Layers of equinox.nn that keep the shape.
_LIKE = frozenset("LayerNorm RMSNorm GroupNorm BatchNorm Dropout Identity PReLU".split())


def _resized(env: Env, node: ast.AST, values: Sequence[Value], moves: Moves) -> Size | None:
    """The size that an operation gives which moves that of all values that are made from the carry."""
    size = combined(values)
    return size.moved(*moves, env.code(node), env.place(node)) if size is not None else None


def combined(values: Sequence[Value]) -> Size | None:
    """The size of what an operation makes of arrays that are broadcast; None where the carry has no part in them."""
    return together(sizes_of(values))


def sizes_of(values: Sequence[Value]) -> list[Size]:
    """The sizes of the arrays that are made from the carry, also of those in tuples and lists."""
    found: list[Size] = []
    for value in (option for each in values for option in options(each)):
        if isinstance(value, Array) and (value.size is not None or _is_carried(value.marks)):
            found.append(value.size or _UNSHOWN)
        elif isinstance(value, Listed):
            found += [each.lost("", None) for each in sizes_of([group.element for group in value.cell.groups])]
    return found


_UNSHOWN = Size(frozenset(), None, None)


def of_product(env: Env, node: ast.AST, left: Value, right: Value) -> Size | None:
    """The size of a product of matrices: that of the carry where the other one is of parameters."""
    code, at, sizes = env.code(node), env.place(node), sizes_of([left, right])
    if len(sizes) == 1:
        return sizes[0].mixed(code, at)
    return replace(sizes[0].lost(code, at), whole=False) if sizes else None


def _is_carried(marks: Marks) -> bool:
    return any(mark.how is Vary.CARRY for mark in marks)


# -- layers of equinox.nn --------------------------------------------------------------------------------------------


def of_layer(env: Env, node: ast.AST, layer: Instance, positional: Sequence[Value]) -> Size | None:
    """The size of what a layer of `equinox.nn` gives."""
    last = layer.name.rpartition(".")[2]
    size = combined(positional[1:2] if last == "GRUCell" else ()) or combined(positional[:1])
    size = replace(size, whole=False) if size is not None else None
    named = _MIXING.get(last)
    if last == "MultiheadAttention" and _field(layer, 4, "output_size") is None:
        return size
    if size is None or (named is not None and _same_size(*(_field(layer, *each) for each in named))):
        return size
    code, at = env.code(node), env.place(node)
    if named is not None:
        return size.mixed(code, at, vector=True)
    moves = _moves_of(layer, last)
    made = size.moved(*moves, code, at)
    return made.mixed(code, at) if last.startswith("Conv") and moves[1] is None else made


# Layers that multiply by parameters, with the places and the names of how many features go in and come out.
_MIXING = {
    "Linear": ((0, "in_features"), (1, "out_features")),
    "GRUCell": ((0, "input_size"), (1, "hidden_size")),
    "MLP": ((0, "in_size"), (1, "out_size")),
    "MultiheadAttention": ((1, "query_size"), (4, "output_size")),
}


def _moves_of(layer: Instance, last: str) -> Moves:
    if last in _LIKE:
        return _KEPT
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
    return (space, space if alike else None)


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


def of_function(env: Env, node: ast.AST, last: str, positional: Sequence[Value], named: Named) -> Size | None:
    """The size of what a function of a library gives, or a method of the first of its arguments."""
    size = _of_function(env, node, last, positional, named)
    return replace(size, whole=False) if size is not None else None


def _of_function(env: Env, node: ast.AST, last: str, positional: Sequence[Value], named: Named) -> Size | None:
    values = [*positional, *named.values()]
    of = next((found for each in values if (found := is_shape_of_carry(each)) is not None), None)
    if of is not None and last in _TO_SHAPE:
        return replace(combined(positional[:1]) or Size(of), of=of, space=SAME, total=SAME, each=False, what="")
    whole = "shape" not in named and not any(isinstance(each, Listed) for each in positional[:1])
    if whole and (last in _ELEMENTWISE or last in tables.DTYPES):
        return combined(positional[:1])
    if last in _BINARY and len(positional) > 1:
        return combined(positional)
    if last in _PRODUCTS and len(positional) > 1:
        return of_product(env, node, *positional[:2])
    if last == "transpose" and len(values) == 1 and (size := combined(values)) is not None:
        return size.turned(env.code(node), env.place(node))
    if last in _MOVES:
        return _resized(env, node, positional[:1], _MOVES[last])
    rule = _FUNCTIONS.get(last)
    made = rule(env, node, positional, named) if rule is not None else None
    known = combined(values) if made is None else None
    return known.lost(env.code(node), env.place(node)) if known is not None else made


def of_operator(op: ast.operator, size: Size | None, values: Sequence[Value]) -> Size | None:
    """The size of what an operator gives: whole numbers keep the dtype of a carry, unless they divide it."""
    if size is None or isinstance(op, ast.Div | ast.Pow):
        return replace(size, whole=False) if size is not None else None
    numbers = (isinstance(each, Const) and isinstance(each.value, int) for each in values)
    known = (each.size is not None and each.size.whole if isinstance(each, Array) else False for each in values)
    return replace(size, whole=all(one or other for one, other in zip(numbers, known, strict=True)))


def cast(
    env: Env, node: ast.AST, size: Size | None, dtype: str, positional: Sequence[Value], named: Named
) -> Size | None:
    """The size of an array that a call gives in a dtype, as written; "" where it keeps that of its arguments."""
    wide = named.get("preferred_element_type")
    if size is None:
        return None
    asked = named.get("dtype", wide if wide is not None else next(iter(positional), None))
    dtype = dtype or ("another" if wide is not None else "")
    return size.cast_to(dtype, extent_of(asked), env.code(node), env.place(node))


def _joined(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
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
    sizes = [part.size for part in parts if isinstance(part, Array) and part.size is not None]
    longest = next((size for size in sizes if size.total is not None and size.total >= SAME), None)
    space = NOT_SHORTER if "stack" not in _name(node) else None
    return longest.moved(_along(positional, named, space), LONGER, env.code(node), env.place(node)) if longest else None


def _along(positional: Sequence[Value], named: Named, change: Change) -> Change:
    """How an operation along an axis changes the others: not at all where that is the last, the features' one."""
    axis = named.get("axis", positional[1] if len(positional) > 1 else Const(0))
    number = axis.value if isinstance(axis, Const) else None
    return change if number == 0 or change is None else SAME if number == -1 else None


def _name(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _by_indices(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """`jnp.einsum("td,de->te", x, w)`: a product with parameters; each axis stays in its place or is multiplied."""
    text = positional[0].value if positional and isinstance(positional[0], Const) else None
    operands = [sizes_of([each]) for each in positional[1:]]
    carried = [at for at, each in enumerate(operands) if each]
    if len(carried) != 1 or len(operands[carried[0]]) != 1 or not isinstance(text, str):
        return None
    given, _, made = text.replace(" ", "").partition("->")
    mine = dict(enumerate(given.split(","))).get(carried[0], "")
    fits = len(mine) == len(made) and all(
        before == behind or (before not in made and behind not in mine)
        for before, behind in zip(mine, made, strict=True)
    )
    (size,) = operands[carried[0]]
    return size.mixed(env.code(node), env.place(node)) if fits else None


def _reduced(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """An array with one axis less, or with none."""
    size = _resized(env, node, positional[:1], (None, SHORTER) if "keepdims" not in named else _LOST)
    whole = len(positional) == 1 and not {"axis", "keepdims"} & set(named)
    return replace(size, scalar=True) if size is not None and whole else size


def _windowed(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """`jax.lax.reduce_window(x, start, function, windows, strides, padding)`."""
    strides = _numbers(positional[4] if len(positional) > 4 else named.get("window_strides"), None)
    shorter = strides is not None and max(strides) > 1
    return _resized(env, node, positional[:1], (SHORTER, SHORTER) if shorter else _LOST)


def _reshaped(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """The same numbers along other axes, which are no longer or shorter than before."""
    size = combined(positional[:1])
    moves = (SAME if size is not None and size.changed else None, SAME)
    return size.moved(*moves, env.code(node), env.place(node)) if size is not None else None


def _reshaped_to(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """The same numbers along axes of which some are longer than the carry's: `x.reshape(-1, 2 * h, 2 * w)`."""
    shape = named.get("shape", positional[1] if len(positional) > 1 else None)
    lengths = listed(shape) if isinstance(shape, Listed) else positional[1:]
    shown = [each for each in lengths if extent_of(each) is not None]
    space, _ = asked_for(positional[0] if positional else None, shown)
    return _resized(env, node, positional[:1], (space if space != SAME else None, SAME))


def _repeated(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    times = _numbers(positional[1] if len(positional) > 1 else named.get("repeats", named.get("reps")), None)
    longer = times is not None and max(times) > 1
    return _resized(env, node, positional[:1], (None, LONGER) if longer else _LOST)


def _to_sizes(at: int, name: str) -> "Rule":
    """`jax.image.resize(x, (channels, 2 * height, 2 * width), method)`: where its sizes stand, and their name."""

    def size(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
        sizes = listed(positional[at] if len(positional) > at else named.get(name))
        return _resized(env, node, positional[:1], asked_for(positional[0] if positional else None, sizes))

    return size


def _of_extent(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """`jax.lax.dynamic_slice_in_dim(x, start, size)`."""
    array = positional[0] if positional else None
    extent = extent_of(positional[2] if len(positional) > 2 else named.get("slice_size"))
    of = array.size.of if isinstance(array, Array) and array.size is not None else None
    shorter = extent is not None and extent.of == of and extent.change == SHORTER
    return _resized(env, node, positional[:1], (None, SHORTER) if shorter else _LOST)


def _split(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """The size of each of the parts that `jnp.split(x, 2)` or `jnp.split(x, [2, 4])` gives."""
    at = positional[1] if len(positional) > 1 else named.get("indices_or_sections")
    several = isinstance(at, Listed) and bool(at.cell.groups) and all(each.count for each in at.cell.groups)
    several = several or (isinstance(at, Const) and type(at.value) is int and at.value > 1)
    moves = (_along(positional[1:], named, NOT_LONGER), SHORTER)
    size = _resized(env, node, positional[:1], moves if several else _LOST)
    return replace(size, each=True) if size is not None else None


def _by_pattern(env: Env, node: ast.AST, positional: Sequence[Value], named: Named) -> Size | None:
    """`einops.reduce(x, "c (h 2) (w 2) -> c h w", "mean")`: an axis that only the left side has is gone."""
    pattern = positional[1] if len(positional) > 1 else named.get("pattern")
    text = pattern.value if isinstance(pattern, Const) and isinstance(pattern.value, str) else ""
    left, arrow, right = text.partition("->")
    words = [set(re.findall(r"[A-Za-z_]\w*|[2-9]\d*|1\d+", side)) for side in (left, right)]
    return _resized(env, node, positional[:1], (None, SHORTER) if arrow and words[0] > words[1] else _LOST)


_MOVES: dict[str, Moves] = {
    "delete": (None, SHORTER),
    "diff": (None, SHORTER),
    "expand_dims": (None, LONGER),
    "insert": (None, LONGER),
    "pad": (LONGER, LONGER),
}
Rule = Callable[[Env, ast.AST, Sequence[Value], Named], Size | None]
_FUNCTIONS: dict[str, Rule] = {
    **dict.fromkeys(_JOINING, _joined),
    **dict.fromkeys(_REDUCING, _reduced),
    **dict.fromkeys(_RESHAPING, _reshaped),
    **dict.fromkeys(("split", "array_split", "hsplit", "vsplit", "dsplit"), _split),
    "dynamic_slice": _to_sizes(2, "slice_sizes"),
    "dynamic_slice_in_dim": _of_extent,
    "reduce_window": _windowed,
    "repeat": _repeated,
    "reduce": _by_pattern,
    "reshape": _reshaped_to,
    "einsum": _by_indices,
    "resize": _to_sizes(1, "shape"),
    "tile": _repeated,
}


def of_each(owner: Array) -> Size | None:
    """The size of one of several arrays that a call has cut one into. A row of an array has another one."""
    size = combined([owner])
    return size if size is None else replace(size, each=False) if size.each else size.lost("", None)
