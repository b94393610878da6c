"""Every rule against jax: random programs on special values (NaN, infinities, both zeros, the ends of integers).

A program is drawn as a list of moves on a pool of values, some of them constants. It is traced and numbered, and what
its nodes mean must be what it computes, bit for bit: a rule that changes a value is found, whatever it was for.
"""

import math
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from scanify.jaxpr.rules import fold, views
from scanify.jaxpr.rules import index as rules_index
from scanify.jaxpr.rules.reverse import reverse
from tests.jaxpr.meaning import as_written, numbered, same

Random = random.Random
Move = Callable[[Random, list[Any]], Any]

BFLOAT = np.dtype(ml_dtypes.bfloat16)
FLOATS = [0.0, -0.0, 1.0, -2.5, 3.0e38, 1e-3, math.nan, math.inf, -math.inf, 255.0, -1.0, 7.0]
INTEGERS = [0, 1, 2, 3, 5, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1]
DTYPES = [np.dtype(name) for name in ("float32", "int32", "uint8", "int8", "uint32", "bool", "complex64")] + [BFLOAT]
SHAPES = [(), (1,), (3,), (4,), (2, 3), (3, 1), (1, 4), (2, 1, 3), (0, 3), (4, 3), (2, 2, 2), (2, 3, 4)]


