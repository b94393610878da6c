"""Uses of a list of layers: those that a stack serves, and each kind that keeps it a list."""

from pathlib import Path
from textwrap import indent

import pytest

from scanify.analysis.index.project import Index
from scanify.analysis.lists.find import layers_of
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.uses.of_list import uses_of
from scanify.analysis.uses.use import Uses
from scanify.source.file import Source

MODEL = """\
import equinox as eqx
import jax
import jax.random as jr


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, n, key):
        self.layers = [Block(8, key=k) for k in jr.split(key, n)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

"""


def uses_in(text: str, model: str = MODEL, **files: str) -> Uses:
    """The uses of the list of the first loop, with some lines added to the file of the model, and other files."""
    texts = {"m": f"{model}\n{text}\n", **files}
    index = Index(Path("/p"), [Source(Path(f"/p/{name}.py"), each) for name, each in texts.items()])
    project = ProjectFacts.of(index)
    module = index.module_at(Path("/p/m.py"))
    assert module is not None
    found = [layers_of(project, loop) for loop in loops_in(module)]
    layers = next(each for each in found if each is not None)
    assert layers.sites, layers
    return uses_of(project, layers)


def in_function(text: str) -> str:
    return f"def other(model: Model, x, y):\n{indent(text, '    ')}"


SERVED = [
    "return len(model.layers)",
    "return [layer(x) for layer in model.layers]",
    "for i, layer in enumerate(model.layers):\n    if i == 2:\n        x = layer(x)",
    "for layer, k in zip(model.layers, y):\n    x = layer(x, k)",
    "return model.layers[0].linear.weight",
    "return model.layers[-1](x)",
    "return model.layers[1:]",
    "return [*model.layers, x]",
    "return list(model.layers)",
    "return next(iter(model.layers))(x)",
    "yield from reversed(model.layers)",
    "if model.layers:\n    pass",
    "assert not model.layers and x",
    "return 1 if model.layers is None else 2",
    "layers = model.layers\nfor layer in layers:\n    x = layer(x)\nreturn len(layers)",
    "for layer in model.layers:\n    if layer is not None:\n        x = layer(x)",
    "if hasattr(model, 'layers'):\n    return getattr(model, 'layers')[0]",
    "print('layers', x.config['layers'])",
    "return getattr(jax.nn, x)('layers')",
    "match x:\n    case Block(linear):\n        return linear",
]


@pytest.mark.parametrize("text", SERVED)
def test_a_stack_serves(text):
    assert uses_in(in_function(text)) == Uses()


KEPT = {
    "x.extend(model.layers)": "passed to `x.extend`",
    "x = []\nx = model\nx.extend(model.layers)": "passed to `x.extend`",
    "model.layers.append(x)": "grows",
    "return model.layers.index(x)": "reads `.index`",
    "model.layers[0] = x": "element of the list is replaced",
    "del model.layers[0]": "element of the list is replaced",
    "model.layers += [x]": "another list is put in its place",
    "object.__setattr__(model, 'layers', [])": "may put another list",
    "for name in ('layers', 'norm'):\n    setattr(model, name, x)": "may put another list",
    "return model.layers": "returned",
    "yield model.layers": "returned",
    "return model.layers + [x]": "`+` or `*`",
    "x.layers_of = model.layers": "another object",
    "x, y = model.layers, 1": "not understood",
    "layers = model.layers\nlayers = layers or x": "another name",
    "return (layers := model.layers)": "another name",
    "return jax.tree.map(x, model.layers)": "passed to `jax.tree.map`",
    "return x(model.layers)": "passed to `x`",
    "return x(layers_of=model.layers)": "another object",
    "return isinstance(model.layers, list)": "type of the list",
    "return type(model.layers) is list": "type of the list",
    "return model.layers == x": "compared",
    "return x in model.layers": "compared",
    "return model.layers or x": "not understood",
    "return f'{model.layers}'": "text",
    "return {1: model.layers}": "not understood",
    "for layer in model.layers:\n    if layer is x:\n        pass": "compares layers",
    "return [id(layer) for layer in model.layers]": "compares layers",
    "return model.layers[0] is x": "compares layers",
    "last = model.layers[-1]\nreturn [last is each for each in y]": "compares layers",
    "for _, layer in zip(y, model.layers):\n    layer.linear.weight = x": "writes into",
    "for layer in model.layers:\n    object.__setattr__(layer, 'linear', x)": "writes into",
    "model.layers[0].linear.bias = x": "writes into",
    "setattr(model.layers[0].linear, 'bias', x)": "writes into",
    "return [1 for layer in model.layers if y[layer]]": "tells layers apart",
    "return {layer: 1 for layer in model.layers}": "tells layers apart",
    "return {layer for layer in model.layers}": "tells layers apart",
    "vars(model)['layers'].append(x)": "by its name",
    "model.__dict__['layers'][0] = x": "by its name",
    "return vars(model).get('layers')": "by its name",
    "match model:\n    case Model([first, *_]):\n        return first": "pattern",
    "return eqx.tree_at(lambda m: m.layers[0].linear, model, x)": "`eqx.tree_at` replaces",
    "return eqx.tree_at(lambda m: [each.linear for each in m.layers], model, x)": "`eqx.tree_at` replaces",
    "where = lambda m: m.layers[-1].linear\nreturn eqx.tree_at(where, model, x)": "`tree_at` may replace",
    "import dataclasses\nreturn dataclasses.replace(model, layers=x)": "may put another list",
    "return model.updated(layers=x)": "may put another list",
    "return getattr(model, 'layers')": "returned",
    "for name in ('layers', 'norm'):\n    x = getattr(model, name)": "by its name",
    "import operator\nreturn operator.attrgetter('layers')(model)": "by its name",
    "return eqx.tree_at(__import__('operator').attrgetter('layers'), model, x)": "by its name",
    "return x(*map(x, ('layers',)), getattr(y, x))": "by its name",
    "match model:\n    case Model(layers=[first, *_]):\n        return first": "pattern",
    "dataclasses.replace(model, **{'layers': x})": "by its name",
    "return sorted(model.layers, key=x)": "passed to `sorted`",
    "with model.layers as layers:\n    pass": "not understood",
}


