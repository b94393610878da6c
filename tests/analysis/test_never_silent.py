"""Loops that a scan would compute something else for, without a word: none may have a fix that calls itself safe."""

from pathlib import Path
from textwrap import dedent

import pytest
from helpers import PRELUDE, decide, model, only

from scanify.analysis import analyse
from scanify.analysis.index import Index
from scanify.analysis.plan import Holds, Plan
from scanify.analysis.stack import CallStack
from scanify.source.file import Source

ZIP = "for layer, k in zip(self.layers, keys):\n    x = layer(x, key=k)"
KEYS = "for k in jr.split(key, depth):"
BUILD = "[Block(8, key=k) for k in jr.split(key, depth)]"


def safe(text: str, stack=None) -> list[str]:
    return [loop.container for loop in decide(text, stack=stack) if isinstance(loop, Plan) and loop.safe]


def preceded(text: str, code: str) -> str:
    return text.replace("class Block(", f"{dedent(code)}\n\nclass Block(", 1)


# The body of the loop after `for layer in self.layers:` where it is that alone.
BODIES = {
    "the layer is looked for in the list": "x = layer(x) * self.layers.index(layer)",
    "the layer is counted in a list": "x = layer(x) * list(self.layers).count(layer)",
    "the layer is compared with the last by identity": "x = layer(x)\nif layer is not self.layers[-1]:\n    x = x + 1",
    "the layer is compared with another": "x = layer(x)\nif layer != mask:\n    x = x + 1",
    "the layer is looked up in a collection": "x = layer(x)\nif layer in mask:\n    x = x + 1",
    "the layer's id is asked for": "x = layer(x)\nif id(layer) == mask:\n    x = x + 1",
    "the carry is compared by identity": "h = layer(x)\nif h is x:\n    x = x + 1\nx = h",
    "the carry's type is asked for": "x = layer(x)\nif isinstance(x, np.ndarray):\n    x = x + 1",
    "a dict of the caller is changed through another name": "h = mask\nh['n'] = h['n'] + 1\nx = layer(x)",
    "a list of the caller grows through another name": "h = mask\nh.append(1)\nx = layer(x)",
    "what the caller gives is popped": "x = layer(x) + mask.pop()",
    "a list inside of a value is changed": "h = layer.scale(x)\nn = h.items.pop(0)\nx = layer(x)",
    "an element of a list of lists is popped": "n = mask[0].pop()\nx = layer(x)",
    "an element of a table of the model is popped": "n = self.table['a'].pop()\nx = layer(x)",
    "an iterator moves by its dunder method": "x = layer(x, key=keys.__next__())",
    "a generator of random numbers is drawn from": "x = layer(x) + mask.normal()",
    "a generator of random numbers of the model is drawn from": "x = layer(x) + self.rng.normal()",
    "a generator of random numbers in a dict is drawn from": "x = layer(x) + mask['rng'].normal()",
    "a function in a dict is called": "x = layer(x) + mask['f'](x)",
    "a function that prints is mapped": "y = [*map(print, [1])]\nx = layer(x)",
    "an asynchronous comprehension stands in the body": "y = [a async for a in keys]\nx = layer(x)",
    "a nested loop assigns to the model": "for self.q in range(3):\n    pass\nx = layer(x)",
    "a callback is called that remat repeats": "x = layer(jax.experimental.io_callback(mask, x, x))",
    "a flag is set in a nested loop": "told = False\nfor _ in range(2):\n    if told:\n        print(x)\n    told = True\nx = layer(x)",
    "a flag is one of the module": "if eqx.told:\n    print(x)\nx = layer(x)",
    "an annotation makes a name of the function local": "mask: jax.Array\nx = layer(x, mask)",
}


