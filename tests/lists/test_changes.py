"""Code elsewhere in the project that may put other layers into a list."""

import pytest
from list_helpers import MANY, PRELUDE, model, open_in, used_layers

CHANGES = {
    "append": "def grow(model):\n    model.layers.append(Other())",
    "store": "def swap(model):\n    model.layers[0] = Other()",
    "inner": "def grow(model):\n    model.layers[0].append(Other())",
    "other name": "def grow(model):\n    mine = model.layers\n    mine.append(Other())",
    "kept": "def keep(model, registry):\n    registry.layers_of = model.layers",
    "given": "def give(model):\n    register(model.layers)",
    "given on": "def take(layers):\n    layers.append(Other())\n\n\ndef give(model):\n    take(model.layers)",
    "by keyword": "def give(model):\n    register(layers=model.layers)",
    "in a list": "def give(model):\n    return first([model.layers, 1])",
    "returned": "class Reader:\n    def layers_of(self, model):\n        return model.layers",
    "surgery": "def swap(model):\n    return eqx.tree_at(lambda m: m.layers[0], model, Other())",
    "surgery on a part": "def swap(model):\n    return eqx.tree_at(lambda m: m.layers[0].linear, model, Other())",
    "surgery on parts": "where = lambda m: [layer.linear for layer in m.layers]\n\n\ndef f(m):\n    eqx.tree_at(where, m, [])",
    "surgery with a layer": "def f(m):\n    return eqx.tree_at(lambda m: m.layers[0], m, Block(8, key=1))",
    "surgery by a name": "where = lambda m: m.layers\n\n\ndef swap(model):\n    return eqx.tree_at(where, model, [])",
    "parts where leaves are replaced": "def f(m):\n    eqx.tree_at\n    return [layer.linear for layer in m.layers]",
    "picked by name": "import operator\n\nwhere = operator.attrgetter('layers')",
    "got by name": "def grow(model):\n    getattr(model, 'layers').append(Other())",
    "given to a function that reads it": "def count(layers):\n    return len(layers)\n\n\ndef f(model):\n    return count(model.layers)",
    "surgery on a weight": "def f(m, new):\n    return eqx.tree_at(lambda m: m.layers[0].linear.weight, m, new)",
    "forced": "def swap(model):\n    object.__setattr__(model, 'layers', [])",
}


@pytest.mark.parametrize("code", CHANGES.values(), ids=CHANGES)
def test_other_layers_may_be_put_into_the_list(code: str) -> None:
    layers = used_layers(f"{model(f'self.layers = {MANY}')}\n\n{code}\n")
    assert "other layers may be in" in open_in(layers) or "another list into" in open_in(layers)


READS = {
    "iterated": "def f(model, x):\n    return [layer.linear for layer in model.layers]",
    "computed": "def f(model, x):\n    eqx.tree_at\n    return [layer(x) for layer in model.layers]",
    "by number": "def f(model):\n    return model.layers[0].linear, model.layers[1:], len(model.layers)",
    "given to jax": "def f(model):\n    return jax.tree.leaves(model.layers)",
    "other name": "def f(model):\n    mine = model.layers\n    return mine[0]",
    "taken apart": "def f(model):\n    first, *rest = model.layers\n    return rest",
    "another class": "class Else:\n    pass\n\n\ndef f(other: Else):\n    other.layers.append(1)",
    "sorted": "def f(model):\n    return sorted(model.layers, key=lambda layer: layer.rate)",
    "mapped": "def f(model):\n    return jax.tree.map(lambda m: m.layers[0], model)",
    "one layer": "def f(model):\n    return model.layers[0]",
    "got by name": "def f(model):\n    return getattr(model, 'layers')[0]",
    "local": "def f(layers):\n    layers.append(1)",
}


@pytest.mark.parametrize("code", READS.values(), ids=READS)
def test_code_that_reads_the_list_leaves_it_as_it_is(code: str) -> None:
    layers = used_layers(f"{model(f'self.layers = {MANY}')}\n\n{code}\n")
    assert layers is not None and layers.exact


def test_another_file_may_change_the_list() -> None:
    other = "def grow(model):\n    model.layers.append(1)\n"
    layers = used_layers(model(f"self.layers = {MANY}"), other=other)
    assert layers is not None and layers.open[0].place is not None
    assert layers.open[0].place.path.name == "other.py" and PRELUDE
