"""One table of rules and forms of loops: the same fact is answered with the same rule, however the loop is written."""

from dataclasses import dataclass

import pytest

from scanify.analysis.plan import Kind, Plan, Refusal
from scanify.analysis.stack import InitStack
from tests.analysis.helpers import decide, model
from tests.texts import texts


@dataclass(frozen=True)
class Form:
    """How a loop is written: the statements, and what `__call__` gives back. `layer` is a layer in one iteration.

    `{walked}` stands for what is walked, `{call}` for what one iteration computes from `x` and the layer.
    """

    loop: str
    returned: str
    layer: str = "layer"


FOLDS = {
    "statement": Form("for layer in {walked}:\n    x = {call}", "x"),
    "index": Form("for i in range(len({walked})):\n    x = {call}", "x", "{walked}[i]"),
}
MAPS = {
    "comprehension": Form("", "[{call} for layer in {walked}]"),
    "generator": Form("", "sum({call} for layer in {walked})"),
}
LOOPS = FOLDS | MAPS

CLASSES = """\
SEEN = []


def push(x):
    SEEN.append(1)
    return x


class Rated(Block):
    rate: float

    def __init__(self, rate, *, key):
        super().__init__(8, key=key)
        self.rate = rate

    def __call__(self, x, mask=None, *, key=None):
        return self.linear(x) * self.rate


class Asking(Block):
    def __call__(self, x, mask=None, *, key=None):
        y = self.linear(x)
        return y if y.sum() > 0 else x


class Third(eqx.Module):
    def __call__(self, x):
        return -x


"""
LOUD = """\
class Loud(Block):
    def __call__(self, x, mask=None, *, key=None):
        print("a layer")
        return self.linear(x)


"""
ALIKE = "[Block(8, key=k) for k in jr.split(key, depth)]"


def text_of(form: str, layers: str = ALIKE, call: str = "{layer}(x)", walked: str = "self.layers") -> str:
    """A model with some layers, and a loop of a form over them."""
    written = LOOPS[form]

    def filled(text: str) -> str:
        once = text.replace("{call}", call.replace("{layer}", written.layer))
        return once.replace("{walked}", walked)

    text = model(filled(written.loop), init=f"self.layers = {layers}", after=f"return {filled(written.returned)}")
    if layers == "layers":
        text = text.replace("self, depth, *, key", "self, layers")
    return text.replace("class Model", f"{CLASSES}{LOUD if 'Loud' in layers else ''}class Model")


def only(text: str, **given: str) -> Plan | Refusal:
    (found,) = decide(text, **given)
    return found


# -- rules of what can be rewritten ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", LOOPS)
def test_layers_that_are_alike(form: str) -> None:
    found = only(text_of(form))
    rule, kind = ("SCN101", Kind.FOLD) if form in FOLDS else ("SCN104", Kind.MAP)
    assert (found.rule, found.kind) == (rule, kind)
    assert isinstance(found, Plan) and found.safe and isinstance(found.stack, InitStack)


@pytest.mark.parametrize("form", LOOPS)
@pytest.mark.parametrize(
    ("layers", "kind"),
    [
        ("[Rated(0.1 * i, key=k) for i, k in enumerate(jr.split(key, depth))]", Kind.FOLD),
        ("[Block(4 if i == 0 else 8, key=key) for i in range(depth)]", Kind.GROUP),
    ],
    ids=["a rate each", "a first layer of another size"],
)
def test_layers_that_differ_in_parts(form: str, layers: str, kind: Kind) -> None:
    found = only(text_of(form, layers))
    rule = "SCN102" if form in FOLDS else "SCN104"
    assert isinstance(found, Plan) and found.safe and found.holds.value == "BlockSeq"
    assert (found.rule, found.kind) == (rule, Kind.MAP if form in MAPS else kind)


# -- rules of the layers ---------------------------------------------------------------------------------------------