def array(rng: Random, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    count = math.prod(shape)
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            values = np.array([rng.choice(INTEGERS) for _ in range(count)], np.int64)
        elif dtype.kind == "b":
            values = np.array([rng.random() < 0.5 for _ in range(count)], bool)
        else:
            values = np.array([rng.choice(FLOATS) for _ in range(count)], np.float64)
        return values.astype(dtype).reshape(shape)


def pick(rng: Random, pool: list[Any], at_least: int = 0) -> Any:
    return rng.choice([x for x in pool if x.ndim >= at_least] or [jnp.zeros((2, 3, 2)[: max(at_least, 1)])])


def alike(rng: Random, pool: list[Any], x: Any) -> Any:
    found = [y for y in pool if y.shape == x.shape and y.dtype == x.dtype]
    return rng.choice([*found, x])


def factored(rng: Random, size: int) -> tuple[int, ...]:
    if size == 0:
        return rng.choice([(0,), (0, 3), (2, 0)])
    shape: list[int] = []
    while size > 1:
        size_here = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        shape.append(size_here)
        size //= size_here
    for _ in range(rng.choice([0, 0, 1, 2])):
        shape.insert(rng.randrange(len(shape) + 1), 1)
    return tuple(shape)


def _reshape(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    return lax.reshape(x, factored(rng, x.size))


def _transpose(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    return jnp.transpose(x, rng.sample(range(x.ndim), x.ndim))


def _slice(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    starts = [rng.randint(0, size) for size in x.shape]
    stops = [rng.randint(start, size) for start, size in zip(starts, x.shape, strict=True)]
    strides = [rng.choice([1, 1, 1, 2]) for _ in x.shape]
    return lax.slice(x, starts, stops, strides)


def _index(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    axis = rng.randrange(x.ndim)
    if not x.shape[axis]:
        return x
    index = rng.randint(-x.shape[axis], x.shape[axis] - 1)
    return x[(slice(None),) * axis + (index,)]


def _gather(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    axis = rng.randrange(x.ndim)
    if not x.shape[axis]:
        return x
    rows = np.array([rng.randint(-5, 5) for _ in range(rng.choice([0, 1, 2, 3]))], rng.choice(["int32", "int8"]))
    index = rng.choice([rows, jnp.asarray(rows), jnp.asarray(rng.randint(-5, 5))])
    return jnp.take(x, index, axis, mode=rng.choice(["fill", "clip", "wrap"]))


def _at(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    index: Any = tuple(rng.choice([rng.randint(-3, 5), slice(None), slice(1, None)]) for _ in x.shape)
    index = index[: rng.randint(1, len(index))]
    if rng.random() < 0.3:
        index = jnp.array([rng.randint(0, 3) for _ in range(2)])
    if 0 in x.shape:
        return x
    at = x.at[index]
    how = rng.choice(["set", "add", "multiply", "max", "apply", "get"])
    if how == "get":
        return at.get(mode=rng.choice(["fill", "clip", "drop"]))
    if how == "apply":
        return at.apply(rng.choice([lambda v: v + v, lambda v: v]))
    if (x.dtype == bool and how != "set") or (how == "multiply" and x.dtype.kind not in "iu"):
        how = "set"
    given = jnp.asarray(array(rng, (), x.dtype))
    return getattr(at, how)(given, mode=rng.choice([None, "clip", "drop"]))


def _zeros_at(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    rows = jnp.zeros((3, *x.shape), x.dtype)
    if x.dtype == bool:
        return rows.at[1].set(x)
    return getattr(rows.at[rng.randint(-4, 4)], rng.choice(["set", "add"]))(x)


def _dynamic(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    sizes = [rng.randint(0, size) for size in x.shape]
    kind = rng.choice([np.int32, np.int8, np.uint8])
    starts = [kind(rng.randint(0, 5) if kind is np.uint8 else rng.randint(-5, 5)) for _ in x.shape]
    if rng.random() < 0.5:
        return lax.dynamic_slice_p.bind(x, *starts, slice_sizes=tuple(sizes))
    part = jnp.asarray(array(rng, tuple(sizes), x.dtype))
    return lax.dynamic_update_slice_p.bind(x, part, *starts)


def _join(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    parts = [alike(rng, pool, x) for _ in range(rng.randint(1, 3))]
    if x.ndim and rng.random() < 0.5:
        axis = rng.randrange(x.ndim)
        if rng.random() < 0.5:
            cuts = [lax.slice_in_dim(p, 0, rng.randint(0, p.shape[axis]), axis=axis) for p in parts]
            return lax.concatenate(cuts, axis)
        return lax.concatenate(parts, axis)
    return jnp.stack(parts, rng.randint(-x.ndim - 1, x.ndim))


def _apart(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    axis = rng.randrange(x.ndim)
    if not x.shape[axis]:
        return x
    if rng.random() < 0.5:
        return rng.choice(jnp.unstack(x, axis=axis - x.ndim * rng.randint(0, 1)))
    return rng.choice(jnp.array_split(x, 2, axis))


def _rev(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    return lax.rev(x, [axis for axis in range(x.ndim) if rng.random() < 0.5])


def _pad(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool, 1)
    config = []
    for size in x.shape:
        low, high = rng.randint(-2, 2), rng.randint(-2, 2)
        config.append((low, high, rng.choice([0, 0, 0, 1])) if size + low + high >= 0 else (0, 0, 0))
    return lax.pad(x, jnp.asarray(array(rng, (), x.dtype)), config)


def _broadcast(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    shape = [rng.choice([1, 2, 3]) if size == 1 else size for size in x.shape]
    axes = list(range(x.ndim))
    for _ in range(rng.choice([0, 1, 2])):
        at = rng.randrange(len(shape) + 1)
        shape.insert(at, rng.choice([1, 2]))
        axes = [axis + (axis >= at) for axis in axes]
    return lax.broadcast_in_dim(x, shape, axes)


def _iota(rng: Random, pool: list[Any]) -> Any:
    shape = rng.choice([s for s in SHAPES if s])
    return lax.broadcasted_iota(rng.choice([np.int32, np.int8, np.float32, BFLOAT]), shape, rng.randrange(len(shape)))


def _convert(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    dtype = rng.choice(DTYPES)
    if x.dtype == np.complex64 and dtype != np.complex64:
        x = jnp.imag(x)
    if x.dtype in (np.float32, BFLOAT) and dtype.kind in "iu":  # Beyond the ends of integers XLA leaves it open.
        x = jnp.where(abs(x) < 200, abs(x), 1)
    return lax.convert_element_type(x, dtype)


def _binary(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    y = rng.choice([alike(rng, pool, x), jnp.asarray(array(rng, x.shape, x.dtype))])
    if x.dtype == bool:
        return rng.choice([lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.max, lax.lt, lax.ne])(x, y)
    if x.dtype == np.complex64:
        return rng.choice([lax.add, lax.sub, lax.eq])(x, y)
    compute = [lax.add, lax.sub, lax.max, lax.min, lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne]
    if x.dtype.kind in "iu":  # A product of floats may be fused with a sum, and round once.
        compute += [lax.mul, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor]
    return rng.choice(compute)(x, y)


def _divided(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, [*(y for y in pool if y.dtype.kind in "iu"), jnp.asarray(array(rng, (4,), np.dtype(np.int8)))])
    # By zero, what is compiled and what XLA folds differ.
    y = rng.choice([lax.max(alike(rng, pool, x), x.dtype.type(1)), jnp.full(x.shape, rng.randint(1, 5), x.dtype)])
    return rng.choice([lax.div, lax.rem, lambda x, y: lax.sign(x), jnp.floor_divide, jnp.remainder])(x, y)


def _unary(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    if x.dtype == bool or (x.dtype.kind in "iu" and rng.random() < 0.5):
        return lax.bitwise_not(x)
    if x.dtype == np.float32 and rng.random() < 0.5:
        return lax.reduce_precision(x, 8, rng.choice([23, 7]))
    return lax.neg(x)


def _clamp(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, [y for y in pool if y.dtype != np.complex64])
    ends = array(rng, (2,), x.dtype)
    return lax.clamp(ends[0], x, ends[1])


def _choose(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    y, z = alike(rng, pool, x), jnp.asarray(array(rng, x.shape, x.dtype))
    cases = rng.sample([x, y, z], 2)
    which = rng.choice([x != y, jnp.asarray(array(rng, x.shape, np.dtype(bool))), jnp.asarray(rng.random() < 0.5)])
    return lax.select_n(which, *cases)


def _reduce(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, [y for y in pool if y.dtype != bool], 1)
    axis = rng.randrange(x.ndim)
    return lax.reduce_sum(rng.choice([x, jnp.zeros_like(x)]), (axis,))


def _scan(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, [y for y in pool if y.dtype != bool and y.ndim], 1)
    other, reverse = rng.random() < 0.5, rng.random() < 0.5
    start = rng.choice([jnp.zeros(x.shape[1:], x.dtype), x[0] if x.shape[0] else jnp.ones(x.shape[1:], x.dtype)])
    body = (lambda c, row: (row, c)) if other else (lambda c, row: (c + row, c - row))
    return lax.scan(body, start, x, reverse=reverse)[rng.randint(0, 1)]


def _rows(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, [y for y in pool if y.dtype != bool and y.ndim and y.shape[0]], 1)
    if not x.shape[0]:
        return x
    order = np.array([rng.randrange(x.shape[0]) for _ in range(3)], np.int32)
    return lax.scan(lambda c, i: (c.at[i].set(x[i - 1]), x[i]), x, order)[rng.randint(0, 1)]


def _cond(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    y = alike(rng, pool, x)
    known = [jnp.int32(rng.randint(-1, 3)), jnp.asarray(rng.random() < 0.5)]
    unknown = [z.reshape(-1)[0] > 0 for z in pool if z.dtype == np.float32 and z.size]
    index = rng.choice([*known, *unknown])
    branches = [lambda: x, lambda: y, lambda: x[::-1] if x.ndim else x]
    if index.dtype == bool:
        return lax.cond(index, *branches[:2])
    return lax.switch(index, branches)


def _while(rng: Random, pool: list[Any]) -> Any:
    x, turns = pick(rng, [y for y in pool if y.dtype != bool]), rng.randint(0, 3)
    return lax.fori_loop(0, jnp.int32(turns), lambda i, c: c + c, x)


def _call(rng: Random, pool: list[Any]) -> Any:
    x = pick(rng, pool)
    y = alike(rng, pool, x)
    wrap = rng.choice([jax.jit, jax.checkpoint, lax.stop_gradient])
    if wrap is lax.stop_gradient:
        return lax.optimization_barrier((x, y))[1]
    return wrap(lambda a, b: (b, a))(x, y)[rng.randint(0, 1)]


MOVES: dict[str, Move] = {
    name: value
    for name, value in list(globals().items())
    if name.startswith("_") and callable(value) and not name.startswith("__")
}


def program(seed: int, names: list[str], length: int) -> Callable[..., list[Any]]:
    """A function of the inputs that applies random moves; the same moves every time it is called."""

    def run(*inputs: Any) -> list[Any]:
        rng = Random(seed)
        constants = [array(rng, rng.choice(SHAPES), rng.choice(DTYPES)) for _ in range(3)]
        pool = [jnp.asarray(x) for x in (*inputs, *constants)]
        made = []
        for _ in range(length):
            value = MOVES[rng.choice(names)](rng, pool)
            if value.size <= 64:
                pool.append(value)
            made.append(value)
        return made

    return run


def arguments(seed: int) -> list[np.ndarray[Any, Any]]:
    rng = Random(-seed - 1)
    return [array(rng, rng.choice(SHAPES), rng.choice(DTYPES)) for _ in range(2)]


def disagreement(seed: int, names: list[str], length: int = 5) -> str | None:
    """How what a program's nodes mean differs from what it computes; None where it does not."""
    run, given = program(seed, names, length), arguments(seed)
    for index, (value, found) in enumerate(zip(as_written(run)(*given), numbered(run, given), strict=True)):
        if not same(value, found):
            return f"seed {seed}, value {index}: expected {np.asarray(value)!r}, the nodes mean {found!r}"
    return None


@pytest.mark.parametrize("name", MOVES)
def test_the_nodes_of_each_move_mean_what_it_computes(name: str) -> None:
    for seed in range(3):
        assert disagreement(seed, [name, name, "_reshape", "_join"], 3) is None


@pytest.mark.parametrize("seed", range(40))
def test_the_nodes_of_a_program_mean_what_it_computes(seed: int) -> None:
    assert disagreement(seed, list(MOVES)) is None


@pytest.mark.parametrize(
    ("low", "high"), [(np.array(False), np.array(True)), (np.int32(3), np.int32(1))], ids=["booleans", "crossed ends"]
)
def test_a_clamp_that_is_not_surely_the_one_of_numpy_is_not_folded(low: Any, high: Any) -> None:
    assert fold.fold("clamp", [np.asarray(low), np.ones(3, low.dtype), np.asarray(high)], low.dtype) is None
    ends = [np.asarray(end, np.int32) for end in (0, 4, 2)]
    np.testing.assert_array_equal(fold.fold("clamp", ends, np.dtype(np.int32)), [2])


def _turned_twice(table: Any, value: int, box: Any) -> int:
    return reverse(table, views.cut(table, table.inputs[value][0], box), table.params[value])


def _saturated(x: Any, y: Any) -> Any:
    if x.dtype == bool:
        return x | y
    ends = np.iinfo(x.dtype)
    return np.clip(x.astype(np.int64) + y, ends.min, ends.max).astype(x.dtype)


WRONG: dict[str, tuple[list[str], Callable[[pytest.MonkeyPatch], None]]] = {
    "rows of what is reversed": (
        ["_rev", "_slice", "_index"],
        lambda patch: patch.setitem(views.SLICE_THROUGH, "rev", _turned_twice),
    ),
    "cases of a choice": (
        ["_choose"],
        lambda patch: patch.setattr(fold, "_select", lambda x, dtype: np.where(x[0], x[1], x[2]).astype(dtype)),
    ),
    "sums of integers": (
        ["_binary"],
        lambda patch: patch.setitem(fold.ELEMENTWISE, "add", _saturated),
    ),
    "quotients": (
        ["_divided"],
        lambda patch: patch.setitem(fold.ELEMENTWISE, "div", np.floor_divide),
    ),
    "remainders": (
        ["_divided"],
        lambda patch: patch.setitem(fold.ELEMENTWISE, "rem", np.remainder),
    ),
    "starts beyond the end": (
        ["_dynamic", "_at"],
        lambda patch: patch.setattr(
            rules_index, "_clamped", lambda starts, shape, sizes: tuple((0, size) for size in sizes)
        ),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names, mutate = WRONG[name]
    mutate(monkeypatch)
    assert any(disagreement(seed, names, 6) for seed in range(120)), "no program found it"
