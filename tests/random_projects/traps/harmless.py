"""What looks like a trap and is none: the loops beside it are rewritten."""

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import seen, slots

_ARRAYS = "eqx.filter(net, eqx.is_inexact_array)"


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.KEPT, variants)


SGD = """
def stepped(tree):
    grads = jax.tree.map(jnp.cos, tree)
    return jax.tree.map(lambda p, g: p - 0.1 * g, tree, grads)
"""
ADAM = """
def stepped(tree):
    mu = jax.tree.map(lambda g: 0.1 * g, tree)
    nu = jax.tree.map(lambda g: 0.001 * g**2, tree)
    return jax.tree.map(lambda p, m, v: p - 0.1 * m / (jnp.sqrt(v) + 1e-8), tree, mu, nu)
"""
GLOBAL_CLIP = """
def clipped(tree, limit=1.0):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(tree)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / norm), tree)
"""
AVERAGE = """
def averaged(tree, other):
    return jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, tree, other)
"""
HARMLESS = (
    _trap(
        "each number by itself",
        seen(SGD, f"seen.append(stepped({_ARRAYS}))"),
        seen(ADAM, f"seen.append(stepped({_ARRAYS}))"),
        seen(GLOBAL_CLIP, f"seen.append(clipped({_ARRAYS}))"),
        seen(AVERAGE, f"seen.append(averaged({_ARRAYS}, jax.tree.map(jnp.sin, {_ARRAYS})))"),
        slots(extra="seen.append(sum(w.size for w in jax.tree.leaves(eqx.filter(net, eqx.is_array))))"),
        slots(extra=f"seen.append(eqx.apply_updates(net, jax.tree.map(lambda g: -0.1 * g, {_ARRAYS})))"),
    ),
    _trap(
        "another name that is only read",
        Variant(build="blocks = EXPR\nself.BLOCKS = blocks\ncount = len(blocks)"),
        Variant(build="blocks = EXPR\ncount = lambda: len(blocks)\nself.BLOCKS = blocks\nassert count() == n"),
        Variant(build='parts = {"main": EXPR}\nself.BLOCKS = parts["main"]'),
        Variant(slots(make__after="assert len(net.BLOCKS) == N").slots, build="self.BLOCKS = EXPR"),
    ),
    _trap(
        "tree of something else",
        seen(
            "def norms(batch):\n    return [jnp.linalg.norm(v) for v in jax.tree.leaves(batch)]",
            "seen.append(norms({'x': x}))",
        ),
        seen(
            "def stacked(batches):\n    return jax.tree.map(lambda *v: jnp.stack(v), *batches)",
            "seen.append(stacked([{'x': x}, {'x': x + 1}]))",
        ),
    ),
    _trap(
        "calls without effect",
        slots(
            common="def gain(x):\n    parts = [x]\n    parts.append(x * 0.5)\n    return parts[-1]",
            enter="x = x + gain(x)",
        ),
        slots(common="SCALE = 0.5", enter="x = x * SCALE"),
        slots("statement", common="def squash(x, by=0.5):\n    return jnp.tanh(x) * by", first="x = squash(x)"),
        slots("statement method", net__methods="def mix(self, x):\n    return x * 0.5\n", first="x = self.mix(x)"),
    ),
    _trap(
        "ensemble of models",
        slots(
            "elastic simple",
            made="eqx.filter_vmap(lambda k: NET(4, N, k))(jr.split(jr.key(0), 2))",
            called="eqx.filter_vmap(lambda m: m(x))(net)",
        ),
        slots("elastic simple", called="jax.vmap(net)(jnp.stack([x, x * 2, -x]))"),
        slots("elastic simple", called="eqx.filter_jit(net)(x)"),
        slots("elastic simple", called="jax.jvp(net, (x,), (jnp.ones(4),))"),
    ),
    _trap(
        "largest of all numbers",
        slots(extra=f"seen.append(max(float(jnp.max(jnp.abs(w))) for w in jax.tree.leaves({_ARRAYS})))"),
        slots(extra=f"seen.append(jnp.sqrt(sum(jnp.vdot(w, w) for w in jax.tree.leaves({_ARRAYS}))))"),
        slots(extra=f"seen.append(jax.tree.reduce(lambda a, w: a + jnp.sum(w), {_ARRAYS}, 0.0))"),
    ),
    _trap(
        "another precision",
        slots(
            make__after="net = jax.tree.map(lambda w: w.astype(jnp.bfloat16).astype(jnp.float32) if eqx.is_inexact_array(w) else w, net)"
        ),
    ),
    _trap(
        "elements that are read",
        slots("elastic", extra="seen += [jax.tree.leaves(net.BLOCKS[i])[0] for i in range(min(1, len(net.BLOCKS)))]"),
        slots("elastic", extra="seen.append(len(net.BLOCKS))"),
        slots("elastic method", before="x = x / len(self.BLOCKS)"),
    ),
    _trap(
        "keys of a generator where the list is built",
        Variant(
            slots(
                common="class Keys:\n    def __init__(self, key):\n        self.key = key\n\n    def __next__(self):\n        self.key, sub = jr.split(self.key)\n        return sub"
            ).slots,
            build="keys = Keys(key)\nself.BLOCKS = [NEW for i, k in [(u, next(keys)) for u in range(n)]]",
        ),
    ),
)
