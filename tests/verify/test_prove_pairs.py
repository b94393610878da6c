"""Pairs of programs that differ in what is easily overlooked: none may be PROVED, and each program is to itself."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.extend.core.primitives import cond_p

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.table import Table
from scanify.verify.proof.prove import prove

V = jnp.arange(4.0)
M = jnp.arange(6.0).reshape(2, 3)
OUT = jax.ShapeDtypeStruct((4,), jnp.float32)

Function = Callable[[Any], Any]


def counted() -> Function:
    calls = 0

    def count(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x * np.float32(calls)

    return count


def called(first: Function, second: Function) -> Function:
    return lambda v: io_callback(first, OUT, v, ordered=True) + io_callback(second, OUT, v, ordered=True)


BRANCHES = (jnp.sin, jnp.cos, jnp.tanh)


def unclamped(index: Any, v: Any) -> Any:
    """XLA takes the last branch where there is none of the number."""
    return cond_p.bind(index, v, branches=tuple(jax.make_jaxpr(branch)(v) for branch in BRANCHES))[0]


def partitioned(flag: bool, draw: Function) -> Function:
    def run(v: Any) -> Any:
        with jax.threefry_partitionable(flag):
            return draw(v)

    return run


def of_refs(two: bool) -> Function:
    def run(v: Any) -> Any:
        first = jax.new_ref(v)
        second = jax.new_ref(v) if two else first
        first[...] += 1.0
        return second[...]

    return run


def printed(*texts: str) -> Function:
    def run(v: Any) -> Any:
        for text in texts:
            jax.debug.print(text, x=v)
        return v

    return run


def folded(length: int, reverse: bool = False) -> Function:
    return lambda v: lax.scan(lambda c, i: (c * v[i], c), v[0], jnp.arange(length), reverse=reverse)[1]


ONE, OTHER = counted(), counted()

PAIRS: dict[str, tuple[Function, Function, Any]] = {
    "functions applied to an element": (lambda v: v.at[0].apply(jnp.sin), lambda v: v.at[0].apply(jnp.cos), V),
    "a function applied and a zero put": (lambda v: v.at[0].apply(jnp.sin), lambda v: v.at[0].set(0.0), V),
    "one put into two places": (lambda v: v.at[0].set(1.0), lambda v: v.at[1].set(1.0), V),
    "a minus zero added to zeros": (
        lambda v: 1 / jnp.zeros(4).at[1].add(v[0]),
        lambda v: 1 / jnp.zeros(4).at[1].set(v[0]),
        V,
    ),
    "a zero added": (lambda v: v + 0.0, lambda v: v, V),
    "a zero multiplied": (lambda v: v * 0.0, lambda v: v * -0.0, V),
    "two draws of the device and one": (
        lambda v: v + lax.rng_uniform(0.0, 1.0, (4,)) - lax.rng_uniform(0.0, 1.0, (4,)),
        lambda v: (lambda u: v + u - u)(lax.rng_uniform(0.0, 1.0, (4,))),
        V,
    ),
    "callbacks that count their calls": (called(ONE, ONE), called(ONE, OTHER), V),
    "callbacks": (lambda v: jax.pure_callback(np.sin, OUT, v), lambda v: jax.pure_callback(np.cos, OUT, v), V),
    "two mutable arrays and one": (of_refs(True), of_refs(False), V),
    "prints in another order": (printed("a{x}", "b{x}"), printed("b{x}", "a{x}"), V),
    "a print left out": (printed("a{x}"), printed(), V),
    "a print more": (printed("a{x}"), printed("a{x}", "a{x}"), V),
    "rounding and back": (lambda v: v.astype(jnp.bfloat16).astype(jnp.float32), lambda v: v, V),
    "truncation and back": (lambda v: v.astype(jnp.int32).astype(jnp.float32), lambda v: v, V),
    "less precision": (lambda v: lax.reduce_precision(v, 8, 10), lambda v: v, V),
    "bits and numbers": (lambda v: lax.bitcast_convert_type(v, jnp.int32), lambda v: v.astype(jnp.int32), V),
    "choices the other way round": (
        lambda v: lax.select_n(v > 1, v, -v),
        lambda v: lax.select_n(v > 1, -v, v),
        V,
    ),
    "sorting that is stable and not": (
        lambda v: lax.sort((v, -v), num_keys=1, is_stable=True),
        lambda v: lax.sort((v, -v), num_keys=1, is_stable=False),
        V,
    ),
    "precision of products": (lambda m: lax.dot(m, m.T, precision="highest"), lambda m: lax.dot(m, m.T), M),
    "dtype of sums": (
        lambda m: lax.dot(m, m.T, preferred_element_type=jnp.float32).astype(jnp.bfloat16),
        lambda m: lax.dot(m, m.T),
        M.astype(jnp.bfloat16),
    ),
    "what is read out of bounds": (
        lambda v: v.at[7].get(mode="fill"),
        lambda v: v.at[7].get(mode="clip"),
        V,
    ),
    "what fills": (
        lambda v: v.at[7].get(mode="fill", fill_value=0.0),
        lambda v: v.at[7].get(mode="fill", fill_value=-0.0),
        V,
    ),
    "what is written out of bounds": (lambda v: v.at[7].set(1.0), lambda v: v.at[7].set(1.0, mode="clip"), V),
    "a start beyond the end and none": (lambda v: lax.dynamic_slice(v, (9,), (2,)), lambda v: v[:2], V),
    "padding and cutting": (
        lambda v: lax.pad(v, 0.0, [(-1, 1, 0)]),
        lambda v: lax.pad(v, 0.0, [(1, -1, 0)]),
        V,
    ),
    "padding between": (lambda v: lax.pad(v, 0.0, [(1, 1, 1)]), lambda v: lax.pad(v, 0.0, [(1, 1, 2)])[:9], V),
    "strides": (lambda v: v[::2], lambda v: v[::3], V),
    "sums from the other end": (lambda v: lax.cumsum(v, reverse=True), lax.cumsum, V),
    "scans of other lengths": (lambda v: folded(3)(v)[1:], folded(2), V),
    "scans from the other end": (folded(3), folded(3, reverse=True), V),
    "implementations of keys": (
        lambda v: v + jax.random.normal(jax.random.key(0), (4,)),
        lambda v: v + jax.random.normal(jax.random.key(0, impl="rbg"), (4,)),
        V,
    ),
    "layouts of counters": (
        partitioned(True, lambda v: v + jax.random.normal(jax.random.key(0), (4,))),
        partitioned(False, lambda v: v + jax.random.normal(jax.random.key(0), (4,))),
        V,
    ),
    "layouts of counters inside a call": (
        partitioned(True, jax.jit(lambda key: jax.random.split(key, 3))),
        partitioned(False, jax.jit(lambda key: jax.random.split(key, 3))),
        jax.random.key(1),
    ),
    "one key and its halves": (
        lambda key: jax.random.normal(key, (2,)),
        lambda key: jax.random.normal(jax.random.split(key)[0], (2,)),
        jax.random.key(1),
    ),
    "sums and means over an axis": (
        jax.vmap(lambda r: lax.psum(r * r, "rows"), axis_name="rows"),
        jax.vmap(lambda r: lax.pmean(r * r, "rows"), axis_name="rows"),
        M,
    ),
    "outputs that change places": (lambda m: (m[0], m[1]), lambda m: (m[1], m[0]), M),
    "conjugates": (lambda c: c, jnp.conj, jnp.arange(3) + 1j),
    "branches": (
        lambda v: lax.cond(v[0] > 0, lambda: v * 2, lambda: v * 3),
        lambda v: lax.cond(v[0] > 0, lambda: v * 4, lambda: v * 3),
        V,
    ),
    "a condition": (
        lambda v: lax.cond(v[0] > 0, lambda: v * 2, lambda: v * 3),
        lambda v: lax.cond(v[1] > 0, lambda: v * 2, lambda: v * 3),
        V,
    ),
    "a choice of no branch, and one that is clamped to the first": (
        lambda v: unclamped(v[0].astype(jnp.int32), v),
        lambda v: lax.switch(v[0].astype(jnp.int32), BRANCHES, v),
        V,
    ),
    "a choice of branch -1": (lambda v: unclamped(np.int32(-1), v), jnp.sin, V),
    "turns of a loop": (
        lambda v: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, v))[1],
        lambda v: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 2), (0, v))[1],
        V,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_differs_is_not_proved(name: str) -> None:
    one, other, argument = PAIRS[name]
    proof = prove(jax.make_jaxpr(one)(argument), jax.make_jaxpr(other)(argument))
    assert not proof.proved
    assert proof.difference is not None


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "two draws of the device and one"])
def test_each_program_is_proved_equal_to_itself_traced_again(name: str) -> None:
    for program in PAIRS[name][:2]:
        traced = [jax.make_jaxpr(lambda v, run=program: run(v))(PAIRS[name][2]) for _ in range(2)]
        assert prove(*traced).proved


def test_a_mutable_array_that_is_closed_over_is_not_a_constant() -> None:
    table = Table()
    ref = jax.new_ref(V)
    numbering = Numbering(table)
    assert table.op[numbering.constant(ref, jax.typeof(ref))] == "fresh"


@pytest.mark.parametrize("given", [0, 1], ids=["what is given", "what it depends on"])
def test_adding_to_zeros_is_a_sum_of_cotangents_among_cotangents_only(given: int) -> None:
    added = jax.make_jaxpr(lambda *vs: jnp.zeros(4).at[1].add(vs[given][0]))(V, V)
    put = jax.make_jaxpr(lambda *vs: jnp.zeros(4).at[1].set(vs[given][0]))(V, V)
    assert prove(added, put, cotangents=1).proved == (given == 1)
    assert not prove(added, put).proved


def test_the_smallest_exponent_is_not_zero() -> None:
    table = Table()
    assert not table.is_zero(table.const(np.zeros(2, jnp.float8_e8m0fnu)))
    assert table.is_zero(table.const(np.zeros(2, jnp.bfloat16)))
