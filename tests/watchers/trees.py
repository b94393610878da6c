"""Functions of a model: those that compute the same whether its layers are a list or a stack, and those that do not.

Each is the text of an expression of `model`, or of the body of a function of it.
"""

HEAD = """\
import dataclasses
import functools
import io
import operator
import pickle
from dataclasses import fields
from functools import partial, reduce

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import jax.tree_util as jtu
import numpy as np
from jax import tree_util
from jax.flatten_util import ravel_pytree
from jax.tree_util import tree_leaves, tree_map as tmap

KEY = jr.key(0)
RATE = 0.1


def decay(leaf, rate=0.5):
    \"\"\"Towards zero.\"\"\"
    if leaf is None:
        return None
    shrunk = leaf * (1 - rate)
    return jnp.where(jnp.abs(shrunk) < 1e-3, 0.0, shrunk)


def rank_two(leaf):
    return leaf.ndim == 2


def squares(tree):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))


def is_linear(x):
    return isinstance(x, eqx.nn.Linear)


class Config:
    def __init__(self):
        self.sizes = [1, 2]


"""

HARMLESS = [
    "jax.tree.map(lambda x: x * 2, model)",
    "jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, model, model)",
    "jtu.tree_map(jnp.zeros_like, model)",
    "tree_util.tree_map(lambda x: x.astype(jnp.bfloat16).astype(x.dtype), model)",
    "jax.tree.map(lambda x: x if eqx.is_inexact_array(x) else None, model)",
    "eqx.apply_updates(model, jax.tree.map(lambda g: -RATE * g, model))",
    "eqx.filter(model, eqx.is_inexact_array)",
    "eqx.partition(model, lambda x: eqx.is_array(x) and jnp.issubdtype(x.dtype, jnp.floating))[0]",
    "eqx.combine(*eqx.partition(model, eqx.is_array))",
    "sum(x.size for x in jax.tree.leaves(model))",
    "sum(x.size for x in tree_leaves(eqx.filter(model, eqx.is_array)) if eqx.is_array(x))",
    "jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(model)))",
    "max(float(jnp.max(x)) for x in jax.tree.leaves(model))",
    "all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(model))",
    "jax.tree.structure(model) == jax.tree.structure(jax.tree.map(jnp.zeros_like, model))",
    "jax.tree.map(lambda x: x is None, model, is_leaf=lambda x: x is None)",
    "config = Config()\nreturn [v for v in vars(config).values() if isinstance(v, int)]",
    "jax.tree.map(lambda x: jnp.where(jnp.abs(x) > RATE, x, -x) if x.dtype == jnp.float32 else x, model)",
    "file = io.BytesIO()\neqx.tree_serialise_leaves(file, model)\nfile.seek(0)\nreturn eqx.tree_deserialise_leaves(file, model)",
    "buffer = io.BytesIO()\neqx.tree_serialise_leaves(buffer, model, filter_spec=eqx.default_serialise_filter_spec)\nbuffer.seek(0)\nreturn eqx.tree_deserialise_leaves(buffer, model)",
    "eqx.filter_vmap(lambda m, x: sum(p.size for p in jax.tree.leaves(m)) * x, in_axes=(None, 0))(model, jnp.ones(2))",
    "eqx.filter(model, filter_spec=eqx.is_array)",
    "spec = jax.tree.map(lambda _: True, model)\nreturn eqx.partition(model, spec)[0]",
]