@pytest.mark.parametrize("text", KEPT)
def test_a_use_keeps_the_list(text):
    found = uses_in(in_function(text))
    assert found.keeps is not None and KEPT[text] in found.keeps.what
    assert found.keeps.place.path == Path("/p/m.py")
    assert found.in_call is not None and found.in_call.at == found.keeps.place


AWAY = {
    "weakref.ref(made)": True,
    "weakref.WeakSet().add(made)": True,
    "registry.track(made)": True,
    "registry.track(str(made))": False,
    "TABLE.track(made)": True,
    "LIST.append(made)": False,
    "jax.tree.map(print, made)": False,
}


@pytest.mark.parametrize("text", AWAY)
@pytest.mark.parametrize("inside", [True, False])
def test_a_layer_that_is_given_away_while_it_is_made(text, inside):
    head = "import registry\nimport weakref\n\nTABLE = registry.Table()\nLIST = []\n\n\ndef make(k):\n    made = Block(8, key=k)\n"
    helper = f"{head}    {text if not inside else 'pass'}\n    return made\n\n\n"
    own = text.replace("made", "self") if inside else "pass"
    line = "        self.linear = eqx.nn.Linear(dim, dim, key=key)\n"
    model = MODEL.replace(line, f"{line}        {own}\n").replace("Block(8, key=k) for", "make(k) for")
    found = uses_in("", helper + model)
    assert (found.keeps is not None) == AWAY[text]
    assert not AWAY[text] or "is given a layer, and may keep it" in found.keeps.what


@pytest.mark.parametrize("text", ["return model.layers(x)", "return model.layers[0] is x", "return type(model.layers)"])
def test_a_use_that_changes_nothing_is_no_change(text):
    found = uses_in(in_function(text))
    assert found.keeps is not None and found.changes is None
    found = uses_in(in_function(f"model.layers[0].linear.bias = y\n{text}"))
    assert found.changes is not None and "writes into" in found.changes.what


def test_uses_in_other_files_count():
    found = uses_in("", other="def show(model):\n    return str(model.layers)\n")
    assert found.keeps is not None and found.keeps.place.path == Path("/p/other.py")


def test_a_file_that_does_not_parse_keeps_a_list_that_it_names():
    found = uses_in("", other="print model.layers\n")
    assert found.keeps is not None and "cannot be parsed" in found.keeps.what
    assert uses_in("", other="print 'many layers'\n").keeps is None


def test_functions_that_give_parts_of_a_model_are_for_tree_at():
    text = "def first(model):\n    return model.layers[0].linear\n\n\nnew = eqx.tree_at(first, Model(3, key), 1)"
    found = uses_in(text)
    assert found.keeps is not None and "`first` may give parts" in found.keeps.what
    assert uses_in("where = lambda m: m.layers[0].linear").keeps is None  # no code replaces parts


