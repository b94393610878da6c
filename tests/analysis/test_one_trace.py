"""Lists that one call of their class can build: layers that differ in their random keys, and do nothing but that."""

import pytest
from helpers import kept, model, only

from scanify.analysis.plan import Plan
from scanify.analysis.stack import InitStack, OneTrace, Wrap

BLOCK = "class Block(eqx.Module):\n    linear: eqx.nn.Linear\n"


def built(init: str, block: str = "", before: str = "") -> OneTrace | None:
    """How the list of a model is built, whose blocks may have another constructor."""
    text = model(init=init)
    if block:
        start = text.index("    def __init__(self, dim, rate=0.0, *, key):")
        end = text.index("    def __call__(self, x, mask=None")
        text = f"{text[:start]}{block}\n{text[end:]}"
    decision = only(text.replace("class Block(", f"{before}\n\nclass Block(", 1))
    assert isinstance(decision, Plan), decision
    assert isinstance(decision.stack, InitStack), decision.stack
    (site,) = decision.stack.sites
    return site.built if isinstance(site, Wrap) else None


IN_ONE = {
    "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]": ("depth", "8", "key=jr.split(key, depth)"),
    "self.layers = [Block(8, 0.5, key=k) for k in jr.split(key, num=depth)]": (
        "depth",
        "8",
        "0.5",
        "key=jr.split(key, num=depth)",
    ),
    "keys = jr.split(key, depth)\nself.layers = [Block(8, key=k) for k in keys]": ("len(keys)", "8", "key=keys"),
    "self.layers = [eqx.nn.Linear(8, 8, key=k) for k in jr.split(key, depth)]": (
        "depth",
        "8",
        "8",
        "key=jr.split(key, depth)",
    ),
}


@pytest.mark.parametrize("init", IN_ONE)
def test_layers_that_differ_in_their_keys_are_built_in_one_trace(init):
    found = built(init)
    assert found is not None
    assert (found.count, *found.arguments, found.keys_alone) == (*IN_ONE[init], False)


@pytest.mark.parametrize("scale", ["scale", "scale: jax.Array", "scale: eqx.nn.Linear", "scale: list"])
def test_where_an_argument_may_be_an_array_keys_alone_are_per_layer(scale):
    block = f"    def __init__(self, dim, {scale}, *, key):\n        self.linear = eqx.nn.Linear(8, 8, key=key)\n"
    found = built("self.layers = [Block(8, depth, key=k) for k in jr.split(key, depth)]", block)
    assert found is not None
    assert found.keys_alone


@pytest.mark.parametrize("width", ["4 * dim", "dim * rate"])
def test_numbers_that_are_computed_of_what_is_given_are_the_same_each_time(width):
    block = (
        f"    def __init__(self, dim, rate=2, *, key):\n        self.linear = eqx.nn.Linear(dim, {width}, key=key)\n"
    )
    found = built("self.layers = [Block(dim, rate, key=k) for k in jr.split(key, depth)]", block)
    assert found is not None and found.keys_alone
    counting = "class Width:\n    def __rmul__(self, n):\n        self.n += n\n        return self.n\n"
    assert built("self.layers = [Block(dim, rate, key=k) for k in jr.split(key, depth)]", block, counting) is None
    unknown = block.replace(width, f"drawn() * {width}")
    assert built("self.layers = [Block(dim, rate, key=k) for k in jr.split(key, depth)]", unknown) is None


