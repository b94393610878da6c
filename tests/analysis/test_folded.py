"""Folds through `functools.reduce`: which calls are plans, which are refused, and which are nobody's business."""

from textwrap import indent

import pytest

from scanify.analysis.plan import Folded, Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from tests.analysis.helpers import PRELUDE, decide, kept, model, only
from tests.texts import texts

REDUCE = "functools.reduce(lambda x, layer: layer(x), self.layers, x)"


def returned(expression: str, **given: str) -> str:
    return model(loop="", after=f"return {expression}", **given)


# name: (the call, the carry, what is walked beside the layers, the function's expression)
PLANS = {
    "a lambda": (REDUCE, "x", (), "layer(x)"),
    "other names": ("functools.reduce(lambda h, l, /: l(h, mask), self.layers, x)", "h", (), "l(h, mask)"),
    "more around the call": (
        "functools.reduce(lambda h, l: h + l.attend(h), self.layers, x)",
        "h",
        (),
        "h + l.attend(h)",
    ),
    "a function in the lambda": (
        "functools.reduce(lambda h, l: jax.checkpoint(l)(h), self.layers, x)",
        "h",
        (),
        "jax.checkpoint(l)(h)",
    ),
    "a helper in the lambda": ("functools.reduce(lambda h, l: f(l, h), self.layers, x)", "h", (), "f(l, h)"),
    "a carry that is a tuple": (
        "functools.reduce(lambda c, l: (l(c[0]), c[1] + 1), self.layers, (x, mask))",
        "c",
        (),
        "(l(c[0]), c[1] + 1)",
    ),
    "a keyword of Python 3.14": (
        "functools.reduce(lambda h, l: l(h), self.layers, initial=x)",
        "h",
        (),
        "l(h)",
    ),
    "keys": (
        "functools.reduce(lambda h, pair: pair[0](h, key=pair[1]), zip(self.layers, keys), x)",
        "h",
        (("key", "keys"),),
        "layer(h, key=key)",
    ),
    "names that are taken": (
        "functools.reduce(lambda layer, p: p[0](layer, key, key=p[1]), zip(self.layers, keys), x)",
        "layer",
        (("key_2", "keys"),),
        "layer_2(layer, key, key=key_2)",
    ),
    "in a comprehension": (
        "[functools.reduce(lambda h, l: l(h), self.layers, y) for y in keys]",
        "h",
        (),
        "l(h)",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_reduce_over_layers_is_a_fold(name: str) -> None:
    call, carry, xs, update = PLANS[name]
    plan = only(returned(call))
    assert isinstance(plan, Plan), plan
    assert (plan.kind, plan.carry, plan.safe) == (Kind.FOLD, (carry,), "f(" not in update and carry != "c")
    assert tuple((one.target, one.source) for one in plan.xs) == xs
    assert plan.folded is not None
    assert plan.folded.update == update
    assert isinstance(plan.stack, InitStack)
    assert (plan.rule, plan.holds) == ("SCN101", Holds.ARRAY_STACKED)


@pytest.mark.parametrize("imported", ["from functools import reduce", "from functools import reduce as through"])
def test_by_any_name(imported: str) -> None:
    call = REDUCE.replace("functools.reduce", imported.rpartition(" ")[2])
    assert isinstance(only(f"{imported}\n{returned(call)}"), Plan)


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("def step(h, layer):\n    return layer(h, mask)", "step"),
        ("def step(h, layer):\n    y = layer.attend(h)\n    return h + y", "step"),
        ("", "self.step"),
        ("", "apply"),
    ],
    ids=["local", "several statements", "a method", "of the module"],
)
def test_a_function_by_name_is_given_the_carry_and_the_layer(before: str, name: str) -> None:
    text = model(loop="", before=before, after=f"return functools.reduce({name}, self.layers, x)")
    text = text.replace("\nclass Other", "\ndef apply(h, layer):\n    return layer(h)\n\n\nclass Other")
    text += indent("\ndef step(self, h, layer):\n    return layer(h)\n", "    ") if "self" in name else ""
    plan = only(text)
    assert isinstance(plan, Plan), plan
    assert plan.folded == Folded(f"{name}(x, layer)", "x")