# The same for both, but beyond what is understood.
NOT_SHOWN = [
    "each = jax.tree.map\nreturn each(lambda x: x * 2, model)",
    "jax.tree_util.tree_map(decay, model)",
    "tmap(partial(decay, rate=0.1), model)",
    "def update(p, g):\n    step = g * RATE\n    if p.dtype == jnp.float32:\n        step = -step\n    return p + step\nreturn jax.tree.map(update, model, model)",
    "pickle.loads(pickle.dumps(model))",
    "leaves = jax.tree.leaves(model)\nif not leaves:\n    return 0\nreturn sum(x.nbytes for x in leaves)",
    "jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), model)",
    "jax.tree.all(jax.tree.map(lambda x: jnp.all(jnp.isfinite(x)), model))",
    "sum(jax.tree.leaves(jax.tree.map(lambda x: jnp.sum(jnp.abs(x)), model)))",
    "jax.tree.reduce(operator.add, jax.tree.map(lambda x: (x**2).sum(), model))",
    "jax.tree.reduce(lambda total, x: total + jnp.sum(x**2), model, 0.0)",
    "jax.tree_util.tree_reduce(jnp.maximum, jax.tree.map(lambda x: jnp.max(jnp.abs(x)), model))",
    "jnp.max(jnp.array([jnp.abs(x).max() for x in jax.tree.leaves(model)]))",
    "any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(model))",
    "jax.tree.leaves(model)[0].dtype",
    "treedef = jax.tree.structure(model)\nprint(treedef)\nreturn jax.tree.unflatten(treedef, jax.tree.leaves(model))",
    "structure = jax.tree.structure(model)\nif structure != jax.tree.structure(model):\n    raise ValueError(f'unlike {structure}')\nreturn 0",
    "leaves, treedef = jax.tree.flatten(model)\nreturn jax.tree.unflatten(treedef, [x * 2 for x in leaves])",
    "norms = jax.tree.map(lambda x: jnp.sum(x * x), model)\nreturn jnp.sqrt(sum(jax.tree.leaves(norms)))",
    "any(not jnp.all(jnp.isfinite(x)) for x in jax.tree.leaves(model))",
]

