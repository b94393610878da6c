"""What a target writes out computes what the loop computes: outputs, gradients, with keys and without, every policy."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.analysis.stack import CallStack, InitStack
from scanify.pipeline import Stack
from tests.emit.targets.models import (
    COLLECTED,
    KEYS,
    MAPPED,
    NUMBERS,
    PLAIN,
    SEVERAL,
    SLICES,
    WRITTEN_OUT,
    computed,
    loaded,
    model,
    rewritten,
    same,
)

POLICIES = ("none", "full", "nested", "save_all", "dots", "offload")

every_target = pytest.mark.parametrize("target", WRITTEN_OUT)


def few(values: Iterable[Any], sample: Collection[Any]) -> list[Any]:
    """Parameters of a test, all but a sample of which are left to `--whole`."""
    return [pytest.param(each, marks=() if each in sample else pytest.mark.whole) for each in values]


MODELS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "plain": (PLAIN, (), {}),
    "keys": (KEYS, (0.3,), {"key": 1}),
    "no keys": (KEYS, (), {}),
    "several": (SEVERAL, (), {}),
    "collected": (COLLECTED, (), {}),
    "slices": (SLICES, ([(0.5 * jnp.ones(3), jnp.arange(3.0) + i) for i in range(5)],), {}),
    "numbers": (NUMBERS, (jax.random.key(2),), {}),
    "mapped": (MAPPED, (jax.random.key(4),), {}),
}


@every_target
@pytest.mark.parametrize("stack", ["init", "call"])
@pytest.mark.parametrize("name", few(MODELS, ("keys", "collected", "numbers", "mapped")))
def test_a_scan_is_the_loop(name: str, stack: Stack, target: str, tmp_path: Path) -> None:
    text, args, kwargs = MODELS[name]
    after, outcome = rewritten(text, tmp_path, target, stack=stack)
    kind = InitStack if stack == "init" else CallStack
    assert outcome.applied
    assert [type(plan.stack) for plan in outcome.applied] == [kind] * len(outcome.analysis.loops)
    assert "for block" not in after
    assert "scanify" not in after
    same(computed(text, args, kwargs), computed(after, args, kwargs))


@pytest.mark.parametrize("target", WRITTEN_OUT[:2])
def test_keys_may_come_in_a_list(target: str, tmp_path: Path) -> None:
    text = MAPPED.replace("(self, x, key)", "(self, x, keys)").replace("    keys = jax.random.split", "    # ")
    after, outcome = rewritten(text, tmp_path, target)
    assert len(outcome.applied) == 2
    given = (list(jax.random.split(jax.random.key(4), 5)),)
    same(computed(text, given, {}), computed(after, given, {}))


@every_target
@pytest.mark.parametrize("policy", few(("none", "nested", "dots", "offload"), ("nested",)))
def test_every_policy_computes_the_same(policy: str, target: str, tmp_path: Path) -> None:
    after, outcome = rewritten(COLLECTED, tmp_path, target, remat=policy)
    if policy == "dots" and target != "lax":
        assert not outcome.applied
        return
    same(computed(COLLECTED, (), {}), computed(after, (), {}))


NOTHING_COLLECTED = model("""
def __call__(self, x, every=False):
    states, nothing = [] if every else None, []
    for block in self.blocks:
        if states is not None:
            states.append(x)
        x = block(x)
        nothing.append(None)
    return x, states, nothing
""")


@pytest.mark.parametrize("stack", ["init", "call"])
def test_layers_may_give_nothing_to_collect(stack: Stack, tmp_path: Path) -> None:
    after, outcome = rewritten(NOTHING_COLLECTED, tmp_path, "lax", stack=stack)
    assert outcome.applied
    found, expected = computed(after, (), {}), computed(NOTHING_COLLECTED, (), {})
    same(expected, found)
    assert jax.tree.structure(found) == jax.tree.structure(expected)


@pytest.mark.parametrize("depth", few((1, 3, 7), (7,)))
def test_chunks_may_be_uneven(depth: int, tmp_path: Path) -> None:
    after, _ = rewritten(COLLECTED, tmp_path, "lax", remat="nested")
    same(computed(COLLECTED, (), {}, depth), computed(after, (), {}, depth))


@pytest.mark.parametrize("stack", ["init", "call"])
def test_modules_with_named_axes_are_stacked_along_a_named_axis(stack: Stack, tmp_path: Path) -> None:
    pytest.importorskip("haliax")
    text = NAMED.replace("LOOP", "for block in self.blocks:\n            x = block(x)\n            sums.append(x)")
    after, outcome = rewritten(text, tmp_path, "haliax", stack=stack, remat="nested")
    assert [type(plan.stack) for plan in outcome.applied] == [InitStack if stack == "init" else CallStack]
    for want, got in zip(named(text), named(after), strict=True):
        assert jnp.allclose(want, got, rtol=1e-6, atol=1e-6)


NAMED = """\
import equinox as eqx
import haliax as hax
import jax

Embed = hax.Axis("embed", 3)
Mlp = hax.Axis("mlp", 4)


class Block(eqx.Module):
    up: hax.nn.Linear
    down: hax.nn.Linear

    def __init__(self, *, key):
        first, second = jax.random.split(key)
        self.up = hax.nn.Linear.init(Embed, Mlp, key=first)
        self.down = hax.nn.Linear.init(Mlp, Embed, key=second)

    def __call__(self, x):
        return x + self.down(hax.tanh(self.up(x)))


class Model(eqx.Module):
    blocks: list[Block]

    def __init__(self, depth, *, key):
        self.blocks = [Block(key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        sums = []
        LOOP
        return x, sums
"""


def named(text: str) -> list[Any]:
    """Outputs, and the gradient by the input, of a model of named arrays."""
    with loaded(text) as module:
        network = module.Model(4, key=jax.random.key(0))
        x = module.hax.random.normal(jax.random.key(1), (module.Embed,))
        outputs = network(x)
        gradient = eqx.filter_grad(lambda x: network(x)[0].sum().scalar())(x)
        return [leaf for leaf in jax.tree.leaves((outputs, gradient)) if eqx.is_array(leaf)]


@pytest.mark.whole
def test_each_policy_is_another_program(tmp_path: Path) -> None:
    """All but `save_all`, which is what a scan does without a policy."""
    texts = {policy: rewritten(PLAIN, tmp_path, "lax", remat=policy)[0] for policy in POLICIES}
    assert texts["none"] == texts["save_all"]
    assert len(set(texts.values())) == len(POLICIES) - 1
    saved = {}
    for policy, text in texts.items():
        with loaded(text) as module:
            network = module.Model(3, 16, key=jax.random.key(0))
            jaxpr = jax.make_jaxpr(eqx.filter_grad(lambda network, x: network(x).sum()))(network, jnp.ones(3))
            text = str(jaxpr)
            saved[policy] = (text.count("remat") + text.count("checkpoint["), "host" in text, text.count("scan["))
    assert saved["none"][0] == 0
    assert all(saved[policy][0] > 0 for policy in ("full", "nested", "dots", "offload"))
    assert [policy for policy in POLICIES if saved[policy][1]] == ["offload"]
    assert saved["nested"][2] > saved["full"][2]
