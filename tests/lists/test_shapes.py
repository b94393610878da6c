"""The shapes that fill a list of layers, one test each, and what must not be taken for one of them."""

import pytest
from list_helpers import LOOP, MANY, layers_in, made_in, model, open_in, project_of

from scanify.analysis.lists.layer_list import Varies, class_name

GROWN = "layers = []\nfor i in range(n):\n    layers.append(Block(8, key=jr.fold_in(key, i)))\nself.layers = layers"
SHOWN = {
    "comprehension": f"self.layers = {MANY}",
    "annotated": f"self.layers: list[Block] = {MANY}",
    "tuple": "self.layers = tuple(Block(8, key=k) for k in jr.split(key, n))",
    "list of a name": f"layers = {MANY}\nself.layers = tuple(layers)",
    "append to a local list": GROWN,
    "append to the field": "self.layers = []\nfor k in jr.split(key, n):\n    self.layers.append(Block(8, key=k))",
    "augmented": "self.layers = []\nfor k in jr.split(key, n):\n    self.layers += [Block(8, key=k)]",
    "extended": f"self.layers = []\nself.layers.extend({MANY})",
    "one name for a layer": "layers = []\nfor k in jr.split(key, n):\n    block = Block(8, key=k)\n"
    "    layers.append(block)\nself.layers = layers",
    "function of the project": "self.layers = many(n, key)",
    "read in an inner function": f"layers = {MANY}\ndef first():\n    return layers[0]\nself.layers = layers",
    "printed": f"layers = {MANY}\nprint(len(layers), layers[0])\nself.layers = layers",
}


@pytest.mark.parametrize("init", SHOWN.values(), ids=SHOWN)
def test_one_constructor_call_makes_all_layers(init: str) -> None:
    layers = layers_in(init)
    assert layers is not None and not layers.open
    assert [class_name(each) for each in layers.classes] == ["Block"] and layers.exact
    (made,) = layers.made
    assert made.repeated and made.varies is Varies.KEY and not made.conditional and not made.shared


def test_a_display_has_one_expression_for_each_layer() -> None:
    layers = layers_in("a, b = jr.split(key)\nself.layers = [Block(8, key=a), Block(8, key=b), Other()]")
    assert made_in(layers) == ["Block(8, key=a)", "Block(8, key=b)", "Other()"]
    assert layers is not None and not layers.open and not any(each.repeated for each in layers.made)
    assert [class_name(each) for each in layers.classes] == ["Block", "Other"] and not layers.exact


def test_lists_are_joined() -> None:
    layers = layers_in(
        f"a, b = jr.split(key)\nself.layers = [Block(4, key=a)] + {MANY}".replace("split(key, n", "split(b, n")
    )
    assert layers is not None and [each.repeated for each in layers.made] == [False, True]


def test_a_starred_list_in_a_display() -> None:
    layers = layers_in(f"self.layers = [Other(), *{MANY}]")
    assert layers is not None and [each.repeated for each in layers.made] == [False, True]


def test_either_of_two_lists() -> None:
    layers = layers_in(f"self.layers = {MANY} if n > 2 else [Other()]")
    assert layers is not None and not layers.open
    assert [each.conditional for each in layers.made] == [True, True]
    layers = layers_in(f"if n > 2:\n    self.layers = {MANY}\nelse:\n    self.layers = [Other()]")
    assert "filled in several places" in open_in(layers)


@pytest.mark.parametrize(
    ("init", "loop"),
    [
        ("[(Block(8, key=k), Other()) for k in jr.split(key, n)]", "for a, b in self.layers:\n    x = b(a(x))"),
        ("[[Block(d, key=key)] * 3 for d in dims]", "for stage in self.layers:\n    for a in stage:\n        x = a(x)"),
        ("{'a': [Block(8, key=key)], 'b': [Other()]}", "for layer in self.layers['a']:\n    x = layer(x)"),
    ],
)
def test_a_list_in_a_list_is_not_shown(init: str, loop: str) -> None:
    layers = layers_in(f"self.layers = {init}", f"{loop}\nreturn x")
    assert layers is not None and layers.open and not layers.classes


