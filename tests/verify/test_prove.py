"""The prover: loops and scans of real layers, every policy, and wrong rewrites that it must not prove.

The plain Python loop is the oracle. Each mutant is a mistake people make; for each the words of the difference are fixed.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Primitive

from scanify.errors import ScanifyError
from scanify.verify.prove import Proof, prove


def _load(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


blocks = _load("blocks")
POLICIES = jax.checkpoint_policies
SCANS = {
    "no remat": blocks.scan(),
    "full remat": blocks.scan("full"),
    "nested remat with a remainder": blocks.scan("full", chunk=2),
    "nested remat of one chunk": blocks.scan("full", chunk=5),
    "nested without inner remat": blocks.scan(chunk=2),
    "policy everything": blocks.scan(POLICIES.everything_saveable),
    "policy nothing": blocks.scan(POLICIES.nothing_saveable),
    "policy dots": blocks.scan(POLICIES.dots_saveable),
    "policy dots with no batch dims": blocks.scan(POLICIES.dots_with_no_batch_dims_saveable),
    "policy offload": blocks.scan(POLICIES.offload_dot_with_no_batch_dims("device", "pinned_host")),
    "policy names": blocks.scan(POLICIES.save_only_these_names("nothing has this name")),
}


def own(file: str) -> str | None:
    """Files of the tests are the user's source."""
    return Path(file).name if Path(file).parent == Path(__file__).parent else None


def compare(before: Any, after: Any, args: Any, *, gradients: bool = False) -> Proof:
    trace = blocks.traced_vjp if gradients else blocks.traced
    old, new = trace(before, args), trace(after, args)
    _, _, names, layers = blocks.leaves_of(args)
    extra = len(old.in_avals) - len(names)
    return prove(old, new, inputs=names + ["cotangent"] * extra, layers=layers + [None] * extra, files=own)


def same(before: Any, after: Any, *inputs: Any) -> Proof:
    return prove(jax.make_jaxpr(before)(*inputs), jax.make_jaxpr(after)(*inputs), files=own)


@pytest.mark.parametrize("name", SCANS)
def test_outputs_of_a_scan_are_proved_equal_to_the_loop(name: str) -> None:
    proof = compare(blocks.loop, SCANS[name], blocks.arguments())
    assert proof.proved and all(proof.avals_equal) and proof.difference is None and proof.not_understood == ()


@pytest.mark.parametrize("name", SCANS)
def test_gradients_of_a_scan_are_proved_equal_to_the_loop(name: str) -> None:
    proof = compare(blocks.loop, SCANS[name], blocks.arguments(), gradients=True)
    assert proof.proved, proof.difference
    assert all(proof.avals_equal) and len(proof.equal) > blocks.LAYERS * 8


@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_raw_keys_split_for_the_layers_are_proved(gradients: bool) -> None:
    assert compare(blocks.loop, blocks.scan("full", chunk=2), blocks.arguments(raw=True), gradients=gradients).proved


def test_two_scans_under_different_policies_are_proved_equal_to_each_other() -> None:
    assert compare(blocks.scan("full"), blocks.scan("full", chunk=2), blocks.arguments(), gradients=True).proved


# Mutants ------------------------------------------------------------------------------------------------------------------


def scanned(layers: Any, x: Any, mask: Any, key: Any, *, rows: Any = None, keys: Any = None, end: bool = True) -> Any:
    """A scan that takes its layers and keys from elsewhere than it should."""
    arrays, static = blocks.stacked(layers if rows is None else [layers[i] for i in rows])
    keys = jax.random.split(key, len(layers)) if keys is None else keys(key, len(layers))

    def body(carry: Any, row: Any) -> Any:
        return eqx.combine(row[0], static)(carry, mask, row[1]), None

    x = lax.scan(body, x, (arrays, keys))[0]
    return x * 2.0 if end else x