# What the list is built of, and the rule that refuses it.
LAYERS = {
    "a class that is not shown, of a size each": ("[make(2**i) for i in range(depth)]", "SCN201", FOLDS),
    "a list that nothing fills": ("[]", "SCN201", LOOPS),
    "three classes": ("[Block(8, key=key), Other(), Third()]", "SCN202", FOLDS),
    "shapes that differ": ("[Block(8 * (i + 1), key=key) for i in range(depth)]", "SCN203", LOOPS),
    "two layers": ("[Block(8, key=key), Block(8, key=key)]", "SCN203", FOLDS),
    "one object": ("[Block(8, key=key)] * depth", "SCN204", LOOPS),
    "one object by name": ("[one for _ in range(depth)]", "SCN204", LOOPS),
    "a layer that prints": ("[Loud(8, key=k) for k in jr.split(key, depth)]", "SCN207", LOOPS),
    "layers of the caller": ("layers", "SCN215", LOOPS),
}


@pytest.mark.parametrize(("fact", "form"), [(fact, form) for fact, (_, _, forms) in LAYERS.items() for form in forms])
def test_a_fact_of_the_layers_has_one_rule(fact: str, form: str) -> None:
    layers, rule, _ = LAYERS[fact]
    text = text_of(form, layers).replace("self.layers = ", "one = Block(8, key=key)\n        self.layers = ", 1)
    found = only(text if "one for" in layers else text_of(form, layers))
    assert isinstance(found, Refusal)
    assert found.rule == rule, (found.rule, found.reason)
    assert found.kind is not Kind.SCAN and (found.kind is Kind.MAP) == (form in MAPS)


# What is not listed where it is no statement: two layers in an expression.
NOT_LISTED = {
    "two layers": ("[Block(8, key=key), Block(8, key=key)]", MAPS),
    "three classes": ("[Block(8, key=key), Other(), Third()]", MAPS),
    "a class that is not shown, of a size each": ("[make(2**i) for i in range(depth)]", MAPS),
    "not modules": ("[jnp.tanh, jnp.sin, jnp.cos]", LOOPS),
    "numbers": ("[1, 2, 3]", LOOPS),
}


@pytest.mark.parametrize(("fact", "form"), [(fact, form) for fact, (_, forms) in NOT_LISTED.items() for form in forms])
def test_what_is_not_worth_a_word(fact: str, form: str) -> None:
    assert decide(text_of(form, NOT_LISTED[fact][0])) == []


# -- rules of the body -----------------------------------------------------------------------------------------------

# What an iteration computes, and the rule that refuses it. Of a map `x` is the same for all layers.
CALLS = {
    "prints": ("helper({layer}(x), print(x))", "SCN207", LOOPS),
    "takes from an iterator": ("{layer}(x, next(keys))", "SCN207", LOOPS),
    "changes a global list": ("push({layer}(x))", "SCN207", LOOPS),
    "binds a name in the expression": ("{layer}(y := x)", "SCN212", MAPS),
}


@pytest.mark.parametrize(("fact", "form"), [(fact, form) for fact, (_, _, forms) in CALLS.items() for form in forms])
def test_a_fact_of_the_body_has_one_rule(fact: str, form: str) -> None:
    call, rule, _ = CALLS[fact]
    found = only(text_of(form, call=call))
    assert isinstance(found, Refusal), found
    assert found.rule == rule, (found.rule, found.reason)
    assert found.kind is (Kind.MAP if form in MAPS else Kind.FOLD)


# What an iteration computes that is not understood, and why: each is left to a run.
UNKNOWN = {
    "asks for the value of what a layer gives": ("{layer}(x) * float({layer}(x).sum())", "whose value a scan does not"),
    "branches on what a layer gives": ("({layer}(x) if {layer}(x).sum() > 0 else x)", "a branch needs the value"),
    "makes text of what a layer gives": ("{layer}(x, str(helper({layer}(x))))", "whose value a scan does not have"),
}


@pytest.mark.parametrize("form", LOOPS)
@pytest.mark.parametrize("fact", UNKNOWN)
def test_what_is_not_understood_of_the_body_is_said(fact: str, form: str) -> None:
    call, why = UNKNOWN[fact]
    found = only(text_of(form, call=call))
    assert isinstance(found, Plan), found
    assert any(why in each for each in texts(found.obligations)), texts(found.obligations)


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ("[Asking(8, key=k) for k in jr.split(key, depth)]", "a branch needs the value"),
    ],
    ids=["a layer that asks for a value"],
)
@pytest.mark.parametrize("form", FOLDS)
def test_what_is_not_understood_of_the_layers_is_said(layers: str, why: str, form: str) -> None:
    found = only(text_of(form, layers))
    assert isinstance(found, Plan), found
    assert any(why in each for each in texts(found.obligations)), texts(found.obligations)