def test_methods_that_give_parts_of_a_model_are_for_tree_at():
    method = "    def first(self):\n        return self.layers[0].linear\n"
    model = f"{MODEL}{method}"
    used = "new = eqx.tree_at(Model.first, Model(3, key), 1)"
    found = uses_in(used, model)
    assert found.keeps is not None and "`first` may give parts" in found.keeps.what
    assert uses_in(used, model.replace("return self.layers[0].linear", "return self.layers[0](1)")).keeps is None


def test_properties_that_give_parts_of_a_model_are_for_tree_at():
    model = f"{MODEL}    @property\n    def first(self):\n        return self.layers[0].linear\n"
    used = "new = eqx.tree_at(lambda m: m.first.weight, Model(3, key), 1)"
    assert uses_in(used, model).keeps is not None


def test_fields_of_other_classes_are_other_fields():
    other = """\
class Net(eqx.Module):
    layers: list

    def grown(self):
        return self.layers + [1]


class Config:
    layers = 3


class Holder(eqx.Module):
    net: Net
    mlp: eqx.nn.MLP

    def all(self, config: Config):
        return [self.net.layers, self.mlp.layers, config.layers]
"""
    assert uses_in(other).keeps is None
    assert uses_in(other.replace("class Net(eqx.Module)", "class Net(Model)")).keeps is not None
    assert uses_in(other.replace("class Net(eqx.Module)", "class Net(unknown.Base)")).keeps is not None
    assert uses_in(other.replace("config: Config", "config")).keeps is not None
    assert uses_in(f"{other}\n\nclass Both(Net, Model):\n    pass").keeps is not None


def test_a_protocol_may_be_the_owner():
    text = "import typing\nclass HasLayers(typing.Protocol):\n    layers: list\n\ndef all(net: HasLayers):\n    return net.layers"
    assert uses_in(text).keeps is not None


def test_subclasses_that_replace_the_field():
    heir = "class Deep(Model):\n    def __init__(self, n, key):\n        super().__init__(n, key)\n        {0}\n"
    assert uses_in("class Deep(Model):\n    @property\n    def layers(self):\n        return []\n").keeps is not None
    assert uses_in(heir.format("self.count = len(self.layers)")).keeps is None


def test_keywords_of_other_calls_are_no_fields():
    text = "def make(layers):\n    return layers\n\n\nargs = make(layers=3), dict(layers=2), Model(layers=3)"
    assert uses_in(text).keeps is None


def test_names_of_modules_are_no_fields():
    assert uses_in("from flax.linen import layers\nimport haiku\nx = haiku.layers.Dense").keeps is None


def test_names_that_reach_a_function_that_reads_them():
    reader = "def freeze(model, name):\n    return getattr(model, name)\n"
    assert uses_in("", other=reader, third="from other import freeze\nfreeze(1, 'layers')\n").keeps is not None
    assert uses_in("", other=reader, third="from other import freeze\nfreeze(1, 'norms')\nx = 'layers'\n").keeps is None


APPENDED = MODEL.replace(
    "        self.layers = [Block(8, key=k) for k in jr.split(key, n)]\n",
    "        self.layers = []\n        for k in jr.split(key, n):\n            self.layers.append(Block(8, key=k))\n",
)


def test_the_constructor_builds_the_list():
    assert APPENDED != MODEL
    assert uses_in("", APPENDED).keeps is None
    counted = "        self.count = len(self.layers)\n        print(self.layers)\n\n    def __call__"
    found = uses_in(
        "", APPENDED.replace("\n    def __call__(self, x):\n        for", f"{counted}(self, x):\n        for")
    )
    assert found.keeps is not None and "`print`" in found.keeps.what


NAMED = MODEL.replace(
    "        self.layers = [Block(8, key=k) for k in jr.split(key, n)]\n",
    "        blocks = [Block(8, key=k) for k in jr.split(key, n)]\n        {0}\n        self.layers = blocks\n        {1}\n",
)


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("n = len(blocks)", "pass", ""),
        ("blocks.append(Block(8, key=key))", "pass", ""),
        ("blocks[-1] = Block(8, key=key)", "pass", ""),
        ("KNOWN.append(blocks)", "pass", "passed to `KNOWN.append`"),
        ("KNOWN['last'] = blocks", "pass", "another object"),
        ("def put(): blocks[-1] = 1", "put()", "element of the list is replaced"),
        ("def put(): blocks.append(1)", "put()", "grows"),
    ],
)
def test_the_name_of_the_list_in_the_constructor(before, after, keeps):
    found = uses_in("", NAMED.format(before, after))
    assert (found.keeps is None) == (not keeps) and keeps in (found.keeps.what if found.keeps else "")
