"""Ensembles: networks whose constructor is mapped over keys, so that the members' axis is in front of that of layers."""

import jax
import jax.numpy as jnp
import pytest

from scanify.verify.verdict import Status
from tests.verify.loop_model import PROVED, statuses

SOURCE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked, BlockSeq


class Block(eqx.Module):
    weight: jax.Array
    gain: jax.Array

    def __init__(self, key):
        self.weight = jax.random.normal(key, (3, 3))
        self.gain = jnp.ones(())

    def __call__(self, x):
        return x + self.gain * jnp.tanh(self.weight @ x)


class Pair(eqx.Module):
    inner: list[Block]

    def __init__(self, key):
        self.inner = [Block(k) for k in jax.random.split(key, 2)]

    def __call__(self, x):
        for block in self.inner:
            x = block(x)
        return x


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, key):
        self.layers = [Block(k) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for block in self.layers:
            x = block(x)
        return x


def make(keys):
    return eqx.filter_vmap(Net)(keys)


class Ensemble(eqx.Module):
    nets: Net

    def __init__(self, keys):
        self.nets = make(keys)

    def __call__(self, xs):
        return eqx.filter_vmap(lambda net, x: net(x), in_axes=(eqx.if_array(0), 0))(self.nets, xs)
"""
LIST, LOOP = (
    "[Block(k) for k in jax.random.split(key, 3)]",
    "        for block in self.layers:\n            x = block(x)\n",
)
INNER, WITHIN = LIST.replace("3", "2"), LOOP.replace("layers", "inner")
MAKE = "eqx.filter_vmap(Net)(keys)"
CALL = "eqx.filter_vmap(lambda net, x: net(x), in_axes=(eqx.if_array(0), 0))(self.nets, xs)"
STACK = {LIST: f"ArrayStacked.of({LIST})", LOOP: "        x = self.layers.fold_via(Block.__call__)(x)\n"}
SEQUENCE = {LIST: f"BlockSeq.of({LIST})", LOOP: STACK[LOOP]}
# In turn, as `jax.lax.map` runs them: the members are built and called one after another.
IN_TURN = SOURCE.replace(
    MAKE,
    "eqx.combine(jax.lax.map(lambda k: eqx.filter(Net(k), eqx.is_array), keys), "
    "eqx.filter(Net(keys[0]), eqx.is_array, inverse=True))",
).replace(
    CALL,
    "jax.lax.map(lambda each: eqx.combine(each[0], eqx.filter(self.nets, eqx.is_array, inverse=True))(each[1]), "
    "(eqx.filter(self.nets, eqx.is_array), xs))",
)
TWICE = SOURCE.replace(MAKE, "eqx.filter_vmap(eqx.filter_vmap(Net))(keys.reshape(2, 3))").replace(
    CALL,
    "eqx.filter_vmap(eqx.filter_vmap(lambda net, x: net(x), in_axes=(eqx.if_array(0), 0)), "
    "in_axes=(eqx.if_array(0), 0))(self.nets, xs.reshape(2, 3, 3))",
)
BY_HAND = {
    LIST: "eqx.filter_vmap(Block)(jax.random.split(key, 3))",
    LOOP: """        arrays, rest = eqx.partition(self.layers, eqx.is_array)
        x = jax.lax.scan(lambda x, each: (eqx.combine(each, rest)(x), None), x, arrays)[0]
""",
}
PAIRS = SOURCE.replace(LIST, LIST.replace("Block", "Pair"))
PAIR = {LIST.replace("Block", "Pair"): f"ArrayStacked.of({LIST.replace('Block', 'Pair')})", LOOP: STACK[LOOP]}
PAIR |= {INNER: f"ArrayStacked.of({INNER})", WITHIN: "        x = self.inner.fold_via(Block.__call__)(x)\n"}
PAIR[LOOP] = PAIR[LOOP].replace("Block", "Pair")

CASES = {
    "as many members as layers": (SOURCE, STACK, 3),
    "other numbers of members": (SOURCE, STACK, 5),
    "one member": (SOURCE, STACK, 1),
    "a sequence": (SOURCE, SEQUENCE, 3),
    "an ensemble of ensembles": (TWICE, STACK, 6),
    "members in turn": (IN_TURN, STACK, 3),
    "a stack by hand": (SOURCE, BY_HAND, 3),
    "stacks of stacks": (PAIRS, PAIR, 3),
}
BEHIND = (
    SOURCE.replace("self.gain * ", "")
    .replace("        self.gain = jnp.ones(())\n", "")
    .replace("    gain: jax.Array\n", "")
)
BEHIND = BEHIND.replace(MAKE, "eqx.filter_vmap(Net, out_axes=1)(keys)").replace("if_array(0), 0)", "if_array(1), 0)")
UNKNOWN = {
    "as many members as layers, as wide": (BEHIND, 3),
    "as many members as layers": (BEHIND.replace("(3, 3)", "(4, 4)"), 3),
    "as many members as layers are wide": (BEHIND.replace("split(key, 3)", "split(key, 4)"), 3),
    "other numbers of members": (BEHIND, 5),
    "one member, one layer": (BEHIND.replace("split(key, 3)", "split(key, 1)"), 1),
}


def ensemble(module, members, width=3):
    def build():
        return (
            module.Ensemble(jax.random.split(jax.random.key(0), members)),
            (jnp.linspace(-1.0, 1.0, width * members).reshape(members, width),),
            {},
        )

    return build


@pytest.fixture
def verified(load_twice):
    def run(name, wrong=None):
        from scanify.verify.compare.compare import compare_case

        source, changes, members = CASES[name]
        two = load_twice(source, changes | (wrong or {}))
        options = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
        return compare_case("case", ensemble(two.before, members), ensemble(two.after, members), **options)

    return run


@pytest.mark.parametrize("name", CASES)
def test_a_rewrite_within_an_ensemble_is_proved(verified, name):
    result = verified(name)
    assert statuses(result) == PROVED and result.good
    assert {result.parameters.status, result.tangents.status, result.batched.status} == {Status.PROVED}


def test_layers_in_another_order_are_not(verified):
    back = {LIST: f"ArrayStacked.of({LIST.replace('(key, 3)', '(key, 3)[::-1]')})"}
    result = verified("as many members as layers", back)
    assert not result.good and result.parameters.status is Status.FAILED


def test_ensembles_of_stacks_become_ensembles_of_lists(load_twice):
    from scanify.verify.compare.compare import compare_case

    two = load_twice(SOURCE, STACK)
    options = {"policies": (None,), "requested": None, "abstract": True, "measure": False}
    result = compare_case("case", ensemble(two.after, 3), ensemble(two.before, 3), **options)
    assert statuses(result) == PROVED and result.good


@pytest.mark.parametrize("kind", ["ArrayStacked", "BlockSeq"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_members_behind_the_layers_say_nothing(load_twice, name, kind):
    """The rewrite is right: its arrays are those of the layers, in another order, which the shapes may hide."""
    from scanify.verify.compare.compare import compare_case

    source, members = UNKNOWN[name]
    layers = next(line for line in source.splitlines() if "self.layers =" in line).partition("= ")[2]
    two = load_twice(source, {layers: f"{kind}.of({layers})", LOOP: STACK[LOOP]})
    width = 4 if "(4, 4)" in source else 3
    options = {"policies": (None,), "requested": None, "abstract": False, "measure": False}
    result = compare_case("case", *(ensemble(each, members, width) for each in (two.before, two.after)), **options)
    assert (result.parameters.status, result.good) == (Status.NOT_RUN, False)
    assert "out_axes" in result.parameters.reason
    built = [ensemble(each, members, width)() for each in (two.before, two.after)]
    assert jnp.allclose(*(model(*args) for model, args, _ in built), atol=1e-6)