# Statements that only a statement can hold.
STATEMENTS = {
    "ends early by what it computes": ("if x.sum() > 0:\n    break\nx = {call}", "return x", "SCN205"),
    "ends early by what a layer gives": ("x = {call}\nif x.sum() > 0:\n    return x", "return x", "SCN205"),
    "reads what it fills": ("x = {call} + len(outs)\nouts.append(x)", "return x", "SCN206"),
    "writes around it": ("global SEEN\nSEEN = x\nx = {call}", "return x", "SCN207"),
    "leaves a name behind": ("h = {call}\nx = x + h\nif mask is None:\n    last = h", "return x, last", "SCN209"),
    "hands nothing on": ("y = {call}", "return x", "SCN210"),
    "defines a class": ("class Inner:\n    pass\n\nx = {call}", "return x", "SCN212"),
    "tries": ("try:\n    x = {call}\nexcept ValueError:\n    pass", "return x", "SCN212"),
}


@pytest.mark.parametrize("form", ["statement", "index"])
@pytest.mark.parametrize("fact", STATEMENTS)
def test_a_fact_of_the_statements_has_one_rule(fact: str, form: str) -> None:
    body, after, rule = STATEMENTS[fact]
    head, _, rest = FOLDS[form].loop.partition("    x = {call}")
    lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    call = "{layer}(x)".replace("{layer}", FOLDS[form].layer)
    loop = f"{head}{lines}{rest}".replace("{call}", call).replace("{walked}", "self.layers")
    found = only(model(loop, before="outs = []", after=after).replace("class Model", f"{CLASSES}class Model"))
    assert isinstance(found, Refusal), found
    assert found.rule == rule, (found.rule, found.reason)


# -- rules of the walk -----------------------------------------------------------------------------------------------

WALKS = {
    "backwards": ("reversed(self.layers)", None),
    "a part": ("self.layers[1:]", None),
    "a copy": ("list(self.layers)", None),
    "two lists": ("self.layers + self.layers", None),
}


@pytest.mark.parametrize("form", [form for form in LOOPS if form != "index"])
@pytest.mark.parametrize("walk", WALKS)
def test_a_way_of_walking_has_one_answer(walk: str, form: str) -> None:
    found = only(text_of(form, walked=WALKS[walk][0]))
    assert isinstance(found, Plan) and found.safe == (walk != "two lists")  # which may hold other subclasses
    assert found.rule in (("SCN101", "SCN102") if form in FOLDS else ("SCN104",))
    stacked = walk == "a copy" or (walk == "backwards" and form in FOLDS)
    assert (isinstance(found.stack, InitStack), found.reverse) == (stacked, stacked and walk == "backwards")


@pytest.mark.parametrize("form", [form for form in LOOPS if form != "index"])
def test_an_iterator_beside_the_layers_has_one_rule(form: str) -> None:
    text = text_of(form, call="layer(x, k)", walked="zip(self.layers, iter(mask))")
    text = text.replace(
        "lambda layer: layer(x, k), zip(self.layers, iter(mask))",
        "lambda layer, k: layer(x, k), self.layers, iter(mask)",
    )
    text = text.replace("lambda x, layer: layer(x, k)", "lambda x, pair: pair[0](x, pair[1])")
    found = only(text.replace("for layer in", "for layer, k in"))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN213", (found.rule, found.reason)


# -- the rule of the list --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", LOOPS)
def test_a_list_that_must_stay_one_has_one_rule(form: str) -> None:
    asks = "def is_list(model):\n    return isinstance(model.layers, list)\n\n\nclass Model"
    text = text_of(form).replace("class Model", asks)
    found = only(text, stack="init")
    assert isinstance(found, Refusal)
    assert found.rule == "SCN214", (found.rule, found.reason)
    assert isinstance(only(text), Plan)


@pytest.mark.parametrize("form", LOOPS)
def test_a_loop_that_is_to_be_left_alone_is(form: str) -> None:
    lines = text_of(form).splitlines()
    at = next(
        number
        for number, line in enumerate(lines)
        if "in self.layers" in line or "len(self.layers)" in line or ", self.layers" in line
    )
    lines[at] += "  # scanify: ignore"
    assert decide("\n".join(lines) + "\n") == []
