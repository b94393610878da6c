"""Traps in code that walks the tree of a model, asks for its parts by place, path or type, or replaces them."""

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import seen, slots

_ARRAYS = "eqx.filter(net, eqx.is_inexact_array)"


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.LIST, variants)


def _extra(text: str, needs: str = "") -> Variant:
    return slots(needs, extra=text)


VARS = """
def penalty(module):
    total = 0.0
    for value in vars(module).values():
        if isinstance(value, jax.Array):
            total = total + jnp.sum(value**2)
        elif isinstance(value, eqx.Module):
            total = total + penalty(value)
        elif isinstance(value, (list, tuple)):
            total = total + sum(penalty(each) for each in value if isinstance(each, eqx.Module)) * len(value)
        elif isinstance(value, dict):
            total = total + sum(penalty(each) for many in value.values() for each in many) * len(value)
    return total
"""
FIELDS = """
def described(module, depth=0):
    lines = []
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        lines.append("  " * depth + field.name)
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, eqx.Module):
                lines += described(each, depth + 1)
    return lines
"""
LINEARS = """
def reinitialised(model, key):
    is_linear = lambda v: isinstance(v, eqx.nn.Linear)
    weights = lambda m: [v.weight for v in jax.tree.leaves(m, is_leaf=is_linear) if is_linear(v)]
    old = weights(model)
    new = [jr.normal(k, w.shape) / w.shape[-1] for w, k in zip(old, jr.split(key, len(old)))]
    return eqx.tree_at(weights, model, new)
"""
HAS_WEIGHT = """
def reinitialised(model, key):
    def has_weight(v):
        return hasattr(v, "weight") and hasattr(v, "bias")

    def weights(m):
        return [v.weight for v in jax.tree_util.tree_leaves(m, is_leaf=has_weight) if has_weight(v)]

    new = [jr.uniform(k, w.shape) for w, k in zip(weights(model), jr.split(key, len(weights(model))))]
    return eqx.tree_at(weights, model, new)
"""
COUNT_LAYERS = """
def depth_of(model):
    is_layer = lambda v: isinstance(v, LAYER)
    return sum(is_layer(v) for v in jax.tree.leaves(model, is_leaf=is_layer))
"""
LAYER_NORMS = """
def norms(model):
    is_layer = lambda v: isinstance(v, LAYER)
    layers = [v for v in jax.tree.leaves(model, is_leaf=is_layer) if is_layer(v)]
    return [sum(jnp.sum(w**2) for w in jax.tree.leaves(eqx.filter(each, eqx.is_array))) for each in layers]
"""
FREEZE = """
def frozen(tree):
    def one(path, leaf):
        return leaf * 0.5 if "[0]" in jax.tree_util.keystr(path) else leaf

    return jax.tree_util.tree_map_with_path(one, tree)
"""
DEPTH_RATES = """
def layerwise(tree):
    def one(path, leaf):
        places = [part.idx for part in path if isinstance(part, jax.tree_util.SequenceKey)]
        return leaf * 0.8 ** (places[0] if places else 0)

    return jax.tree_util.tree_map_with_path(one, tree)
"""
BY_NAME = """
def named(tree):
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
"""
STATISTICS = """
def statistics(tree):
    return [(float(jnp.linalg.norm(w)), float(jnp.max(w))) for w in jax.tree.leaves(tree)]
"""
ALL_IN_LISTS = """
def pruned(model, keep):
    BLOCKS = list(model.BLOCKS)[:keep]
    return eqx.tree_at(lambda m: m.BLOCKS, model, BLOCKS)
"""
SWAPPED = """
def swapped(model, name, i, j):
    old = getattr(model, name)
    new = [old[j] if k == i else old[i] if k == j else each for k, each in enumerate(old)]
    return eqx.tree_at(lambda m: getattr(m, name), model, new)
"""
DUMPED = """
def dumped(module):
    if isinstance(module, list):
        return [dumped(each) for each in module]
    if dataclasses.is_dataclass(module):
        return {field.name: dumped(getattr(module, field.name)) for field in dataclasses.fields(module)}
    return module
"""
MERGED = """
def merged(model, saved):
    leaves, treedef = jax.tree.flatten(eqx.filter(model, eqx.is_array))
    assert len(leaves) == len(saved), (len(leaves), len(saved))
    return jax.tree.unflatten(treedef, [a + b for a, b in zip(leaves, saved)])
"""
WALKERS = (
    _trap(
        "first of all leaves",
        _extra("seen.append(jax.tree.leaves(net)[0])"),
        _extra("seen.append(jax.tree.leaves(eqx.filter(net, eqx.is_array))[1] * 2)"),
        _extra("first, *_ = jax.tree_util.tree_leaves(net)\nseen.append(first.shape)"),
        seen(
            "def probe(model):\n    return next(iter(jax.tree.leaves(eqx.filter(model, eqx.is_array))))",
            "seen.append(probe(net))",
        ),
    ),
    _trap(
        "number of leaves",
        _extra("seen.append(len(jax.tree.leaves(eqx.filter(net, eqx.is_array))))"),
        _extra("seen.append(jax.tree.structure(net).num_leaves)"),
        _extra("leaves, treedef = jax.tree.flatten(net)\nseen.append(1.0 / len(leaves))"),
        seen(
            "def averaged(tree):\n    means = [jnp.mean(jnp.abs(w)) for w in jax.tree.leaves(tree)]\n    return max(means)",
            f"seen.append(averaged({_ARRAYS}))",
        ),
    ),
    _trap(
        "statistics of leaves",
        seen(STATISTICS, f"seen.append(statistics({_ARRAYS}))"),
        _extra(f"seen.append(max(float(jnp.linalg.norm(w)) for w in jax.tree.leaves({_ARRAYS})))"),
        _extra(f"seen.append([w.shape for w in jax.tree.leaves({_ARRAYS})])"),
        _extra(f"seen.append(jnp.stack([jnp.std(w) for w in jax.tree.leaves({_ARRAYS})]).mean())"),
    ),
    _trap(
        "walk over attributes",
        seen(VARS, "seen.append(penalty(net))"),
        seen(FIELDS, "seen.append(len(described(net)))"),
        seen(DUMPED, "seen.append(jax.tree.structure(dumped(net)).num_leaves)", "elastic"),
        _extra(
            "seen.append([name for name in ('BLOCKS', 'other') if isinstance(getattr(net, name, None), list | tuple)])",
            "elastic",
        ),
    ),
    _trap(
        "leaves that are modules",
        slots("linear", use=LINEARS, make__after="net = reinitialised(net, jr.key(6))"),
        slots("linear", use=HAS_WEIGHT, make__after="net = reinitialised(net, jr.key(6))"),
        seen(LINEARS, "seen.append(reinitialised(net, jr.key(6)))", "linear"),
        seen(COUNT_LAYERS, "seen.append(depth_of(net))"),
        seen(LAYER_NORMS, "seen.append(norms(net))"),
        _extra("seen.append(len(jax.tree.leaves(net, is_leaf=lambda v: hasattr(v, 'w'))))", "init"),
    ),
    _trap(
        "leaves that are lists",
        _extra(
            "seen.append([len(v) for v in jax.tree.leaves(net, is_leaf=lambda v: isinstance(v, list | tuple)) if isinstance(v, list | tuple)])",
            "elastic",
        ),
        _extra(
            "is_many = lambda v: type(v) in (list, tuple)\nseen.append(sum(map(is_many, jax.tree.leaves(net, is_leaf=is_many))))",
            "elastic",
        ),
    ),
    _trap(
        "mask by path",
        seen(FREEZE, f"seen.append(frozen({_ARRAYS}))", "elastic"),
        seen(DEPTH_RATES, f"seen.append(layerwise({_ARRAYS}))", "elastic"),
        slots(
            "elastic",
            use=DEPTH_RATES,
            make__after="arrays, rest = eqx.partition(net, eqx.is_inexact_array)\nnet = eqx.combine(layerwise(arrays), rest)",
        ),
    ),
    _trap(
        "parameters by name",
        seen(BY_NAME, f"seen.append(sorted(named({_ARRAYS})))"),
        _extra("seen.append([jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(net)[0]])"),
    ),
    _trap(
        "type of the list",
        _extra("seen.append(isinstance(net.BLOCKS, list | tuple))", "elastic"),
        _extra("seen.append(type(net.BLOCKS).__name__)", "elastic"),
        slots("elastic method", before="if not isinstance(self.BLOCKS, (list, tuple)):\n    x = x * 2"),
        slots(
            "elastic method",
            net__methods="def __check_init__(self):\n    if not isinstance(self.BLOCKS, (list, tuple)):\n        raise TypeError('BLOCKS')\n",
        ),
        _extra("seen.append(net.BLOCKS == list(net.BLOCKS) or net.BLOCKS == tuple(net.BLOCKS))", "elastic"),
    ),
    _trap(
        "surgery on the list",
        slots("elastic", use=ALL_IN_LISTS, make__after="net = pruned(net, 2)"),
        slots("elastic", use=SWAPPED, make__after="net = swapped(net, 'BLOCKS', 0, 1)"),
        slots("elastic", make__after="net = eqx.tree_at(lambda m: m.BLOCKS, net, [*net.BLOCKS, net.BLOCKS[0]])"),
        slots("elastic", make__after="object.__setattr__(net, 'BLOCKS', net.BLOCKS[:2])"),
    ),
    _trap(
        "leaves held against others",
        seen(
            MERGED,
            "saved = [jnp.ones_like(w) * i for i, w in enumerate(jax.tree.leaves(eqx.filter(net, eqx.is_array)))]\nseen.append(merged(net, saved))",
        ),
    ),
)