READS = [
    "jax.tree.map(lambda x: x * (x.aval.ndim > 1), model)",
    "jax.tree.map(lambda x: jnp.ones((3, 4)) * x, model)",
    "jax.tree.map(lambda x: jnp.array([[1.0], [2.0], [3.0]]) * x, model)",
    "jax.tree.map(lambda x: 1.0, model, is_leaf=callable)",
    "jax.tree.map(lambda x: jnp.full(x.shape, jnp.linalg.norm(x)), model)",
    "max((jnp.max(x) for x in jax.tree.leaves(model)), key=lambda v: -v)",
    "jax.tree.map(lambda x: x * (x.ndim > 1), model)",
    "jax.tree.map(rank_two, model)",
    "jax.tree.map(lambda x: x / x.shape[0], model)",
    "jax.tree.map(lambda x: x / jnp.linalg.norm(x), model)",
    "jax.tree.map(lambda x: x - x.mean(), model)",
    "tmap(lambda x: x * jnp.minimum(1.0, 0.1 / jnp.sqrt(jnp.sum(x**2))), model)",
    "jax.tree.map(lambda x: x + jr.normal(KEY, x.shape), model)",
    "jax.tree.map(lambda x: x.T, model)",
    "jax.tree.map(lambda x: x.at[0].set(0.0), model)",
    "jax.tree.map(lambda x: x[0], model)",
    "jax.tree.map(lambda x: jnp.cumsum(x, axis=0), model)",
    "jax.tree.map(jnp.sum, model)",
    "jax.tree.map(lambda x: jnp.sum(x), model)",
    "[x.shape for x in jax.tree.leaves(model)]",
    "len(jax.tree.leaves(model))",
    "jax.tree.structure(model).num_leaves",
    "jax.tree.flatten(model)[1].num_nodes",
    "[str(each) for each in jax.tree.structure(model).children()]",
    "str(jax.tree.structure(model))",
    "return f'{jtu.tree_structure(model)}'",
    "kept = []\nkept.append(f'{jtu.tree_structure(model)}')\nreturn kept",
    "leaves, treedef = jax.tree.flatten(model)\nreturn treedef.num_leaves",
    "leaves, treedef = jax.tree.flatten(model)\ntext = repr(treedef)\nreturn len(text)",
    "structure = jax.tree.structure(model)\nalso = structure\nreturn len(f'{also}')",
    "def spec(tree):\n    return jax.tree.structure(tree)\nreturn spec(model).num_leaves",
    "jax.tree.leaves(model)[0]",
    "next(iter(jax.tree.leaves(model)))",
    "sum(jnp.mean(x) for x in jax.tree.leaves(model))",
    "sum(jnp.sum(x**2) for x in jax.tree.leaves(model) if x.ndim > 1)",
    "sum(1 for x in jax.tree.leaves(model))",
    "sum(jnp.sum(x) > 0 for x in jax.tree.leaves(model))",
    "sum(jax.tree.leaves(model.layers))",
    "def one(x):\n    def inner(y=x):\n        return y - jnp.max(y)\n    return inner()\nreturn jax.tree.map(one, model)",
    "total = 1.0\nfor x in jax.tree.leaves(model):\n    total += jnp.sum(x) * total\nreturn total",
    "one = 1.0\ntotal = 0.0\nfor x in jax.tree.leaves(model.layers):\n    total = one + jnp.sum(x)\nreturn total",
    "class Kept:\n    spec = staticmethod(lambda x: x.ndim > 1)\nreturn eqx.filter(model, Kept.spec)",
    "def make():\n    return lambda x: x.ndim > 1\nspec = make()\nreturn eqx.partition(model, spec)[0]",
    "def mapped(axes):\n    return eqx.filter_vmap(squares, in_axes=axes, axis_size=3)(model)\nreturn mapped(lambda x: 0 if x.ndim == 2 else None)",
    "jax.tree.reduce(jnp.add, model)",
    "any(not jnp.any(x > 1.5) for x in jax.tree.leaves(model))",
    "rates = iter([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])\nreturn jax.tree.map(lambda x: x * next(rates), model)",
    "rates = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]\nreturn jax.tree.map(lambda x: x * rates.pop(), model)",
    "rng = np.random.default_rng(0)\nreturn jax.tree.map(lambda x: x * rng.uniform(1, 2), model)",
    "def one(x):\n    def scaled():\n        return x / jnp.linalg.norm(x)\n    return scaled()\nreturn jax.tree.map(one, model)",
    "def one(x):\n    def scaled(_):\n        return x / jnp.linalg.norm(x)\n    return jax.lax.cond(True, scaled, scaled, 0)\nreturn jax.tree.map(one, model)",
    "jax.tree.map(lambda x: jax.lax.cond(True, lambda: x / jnp.max(x), lambda: x), model)",
    "each = jax.tree.map\nreturn each(lambda x: x / jnp.linalg.norm(x), model)",
    "partial(jax.tree.map, lambda x: x / jnp.linalg.norm(x))(model)",
    "list(map(len, map(jax.tree.leaves, [model])))",
    "sum(jnp.sqrt(jnp.sum(x**2)) for x in jax.tree.leaves(model))",
    "jax.tree.map(lambda x: jnp.where(x > jnp.max(x) / 2, x, 0.0), model)",
    "def keyed(tree):\n    key = KEY\n\n    def one(x):\n        nonlocal key\n        key, sub = jr.split(key)\n        return x * jr.uniform(sub)\n\n    return jax.tree.map(one, tree)\nreturn keyed(model)",
    "def mixed(x):\n    for _ in range(2):\n        x = jnp.cumsum(x, axis=0)\n    return x\nreturn jax.tree.map(mixed, model)",
    "len(pickle.dumps(model))",
    "file = io.BytesIO()\neqx.tree_serialise_leaves(file, model)\nreturn len(file.getvalue())",
    "max(jnp.sum(x) for x in jax.tree.leaves(model))",
    "jnp.mean(jnp.stack([jnp.mean(jnp.abs(x)) for x in jax.tree.leaves(model)]))",
    "sum(jnp.sum(x) + 1.0 for x in jax.tree.leaves(model))",
    "jax.tree.reduce(lambda total, x: total * jnp.sum(x), model, 1.0)",
    "jax.tree.reduce(jnp.maximum, jax.tree.map(lambda x: jnp.sum(x), model))",
    "[jtu.keystr(path) for path, _ in jtu.tree_leaves_with_path(model)]",
    "jtu.tree_map_with_path(lambda p, x: x * len(jtu.keystr(p)), model)",
    "ravel_pytree(model)[0]",
    "eqx.filter(model, lambda x: x.ndim > 1)",
    "eqx.partition(model, rank_two)[0]",
    "len(jax.tree.leaves(model, is_leaf=lambda x: isinstance(x, list)))",
    "[x for x in jax.tree.leaves(model, is_leaf=lambda x: hasattr(x, 'bias')) if hasattr(x, 'bias')]",
    "[x.w for x in jax.tree.leaves(model, is_leaf=lambda x: isinstance(x, Block)) if isinstance(x, Block)]",
    "[x for x in jax.tree.leaves(model, is_leaf=lambda x: isinstance(x, eqx.Module) and x is not model)]",
    "[k for k, v in vars(model).items() if isinstance(v, list)]",
    "[f.name for f in dataclasses.fields(model) if isinstance(getattr(model, f.name), (list, tuple))]",
    "leaves, treedef = jax.tree.flatten(model)\nkeys = jr.split(KEY, len(leaves))\nreturn jax.tree.unflatten(treedef, [x + jr.normal(k, x.shape) for x, k in zip(leaves, keys)])",
    "total = 0.0\nfor leaf in jax.tree.leaves(model):\n    total += jnp.linalg.norm(leaf)\nreturn total",
    "def walk(v):\n    if isinstance(v, list):\n        return 10 + sum(map(walk, v))\n    return sum(map(walk, vars(v).values())) if isinstance(v, eqx.Module) else 1\nreturn walk(model)",
    "def clip(t):\n    size = jnp.sqrt(jnp.sum(t * t))\n    return t / jnp.maximum(size, 1.0)\nreturn jax.tree.map(clip, model)",
    "def orthogonal(t):\n    if t.ndim != 2:\n        return t\n    return jnp.linalg.qr(t)[0]\nreturn jax.tree.map(orthogonal, model)",
    "def matrices(file, leaf):\n    if eqx.is_array(leaf) and leaf.ndim == 2:\n        jnp.save(file, leaf)\nbuffer = io.BytesIO()\neqx.tree_serialise_leaves(buffer, model, filter_spec=matrices)\nreturn buffer.tell() > 300",
    "def load(file, leaf):\n    return leaf if leaf.ndim == 2 else leaf * 0\nbuffer = io.BytesIO()\nreturn eqx.tree_deserialise_leaves(buffer, model, load)",
    "eqx.filter(model, filter_spec=lambda x: x.ndim == 2)",
    "eqx.filter(model, filter_spec=rank_two)",
    "eqx.partition(model, filter_spec=rank_two)[0]",
    "def kept(tree, spec):\n    return eqx.filter(tree, spec)\nreturn kept(model, rank_two)",
    "def kept(tree, *, spec):\n    return eqx.partition(tree, spec)[1]\nreturn kept(model, spec=lambda x: x.shape[0] > 3)",
    "eqx.filter_vmap(squares, in_axes=lambda x: 0 if x.ndim == 2 else None, axis_size=3)(model)",
    "other = [(b.bias, b.w) for b in model.layers] + [model.head]\nreturn sum(jnp.sum(a) * jnp.sum(b) for a, b in zip(jax.tree.leaves(model), jax.tree.leaves(other)))",
    "def distance(a, b):\n    total = 0.0\n    for p, q in zip(jax.tree.leaves(a), jax.tree.leaves(b)):\n        total += jnp.sum((p.sum() - q.sum()) ** 2)\n    return total\nreturn distance(model, [(b.bias, b.w) for b in model.layers] + [model.head])",
    "@functools.singledispatch\ndef cost(node):\n    return sum(cost(getattr(node, f.name)) for f in fields(node)) if dataclasses.is_dataclass(node) else 0\n@cost.register(list)\ndef _(nodes):\n    return 1 + sum(map(cost, nodes))\nreturn cost(model)",
    "def walk(v):\n    match v:\n        case list():\n            return 1 + sum(map(walk, v))\n        case eqx.Module():\n            return sum(walk(getattr(v, f.name)) for f in fields(v))\n        case _:\n            return 0\nreturn walk(model)",
]


def program(text: str) -> str:
    """A file with the function `look(model)`."""
    body = text if "return" in text.splitlines()[-1] else f"return {text}"
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}\ndef look(model):\n{indented}"
