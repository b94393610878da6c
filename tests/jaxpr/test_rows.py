"""The rules for operations of elements and of rows, against jax: random programs of stacks and of their slices.

The numbers are small integers, so that sums and products are exact in every order.
"""

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scanify.jaxpr.rules import elements, rows, views
from scanify.jaxpr.table import Table
from tests.jaxpr.meaning import as_written, numbered, same

N, D = 3, 2
Pool = list[Any]
Step = Callable[[random.Random, Pool], Any]


def cube(rng: random.Random, pool: Pool) -> Any:
    return rng.choice([x for x in pool if x.shape == (N, D, D)])


def matrix(rng: random.Random, pool: Pool) -> Any:
    return rng.choice([x for x in pool if x.shape == (D, D)])


def _stack(rng: random.Random, pool: Pool) -> Any:
    return jnp.stack([matrix(rng, pool) for _ in range(N)])


def _row(rng: random.Random, pool: Pool) -> Any:
    return cube(rng, pool)[rng.randrange(N)]


def _mixed(rng: random.Random, pool: Pool) -> Any:
    return jnp.concatenate([cube(rng, pool)[:2], matrix(rng, pool)[None]])


def _again(rng: random.Random, pool: Pool) -> Any:
    x = cube(rng, pool)
    return jnp.stack([jnp.abs(x[i]) for i in range(N)])


def _each(rng: random.Random, pool: Pool) -> Any:
    x, y = rng.choice([cube, matrix])(rng, pool), matrix(rng, pool)
    return rng.choice([jnp.add, jnp.subtract, jnp.maximum, lambda a, b: jnp.where(a > b, a, b), jnp.minimum])(x, y)


def _one(rng: random.Random, pool: Pool) -> Any:
    return rng.choice([jnp.negative, jnp.abs, jnp.sign, lambda v: lax.clamp(-1.0, v, 2.0), lambda v: v % 5])(
        rng.choice(pool)
    )


def _product(rng: random.Random, pool: Pool) -> Any:
    forms = ["nij,nkj->nik", "nij,jk->nik", "ij,njk->nik", "nij,jk->ink", "ij,njk->kni", "nij,nij->n"]
    form = rng.choice(forms)
    given = [cube(rng, pool) if "n" in part else matrix(rng, pool) for part in form.split("->")[0].split(",")]
    found = jnp.einsum(form, *(x % 5 for x in given))
    axis = form.split("->")[1].index("n")
    found = jnp.moveaxis(found, axis, 0)
    return found if found.ndim == 3 else jnp.broadcast_to(found[:, None, None], (N, D, D))


def _small(rng: random.Random, pool: Pool) -> Any:
    return rng.choice([lambda a, b: a @ b, lambda a, b: a.T @ b, lambda a, b: a @ b.T])(
        matrix(rng, pool) % 5, matrix(rng, pool) % 5
    )


def _reduced(rng: random.Random, pool: Pool) -> Any:
    x, axis = cube(rng, pool) % 7, rng.randrange(3)
    found = rng.choice([jnp.sum, jnp.max, jnp.min, jnp.prod, jnp.argmax])(x, axis=axis, keepdims=True)
    return jnp.broadcast_to(found.astype(x.dtype), x.shape)


def _reduced_row(rng: random.Random, pool: Pool) -> Any:
    x, axis = matrix(rng, pool) % 7, rng.randrange(2)
    return jnp.broadcast_to(rng.choice([jnp.sum, jnp.max, jnp.argmin])(x, axis=axis, keepdims=True), x.shape) + x


def _along(rng: random.Random, pool: Pool) -> Any:
    x, axis = rng.choice([cube, matrix])(rng, pool) % 7, rng.choice([0, 1, -1])
    given = rng.randrange(4)
    if given == 0:
        return lax.cumsum(x, axis % x.ndim, reverse=rng.random() < 0.5)
    if given == 1:
        return lax.sort((x, -x), axis % x.ndim, num_keys=1)[rng.randrange(2)]
    if given == 2:
        return jnp.broadcast_to(lax.top_k(x, 1)[rng.randrange(2)].astype(x.dtype), x.shape)
    return lax.cummax(x, axis % x.ndim)


def _turned(rng: random.Random, pool: Pool) -> Any:
    x = cube(rng, pool)
    return rng.choice(
        [lambda v: jnp.swapaxes(v, 1, 2), lambda v: v[::-1], lambda v: v.reshape(N, D * D).reshape(v.shape)]
    )(x)


def _permuted(rng: random.Random, pool: Pool) -> Any:
    """Operations of what was permuted, elements and rows, and permuted back or not."""
    x, y = cube(rng, pool) % 5, matrix(rng, pool) % 5
    order = rng.sample(range(3), 3)
    turned = jnp.transpose(x, order)
    mixed = rng.choice([lambda v: v + v, lambda v: jnp.maximum(v, 1), lambda v: v - jnp.transpose(x, order), jnp.abs])(
        turned
    )
    axis = rng.randrange(3)
    mixed = rng.choice(
        [
            lambda v: v,
            lambda v: lax.cumsum(v, axis) % 5,
            lambda v: lax.sort((v, -v), axis, num_keys=1)[0],
            lambda v: v + jnp.sum(v, axis, keepdims=True) % 7,
            lambda v: v - jnp.sum(v, [i for i in range(3) if i != axis], keepdims=True) % 7,
        ]
    )(mixed)
    found = jnp.transpose(mixed, sorted(range(3), key=order.__getitem__))
    forms = ["nij,jk->nik", "nij,jk->kni", "nij,kj->ikn", "nji,jk->nik"]
    form = rng.choice(forms)
    product = jnp.einsum(form, found, y.T if rng.random() < 0.5 else y)
    return jnp.moveaxis(product, form.index("n", 4) - form.index(">") - 1, 0)


