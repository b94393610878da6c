"""Shared and indexed inputs, control flow, effects, callbacks and avals: what programs hold besides layers."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import Primitive

from scanify.errors import ScanifyError
from scanify.verify.proof.prove import Proof, prove


def own(file: str) -> str | None:
    """Files of the tests are the user's source."""
    return Path(file).name if Path(file).parent == Path(__file__).parent else None


def same(before: Any, after: Any, *inputs: Any, cotangents: int = 0) -> Proof:
    return prove(jax.make_jaxpr(before)(*inputs), jax.make_jaxpr(after)(*inputs), files=own, cotangents=cotangents)


X = (jnp.arange(12.0) * 0.37 + 0.1).reshape(4, 3).at[3, 0].set(-0.0)


# Gradients of indexed and shared inputs ---------------------------------------------------------------------------------


def vjp_of(function: Any) -> Any:
    return lambda x, ws, ct: jax.vjp(function, x, ws)[1](ct)


def shared_loop(x: Any, ws: Any) -> Any:
    """ws[i] is read by index, x[0] by all layers: cotangents of both accumulate."""
    h = x
    for i in range(4):
        h = jnp.tanh(h * ws[i] + x[0]) + ws.sum(0)
    return h


def shared_scan(x: Any, ws: Any) -> Any:
    return lax.scan(lambda h, w: (jnp.tanh(h * w + x[0]) + ws.sum(0), None), x, ws)[0]


def indexed_scan(x: Any, ws: Any) -> Any:
    """As haliax's ArrayStacked does it: the scan counts, the body indexes."""

    def body(h: Any, i: Any) -> Any:
        w = lax.dynamic_index_in_dim(ws, i, keepdims=False)
        return jnp.tanh(h * w + x[0]) + ws.sum(0), None

    return lax.scan(body, x, jnp.arange(4))[0]


@pytest.mark.parametrize("scan", [shared_scan, indexed_scan, jax.checkpoint(shared_scan)], ids=["xs", "index", "remat"])
def test_cotangents_of_shared_and_indexed_inputs_are_proved(scan: Any) -> None:
    ws = jnp.ones((4, 3))
    assert same(vjp_of(shared_loop), vjp_of(scan), X, ws, X, cotangents=1).proved
    wrong = lambda x, ws: scan(x, ws[::-1])  # noqa: E731
    assert not same(vjp_of(shared_loop), vjp_of(wrong), X, ws, X, cotangents=1).proved


def test_hidden_states_and_their_cotangents_are_proved_and_a_shift_by_one_is_not() -> None:
    def before(x: Any, ws: Any) -> Any:
        states = []
        for i in range(4):
            states.append(x)
            x = jnp.sin(x * ws[i])
        return x, jnp.stack(states)

    def after(x: Any, ws: Any) -> Any:
        return lax.scan(lambda h, w: (jnp.sin(h * w), h), x, ws)

    def shifted(x: Any, ws: Any) -> Any:
        return lax.scan(lambda h, w: (jnp.sin(h * w),) * 2, x, ws)

    ws = jnp.ones((4, 3))
    cts = (X, jnp.ones((4, 4, 3)))
    assert same(before, after, X, ws).proved and same(vjp_of(before), vjp_of(after), X, ws, cts, cotangents=2).proved
    assert same(before, shifted, X, ws).equal == (True, False)
    assert not same(vjp_of(before), vjp_of(shifted), X, ws, cts, cotangents=2).proved


# Control flow, effects, avals ---------------------------------------------------------------------------------------------


def test_a_scan_over_time_inside_each_layer_is_compared_as_one_node_however_long() -> None:
    def layer(x: Any, w: Any) -> Any:
        return lax.scan(lambda c, r: (jnp.tanh(c * w + r), c), w, jnp.broadcast_to(x, (100_000, 3)))[0]

    def other(x: Any, w: Any) -> Any:
        return lax.scan(lambda c, r: (jnp.tanh(c * w - r), c), w, jnp.broadcast_to(x, (100_000, 3)))[0]

    def before(x: Any, ws: Any) -> Any:
        for i in range(4):
            x = layer(x, ws[i])
        return x

    ws = jnp.ones((4, 3))
    assert same(before, lambda x, ws: lax.scan(lambda c, w: (layer(c, w), None), x, ws)[0], X[0], ws).proved
    wrong = same(before, lambda x, ws: lax.scan(lambda c, w: (other(c, w), None), x, ws)[0], X[0], ws)
    assert not wrong.proved and any("too long to unroll" in note for note in wrong.not_understood)


def test_while_loops_compare_by_what_they_compute() -> None:
    def power(times: int, function: Any) -> Any:
        return lambda x: lax.while_loop(lambda c: c[0] < times, lambda c: (c[0] + 1, function(c[1])), (0, x))[1]

    assert same(power(3, jnp.sin), power(3, lambda y: jax.jit(jnp.sin)(y)), X).proved
    assert not same(power(3, jnp.sin), power(4, jnp.sin), X).proved
    assert not same(power(3, jnp.sin), power(3, jnp.cos), X).proved


