"""What the target lax writes computes what the loop computes, and fails where the loop would have done something else."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.analysis.plan import CallStack, InitStack, Plan, Refusal
from scanify.pipeline import Stack
from tests.emit.targets.models import loaded, model, reason, rewritten

POLICIES = ("none", "full", "nested", "save_all", "dots", "offload")

PLAIN = model("""
def __call__(self, x):
    for block in self.blocks:
        x = block(x)
    return x
""")
KEYS = model("""
def __call__(self, x, shift=0.1, *, key=None):
    keys = [None] * len(self.blocks) if key is None else jax.random.split(key, len(self.blocks))
    for block, k in zip(self.blocks, keys):
        x = block(x, shift, key=k)
    return x
""")
SEVERAL = model("""
def __call__(self, x):
    total = 0.0
    for block in self.blocks:
        x = block(x)
        total = total + jnp.sum(x)
    return x, total
""")
COLLECTED = model("""
def __call__(self, x):
    states, sums = (), []
    for block in self.blocks:
        states += (x,)
        x = block(x)
        sums.append({"sum": x.sum(), "state": x})
    return x, states, sums
""")
SLICES = model("""
def __call__(self, x, caches):
    for block, (a, b) in zip(self.blocks, caches, strict=True):
        x = block(x, a) + b
    return x
""")
MODELS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "plain": (PLAIN, (), {}),
    "keys": (KEYS, (0.3,), {"key": 1}),
    "no keys": (KEYS, (), {}),
    "several": (SEVERAL, (), {}),
    "collected": (COLLECTED, (), {}),
    "slices": (SLICES, ([(0.5 * jnp.ones(3), jnp.arange(3.0) + i) for i in range(5)],), {}),
}


def apart(tree: Any) -> list[Any]:
    """The arrays of a model, of a list of layers as of a stack of them."""

    def stacked(node: Any) -> Any:
        return jax.tree.map(lambda *rows: jnp.stack(rows), *node) if isinstance(node, list) and node else node

    arrays = eqx.filter(tree, eqx.is_array)
    return jax.tree.leaves(jax.tree.map(stacked, arrays, is_leaf=lambda node: isinstance(node, list)))


def computed(text: str, args: tuple[Any, ...], kwargs: dict[str, Any], depth: int = 5) -> tuple[Any, Any]:
    """The outputs and the gradients of all of their sums."""
    with loaded(text) as module:
        network = module.Model(3, depth, key=jax.random.key(0))
        named = {name: jax.random.key(value) for name, value in kwargs.items()}

        def loss(network: Any, x: Any) -> tuple[Any, Any]:
            outputs = network(x, *args, **named)
            return sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(outputs)), outputs

        x = jnp.linspace(-1.0, 1.0, 3)
        gradients, outputs = eqx.filter_grad(loss, has_aux=True)(network, x)
        return outputs, apart(gradients)


def same(loop: Any, scan: Any) -> None:
    assert jax.tree.structure(loop) == jax.tree.structure(scan)
    assert len(jax.tree.leaves(loop)) > 0
    for expected, got in zip(jax.tree.leaves(loop), jax.tree.leaves(scan), strict=True):
        assert (jnp.shape(expected), jnp.asarray(expected).dtype) == (jnp.shape(got), jnp.asarray(got).dtype)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("stack", ["init", "call"])
@pytest.mark.parametrize("name", MODELS)
def test_a_scan_is_the_loop(name: str, stack: Stack, tmp_path: Path) -> None:
    text, args, kwargs = MODELS[name]
    after, outcome = rewritten(text, tmp_path, "lax", stack=stack)
    (plan,) = outcome.applied
    assert isinstance(plan.stack, InitStack if stack == "init" else CallStack)
    assert "for block" not in after.partition("class Model")[2].replace("[Block(width, key=k) for k", "")
    assert "jax.lax.scan" in after
    assert "scanify" not in after
    same(computed(text, args, kwargs), computed(after, args, kwargs))


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_computes_the_same(policy: str, tmp_path: Path) -> None:
    after, _ = rewritten(COLLECTED, tmp_path, "lax", remat=policy)
    same(computed(COLLECTED, (), {}), computed(after, (), {}))


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 7])
def test_chunks_may_be_uneven(depth: int, tmp_path: Path) -> None:
    after, _ = rewritten(COLLECTED, tmp_path, "lax", remat="nested")
    same(computed(COLLECTED, (), {}, depth), computed(after, (), {}, depth))


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


# -- loud where the loop would have done something else ---------------------------------------------------------------


def changed(network: Any, at: int, **fields: Any) -> Any:
    """The model with other values in one of its layers."""
    layer = network.blocks[at]
    for name, value in fields.items():
        object.__setattr__(layer, name, value)
    return network


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"rate": 0.25}, "expected layers that differ in the values of arrays alone"),
        ({"weight": jnp.ones((3, 3), jnp.bfloat16)}, "expected layers that differ in the values of arrays alone"),
        ({"weight": jnp.ones((1, 3))}, "expected layers that differ in the values of arrays alone"),
        ({"weight": 2.0}, "expected layers that differ in the values of arrays alone"),
    ],
)
def test_layers_that_turn_out_to_differ_are_refused_by_the_program(
    fields: dict[str, Any], said: str, tmp_path: Path
) -> None:
    after, _ = rewritten(PLAIN, tmp_path, "lax", stack="call")
    with loaded(after) as module:
        network = module.Model(3, 4, key=jax.random.key(0))
        assert network(jnp.ones(3)).shape == (3,)
        with pytest.raises(ValueError, match=said):
            changed(network, 2, **fields)(jnp.ones(3))


def test_arrays_without_a_dtype_of_their_own_are_refused_by_the_program(tmp_path: Path) -> None:
    after, _ = rewritten(PLAIN, tmp_path, "lax", stack="call")
    with loaded(after) as module:
        network = module.Model(3, 2, key=jax.random.key(0))
        for at in range(2):
            changed(network, at, weight=jnp.asarray(0.5))
        with pytest.raises(ValueError, match="expected arrays of a named dtype"):
            network(jnp.ones(3))


@pytest.mark.parametrize("stack", ["init", "call"])
@pytest.mark.parametrize("given", [[None] * 2, [None] * 5, jax.random.split(jax.random.key(0), 5)], ids=["2", "5", "k"])
def test_another_number_of_keys_than_layers_is_refused_by_the_program(stack: Stack, given: Any, tmp_path: Path) -> None:
    text = model("""
