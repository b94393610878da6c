"""What functions outside of the project give for values that are computed from leaves."""

import ast

from scanify.analysis.watchers.tables import EACH_NUMBER, FILLED, LEAF_LOADS, LEAF_SAVES, TOTALS, TYPE_TESTS
from scanify.analysis.watchers.trees.values import ELEMENTWISE, FILE, SAME, TOTAL, Kind, Value, joined, other

_FIRST_AXIS = frozenset(f"jax.lax.dynamic_{name}_in_dim" for name in ("slice", "index", "update_slice", "update_index"))
_RANKS = frozenset({"jax.numpy.ndim", "numpy.ndim"})
_SHAPES = frozenset({"jax.numpy.shape", "numpy.shape"})
# What holds the same total in another form.
_KEEPS = frozenset({"array", "asarray", "float32", "astype", "device_get", "int32", "stop_gradient"})
_MEANS = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("mean", "std", "var", "median")
)
_STACKS = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("stack", "array", "concatenate")
)


def called(known: str, given: list[Value], named: dict[str, Value], text: str, node: ast.Call | None) -> Value:
    """What a call of the function with a qualified name gives for the values that it is given."""
    every = [*given, *named.values()]
    if known in TYPE_TESTS:
        return SAME
    bad = next((each for each in every if each.kind is Kind.OTHER), None)
    if bad is not None:
        # Of a leaf in another form it is a norm all the same: `jnp.linalg.norm(x.ravel())`.
        return other("a norm of each leaf") if TOTALS.get(known) == "norm" else bad
    if known in _MEANS and any(each.kind is Kind.ELEMENTWISE for each in given):
        return other("a mean of each leaf")
    if known in _RANKS and given and given[0].kind is Kind.ELEMENTWISE:
        return other("the rank of each leaf")
    if known in _SHAPES and len(every) == 1 and every[0].kind is Kind.ELEMENTWISE:
        return Value(Kind.SHAPE, "the shape of each leaf")
    if known in LEAF_SAVES and FILE in given:
        return SAME
    if known in LEAF_LOADS and FILE in given:
        return ELEMENTWISE
    if known in FILLED:
        return ELEMENTWISE if all(each.kind is not Kind.LEAVES for each in every) else other(f"`{known}` of each leaf")
    if known in _STACKS and given and given[0].kind is Kind.LEAVES and not named:
        return Value(Kind.STACKED)
    total = TOTALS.get(known)
    if total is not None:
        return _total(total, known, given, named, node)
    if known in _FIRST_AXIS and {each.kind for each in every} <= {Kind.ELEMENTWISE, Kind.SAME} and _along_first(node):
        return joined(every)
    if known in EACH_NUMBER:
        totals = [each for each in every if each.kind in TOTAL | {Kind.NORM}]
        if totals and len(every) == 1 and known.rpartition(".")[2] in _KEEPS:
            return totals[0]
        if totals:
            return other("a norm of each leaf" if known.endswith("sqrt") else "a total of each leaf")
        return joined(every)
    if known in ("builtins.float", "builtins.int", "builtins.bool") and len(given) == 1:
        return given[0] if given[0].kind in TOTAL | {Kind.NORM} else other("each leaf as one number")
    if known in ("math.prod", "numpy.prod", "jax.numpy.prod") and given and given[0].kind is Kind.SHAPE:
        return Value(Kind.SUM)
    if known in ("builtins.sum", "builtins.len", "builtins.tuple", "builtins.list") and given[0].kind is Kind.LEAVES:
        return {"sum": ELEMENTWISE, "len": SAME}.get(known.rpartition(".")[2], given[0])
    if known in ("builtins.tuple", "builtins.list") and given[0].kind is Kind.SHAPE:
        return given[0]
    if known in ("jax.numpy.mean", "numpy.mean") and given and given[0].kind is Kind.STACKED and set(named) == {"axis"}:
        return ELEMENTWISE
    if known.startswith(("jax.random.", "numpy.random.")):
        return other("random numbers for each leaf")
    if known == "builtins.len":
        return other("the rank of each leaf" if given and given[0].kind is Kind.SHAPE else "the length of each leaf")
    return other(f"`{short(text)}` of each leaf")


def short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 50 else f"{text[:47]}..."


def _total(total: str, known: str, given: list[Value], named: dict[str, Value], node: ast.Call | None) -> Value:
    plain = len(given) == 1 or known.endswith(("vdot", "allclose", "array_equal"))
    if (
        not plain
        or set(named) - {"dtype", "rtol", "atol", "equal_nan"}
        or any(each.kind is not Kind.ELEMENTWISE for each in given)
    ):
        if len(given) == 1 and given[0].kind is Kind.STACKED and _first_axis(node):
            return ELEMENTWISE
        return other("a total over some axes of each leaf" if total != "norm" else "a norm of each leaf")
    return Value(Kind(total), "a norm of each leaf" if total == "norm" else "")


def _along_first(node: ast.Call | None) -> bool:
    axis = next((each.value for each in node.keywords if each.arg == "axis"), None) if node is not None else None
    return axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)


def _first_axis(node: ast.Call | None) -> bool:
    named = {each.arg: each.value for each in node.keywords} if node is not None else {}
    axis = named.get("axis")
    return set(named) == {"axis"} and isinstance(axis, ast.Constant) and axis.value == 0
