"""Traps in what a step of training does with each leaf: it would see one array where it saw one for each layer."""

import re
from dataclasses import replace

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import seen, slots

_ARRAYS = "eqx.filter(net, eqx.is_inexact_array)"


def _per_leaf(
    function: str, needs: str = "", call: str = "STEP(ARRAYS)", *, length: int | None = None
) -> tuple[Variant, ...]:
    """A function of the tree of parameters: applied to what the caller filtered, and as one step of training."""
    name = re.findall(r"^def (\w+)", function, re.MULTILINE)[-1]
    call = call.replace("STEP", name)
    step = f"def train(net):\n    arrays, rest = eqx.partition(net, eqx.is_inexact_array)\n    return eqx.combine({call}, rest)"
    both = (
        seen(function, f"seen.append({call.replace('ARRAYS', _ARRAYS)})", needs),
        seen(f"{function.strip()}\n\n\n{step.replace('ARRAYS', 'arrays')}", "seen.append(train(net))", needs),
        seen(
            f'{function.strip()}\n\n\nSTEPS = {{"usual": {name}}}',
            f"seen.append(STEPS['usual']({call.partition('(')[2].replace('ARRAYS', _ARRAYS)})",
            needs,
        ),
    )
    return tuple(replace(variant, length=length) for variant in both)


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.LIST, variants)


