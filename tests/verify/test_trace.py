"""What is read from the traced programs: gradients of the shared leaves, and the bytes kept for the backward pass."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.nn import ArrayStacked
from scanify.verify.cases.build import build
from scanify.verify.compare.findings import nothing_scanned, remat_findings
from scanify.verify.programs.pair import pair
from scanify.verify.programs.trace import count_scans, differentiated, gradients, maps_layers, trace, version


class Block(eqx.Module):
    w: jax.Array
    step: jax.Array

    def __call__(self, x):
        return jnp.sin(x * self.w)


class Model(eqx.Module):
    layers: object

    def __call__(self, x):
        if isinstance(self.layers, ArrayStacked):
            return self.layers.fold_via(Block.__call__)(x)
        for layer in self.layers:
            x = layer(x)
        return x


def built(stack, policy=False, n=4):
    layers = [Block(jnp.full(8, 1.0 + i), jnp.array(i)) for i in range(n)]
    held = ArrayStacked.of(layers, gradient_checkpointing=policy) if stack else layers
    return build(lambda: (Model(held), (jnp.linspace(0.0, 1.0, 8),)), abstract=False)


def test_gradients_are_those_of_the_leaves_of_the_original():
    both = pair(built(False), built(True))
    cotangent = [jnp.ones(8)]
    loop, scan = (gradients(v, both.leaves, cotangent)[:5] for v in (both.before, both.after))
    names = [both.found.names[i] for i in differentiated(both.leaves)]
    assert names == ["layers[0].w", "layers[1].w", "layers[2].w", "layers[3].w", "x"]
    expected = jax.grad(lambda ws, x: sum_of(ws, x), argnums=(0, 1))(
        [both.leaves[2 * i] for i in range(4)], both.leaves[-1]
    )
    for a, b, c in zip(loop, scan, [*expected[0], expected[1]], strict=True):
        assert jnp.allclose(a, c, rtol=1e-6, atol=0)
        assert jnp.allclose(b, c, rtol=1e-6, atol=0)


def sum_of(ws, x):
    for w in ws:
        x = jnp.sin(x * w)
    return x.sum()


def test_saved_bytes_of_a_loop_are_counted_once_and_without_inputs():
    original = built(False, n=1)
    traced = trace(version(original), [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in original.arrays])
    # One layer keeps x and w, which are inputs, and cos(x * w): 8 floats.
    assert traced.saved_bytes == 8 * 4


def test_saved_bytes_of_a_scan_do_not_count_the_stacked_parameters():
    both = pair(built(False), built(True))
    full = trace(both.after, both.avals, "full")
    # Each of 4 layers keeps its carry, 8 floats; w is an input.
    assert full.saved_bytes == 4 * 8 * 4
    assert trace(both.after, both.avals, False).saved_bytes > full.saved_bytes


def test_what_is_offloaded_to_the_host_does_not_count():
    both = pair(built(False), built(True))
    assert trace(both.after, both.avals, "offload").saved_bytes <= trace(both.after, both.avals, "full").saved_bytes


def test_another_policy_than_the_one_asked_for_is_a_finding():
    full, nested = (pair(built(False, n=64), built(True, policy, n=64)) for policy in ("full", "nested"))
    asked = trace(full.after, full.avals, "nested")
    assert asked.saved_bytes < trace(full.after, full.avals, "full").saved_bytes
    assert remat_findings("nested", asked, trace(nested.after, nested.avals)) == ()
    (finding,) = remat_findings("nested", asked, trace(full.after, full.avals))
    assert "was to use remat 'nested' but does not" in finding


def test_scans_are_counted_inside_other_calls():
    def inner(x):
        return jax.lax.scan(lambda c, _: (c + 1, None), x, length=3)[0]

    assert count_scans(jax.make_jaxpr(jax.jit(lambda x: inner(inner(x))))(1.0)) == 2
    assert count_scans(jax.make_jaxpr(lambda x: x + 1)(1.0)) == 0


def test_a_map_over_layers_is_no_loop_that_was_left():
    layers = [eqx.nn.Linear(2, 2, key=jax.random.key(at)) for at in range(3)]

    def mapped(x):
        return ArrayStacked.of(layers).map_via(eqx.nn.Linear.__call__)(x)

    loop, jitted, by_hand, ours = (
        SimpleNamespace(forward=jax.make_jaxpr(fn)(jnp.ones(2)))
        for fn in (lambda x: [layer(x) for layer in layers], jax.jit(mapped), jax.vmap(lambda y: y * 2), mapped)
    )
    assert [maps_layers(one.forward) for one in (loop, by_hand, ours, jitted)] == [False, False, True, True]
    assert nothing_scanned(loop, [ours], [3]) == nothing_scanned(loop, [jitted], [3]) == ()
    assert nothing_scanned(loop, [loop], [3]) != ()
    assert nothing_scanned(ours, [ours], [3]) != ()


def test_an_abstract_build_allocates_nothing_and_has_the_same_avals():
    def case():
        return Model([Block(jnp.ones((4096, 4096, 4096)), jnp.array(0))]), (jnp.ones(3),)

    abstract = build(case, abstract=True)
    assert [(x.shape, str(x.dtype)) for x in abstract.arrays] == [
        ((4096, 4096, 4096), "float32"),
        ((), "int32"),
        ((3,), "float32"),
    ]
    assert all(isinstance(x, jax.ShapeDtypeStruct) for x in abstract.arrays)


@pytest.mark.parametrize("policy", ["full", "nested", "save_all", True, False, None])
def test_every_policy_traces_to_the_same_inputs_and_outputs(policy):
    both = pair(built(False), built(True))
    before, after = trace(both.before, both.avals), trace(both.after, both.avals, policy)
    for one, other in ((before.forward, after.forward), (before.gradient, after.gradient)):
        assert [a.str_short() for a in one.in_avals] == [a.str_short() for a in other.in_avals]
        assert [a.str_short() for a in one.out_avals] == [a.str_short() for a in other.out_avals]