def test_a_list_that_may_be_none_or_empty() -> None:
    none = layers_in(f"self.layers = {MANY} if n else None")
    empty = layers_in(f"self.layers = {MANY} if n else []")
    assert none is not None and none.optional and not none.may_be_empty and not none.open
    assert empty is not None and empty.may_be_empty and not empty.optional and not empty.open


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Block(8, key=key)] * n",
        "block = Block(8, key=key)\nself.layers = [block for _ in range(n)]",
        "block = Block(8, key=key)\nself.layers = []\nfor _ in range(n):\n    self.layers.append(block)",
    ],
)
def test_one_object_may_be_several_layers(init: str) -> None:
    layers = layers_in(init)
    assert layers is not None and any(each.shared for each in layers.made)


def test_branches_of_the_loop_that_appends() -> None:
    layers = layers_in(
        "layers = []\nfor i, k in enumerate(jr.split(key, n)):\n    if i % 2:\n        layers.append(Block(8, key=k))\n"
        "    else:\n        layers.append(Other())\nself.layers = layers"
    )
    assert layers is not None and not layers.open
    assert [each.conditional for each in layers.made] == [True, True]


def test_values_of_a_dict() -> None:
    init = "self.layers = {str(d): Block(d, key=key) for d in dims}"
    layers = layers_in(init, "for layer in self.layers.values():\n    x = layer(x)\nreturn x")
    assert layers is not None and layers.of_dict and not layers.open
    assert layers_in(init, "for name in self.layers:\n    x = self.apply(name, x)\nreturn x") is None


def test_a_dict_that_is_filled_by_name() -> None:
    init = "self.layers = {}\nfor d in dims:\n    self.layers[str(d)] = Block(8, key=key)"
    layers = layers_in(init, "for layer in self.layers.values():\n    x = layer(x)\nreturn x")
    assert layers is not None and layers.of_dict and made_in(layers) == ["Block(8, key=key)"] and not layers.open


def test_a_local_list() -> None:
    layers = layers_in("self.layers = None", f"layers = {MANY}\nfor layer in layers:\n    x = layer(x)\nreturn x")
    assert layers is not None and layers.owner is None and layers.exact


def test_a_local_name_for_the_field() -> None:
    layers = layers_in(
        f"self.layers = {MANY}", "layers = self.layers\nfor layer in layers:\n    x = layer(x)\nreturn x"
    )
    assert layers is not None and layers.attribute == "layers" and layers.exact


OPEN = {
    "helper": ("self.layers = make(n, key)", "is not shown"),
    "helper for a layer": ("self.layers = [build(8, k) for k in jr.split(key, n)]", "`build` makes is not shown"),
    "unknown method": ("self.layers = self.make(n, key)", "is not shown"),
    "cached function": ("self.layers = cached(n, key)", "`cached(n, key)` gives is not shown"),
    "several returns": ("self.layers = either(n, key)", "`either(n, key)` gives is not shown"),
    "its default": ("self.layers = default(n, key)", "gets `found` from its caller"),
    "given away": (f"layers = {MANY}\nregister(layers)\nself.layers = layers", "`register(layers)` may change"),
    "other name": (f"layers = {MANY}\nmore = layers\nself.layers = layers", "`more = layers` may change"),
    "popped": (f"layers = {MANY}\nlayers.pop()\nself.layers = layers", "`layers.pop` may change `layers`"),
    "assigned by number": (
        f"layers = {MANY}\nlayers[0] = Other()\nself.layers = layers",
        "an element of `layers` is replaced",
    ),
    "filled twice": (f"self.layers = {MANY}\nself.layers = [Other()]", "filled in several places"),
    "by name": (f"object.__setattr__(self, 'layers', {MANY})", "is stored by its name"),
    "inner function": (
        f"layers = {MANY}\ndef more():\n    layers.append(Other())\nmore()\nself.layers = layers",
        "inner function",
    ),
    "deleted in an inner function": (
        f"layers = {MANY}\ndef less():\n    del layers[0]\nself.layers = layers\nless()",
        "inner function",
    ),
    "given out by an inner function": (
        f"layers = {MANY}\ndef give():\n    return layers\nself.layers = layers\ngive().pop()",
        "inner function",
    ),
    "made anew from itself": (
        "layers = ()\nfor _ in range(n):\n    layers = (*layers, Block(8, key=key))\nself.layers = layers",
        "more than once",
    ),
    "None among them": ("self.layers = [Block(8, key=k) if n else None for k in jr.split(key, n)]", "may be None"),
    "function among them": ("self.layers = [*" + MANY + ", jax.nn.relu]", "is no module"),
    "a number among them": ("self.layers = [i for i in range(n)]", "what `i` gives is not shown"),
    "local class": (
        "made = Block\nself.layers = [made(8, key=k) for k in jr.split(key, n)]",
        "`made` makes is not shown",
    ),
    "partial": (
        "made = functools.partial(Block, 8)\nself.layers = [made(key=k) for k in jr.split(key, n)]",
        "`made` makes is not shown",
    ),
    "own method": ("self.layers = self.many(n, key)", "`self.many(n, key)` gives is not shown"),
    "changed": ("self.layers = [eqx.tree_at(f, Block(8, key=k), 1) for k in jr.split(key, n)]", "is not shown"),
    "while": ("layers = []\nwhile len(layers) < n:\n    layers.append(make())\nself.layers = layers", "is not shown"),
    "given or made": (f"if dims is None:\n    dims = {MANY}\nself.layers = dims", "gets `dims` from its caller"),
    "any name": (
        f"self.layers = {MANY}\nfor name, value in dims:\n    setattr(self, name, value)",
        "stored by its name",
    ),
    "dict of fields": (f"self.__dict__['layers'] = {MANY}", "stored by its name"),
    "in a sequential": (f"self.layers = eqx.nn.Sequential({MANY})", "is not shown"),
    "generator": ("self.layers = (Block(8, key=k) for k in jr.split(key, n))", "is not shown"),
}


