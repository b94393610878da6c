"""Layers that `jax.vmap` makes are layers too; and equinox, which scanify imports, is left alone."""

from helpers import decide, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal


def test_a_layer_made_under_vmap_is_a_layer_that_may_differ():
    init = (
        "make = lambda k: Block(8, key=k)\nlayers = [Block(3, key=key)]\nif depth > 4:\n"
        "    layers.append(jax.vmap(make)(jr.split(key, depth)))\nelse:\n"
        "    layers.extend(make(k) for k in jr.split(key, depth))\nself.layers = tuple(layers)"
    )
    found = only(model(init=init))
    assert isinstance(found, Plan)
    assert found.holds is Holds.BLOCK_SEQ and not found.safe
    init = (
        "def make(k):\n    return Block(8, key=k)\n"
        "self.layers = [eqx.filter_vmap(make)(jr.split(key, 3)), eqx.filter_vmap(make)(jr.split(key, 4))]"
    )
    refused = only(model(init=init))
    assert isinstance(refused, Refusal) and refused.undecided is not None


def test_a_package_that_scanify_imports_is_left_alone():
    module = "class Module:\n    pass\n\n\nclass Linear(Module):\n    def __call__(self, x):\n        return x\n"
    text = (
        "from ._module import Linear, Module\n\n\nclass Mlp(Module):\n    def __init__(self, keys):\n"
        "        self.layers = [Linear() for k in keys]\n\n    def __call__(self, x):\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    )
    files = {"equinox/__init__.py": "", "equinox/_module.py": module}
    found = only(text, files=files, path="equinox/mlp.py")
    assert isinstance(found, Refusal) and found.kind is Kind.FOLD and "`equinox` itself" in found.reason
    elsewhere = {name.replace("equinox", "other"): text for name, text in files.items()}
    assert not decide(text, files=elsewhere, path="other/mlp.py")