DECAY = """
def decayed(tree, rate=0.1):
    mask = jax.tree.map(lambda p: MATRIX, tree)
    return jax.tree.map(lambda p, m: p * (1 - rate) if m else p, tree, mask)
"""
DECAY_FOR = """
def decayed(tree, rate=0.1):
    leaves, treedef = jax.tree.flatten(tree)
    new = []
    for p in leaves:
        new.append(p * (1 - rate) if MATRIX else p)
    return jax.tree.unflatten(treedef, new)
"""
CLIP = """
def clipped(tree, limit=0.2):
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / (jnp.linalg.norm(g) + 1e-6)), tree)
"""
CLIP_SQUARES = """
def clipped(tree, limit=0.2):
    def one(g):
        norm = jnp.sqrt(jnp.sum(jnp.square(g)))
        return jnp.where(norm > limit, g * limit / norm, g)

    return jax.tree.map(one, tree)
"""
CLIP_RMS = """
def clipped(tree, limit=0.1):
    return jax.tree_util.tree_map(lambda g: g / jnp.maximum(1.0, jnp.sqrt(jnp.mean(g**2)) / limit), tree)
"""
LAMB = """
def trusted(tree):
    def one(p):
        update = jnp.sign(p) + 0.1 * p
        return p - 0.1 * update * jnp.linalg.norm(p) / (jnp.linalg.norm(update) + 1e-6)

    return jax.tree.map(one, tree)
"""
LARS = """
class Lars:
    def __init__(self, rate):
        self.rate = rate

    def update(self, grads, params):
        ratio = lambda g, p: jnp.sqrt(jnp.sum(p * p)) / (jnp.sqrt(jnp.sum(g * g)) + 1e-6)
        return jax.tree.map(lambda g, p: p - self.rate * ratio(g, p) * g, grads, params)
"""
AGC = """
def clipped(tree):
    def unitwise(v):
        return jnp.linalg.norm(v) if v.ndim <= 1 else jnp.linalg.norm(v, axis=1, keepdims=True)

    return jax.tree.map(lambda p: p * jnp.minimum(1.0, 0.3 / (unitwise(p) + 1e-3)), tree)
"""
MUON = """
def orthogonal(tree):
    def one(g):
        if g.ndim != 2:
            return g
        u, _, v = jnp.linalg.svd(g, full_matrices=False)
        return u @ v

    return jax.tree.map(one, tree)
"""
MUON_STEPS = """
def newton_schulz(g):
    x = g / (jnp.linalg.norm(g) + 1e-7)
    for _ in range(3):
        x = 1.5 * x - 0.5 * x @ x.T @ x
    return x


def orthogonal(tree):
    return jax.tree.map(lambda g: newton_schulz(g) if len(g.shape) == 2 else jnp.sign(g), tree)
"""
ADAFACTOR = """
def factored(tree):
    def one(g):
        if g.ndim < 2:
            return g / jnp.sqrt(g**2 + 1e-8)
        rows, columns = jnp.mean(g**2, axis=-1), jnp.mean(g**2, axis=-2)
        second = rows[..., None] * columns[..., None, :] / jnp.mean(rows)
        return g / jnp.sqrt(second + 1e-8)

    return jax.tree.map(one, tree)
"""
SHAMPOO = """
def preconditioned(tree):
    def one(g):
        matrix = g.reshape(g.shape[0], -1)
        return ((matrix @ matrix.T + 0.1 * jnp.eye(g.shape[0])) @ matrix).reshape(g.shape)

    return jax.tree.map(one, tree)
"""
NOISE = """
def perturbed(tree, key):
    leaves, treedef = jax.tree.flatten(tree)
    keys = jr.split(key, len(leaves))
    return jax.tree.unflatten(treedef, [v + 0.1 * jr.normal(k, v.shape) for v, k in zip(leaves, keys)])
"""
NOISE_TREE = """
def perturbed(tree, key):
    treedef = jax.tree.structure(tree)
    keys = jax.tree.unflatten(treedef, list(jr.split(key, treedef.num_leaves)))
    return jax.tree.map(lambda v, k: v + 0.1 * jr.normal(k, v.shape), tree, keys)
"""
NOISE_CHAIN = """
def perturbed(tree, key):
    def one(v):
        nonlocal key
        key, sub = jr.split(key)
        return v + 0.1 * jr.uniform(sub, v.shape)

    return jax.tree.map(one, tree)
"""
FAN_IN = """
def scaled(tree):
    return jax.tree.map(lambda p: p / p.shape[0] ** 0.5, tree)
"""
FAN_IN_IF = """
def scaled(tree):
    def one(p):
        fan_in = p.shape[0] if p.ndim > 1 else p.size
        return p / math.sqrt(fan_in)

    return jax.tree.map(one, tree)
"""
NORMALISED = """
def normalised(tree):
    return jax.tree.map(lambda p: (p - jnp.mean(p)) / (jnp.std(p) + 1e-3), tree)
"""
MAX_SCALED = """
def quantised(tree):
    def one(p):
        scale = jnp.max(jnp.abs(p)) / 7
        return jnp.round(p / scale) * scale

    return jax.tree.map(one, tree)
"""
RATES = """
def stepped(tree):
    leaves, treedef = jax.tree.flatten(tree)
    return jax.tree.unflatten(treedef, [p * (1 - 0.05 * i) for i, p in enumerate(leaves)])
"""
RATES_REVERSED = """
def stepped(tree):
    leaves = jax.tree.leaves(tree)
    rates = [0.9**i for i in range(len(leaves))][::-1]
    return jax.tree.unflatten(jax.tree.structure(tree), [p * r for p, r in zip(leaves, rates)])
"""
OPTIMISERS = (
    _trap(
        "decay mask by rank",
        *_per_leaf(DECAY.replace("MATRIX", "p.ndim >= 2"), "vector"),
        *_per_leaf(DECAY.replace("MATRIX", "p.ndim != 1"), "vector"),
        *_per_leaf(DECAY.replace("MATRIX", "len(p.shape) > 1"), "vector"),
        *_per_leaf(DECAY.replace("MATRIX", "jnp.ndim(p) > 1"), "vector"),
        *_per_leaf(DECAY_FOR.replace("MATRIX", "p.ndim > 1"), "vector"),
        *_per_leaf(DECAY_FOR.replace("MATRIX", "np.ndim(p) == 2"), "vector"),
    ),
    _trap("clip per leaf", *_per_leaf(CLIP), *_per_leaf(CLIP_SQUARES), *_per_leaf(CLIP_RMS)),
    _trap(
        "trust ratio per leaf",
        *_per_leaf(LAMB),
        seen(LARS, f"seen.append(Lars(0.1).update(jax.tree.map(jnp.sin, {_ARRAYS}), {_ARRAYS}))"),
    ),
    _trap("unitwise clip", *_per_leaf(AGC)),
    _trap("matrices made orthogonal", *_per_leaf(MUON, "matrix"), *_per_leaf(MUON_STEPS, "matrix")),
    _trap("factored second moments", *_per_leaf(ADAFACTOR, "vector"), *_per_leaf(SHAMPOO)),
    _trap(
        "key per leaf",
        *_per_leaf(NOISE, call="STEP(ARRAYS, jr.key(4))"),
        *_per_leaf(NOISE_TREE, call="STEP(ARRAYS, jr.key(4))"),
        *_per_leaf(NOISE_CHAIN, call="STEP(ARRAYS, jr.key(4))"),
        slots(
            use=NOISE,
            make__after="arrays, rest = eqx.partition(net, eqx.is_inexact_array)\nnet = eqx.combine(perturbed(arrays, jr.key(4)), rest)",
        ),
    ),
    _trap("scale by shape", *_per_leaf(FAN_IN, length=3), *_per_leaf(FAN_IN_IF, "matrix", length=5)),
    _trap("statistics per leaf", *_per_leaf(NORMALISED), *_per_leaf(MAX_SCALED)),
    _trap("rate by place among leaves", *_per_leaf(RATES), *_per_leaf(RATES_REVERSED)),
)