STEPS: dict[str, Step] = {
    name: value
    for name, value in list(globals().items())
    if name.startswith("_") and name[1:2] != "_" and callable(value)
}


def run_of(seed: int, names: list[str], length: int) -> Callable[..., Any]:
    def run(*given: Any) -> list[Any]:
        rng, pool = random.Random(seed), list(given)
        made = []
        for _ in range(length):
            value = STEPS[rng.choice(names)](rng, pool).astype(jnp.float32)
            pool.append(value)
            made.append(value)
        return made

    return run


def given(seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-4, 5, shape).astype(np.float32) for shape in ((N, D, D), (N, D, D), (D, D), (D, D), (D, D))]


def disagreement(seed: int, names: list[str], length: int) -> str | None:
    run, inputs = run_of(seed, names, length), given(seed)
    for index, (value, found) in enumerate(zip(as_written(run)(*inputs), numbered(run, inputs), strict=True)):
        if not same(value + 0.0, found + 0.0):
            return f"seed {seed}, value {index}: expected {np.asarray(value)!r}, the nodes mean {found!r}"
    return None


@pytest.mark.parametrize("name", STEPS)
def test_the_nodes_of_each_step_mean_what_it_computes(name: str) -> None:
    for seed in range(2):
        assert disagreement(seed, [name, name, "_stack", "_row", "_mixed", "_again"], 6) is None


@pytest.mark.parametrize("seed", range(12))
def test_the_nodes_of_a_program_mean_what_it_computes(seed: int) -> None:
    assert disagreement(seed, list(STEPS), 8) is None


@pytest.mark.whole
@pytest.mark.parametrize("start", range(40, 2040, 100))
def test_the_nodes_of_many_programs_mean_what_they_compute(start: int) -> None:
    for seed in range(start, start + 100):
        assert disagreement(seed, list(STEPS), 8) is None


def _first_half(table: Table, value: int, axis: int, start: int, stop: int) -> int:
    return PART(table, value, axis, max(start - 1, 0), max(start - 1, 0) + stop - start)


def _as_it_is(lines: Any, place: int, new: Any) -> Any:
    return (*lines[:place], new, *lines[place:])


def _turned_back(table: Table, cores: Any) -> Any:
    found, order = ORIENTED(table, cores)
    return found, tuple(sorted(range(len(order)), key=order.__getitem__))


def _unsorted(lines: Any) -> Any:
    found, order = IN_ORDER(lines)
    return found, tuple(sorted(range(len(order)), key=order.__getitem__))


def _backwards(line: Any, index: int, order: Any) -> Any:
    return tuple(order.index(axis) if at == index and axis >= 0 else axis for at, axis in enumerate(line))


ORIENTED, IN_ORDER = views.oriented, rows._in_order
PART = rows.part
MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "rows are the rows before": lambda patch: patch.setattr(rows, "part", _first_half),
    "axes keep their numbers": lambda patch: patch.setattr(rows, "_inserted", _as_it_is),
    "slices are of the start": lambda patch: patch.setattr(
        elements, "cut", lambda table, value, box: CUT(table, value, tuple((0, stop - start) for start, stop in box))
    ),
    "what is beside is not asked": lambda patch: patch.setattr(
        elements, "_joined", lambda table, a, b, axis: JOINED(table, [a[0], *a[1:]], [b[0], *a[1:]], axis)
    ),
    "results are permuted the other way": lambda patch: patch.setattr(elements, "oriented", _turned_back),
    "rows are permuted the other way": lambda patch: patch.setattr(rows, "_in_order", _unsorted),
    "lines follow the permuted axes": lambda patch: patch.setattr(rows, "_before", _backwards),
    "only the first operand is permuted back": lambda patch: patch.setattr(
        elements,
        "oriented",
        lambda table, cores: ([ORIENTED(table, cores)[0][0], *cores[1:]], ORIENTED(table, cores)[1]),
    ),
}
CUT, JOINED = elements.cut, elements._joined


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_rule_means_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    assert any(_is_wrong(seed) for seed in range(60))


def _is_wrong(seed: int) -> bool:
    try:
        return disagreement(seed, list(STEPS), 8) is not None
    except Exception:  # what is spelled wrongly may have no meaning
        return True


def test_keys_and_bits_of_many_keys_are_those_of_each() -> None:
    def run(seeds: Any) -> list[Any]:
        keys = jax.vmap(jax.random.key)(seeds)
        made = jax.vmap(lambda key: jax.random.split(key, 2))(keys)
        folded = jax.vmap(lambda key: jax.random.fold_in(key, 3))(made[:, 1])
        one = jax.random.bits(keys[1], (3,)) + jax.random.bits(made[0, 1], (3,))
        stacked = jnp.stack([jax.random.bits(keys[i], (2,)) for i in range(N)])
        return [one, stacked, jax.vmap(lambda k: jax.random.bits(k, (2,)))(folded)[1], jax.random.key_data(folded)[2]]

    seeds = np.arange(N, dtype=np.int32)
    for value, found in zip(as_written(run)(seeds), numbered(run, [seeds]), strict=True):
        assert same(value, found)