def __call__(self, x, keys):
    for block, k in zip(self.blocks, keys):
        x = block(x, key=k)
    return x
""")
    after, _ = rewritten(text, tmp_path, "lax", stack=stack)
    with loaded(after) as module:
        network = module.Model(3, 4, key=jax.random.key(0))
        with pytest.raises(ValueError, match=r"zip\(\) argument|expected 4 values"):
            network(jnp.ones(3), given)


def test_no_layers_are_refused_by_the_program(tmp_path: Path) -> None:
    after, _ = rewritten(PLAIN, tmp_path, "lax", stack="call")
    with loaded(after) as module, pytest.raises(ValueError, match="expected at least one layer"):
        module.Model(3, 0, key=jax.random.key(0))(jnp.ones(3))


# -- refused, in its own words ----------------------------------------------------------------------------------------

REFUSED = {
    "an exit": (
        "for i, block in enumerate(self.blocks):\n        if i == 2:\n            break\n        x = block(x)",
        "may end before its last one",
    ),
    "side by side": ("x = jnp.stack([block(x) for block in self.blocks])", "side by side"),
    "nothing yet": (
        "last = None\n    for block in self.blocks:\n        x = block(x)\n        last = x",
        "what goes from one to the next may",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_scan_has_no_words_for_is_refused(name: str, tmp_path: Path) -> None:
    body, said = REFUSED[name]
    text = model(f"\ndef __call__(self, x):\n    {body}\n    return x, {'last' if 'last' in body else 'x'}\n")
    after, outcome = rewritten(text, tmp_path, "lax")
    assert after == text
    assert said in reason(outcome)


USED = {
    "by number": "self.blocks[0]",
    "to walk": "[b for b in self.blocks]",
    "by another name": "getattr(self, 'blocks')",
    "in a test": "bool(self.blocks)",
}


@pytest.mark.parametrize("name", USED)
def test_a_list_that_is_used_as_one_stays_a_list(name: str, tmp_path: Path) -> None:
    text = PLAIN + f"\n    def other(self):\n        return {USED[name]}\n"
    _, outcome = rewritten(text, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [CallStack]
    _, outcome = rewritten(text, tmp_path, "lax", stack="init")
    assert not outcome.applied
    if name != "by another name":  # which no target builds stacked
        assert "is no list, and model.py" in reason(outcome)


def test_another_class_may_have_a_field_of_the_name(tmp_path: Path) -> None:
    other = (
        "\n\nclass Other(eqx.Module):\n    blocks: list[int]\n\n    def first(self):\n        return self.blocks[0]\n"
    )
    _, outcome = rewritten(PLAIN + other, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [InitStack]
    heir = "\n\nclass Heir(Model):\n    def first(self):\n        return self.blocks[0]\n"
    _, outcome = rewritten(PLAIN + heir, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [CallStack]


def test_all_loops_over_a_list_are_rewritten_or_the_list_stays(tmp_path: Path) -> None:
    second = (
        "\n    def other(self, x):\n        for block in self.blocks:\n            x = block(x) * 2\n        return x\n"
    )
    after, outcome = rewritten(PLAIN + second, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [InitStack, InitStack]
    assert after.count("def stack_layers(") == 1
    early = second.replace("            x =", "            if x.ndim == 2:\n                break\n            x =")
    _, outcome = rewritten(PLAIN + early, tmp_path, "lax")
    assert [type(loop.stack) for loop in outcome.applied] == [CallStack]
    assert [type(loop) for loop in outcome.analysis.loops] == [Plan, Refusal]


# -- names and layout -------------------------------------------------------------------------------------------------


def test_names_of_the_file_are_kept_out_of_the_way(tmp_path: Path) -> None:
    text = PLAIN.replace("import jax\n", "import jax as j\n")
    text = text.replace(" jax.random", " j.random").replace(": jax.Array", ": j.Array")
    text = text.replace("import equinox as eqx\n", "import equinox as eqx\nfrom equinox import partition as static\n")
    text = text.replace("class Block", "def stack_layers(a):\n    return a\n\n\nclass Block", 1).replace(
        "        for block", "        layers = static\n        layer = layers\n        for block"
    )
    after, _ = rewritten(text, tmp_path, "lax", stack="call")
    assert "def stack_layers_2(" in after
    assert "import jax\n" not in after
    same(computed(text, (), {}), computed(after, (), {}))


@pytest.mark.parametrize(("old", "new"), [("    ", "  "), ("    ", "\t"), ("\n", "\r\n")])
def test_the_layout_is_that_of_the_file(old: str, new: str, tmp_path: Path) -> None:
    text = KEYS.replace(old, new)
    after, outcome = rewritten(text, tmp_path, "lax", remat="nested")
    assert len(outcome.applied) == 1
    assert after.replace(new, "").count(old) == 0
    same(computed(text, (), {}), computed(after, (), {}))


def test_what_is_missing_is_imported(tmp_path: Path) -> None:
    layer = PLAIN.replace("import equinox as eqx\nimport jax\n", "import equinox\nimport jax.numpy\n")
    layer = layer.replace("eqx.", "equinox.")
    after, _ = rewritten(layer, tmp_path, "lax", stack="call")
    assert "import equinox as eqx" not in after
    assert "equinox.partition(" in after
    same(computed(layer, (), {}), computed(after, (), {}))
