"""Traps in whole trees of parameters: as one vector, in a checkpoint, one layer at a time, or within the model."""

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import seen, slots

_ARRAYS = "eqx.filter(net, eqx.is_inexact_array)"


def _trap(name: str, *variants: Variant, expect: Expect = Expect.LIST) -> Trap:
    return Trap(name, expect, variants)


SAVED = """
def saved(model):
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    return file.getvalue()
"""
RESTORED = """
def restored(model):
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, model)
    file.seek(0)
    return eqx.tree_deserialise_leaves(file, model)
"""
OLD = """
def from_torch(model, state):
    def one(path, leaf):
        return state.get(jax.tree_util.keystr(path), leaf)

    return jax.tree_util.tree_map_with_path(one, model)
"""
DEPTHS = """
def scaled(model):
    for i in range(len(model.BLOCKS)):
        old = jax.tree.leaves(model.BLOCKS[i])[0]
        model = eqx.tree_at(lambda m: jax.tree.leaves(m.BLOCKS[i])[0], model, old / (i + 1))
    return model
"""
SPEC = """
def last_only(model):
    spec = jax.tree.map(lambda _: False, model)
    return eqx.tree_at(lambda m: m.BLOCKS[-1], spec, replace=True)
"""
GROUPS = """
def grouped(tree):
    groups = {}
    for leaf in jax.tree.leaves(tree):
        groups.setdefault(leaf.shape, []).append(leaf)
    return {str(shape): jnp.stack(leaves).std(0) for shape, leaves in groups.items()}
"""
TREES = (
    _trap(
        "one flat vector",
        slots(
            extra=f"flat, _ = jax.flatten_util.ravel_pytree({_ARRAYS})\nseen.append(jnp.cumsum(flat))",
            main="import jax.flatten_util",
        ),
        seen(
            "def probes(tree):\n    flat = jnp.concatenate([jnp.ravel(w) for w in jax.tree.leaves(tree)])\n    return flat @ jnp.arange(flat.size)",
            f"seen.append(probes({_ARRAYS}))",
        ),
        seen(
            "def chunks(tree, size=6):\n    flat = jnp.concatenate([w.ravel() for w in jax.tree.leaves(tree)])\n    return [jnp.linalg.norm(flat[i : i + size]) for i in range(0, flat.size - size, size)]",
            f"seen.append(chunks({_ARRAYS}))",
        ),
    ),
    _trap(
        "norms within the model",
        slots(
            "method",
            after="x = x + 0.01 * sum(jnp.linalg.norm(w) for w in jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array)))",
        ),
        slots("method", before="x = x * len(jax.tree.leaves(self))"),
        slots(
            "method",
            net__methods="def penalty(self):\n    return sum(jnp.sqrt(jnp.sum(w**2)) for w in jax.tree.leaves(eqx.filter(self, eqx.is_array)))\n",
            extra="seen.append(net.penalty())",
        ),
    ),
    _trap(
        "bytes of a checkpoint",
        seen(SAVED, "seen.append(len(saved(net)))"),
        slots(
            extra="seen.append(len(pickle.dumps([np.asarray(w) for w in jax.tree.leaves(eqx.filter(net, eqx.is_array))])))"
        ),
    ),
    _trap("checkpoint and back", seen(RESTORED, "seen.append(restored(net))"), expect=Expect.EITHER),
    _trap(
        "state dict of another layout",
        slots(
            "linear elastic",
            use=OLD,
            make__after="net = from_torch(net, {'.BLOCKS[0].lin.bias': jnp.ones(4), '.BLOCKS[1].lin.bias': jnp.zeros(4)})",
        ),
    ),
    _trap(
        "one layer at a time",
        slots("elastic", use=DEPTHS, make__after="net = scaled(net)"),
        slots("elastic", make__after="net = eqx.tree_at(lambda m: m.BLOCKS[0], net, net.BLOCKS[1])"),
        slots(
            "elastic",
            make__after="net = eqx.tree_at(lambda m: jax.tree.leaves(m.BLOCKS[-1]), net, replace_fn=jnp.zeros_like)",
        ),
        seen(SPEC, "seen.append(jax.tree.leaves(eqx.partition(net, last_only(net))[0]))", "elastic"),
    ),
    _trap("groups of one shape", seen(GROUPS, f"seen.append(grouped({_ARRAYS}))")),
)