def swapped_attention(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Layer 3 reads one weight of layer 2."""
    layers = list(layers)
    layers[3] = eqx.tree_at(lambda b: b.attention.out.weight, layers[3], layers[2].attention.out.weight)
    return blocks.scan()(layers, x, mask, key)


def scanned_mask(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Each layer sees one row of the mask, because it has as many rows as there are layers."""
    arrays, static = blocks.stacked(layers)

    def body(carry: Any, row: Any) -> Any:
        return eqx.combine(row[0], static)(carry, row[1], row[2]), None

    return lax.scan(body, x, (arrays, mask, jax.random.split(key, len(layers))))[0] * 2.0


def not_carried(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    """Every layer is applied to the first input."""
    arrays, static = blocks.stacked(layers)
    step = lambda row: eqx.combine(row[0], static)(x, mask, row[1])  # noqa: E731
    return lax.scan(lambda c, row: (step(row), None), x, (arrays, jax.random.split(key, len(layers))))[0] * 2.0


def no_last_statement(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, end=False)


def one_key(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    def repeated(key: Any, n: int) -> Any:
        return jnp.stack([jax.random.split(key, n)[0]] * n)

    return scanned(layers, x, mask, key, keys=repeated)


def reversed_order(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, rows=[4, 3, 2, 1, 0])


def shifted_keys(layers: Any, x: Any, mask: Any, key: Any) -> Any:
    return scanned(layers, x, mask, key, keys=lambda key, n: jnp.roll(jax.random.split(key, n), 1))


def without_layer(index: int) -> Any:
    def run(layers: Any, x: Any, mask: Any, key: Any) -> Any:
        keep = [i for i in range(len(layers)) if i != index]
        keys = jax.random.split(key, len(layers))
        for i in keep:
            x = layers[i](x, mask, keys[i])
        return x * 2.0

    return run


MUTANTS = {
    "reversed order": (reversed_order, 0, "reads .blocks[4].", "where the loop reads .blocks[0]."),
    "one weight of the layer before": (
        swapped_attention,
        3,
        "reads .blocks[2].attention.out.weight where the loop reads .blocks[3].attention.out.weight",
        "",
    ),
    "one key for all layers": (one_key, 1, "takes [0] of random_split", "where the loop takes [1]"),
    "keys shifted by one": (shifted_keys, 0, "takes [4] of random_split", "where the loop takes [0]"),
    "dropped last layer": (without_layer(4), 4, "is never applied: .blocks[4].", "not read"),
    "dropped middle layer": (without_layer(2), 2, "is never applied: .blocks[2].", "not read"),
    "scanned mask": (scanned_mask, 0, "uses [0] of mask", "where the loop uses mask"),
    "missing last statement": (no_last_statement, None, "to which the loop then applies mul", ""),
    "carry not updated": (not_carried, None, "", ""),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("gradients", [False, True], ids=["outputs", "gradients"])
def test_no_wrong_rewrite_is_proved(name: str, gradients: bool) -> None:
    proof = compare(blocks.loop, MUTANTS[name][0], blocks.arguments(), gradients=gradients)
    assert not proof.proved and proof.difference is not None


@pytest.mark.parametrize("name", MUTANTS)
def test_the_difference_names_layer_line_and_cause(name: str) -> None:
    mutant, layer, *words = MUTANTS[name]
    difference = compare(blocks.loop, mutant, blocks.arguments()).difference
    assert difference is not None and difference.before is not None and difference.after is not None
    for word in words:
        assert word in difference.what
    if layer is not None:
        assert difference.before.layer == layer and f"layer {layer}" in difference.what
    assert difference.before.file == "blocks.py" and difference.before.line is not None
    assert difference.after.file in ("blocks.py", "test_prove.py")


def test_a_drop_rate_taken_from_layer_0_is_named_with_both_numbers() -> None:
    args = blocks.arguments(rates=(0.1, 0.1, 0.2, 0.3, 0.4))

    def same_rate(layers: Any, *rest: Any) -> Any:
        return blocks.loop([eqx.tree_at(lambda b: b.dropout.p, layer, 0.1) for layer in layers], *rest)

    difference = compare(blocks.loop, same_rate, args).difference
    assert difference is not None and difference.before is not None
    assert difference.what == "layer 2: uses float literal 0.1 where the loop uses float literal 0.2"
    assert difference.before.layer == 2
    assert compare(blocks.loop, blocks.scan(), args).proved is False


# Normal forms: each pair needs one rule, each near miss is what a wrong version of it would let through ---------------


X = (jnp.arange(12.0) * 0.37 + 0.1).reshape(4, 3).at[3, 0].set(-0.0)

PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "stack, then index": (lambda x: jnp.stack([x, x + 1, x * 2])[1], lambda x: x + 1, lambda x: x * 2),
    "rows stacked again": (lambda x: jnp.stack([x[i] for i in range(4)]), lambda x: x, lambda x: x[::-1]),
    "stack along axis 1": (
        lambda x: jnp.stack([x, x + 1], axis=1),
        lambda x: jnp.moveaxis(jnp.stack([x, x + 1]), 0, 1),
        lambda x: jnp.stack([x + 1, x], axis=1),
    ),
    "chunks": (
        lambda x: jnp.concatenate([x, x + 1]).reshape(4, 2, 3)[2, 1],
        lambda x: (x + 1)[1],
        lambda x: (x + 1)[0],
    ),
    "chunks put together": (lambda x: x.reshape(2, 2, 3).reshape(4, 3)[3], lambda x: x[3], lambda x: x[2]),
    "row of chunks": (lambda x: x.reshape(2, 2, 3)[1, 0], lambda x: x[2], lambda x: x[1]),
    "two transposes": (lambda x: x.T.T, lambda x: x, lambda x: x.reshape(3, 4).T),
    "row of a transpose": (lambda x: x.T[1], lambda x: x[:, 1], lambda x: x[:, 2]),
    "dynamic index": (
        lambda x: lax.dynamic_index_in_dim(x, jnp.int32(2), keepdims=False),
        lambda x: x[2],
        lambda x: x[1],
    ),
    "negative index": (lambda x: x[jnp.int32(-1)], lambda x: x[3], lambda x: x[1]),
    "take of constant rows": (lambda x: x[jnp.array([2, 0])], lambda x: jnp.stack([x[2], x[0]]), lambda x: x[::2]),
    "row set": (lambda x: x.at[1].set(7.0)[1:3][1], lambda x: x[2], lambda x: x[3]),
    "row updated in place": (
        lambda x: lax.dynamic_update_slice(x, x[:1] + 1, (2, 0)),
        lambda x: jnp.concatenate([x[:2], x[:1] + 1, x[3:]]),
        lambda x: jnp.concatenate([x[:1], x[:1] + 1, x[2:]]),
    ),
    "padding": (
        lambda x: jnp.pad(x, ((1, 2), (0, 0)))[1:5],
        lambda x: x,
        lambda x: jnp.pad(x, ((2, 1), (0, 0)))[1:5],
    ),
    "broadcast row": (
        lambda x: jnp.broadcast_to(x[0], (4, 3))[2],
        lambda x: x[0],
        lambda x: jnp.broadcast_to(x, (2, 4, 3))[0, 1],
    ),
    "repeated row": (lambda x: jnp.stack([x[0]] * 3), lambda x: jnp.broadcast_to(x[0], (3, 3)), lambda x: x[:3]),
    "flip": (lambda x: jnp.flip(x, 0)[0], lambda x: x[3], lambda x: x[0]),
    "cast stack": (
        lambda x: jnp.stack([x, x + 1]).astype(jnp.float16)[1],
        lambda x: (x + 1).astype(jnp.float16),
        lambda x: x.astype(jnp.float16) + 1,
    ),
    "split": (lambda x: jnp.split(x, 2)[1], lambda x: x[2:], lambda x: x[:2]),
    "unit axes": (lambda x: x[:, None, :, None].squeeze(), lambda x: x, lambda x: x[:, ::-1]),
    "scan in reverse": (
        lambda x: lax.scan(lambda c, r: (c * 2 + r, c), x[0], x, reverse=True)[1][0],
        lambda x: ((x[0] * 2 + x[3]) * 2 + x[2]) * 2 + x[1],
        lambda x: ((x[0] * 2 + x[0]) * 2 + x[1]) * 2 + x[2],
    ),
    "index from a scanned range": (
        lambda x: lax.scan(lambda c, i: (c + x[i], None), x[0], jnp.arange(3))[0],
        lambda x: x[0] + x[0] + x[1] + x[2],
        lambda x: x[0] + x[0] + x[1] + x[3],
    ),
    "branch of a known index": (
        lambda x: lax.cond(jnp.int32(2) > 1, jnp.sin, jnp.cos, x),
        jnp.sin,
        jnp.cos,
    ),
    "branches that agree": (
        lambda x: lax.cond(x[0, 0] > 0, lambda y: y + 1, lambda y: jax.jit(lambda z: z + 1)(y), x),
        lambda x: x + 1,
        lambda x: x + 2,
    ),
    "choice of equal values": (lambda x: jnp.where(x > 0, x, x), lambda x: x, lambda x: jnp.where(x > 0, x, -x)),
    "jit": (lambda x: jax.jit(lambda y: y * 2)(x), lambda x: x * 2, lambda x: x * 3),
    "custom derivative": (jax.nn.relu, lambda x: jnp.maximum(x, 0.0), lambda x: jnp.maximum(x, 1.0)),
    "rounding to own precision": (
        lambda x: lax.reduce_precision(x, 8, 23),
        lambda x: x,
        lambda x: lax.reduce_precision(x, 8, 7),
    ),
    "transpose of a repeated row": (
        lambda x: jnp.broadcast_to(x[:, 0], (3, 4)).T,
        lambda x: jnp.stack([x[:, 0]] * 3, axis=1),
        lambda x: jnp.stack([x[:, 0], x[:, 0], x[:, 1]], axis=1),
    ),
    "row of a choice": (
        lambda x: lax.cond(x[0, 0] > 0, lambda: jnp.stack([x[0], x[1]]), lambda: x[:2] * 2)[1],
        lambda x: lax.cond(x[0, 0] > 0, lambda: x[1], lambda: (x[:2] * 2)[1]),
        lambda x: lax.cond(x[0, 0] > 0, lambda: x[0], lambda: (x[:2] * 2)[1]),
    ),
    "name for a policy": (lambda x: checkpoint_name(x, "a") * 2, lambda x: x * 2, lambda x: x),
    "zeros and reductions": (
        lambda x: jnp.zeros((4, 3)).sum(0) + x,
        lambda x: jnp.zeros(3) + x,
        lambda x: jnp.full(3, -0.0) + x,
    ),
    "scan of length 0": (lambda x: lax.scan(lambda c, r: (c + r, r), x[0], x[:0])[0], lambda x: x[0], lambda x: x[1]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_spellings_of_a_value_are_proved_and_a_near_miss_is_not(name: str) -> None:
    one, other, miss = PAIRS[name]
    np.testing.assert_allclose(one(X), other(X), rtol=1e-6)
    assert same(one, other, X).proved
    assert np.asarray(one(X)).tobytes() != np.asarray(miss(X)).tobytes(), "the near miss must be wrong"
    assert not same(one, miss, X).proved


NEVER = {
    "zero times x": (lambda x: x * 0.0, lambda x: jnp.zeros_like(x)),
    "x plus zero": (lambda x: x + 0.0, lambda x: x),
    "minus zero": (lambda x: x * -0.0, lambda x: x * 0.0),
    "sum in another order": (lambda x: (x[0] + x[1]) + x[2], lambda x: x[0] + (x[1] + x[2])),
    "boolean for a number": (lambda x: x + True, lambda x: x + 1.5),
    "another axis": (lambda x: x[:3].sum(0), lambda x: x[:3].sum(1)),
    "x minus x": (lambda x: x - x, lambda x: jnp.zeros_like(x)),
    "round trip through a smaller dtype": (lambda x: x.astype(jnp.float16).astype(jnp.float32), lambda x: x),
    "clamped index": (lambda x: lax.dynamic_slice(x, (3, 0), (2, 3)), lambda x: jnp.concatenate([x[3:], x[:1]])),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_is_not_the_same_bit_for_bit_is_never_proved(name: str) -> None:
    assert not same(*NEVER[name], X).proved


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
    assert same(vjp_of(shared_loop), vjp_of(scan), X, ws, X).proved
    wrong = lambda x, ws: scan(x, ws[::-1])  # noqa: E731
    assert not same(vjp_of(shared_loop), vjp_of(wrong), X, ws, X).proved


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
    assert same(before, after, X, ws).proved and same(vjp_of(before), vjp_of(after), X, ws, cts).proved
    assert same(before, shifted, X, ws).equal == (True, False)
    assert not same(vjp_of(before), vjp_of(shifted), X, ws, cts).proved


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