@pytest.mark.parametrize(("init", "text"), OPEN.values(), ids=OPEN)
def test_everything_else_is_an_obligation_with_its_place(init: str, text: str) -> None:
    layers = layers_in(init)
    assert layers is not None and text in open_in(layers) and not layers.exact
    assert all(each.place is not None for each in layers.open)


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = list(range(n))",
        "self.layers = ['a', 'b', 'c']",
        "self.layers = jr.split(key, n)",
        "self.layers = [jnp.zeros(d) for d in dims]",
        "self.layers = [Plain() for _ in range(n)]",
        "self.layers = [jax.nn.relu, jax.nn.gelu, lambda x: x]",
    ],
)
def test_what_holds_no_modules_is_no_list_of_layers(init: str) -> None:
    assert layers_in(init) is None


def test_nothing_shown_counts_if_the_loop_calls_an_element() -> None:
    assert layers_in("self.layers = make()", LOOP) is not None
    assert layers_in("self.layers = make()", "for size in self.layers:\n    x = scale(x, size)\nreturn x") is None


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("    @property\n    def layers(self):\n        return [Other()]\n", "`layers` of `Model` decides"),
        ("    def __setattr__(self, name, value):\n        self.kept = value\n", "`__setattr__` of `Model` decides"),
        ("\n\ndef swap():\n    import m\n    m.Block = Other\n", "what `Block` makes is not shown"),
        ("\n\nclass More(Model):\n    def __init__(self):\n        self.layers = [Other()]\n", "fills the list, too"),
    ],
)
def test_code_around_that_decides_what_the_list_holds(code: str, text: str) -> None:
    layers = project_of(model(f"self.layers = {MANY}") + "\n" + code)[1][0]
    assert layers is not None and text in open_in(layers) and not layers.exact


def test_a_decorated_constructor_may_fill_the_list_anew() -> None:
    text = model(f"self.layers = {MANY}").replace("    def __init__(self, n", "    @wrapped\n    def __init__(self, n")
    assert "`wrapped` may do more than `__init__`" in open_in(project_of(text)[1][0])


def test_a_store_by_a_computed_name_may_be_of_the_field() -> None:
    init = f"self.layers = {MANY}\nfor i in range(n):\n    setattr(self, f'extra{{i}}', i)"
    layers = layers_in(init)
    assert layers is not None and not layers.exact
    layers = layers_in(f"self.layers = {MANY}\nsetattr(self, 'extra', n)")
    assert layers is not None and layers.exact


@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(len(x)):\n    x = x.at[i].set(x)\nreturn x",
        "for i in range(3):\n    self.layers[i].append(x)\nreturn x",
        "for found in keys:\n    found.append(x)\nreturn x",
    ],
)
def test_methods_of_arrays_and_containers_apply_no_layers(loop: str) -> None:
    assert layers_in("self.layers = dims", loop) is None
