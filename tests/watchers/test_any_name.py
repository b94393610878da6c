"""Functions on trees are found under any name: bound twice, by way of another module, stored, or chosen by a text."""

from pathlib import Path

import pytest

from tests.watchers.test_plans import plan

UNIT = "def unit(g):\n    return g / jnp.sqrt((g * g).sum())\n\n\n"
HEAD = "import jax\nimport jax.numpy as jnp\n\n\n"


def train(imports: str, body: str) -> str:
    return f"{HEAD}{imports}\n\n\n{UNIT}def step(grads):\n    {body}\n"


TWICE = (
    "try:\n    from jax.tree import map as over\nexcept ImportError:\n    from jax.tree_util import tree_map as over"
)
OTHERS = {
    "two imports": {"train.py": train(TWICE, "return over(unit, grads)")},
    "an import that may fail": {
        "train.py": train(
            "try:\n    import jax.tree_util as jtu\nexcept ImportError:\n    jtu = None",
            "return jtu.tree_map(unit, grads)",
        )
    },
    "an import under a condition": {
        "train.py": train(
            "if jax.__version__ > '0.4':\n    from jax.tree_util import tree_map", "return tree_map(unit, grads)"
        )
    },
    "another module": {
        "ops.py": "from jax.tree_util import tree_map as over\n",
        "train.py": train("from ops import over", "return over(unit, grads)"),
    },
    "another module, twice": {
        "ops.py": "import jax\n\ntry:\n    over = jax.tree.map\nexcept AttributeError:\n    over = jax.tree_map\n",
        "train.py": train("from ops import over", "return over(unit, grads)"),
    },
    "a star of a library": {"train.py": train("from jax.tree_util import *", "return tree_map(unit, grads)")},
    "a module of another module": {
        "ops.py": "try:\n    import jax.tree as T\nexcept ImportError:\n    T = None\n",
        "train.py": train("from ops import T", "return T.map(unit, grads)"),
    },
    "an attribute": {
        "train.py": f"{HEAD}class Over:\n    def __init__(self):\n        self.over = jax.tree.map\n",
    },
    "a class attribute": {"train.py": f"{HEAD}class Over:\n    map = staticmethod(jax.tree.map)\n"},
    "a default": {"train.py": f"{HEAD}def step(f, grads, over=jax.tree.map):\n    return over(f, grads)\n"},
    "a dict": {"train.py": f"{HEAD}OVER = {{'map': jax.tree.map, 'leaves': jax.tree.leaves}}\n"},
    "a module in a call": {
        "train.py": f"{HEAD}def step(f, grads, name):\n    return getattr(jax.tree, name)(f, grads)\n"
    },
    "a name that is chosen": {
        "train.py": train("", "over = jax.tree.map if jnp else jax.tree_map\n    return over(unit, grads)"),
    },
    "a vector by another name": {
        "ops.py": "from jax.flatten_util import ravel_pytree as flat\n",
        "train.py": "from ops import flat\n\n\ndef size(grads):\n    return flat(grads)[0]\n",
    },
    "a registry of nodes": {
        "train.py": (
            "from jax.tree_util import default_registry\n\n\n"
            "def below(node):\n    return default_registry.flatten_one_level(node)\n"
        )
    },
    "children of a treedef": {
        "train.py": f"{HEAD}def nodes(treedef):\n    return [n for each in treedef.children() for n in nodes(each)]\n",
    },
    "a function that no table lists": {
        "train.py": f"{HEAD}def below(node):\n    return jax.tree_util.flatten_one_level(node)\n"
    },
    "an optimiser that may be another": {
        "optim.py": (
            "import optax\n\ntry:\n    from optax.contrib import muon as build\n"
            "except ImportError:\n    build = optax.adam\n"
        ),
        "train.py": "from optim import build\n\noptimizer = build(1e-3)\n",
    },
    "an optimiser that is imported late": {
        "lazy.py": "def late(name):\n    return __import__(name)\n",
        "train.py": "from lazy import late\n\noptax = late('optax')\noptimizer = optax.lamb(1e-3)\n",
    },
    "a library that is imported where it is used": {
        "train.py": train("", "return __import__('jax').tree.map(unit, grads)")
    },
    "a module that is imported by its name": {
        "train.py": train("import importlib", "return importlib.import_module('jax.tree_util').tree_map(unit, grads)")
    },
    "an import of a replacement": {
        "train.py": (
            f"{HEAD}try:\n    from equinox import tree_at\nexcept ImportError:\n    tree_at = None\n\n\n"
            "def zeroed(model):\n    return tree_at(lambda m: m.layers[0].linear.weight, model, jnp.eye(4))\n"
        )
    },
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_function_on_trees_is_found_under_any_name(tmp_path: Path, name: str) -> None:
    for file, text in OTHERS[name].items():
        (tmp_path / file).write_text(text)
    assert not plan(tmp_path).safe


SAME = {
    "scaled by another name": {
        "ops.py": "from jax.tree_util import tree_map as over\n",
        "train.py": f"{HEAD}from ops import over\n\n\ndef step(grads):\n    return over(lambda g: 2 * g, grads)\n",
    },
    "scaled by one of two": {"train.py": train(TWICE, "return over(jnp.negative, grads)")},
    "an optimiser that may be missing": {
        "train.py": "try:\n    import optax\nexcept ImportError:\n    optax = None\n\noptimizer = optax.adamw(1e-3)\n",
    },
    "one of two optimisers": {
        "train.py": "import optax\n\n\ndef build(name):\n    return (optax.adam if name else optax.sgd)(1e-3)\n",
    },
    "keys of paths": {
        "train.py": "from jax.tree_util import DictKey, Partial, keystr\n\nONE = keystr((DictKey('a'),))\n"
    },
}


@pytest.mark.parametrize("name", SAME)
def test_what_treats_each_number_alike_is_harmless_under_any_name(tmp_path: Path, name: str) -> None:
    for file, text in SAME[name].items():
        (tmp_path / file).write_text(text)
    assert plan(tmp_path).safe