ONE_BY_ONE = {
    "a number that is computed": "self.layers = [Block(8, key=k) for k in jr.split(key, depth + 1)]",
    "a number that a call gives": "self.layers = [Block(dim, key=k) for k in jr.split(key, int(noted(depth)))]",
    "a number that a call by name gives": "self.layers = [Block(dim, key=k) for k in jr.split(key, num=noted(depth))]",
    "a number of an object": "self.layers = [Block(dim, key=k) for k in jr.split(key, [*SIZES][0])]",
    "arguments that are not spelled out": (
        "options = dict(rate=0.5)\nself.layers = [Block(8, **options, key=k) for k in jr.split(key, depth)]"
    ),
    "a condition": "self.layers = [Block(8, key=k) for k in jr.split(key, depth) if depth]",
    "two loops": "self.layers = [Block(8, key=k) for k in jr.split(key, depth) for _ in range(1)]",
    "a rate": "self.layers = [Block(8, i / depth, key=k) for i, k in enumerate(jr.split(key, depth))]",
    "a key that is used twice": "self.layers = [Block(8, k[0], key=k) for k in jr.split(key, depth)]",
    "a key of each key": "self.layers = [Block(8, key=jr.fold_in(k, 1)) for k in jr.split(key, depth)]",
    "spread arguments": "some = (8,)\nself.layers = [Block(*some, key=k) for k in jr.split(key, depth)]",
    "a comment": "self.layers = [\n    Block(8, key=k)  # each its own\n    for k in jr.split(key, depth)\n]",
    "a name that is bound twice": "keys = jr.split(key, depth)\nif depth > 3:\n    keys = jr.split(key, depth + 1)\n"
    "self.layers = [Block(8, key=k) for k in keys]",
    "a local name that hides the class": "Block = functools.partial(Other)\n"
    "self.layers = [Block(key=k) for k in jr.split(key, depth)]",
    "a part of the keys": "keys = jr.split(key, 9)\nself.layers = [Block(8, key=k) for k in keys[2:]]",
}


def test_a_range_that_is_another_function_is_not_counted():
    init = "keys = jr.split(key, depth)\nself.layers = [Block(8, key=keys[i]) for i in range(depth)]"
    decision = only(model(init=init).replace("class Block(", "def range(n):\n    return [0] * n\n\n\nclass Block(", 1))
    sites = decision.stack.sites if isinstance(decision, Plan) and isinstance(decision.stack, InitStack) else ()
    assert not any(isinstance(site, Wrap) and site.built is not None for site in sites), sites


@pytest.mark.parametrize("init", ONE_BY_ONE.values(), ids=ONE_BY_ONE)
def test_other_lists_are_stacked_when_they_are_built(init):
    decision = only(model(init=init))
    assert isinstance(decision, Plan), decision
    sites = decision.stack.sites if isinstance(decision.stack, InitStack) else ()
    assert not any(isinstance(site, Wrap) and site.built is not None for site in sites), sites


HEAD = "    def __init__(self, dim, rate=0.0, *, key):\n        self.linear = eqx.nn.Linear(dim, dim, key=key)\n"
COUNTED = """
class Counting(type):
    made = 0

    def __call__(cls):
        cls.made += 1
        part = super().__call__()
        part.rate = 0.5**cls.made
        return part


class Counted(metaclass=Counting):
    pass
"""
DOES_MORE = {
    "a number of the process": ("        self.linear = self.linear.bias * np.random.normal()\n", "import numpy as np"),
    "a counter": ("        COUNT.append(dim)\n", "COUNT = []"),
    "what is not shown": ("        register(self)\n", "from elsewhere import register"),
    "what another gives": ("        self.linear = make(dim)\n", "from elsewhere import make"),
    "an iterator": ("        self.linear = self.linear.bias * next(RATES)\n", "RATES = iter([1.0, 2.0, 3.0, 4.0])"),
    "a queue": ("        self.linear = self.linear.bias * RATES.get()\n", "import queue\nRATES = queue.SimpleQueue()"),
    "a number of a queue": ("        self.rate = float(RATES.get())\n", "import queue\nRATES = queue.SimpleQueue()"),
    "a part that a metaclass counts": ("        self.rate = float(Counted().rate)\n", COUNTED),
    "a field of what is not shown": ("        self.rate = RATES.now\n", "import rates\nRATES = rates.Rates()"),
    "a print": ("        print(dim)\n", ""),
    "a number that is made of the key": ("        self.rate = float(jr.uniform(key))\n", ""),
    "a branch on the key": ("        if jr.uniform(key) > 0.5:\n            self.linear = None\n", ""),
}