def test_prints_must_happen_in_the_same_order() -> None:
    def printing(order: list[int]) -> Any:
        def run(x: Any) -> Any:
            for i in order:
                jax.debug.print("row {}", x[i])
            return x

        return run

    def scanned_print(x: Any) -> Any:
        lax.scan(lambda c, r: (jax.debug.print("row {}", r), (c, None))[1], 0, x)
        return x

    assert same(printing([0, 1, 2, 3]), scanned_print, X).proved
    proof = same(printing([0, 1, 2, 3]), printing([0, 2, 1, 3]), X)
    assert proof.equal == (True,) and not proof.effects_equal and not proof.proved
    assert not same(printing([0, 1, 2, 3]), lambda x: x, X).effects_equal


def test_references_written_in_another_order_are_not_proved() -> None:
    def writing(first: float, second: float) -> Any:
        def run(x: Any) -> Any:
            ref = jax.new_ref(x)
            ref[...] = x * first
            seen = ref[...]
            ref[...] = x * second
            return seen + ref[...]

        return run

    assert same(writing(1.5, 2.5), writing(1.5, 2.5), X).proved
    assert not same(writing(1.5, 2.5), writing(2.5, 1.5), X).proved
    assert not same(writing(1.5, 2.5), writing(2.5, 2.5), X).proved


def test_callbacks_are_equal_only_if_they_are_the_same_function() -> None:
    def calling(callback: Any) -> Any:
        return lambda x: jax.pure_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    def one(x: Any) -> Any:
        return np.asarray(x) + 1

    def two(x: Any) -> Any:
        return np.asarray(x) + 2

    assert not same(calling(one), calling(two), X).proved
    assert same(calling(one), calling(one), X).proved


class Sealed(tuple[Any, ...]):
    """A hashable parameter with something inside that no rule knows."""

    __slots__ = ()

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def test_a_parameter_that_is_not_understood_is_never_proved_even_equal_to_itself() -> None:
    strange = Primitive("strange")
    strange.def_abstract_eval(lambda x, **_: x)
    odd = Sealed((np.array([object()]),))
    proof = same(lambda x: strange.bind(x, odd=odd), lambda x: strange.bind(x, odd=odd), X)
    assert not proof.proved and any("strange" in note for note in proof.not_understood)
    assert same(lambda x: strange.bind(x, odd=3), lambda x: strange.bind(x, odd=3), X).proved
    assert not same(lambda x: strange.bind(x, odd=1), lambda x: strange.bind(x, odd=True), X).proved
    assert not same(lambda x: strange.bind(x, odd=0.0), lambda x: strange.bind(x, odd=-0.0), X).proved


def test_a_primitive_named_like_a_normal_form_is_not_taken_for_one() -> None:
    impostor = Primitive("concat")  # our name for a concatenation
    impostor.def_abstract_eval(lambda x, **_: x)
    assert not same(lambda x: impostor.bind(x)[1], lambda x: x[1], X).proved
    assert same(lambda x: impostor.bind(x)[1], lambda x: impostor.bind(x)[1], X).proved

    def strided(x: Any) -> Any:
        return lax.slice(x, (0, 0), (4, 3), (2, 1))[1]

    assert not same(strided, lambda x: x[1], X).proved
    assert same(strided, lambda x: lax.slice(x, (0, 0), (4, 3), (2, 1))[1], X).proved


def test_random_bits_drawn_under_another_layout_of_counters_are_not_proved() -> None:
    def drawn(partitionable: bool) -> Any:
        def run(key: Any) -> Any:
            with jax.threefry_partitionable(partitionable):
                return jax.random.bits(key, (4,))

        return run

    key = jax.random.key(0)
    assert same(drawn(True), drawn(True), key).proved
    assert not same(drawn(True), drawn(False), key).proved


def test_a_line_in_a_function_of_jax_is_the_line_that_calls_it() -> None:
    def twice(x: Any) -> Any:
        x = jnp.where(x > 0, x, 1.0)
        return jnp.where(x > 0, x, 2.0)

    def wrong(x: Any) -> Any:
        x = jnp.where(x > 0, x, 1.0)
        return jnp.where(x > 0, x, 3.0)

    difference = same(twice, wrong, X).difference
    assert difference is not None and difference.before is not None and difference.after is not None
    assert "float literal 3.0" in difference.what and "where the loop uses float literal 2.0" in difference.what
    assert difference.before.line == twice.__code__.co_firstlineno + 2
    assert difference.after.line == wrong.__code__.co_firstlineno + 2


def test_a_weak_type_is_reported_apart_from_the_value() -> None:
    proof = same(lambda x: (x[0, 0], 1.0), lambda x: (x[0, 0], jnp.float32(1.0)), X)
    assert proof.equal == (True, True) and proof.avals_equal == (True, False) and proof.proved


def test_programs_of_different_inputs_are_an_error_that_names_the_input() -> None:
    one, other = jax.make_jaxpr(jnp.sin)(X), jax.make_jaxpr(jnp.sin)(X[:2])
    with pytest.raises(ScanifyError, match=r"x\[0\] is float32\[4,3\].*float32\[2,3\]"):
        prove(one, other, inputs=["x[0]"])
    with pytest.raises(ScanifyError, match="one of 1 and one of 2"):
        prove(one, jax.make_jaxpr(jnp.add)(X, X))
    with pytest.raises(ScanifyError, match="as many outputs"):
        prove(one, jax.make_jaxpr(lambda x: (x, x))(X))