@pytest.mark.parametrize("stack", ["init", "call"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_safe_fix_where(body: str, stack: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    assert not safe(model(f"for layer in self.layers:\n{lines}"), stack)


def test_the_same_loops_without_what_is_wrong_have_a_safe_fix() -> None:
    for body in (
        "x = layer(x)",
        "x = layer.attend(x)",
        "h = []\n    h.append(x)\n    x = layer(h[0])",
        "x = layer(x).astype(x.dtype).at[0].add(1)",
        "if mask is None:\n        x = layer(x)",
    ):
        assert safe(model(f"for layer in self.layers:\n    {body}")), body


LOOPS = {
    "what the carry starts as is numpy's and changed in place": {
        "before": "h = np.zeros(8)",
        "loop": "for layer in self.layers:\n    h += layer(x)\n    x = h",
    },
    "the carry starts as an array of numpy": {
        "before": "h = np.zeros(8)",
        "loop": "for layer in self.layers:\n    h = h + 1.5\n    x = layer(x)",
    },
    "the carry is a parameter whose default is a number": {
        "parameters": "x, s=1.0",
        "loop": "for layer in self.layers:\n    x = layer(x) * s\n    s = s * 0.5",
    },
    "the carry starts as one number of a tuple": {
        "before": "n, q = 0, 1",
        "loop": "for layer in self.layers:\n    x = layer(x)\n    n = n + 2",
    },
    "the carry starts as a sum of numbers": {
        "before": "n = 0\nn += 3",
        "loop": "for layer in self.layers:\n    x = layer(x)\n    n = n + 1",
    },
    "the carry starts as a length": {
        "before": "n = len(self.layers)",
        "loop": "for layer in self.layers:\n    x = layer(x)\n    n = n - 1",
    },
    "an exception is caught around the loop": {
        "loop": "try:\n    for layer in self.layers:\n        x = layer(x)\nexcept TypeError:\n    x = x * 0"
    },
    "the carry is read by a finally": {
        "loop": "try:\n    for layer in self.layers:\n        x = layer(x)\nfinally:\n    self.log(x)"
    },
    "locals() is given back": {
        "loop": "for layer in self.layers:\n    h = layer(x)\n    x = h",
        "after": "return x, locals()",
    },
    "an attribute is a target": {"loop": "for layer, self.k in zip(self.layers, keys):\n    x = layer(x)"},
    "an element is a target": {"loop": "for layer, mask[0] in zip(self.layers, keys):\n    x = layer(x)"},
    "the layer's name is a target twice": {"loop": "for layer, layer in zip(self.layers, keys):\n    x = layer(x)"},
    "a per-layer number is asked for its type": {
        "loop": "for layer, k in zip(self.layers, keys):\n    x = layer(x)\n    if isinstance(k, float):\n        x = x + 1"
    },
    "a per-layer flag is compared by identity": {
        "loop": "for layer, k in zip(self.layers, keys):\n    x = layer(x)\n    if k is True:\n        x = x + 1"
    },
    "an iterator is walked beside the layers": {"before": "keys = iter(mask)", "loop": ZIP},
    "a generator is walked beside the layers": {"before": "keys = (a for a in mask)", "loop": ZIP},
    "a dict is walked beside the layers": {"before": "keys = {'a': x, 'b': x}", "loop": ZIP},
    "a string is walked beside the layers": {"loop": "for layer, k in zip(self.layers, 'ab'):\n    x = layer(x, k)"},
    "`list` is given a starred argument": {"loop": "for layer in list(*self.layers):\n    x = layer(x)"},
    "zip is a local name": {"before": "zip = self.norm", "loop": ZIP},
    "zip is a parameter": {"parameters": "x, keys, zip", "loop": ZIP},
    "self is another object": {"before": "self = mask"},
    "self is the parameter of an inner function": {
        "loop": "def run(self, x):\n    for layer in self.layers:\n        x = layer(x)\n    return x\nx = run(mask, x)"
    },
    "the list is unpacked with a star, beside what is no list": {
        "before": "*rest, last = mask",
        "loop": "for layer in rest:\n    x = layer(x)",
    },
    "the list's other name is bound again by a walrus": {
        "before": "ls = self.layers\nif (ls := ls[1:]):\n    pass",
        "loop": "for layer in ls:\n    x = layer(x)",
    },
    "the list grows after it became the layers": {
        "init": f"layers = {BUILD}\nself.layers = layers\nlayers.append(Block(8, key=key))"
    },
    "the list is filled after it became the layers": {
        "init": f"layers = []\nself.layers = layers\n{KEYS}\n    layers.append(Block(8, key=k))"
    },
    "an element is put into the list after it became the layers": {
        "init": f"layers = {BUILD}\nself.layers = layers\nlayers[0] = Block(8, key=key)"
    },
    "a layer is put in the place of another": {"init": f"self.layers = {BUILD}\nself.layers[0] = mask"},
    "the layers are added to in place, and the list is not shown": {
        "init": f"self.layers = {BUILD}\nself.layers += mask"
    },
    "the loop runs before the list is filled": {
        "init": f"self.layers = []\nx = jnp.ones(8)\n{KEYS}\n    for layer in self.layers:\n        x = layer(x)\n"
        "    self.layers.append(Block(8, key=k))",
        "loop": "",
    },
    "the loop runs while the list is filled": {
        "init": f"self.layers = []\nx = 1\n{KEYS}\n    self.layers.append(Block(8, key=k))\n"
        "    for layer in self.layers:\n        x = layer(x)",
        "loop": "",
    },
}


def test_an_object_of_unknown_class_may_be_no_module_of_the_project() -> None:
    assert not safe(model("x = (lambda self: functools.reduce(lambda x, f: f(x), self.layers, x))(mask)"))


@pytest.mark.parametrize("given", LOOPS.values(), ids=LOOPS)
def test_no_safe_fix_in_a_model_where(given: dict[str, str]) -> None:
    assert not safe(model(**given))


SHADOWS = {
    "the module has a zip of its own": (ZIP, "def zip(a, b):\n    return [(b, a)]"),
    "zip is imported from elsewhere": (ZIP, "from itertools import zip_longest as zip"),
    "the module has an enumerate of its own": (
        "for i, layer in enumerate(self.layers):\n    x = layer(x)",
        "def enumerate(x):\n    return [(0, x[0])]",
    ),
    "the module has a list of its own": (
        "for layer in list(self.layers):\n    x = layer(x)",
        "def list(x):\n    return x[::-1]",
    ),
    "exceptions are suppressed around the loop": (
        "with suppress(TypeError):\n    for layer in self.layers:\n        x = layer(x)",
        "from contextlib import suppress",
    ),
    "a function that prints is given to another": (
        "for layer in self.layers:\n    x = jax.vmap(noisy)(layer(x))",
        "def noisy(x):\n    print(x)\n    return x",
    ),
    "a helper prints inside of a while": (
        "for layer in self.layers:\n    x = noisy(layer(x))",
        "def noisy(x):\n    while True:\n        print(x)\n        break\n    return x",
    ),
    "a helper prints inside of a try": (
        "for layer in self.layers:\n    x = noisy(layer(x))",
        "def noisy(x):\n    try:\n        print(x)\n    finally:\n        pass\n    return x",
    ),
    "a helper's inner function prints": (
        "for layer in self.layers:\n    x = noisy(layer(x))",
        "def noisy(x):\n    def inner(y):\n        print(y)\n        return y\n    return inner(x)",
    ),
}


@pytest.mark.parametrize(("loop", "code"), SHADOWS.values(), ids=SHADOWS)
def test_no_safe_fix_in_a_module_where(loop: str, code: str) -> None:
    assert not safe(preceded(model(loop), code))


def test_a_method_of_the_model_that_prints_is_followed() -> None:
    text = model("for layer in self.layers:\n    x = self.step(layer, x)")
    quiet = "\n    def step(self, layer, x):\n        return layer(x)\n"
    assert safe(text + quiet)
    assert not safe(text + quiet.replace("return", "print(1)\n        return"))


def test_a_method_of_the_layer_that_its_call_calls_is_followed() -> None:
    text = model().replace(
        "return x + self.linear(x)", "return self.impl(x)\n\n    def impl(self, x):\n        return x"
    )
    assert safe(text)
    assert not safe(text.replace("        return x\n", "        print(1)\n        return x\n", 1))


def test_a_module_that_the_layer_holds_is_followed() -> None:
    inner = "class Inner(eqx.Module):\n    def __call__(self, x):\n        return x"
    text = preceded(model().replace("eqx.nn.Linear(dim, dim, key=key)", "Inner()"), inner)
    assert safe(text)
    assert not safe(text.replace("        return x\n", "        print(1)\n        return x\n", 1))


def test_a_decorator_of_the_layers_call_is_not_understood() -> None:
    code = "def counted(f):\n    def g(*a, **k):\n        return f(*a, **k)\n    return g"
    text = preceded(model(), code).replace(
        "    def __call__(self, x, mask", "    @counted\n    def __call__(self, x, mask"
    )
    assert not safe(text)
    assert not safe(text.replace("        return f", "        print(1)\n        return f"))


def test_a_method_is_looked_for_in_pythons_order() -> None:
    bases = (
        "class A(eqx.Module):\n    def __call__(self, x):\n        return x\n\n\nclass B(A):\n    pass\n\n\n"
        "class C(A):\n    def __call__(self, x):\n        print(1)\n        return x\n\n\nclass D(B, C):\n    pass"
    )
    text = preceded(model(init="self.layers = [D() for _ in range(3)]"), bases)
    assert not safe(text)
    assert safe(text.replace("D(B, C)", "D(B)"))


def test_a_subclass_that_builds_other_layers_is_seen() -> None:
    sub = "\n\nclass Sub(Model):\n    def __init__(self):\n        self.layers = [Other() for _ in range(2)]\n"
    both = only(model() + sub)
    assert isinstance(both, Plan) and isinstance(both.stack, CallStack)
    assert both.holds is Holds.BLOCK_SEQ and not both.safe
    loop = "for layer in self.layers:\n    x = layer(x, mask)"
    plan, alone = only(model(loop) + sub, stack="call"), only(model(loop), stack="call")
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert isinstance(alone, Plan) and alone.call is not None
    assert alone.call.owner == "Block"
    assert plan.call is not None
    assert plan.call.owner is None


def test_a_use_of_the_list_of_a_model_that_has_no_type_is_taken_to_be_ours() -> None:
    use = "\n\ndef penalty(model):\n    return jax.tree.map(jnp.sum, model.layers)\n"
    assert not safe(model() + use, stack="init")
    assert safe(model() + use.replace("jax.tree.map(jnp.sum, model.layers)", "len(model.layers)"), stack="init")
    # An import is no model.
    assert safe(f"import package.layers.parts as model\n{model()}{use.replace('def penalty(model)', 'def penalty()')}")


@pytest.mark.parametrize(
    "use",
    [
        "for layer in self.layers:\n    if layer is self.norm:\n        break",
        "for i, layer in enumerate(self.layers):\n    if id(layer) == id(mask):\n        break",
        "n = [layer for layer in self.layers if layer is not mask]",
        "n = mask is self.layers[0]",
        "print(self.layers)",
    ],
)
def test_no_safe_fix_where_other_code_asks_which_object_a_layer_is(use: str) -> None:
    # The stack makes its layers anew whenever it is asked for them.
    assert not safe(model(after=f"{use}\nreturn x"), stack="init")
    assert safe(model(after="n = self.layers[0].linear is None\nreturn x"))


@pytest.mark.parametrize("option", ["converter=reversed", "converter=tuple", "static=True"])
def test_a_field_that_would_not_keep_the_stack_is_seen(option: str) -> None:
    text = model().replace("layers: list[Block]", f"layers: list[Block] = eqx.field({option})")
    assert not safe(text)
    assert safe(text.replace(option, "repr=False"))


def test_a_field_that_a_function_of_the_project_makes_may_convert_what_is_assigned() -> None:
    helper = "def kept():\n    return eqx.field(converter=tuple)\n\n\nclass Model("
    text = model().replace("layers: list[Block]", "layers: list[Block] = kept()").replace("class Model(", helper)
    assert not safe(text)


@pytest.mark.parametrize(
    "patch",
    [
        "import parts\nparts.build = print\n",
        "import parts as p\np.build = print\n",
        "from . import parts\n\n\ndef install():\n    parts.build = print\n",
        "from . import (\n    other,\n    parts,\n)\nparts.build = print\n",
        "import parts\nsetattr(parts, 'build', print)\n",
        "import a.parts\na.parts.build = print\n",
    ],
)
def test_a_function_that_another_file_puts_something_else_in_place_of_is_not_shown(patch: str) -> None:
    body = "def build(dim, key):\n    from model import Block\n\n    return Block(dim, key=key)\n"
    init = "self.layers = [parts.build(8, k) for k in jr.split(key, depth)]"
    text = model(init=init).replace("class Model(", "import parts\n\n\nclass Model(")

    def is_plan(other: str) -> bool:
        texts = {"model.py": text, "parts.py": body, "patch.py": other}
        files = [Source(Path(name), text) for name, text in texts.items()]
        found = analyse(files[:1], index=lambda: Index(Path(), files)).loops
        return any(isinstance(each, Plan) and each.safe for each in found)

    assert not is_plan(patch)


def test_a_star_import_may_bind_a_name_again() -> None:
    text = f"{PRELUDE.replace('class Model(', 'from parts import *' + chr(10) * 3 + 'class Model(')}{model()[len(PRELUDE) :]}"
    plain = decide(text, files={"parts.py": "def helper(x):\n    return x\n"})
    other = decide(text, files={"parts.py": "class Block:\n    pass\n"})
    assert [isinstance(loop, Plan) for loop in plain] == [True]
    assert not any(isinstance(loop, Plan) and loop.safe for loop in other)