@pytest.mark.parametrize(("does", "before"), DOES_MORE.values(), ids=DOES_MORE)
def test_a_constructor_that_does_more_is_called_for_each_layer(does, before):
    init = "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]"
    text = model(init=init).replace(HEAD.splitlines(keepends=True)[1], HEAD.splitlines(keepends=True)[1] + does, 1)
    decision = only(text.replace("class Block(", f"{before}\n\nclass Block(", 1))
    sites = decision.stack.sites if isinstance(decision, Plan) and isinstance(decision.stack, InitStack) else ()
    assert not any(isinstance(site, Wrap) and site.built is not None for site in sites), sites


@pytest.mark.parametrize(
    "extra",
    [
        "    @staticmethod\n    def init(dim, key):\n        return Block(dim, key=key)\n",
        "    def __new__(cls, *args, **kwargs):\n        return super().__new__(cls)\n",
    ],
    ids=["init, which is called instead", "an object by __new__"],
)
def test_a_class_that_makes_its_objects_otherwise_is_called_for_each_layer(extra):
    text = model().replace(HEAD, f"{extra}\n{HEAD}", 1)
    decision = only(text)
    sites = decision.stack.sites if isinstance(decision, Plan) and isinstance(decision.stack, InitStack) else ()
    assert not any(isinstance(site, Wrap) and site.built is not None for site in sites), sites


@pytest.mark.parametrize("static", ["eqx.field(static=True)", "eqx.static_field()"])
@pytest.mark.parametrize(("mask", "one_trace"), [("jnp.tril(jnp.ones((4, 4)))", False), ("4 * dim", True)])
def test_a_static_field_that_jax_computes_would_be_a_tracer(static, mask, one_trace):
    text = model().replace(
        "    linear: eqx.nn.Linear\n", f"    linear: eqx.nn.Linear\n    mask: object = {static}\n", 1
    )
    text = text.replace(HEAD, f"{HEAD}        self.mask = {mask}\n", 1)
    decision = only(text)
    assert isinstance(decision, Plan), decision
    assert isinstance(decision.stack, InitStack), decision.stack
    (site,) = decision.stack.sites
    assert isinstance(site, Wrap) and (site.built is not None) == one_trace


GIVES = """
import operator


class Gives:
    def __init__(self):
        self.rate = 1.0

    def __{asked}__(self, *given):
        {does}
        return self.rate


"""
ASKED = {
    "float": "float(rate)",
    "bool": "0.5 if rate else 1.0",
    "contains": "0.5 if 3 in rate else 1.0",
    "eq": "0.5 if rate == 3 else 1.0",
    "format": 'len(f"{rate}")',
    "getattr": "float(rate.now)",
}


def of_given(asked: str, does: str, value: str, given: str) -> bool:
    """Whether layers that are given an object of the project, and ask it something, are built in one trace."""
    init = f"given = {given}\nself.layers = [Block(8, given, key=k) for k in jr.split(key, depth)]"
    text = kept(model(init=init)).replace("self.rate = rate", f"self.rate = {value}", 1)
    decision = only(text.replace("class Block(", f"{GIVES.format(asked=asked, does=does)}class Block(", 1))
    sites = decision.stack.sites if isinstance(decision, Plan) and isinstance(decision.stack, InitStack) else ()
    return any(isinstance(site, Wrap) and site.built is not None for site in sites)


@pytest.mark.parametrize("asked", ASKED)
def test_an_object_that_changes_as_it_is_asked_is_asked_for_each_layer(asked):
    assert not of_given(asked, "self.rate *= 0.5", ASKED[asked], "Gives()")


def test_an_object_that_stays_as_it_is_may_be_asked_once():
    assert of_given("float", "pass", "float(rate)", "Gives()")


@pytest.mark.parametrize(
    "value", ["len(operator.iadd(rate, [1]))", "len(rate) if operator.setitem(rate, 0, 2) is None else 0"]
)
def test_a_function_that_changes_what_it_is_given_is_called_for_each_layer(value):
    assert not of_given("len", "pass", value, "[1]")
