"""Ways to spell one value in jax: what the prover has to see through. All choices come from a seed."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name

ROWS = 4


class Spelling:
    """Chooses among spellings. `plain` takes the first of each; `effects`: nothing may be computed twice."""

    def __init__(self, seed: int, *, plain: bool = False, effects: bool = False) -> None:
        self.rng = random.Random(seed)
        self.plain = plain
        self.effects = effects

    def pick(self, *options: Any) -> Any:
        return options[0] if self.plain else self.rng.choice(options)

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, called in one of the ways that change nothing."""
        wraps: list[Callable[[Any], Any]] = [lambda f: f, jax.jit, _behind_barrier, _named, _twice_jitted]
        if not self.effects:
            wraps.append(jax.checkpoint)
        return self.pick(*wraps)(function)  # type: ignore[no-any-return]

    def row(self, x: Any, index: int) -> Any:
        """Row `index` of a stack."""
        half = x.shape[0] // 2
        if x.shape[0] % 2 == 0 and not self.plain and self.rng.random() < 0.1:
            return x.reshape(2, half, *x.shape[1:])[index // half, index % half]
        return self.pick(
            lambda: x[index],
            lambda: lax.index_in_dim(x, index, keepdims=False),
            lambda: lax.dynamic_index_in_dim(x, jnp.int32(index), keepdims=False),
            lambda: jnp.take(x, index, axis=0),
            lambda: jnp.unstack(x)[index],
            lambda: jnp.split(x, x.shape[0])[index][0],
            lambda: x[jnp.asarray(index)],
            lambda: x[index - x.shape[0]],
            lambda: x[::-1][x.shape[0] - 1 - index],
            lambda: jnp.moveaxis(x, 0, -1)[..., index],
            lambda: lax.slice_in_dim(x, index, index + 1).reshape(x.shape[1:]),
        )()

    def rows(self, x: Any) -> list[Any]:
        return [self.row(x, index) for index in range(x.shape[0])]

    def stack(self, rows: Sequence[Any]) -> Any:
        """Rows as a stack."""
        first, n = rows[0], len(rows)
        options = [
            lambda: jnp.stack(rows),
            lambda: jnp.concatenate([r[None] for r in rows]),
            lambda: jnp.moveaxis(jnp.stack(rows, axis=-1), -1, 0),
            lambda: jnp.flip(jnp.stack(rows[::-1]), 0),
        ]
        if n % 2 == 0:
            halves = [rows[: n // 2], rows[n // 2 :]]
            options.append(lambda: jnp.stack([jnp.stack(half) for half in halves]).reshape(n, *first.shape))
            options.append(lambda: jnp.concatenate([jnp.stack(half) for half in halves]))
        if not jnp.issubdtype(first.dtype, jax.dtypes.prng_key):
            zeros = jnp.zeros((n, *first.shape), first.dtype)
            options += [
                lambda: _set(zeros, rows, lambda out, i, r: out.at[i].set(r)),
                lambda: _set(zeros, rows, lambda out, i, r: lax.dynamic_update_index_in_dim(out, r, i, 0)),
                lambda: _set(zeros, rows, lambda out, i, r: out.at[jnp.int32(i)].set(r, mode="drop")),
            ]
        return self.pick(*options)()

    def fold(self, body: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Any, order: Sequence[int]) -> Any:
        """`carry, y = body(carry, xs[i])` for i in order; gives the carry and the list of ys."""
        ways = [_loop, _scan, _indexed, _chunked, _unrolled, _turned, _peeled]
        return self.pick(*ways)(self, self.wrapped(body), carry, xs, list(order))


def _set(out: Any, rows: Sequence[Any], put: Callable[[Any, int, Any], Any]) -> Any:
    for index, row in enumerate(rows):
        out = put(out, index, row)
    return out


def _behind_barrier(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*lax.optimization_barrier(args))


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: jax.tree.map(lambda x: checkpoint_name(x, "a"), jax.named_call(function, name="b")(*args))


def _twice_jitted(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(lambda *args: jax.jit(function)(*args))


def _loop(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    ys = []
    for index in order:
        carry, y = body(carry, spell.row(xs, index))
        ys.append(y)
    return carry, ys


def _apart(spell: Spelling, carry: Any, ys: Any, count: int) -> Any:
    return carry, [None] * count if ys is None else spell.rows(ys)


def _ordered(spell: Spelling, xs: Any, order: list[int]) -> Any:
    if order == list(range(xs.shape[0])):
        return xs
    return spell.stack([spell.row(xs, index) for index in order])


def _scan(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    carry, ys = lax.scan(body, carry, _ordered(spell, xs, order))
    return _apart(spell, carry, ys, len(order))


def _unrolled(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    carry, ys = lax.scan(body, carry, _ordered(spell, xs, order), unroll=spell.pick(2, True))
    return _apart(spell, carry, ys, len(order))


def _indexed(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    """The scan counts and the body indexes, so that cotangents are scattered into the whole stack."""

    def step(carry: Any, index: Any) -> Any:
        read = spell.pick(
            lambda: xs[index],
            lambda: lax.dynamic_index_in_dim(xs, index, keepdims=False),
            lambda: jnp.take(xs, index, axis=0, mode="clip"),
        )
        return body(carry, read())

    carry, ys = lax.scan(step, carry, jnp.array(order))
    return _apart(spell, carry, ys, len(order))


def _chunked(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    whole = len(order) // 2 * 2
    if not whole:
        return _scan(spell, body, carry, xs, order)
    taken = _ordered(spell, xs, order)
    chunks = taken[:whole].reshape(-1, 2, *taken.shape[1:])
    outer = spell.wrapped(lambda c, rows: lax.scan(body, c, rows))
    carry, ys = lax.scan(outer, carry, chunks)
    ys = [None] * whole if ys is None else spell.rows(ys.reshape(whole, *ys.shape[2:]))
    for index in range(whole, len(order)):
        carry, y = body(carry, taken[index])
        ys.append(y)
    return carry, ys


def _turned(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    """From the last row to the first, over the rows in the other order."""
    carry, ys = lax.scan(body, carry, _ordered(spell, xs, order[::-1]), reverse=True)
    carry, ys = _apart(spell, carry, ys, len(order))
    return carry, ys[::-1]


def _peeled(spell: Spelling, body: Any, carry: Any, xs: Any, order: list[int]) -> Any:
    """The first step apart."""
    carry, first = body(carry, spell.row(xs, order[0]))
    if len(order) == 1:
        return carry, [first]
    carry, ys = _scan(spell, body, carry, xs, order[1:])
    return carry, [first, *ys]