REFUSED = {
    "SCN213: no value to begin with": "functools.reduce(lambda h, l: l(h), self.layers)",
    "SCN213: a tuple that is handed on": ("functools.reduce(lambda h, p: p[0](h, *p[1:]), zip(self.layers, keys), x)"),
    "SCN213: a number and a layer": "functools.reduce(lambda h, p: p[1](h) * (p[0] + 1), enumerate(self.layers), x)",
    "SCN213: an iterator beside the layers": (
        "functools.reduce(lambda h, p: p[0](h, key=p[1]), zip(self.layers, iter(keys)), x)"
    ),
    "SCN206: a list that starts empty": "functools.reduce(lambda h, l: [*h, l(x)], self.layers, [])",
    "SCN210: nothing that is handed on": "functools.reduce(lambda h, l: l(x), self.layers, x)",
    "SCN212: a walrus in the function": "functools.reduce(lambda h, l: l(y := h), self.layers, x)",
    "SCN212: a walrus that comes first": "functools.reduce(lambda h, l: l(h, y), self.layers, (y := x))",
    "SCN207: an effect": "functools.reduce(lambda h, l: l(h, next(keys)), self.layers, x)",
    "SCN208: the value of a number": (
        "functools.reduce(lambda n, layer: n + (layer(x) if n > 0 else 1), self.layers, 0)"
    ),
    "SCN208: the value of a number in a tuple": (
        "functools.reduce(lambda c, layer: (layer(c[0]) if c[1] else c[0], c[1] + 1), self.layers, (x, 0))"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_fold_is_refused_with_its_reason(name: str) -> None:
    found = only(returned(REFUSED[name]))
    assert isinstance(found, Refusal)
    assert found.rule == name.partition(":")[0], found


@pytest.mark.parametrize("update", ["h + [l(h[-1])]", "h if l is self.norm else l(h)"])
def test_what_is_not_understood_is_no_safe_fold(update: str) -> None:
    found = only(returned(f"functools.reduce(lambda h, l: {update}, self.layers, [x])"))
    assert isinstance(found, Refusal) or not found.safe


@pytest.mark.parametrize("end", ["except ValueError:\n    x = mask", "finally:\n    x = mask"])
def test_an_exception_that_is_caught_around_is_refused(end: str) -> None:
    found = only(model(loop="", before=f"try:\n    x = {REDUCE}\n{end}"))
    assert isinstance(found, Refusal) == end.startswith("except")


@pytest.mark.parametrize(
    "call",
    [
        "functools.reduce(lambda h, l: l(h, keys.pop()), self.layers, x)",
        "functools.reduce(lambda h, l: l(h), self.layers, keys.pop())",
        "functools.reduce(lambda h, p: p[0](h, key=p[1]), zip(self.layers, keys), keys.pop())",
        "functools.reduce(lambda h, p: p[0](h, key=p[1]), zip(self.layers, [next(x) for _ in mask]), x)",
        "functools.reduce(helper, self.layers, x)",
        "functools.reduce(jnp.add, self.layers, x)",
    ],
)
def test_what_may_have_an_effect_or_apply_no_layer_is_not_safe(call: str) -> None:
    assert not any(isinstance(found, Plan) and found.safe for found in decide(returned(call)))


ALONE = {
    "another reduce": "jax.tree.reduce(lambda x, layer: layer(x), self.layers, x)",
    "a reduce of jax": "jnp.add.reduce(lambda x, layer: layer(x), self.layers, x)",
    "a method": "self.reduce(lambda x, layer: layer(x), self.layers, x)",
    "other things": "functools.reduce(lambda x, y: jnp.add(x, y), keys, x)",
    "attributes": "functools.reduce(lambda n, layer: n + layer.linear.out_features, self.layers, 0)",
    "defaults": "functools.reduce(lambda h, layer, y=x: layer(h), self.layers, x)",
    "stars": "functools.reduce(*(lambda h, layer: layer(h), self.layers), x)",
    "functions of functions": "functools.reduce(lambda f, g: lambda y: g(f(y)), self.layers, x)(x)",
    "ignored": f"{REDUCE}  # scanify: ignore",
    "another functools": f"(lambda functools: {REDUCE})(mask)",
    "in an f-string": f'f"{{{REDUCE}}}"',
}


@pytest.mark.parametrize("name", ALONE)
def test_what_folds_no_layers_is_left_alone(name: str) -> None:
    before = "def compose(f, g):\n    return lambda y: g(f(y))"
    assert decide(model(loop="", before=before, after=f"return {ALONE[name]}")) == []


@pytest.mark.parametrize(
    ("before", "above"),
    [
        ("reduce = keys", "from functools import reduce\n"),
        ("from jax.lax import reduce", "from functools import reduce\n"),
        ("", "from jax.lax import reduce\n"),
        ("", "def reduce(f, layers, x):\n    return x\n\n\n"),
        ("", "from functools import reduce\n\n\ndef reduce(f, layers, x):\n    return x\n\n\n"),
        ("", "from elsewhere import *\n"),
    ],
    ids=["local", "imported in the function", "of jax", "of the module", "bound twice", "a star"],
)
def test_another_function_by_that_name_is_left_alone(before: str, above: str) -> None:
    text = model(loop="", before=before, after=f"return {REDUCE.removeprefix('functools.')}")
    assert decide(f"{above}{text}") == []


def test_arrays_that_a_module_holds_are_added_up_by_nobody_else() -> None:
    text = returned("functools.reduce(lambda h, w: jnp.add(h, w), self.layers, x)", init="self.layers = depth")
    assert decide(text.replace("list[Block]", "list")) == []


def test_sums_are_maps_and_a_number_keeps_its_dtype() -> None:
    plan = only(returned("functools.reduce(lambda total, layer: total + layer(x), self.layers, 0.0)"))
    assert isinstance(plan, Plan)
    assert (plan.kind, plan.mapped, plan.holds) == (Kind.MAP, None, Holds.BLOCK_SEQ)
    assert texts(plan.obligations) == ("`total` keeps its dtype, though it starts as a Python number",)


@pytest.mark.parametrize("start", ["None", "(x, None)", "(x, 0)", "y", "0", "-0.5", "(mask, np.zeros(3))", "n"])
def test_a_carry_that_starts_as_something_else_is_for_a_block_seq(start: str) -> None:
    text = model(
        loop="", before="y, n = None, 0", after=f"return functools.reduce(lambda h, l: l(h), self.layers, {start})"
    )
    plan = only(text)
    assert isinstance(plan, Plan)
    assert plan.holds is Holds.BLOCK_SEQ


def test_parts_of_a_list_are_stacked_in_the_call() -> None:
    plan = only(returned("functools.reduce(lambda h, l: l(h), self.layers[1:], x)"))
    assert isinstance(plan, Plan)
    assert (plan.container, type(plan.stack), plan.holds) == ("self.layers[1:]", CallStack, Holds.BLOCK_SEQ)


def test_an_iterator_beside_others_may_be_walked_already() -> None:
    call = "functools.reduce(lambda h, p: p[0](h, key=p[1]), zip(chosen, keys), x)"
    before = "chosen = reversed(self.layers)"
    for text in (
        model(loop="", before=before, after=f"return {call}"),
        model(f"for _ in keys:\n    x = {call}", before=before),
    ):
        found = only(text)
        assert isinstance(found, Refusal)
        assert found.reason == "`chosen` may be an iterator, which has no length and may be used up"


def test_a_reduce_in_another_waits() -> None:
    found = decide(returned(REDUCE.replace(", x)", f", {REDUCE})")))
    assert [type(one) for one in found] == [Plan, Refusal]
    assert found[1].rule == "SCN212"


def test_a_reduce_in_a_list_that_is_stacked_is_refused() -> None:
    text = PRELUDE + (
        "    def __init__(self, depth, key):\n"
        "        rows = [Block(8, key=k) for k in jr.split(key, depth)]\n"
        "        self.layers = [\n"
        "            Block(8, functools.reduce(lambda h, row: row(h), rows, 8), key=k) for k in jr.split(key, depth)\n"
        "        ]\n\n"
        "    def __call__(self, x):\n"
        "        for layer in self.layers:\n"
        "            x = layer(x)\n"
        "        return x\n"
    )
    found = decide(kept(text))
    assert [(type(one), one.rule) for one in found] == [(Refusal, "SCN212"), (Plan, found[1].rule)]
