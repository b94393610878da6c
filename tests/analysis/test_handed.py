"""Lists that the project hands to a class or a function: what its calls show of them, and where they are stacked."""

from textwrap import dedent

import pytest
from helpers import PRELUDE, decide, only

from scanify.analysis.plan import CallStack, Holds, InitStack, Kind, Plan, Refusal

HEAD = PRELUDE.partition("class Model")[0]
CALL = """\

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
MANY = "[Block(8, key=k) for k in jr.split(key, depth)]"
INIT = """\

    @staticmethod
    def init(depth, *, key):
        layers = [Block(8, key=k) for k in jr.split(key, depth)]
        return Model(eqx.nn.LayerNorm(8), layers)
"""
FIELDS = "class Model(eqx.Module):\n    norm: eqx.nn.LayerNorm\n    layers: list\n"


def found(*parts: str, **given) -> Plan | Refusal:
    return only(HEAD + "".join(parts), **given)


def build(*calls: str) -> str:
    return dedent("\n\ndef build(depth, norm, key):\n    return " + ", ".join(calls) + "\n")


def test_a_list_that_the_class_itself_builds_is_stacked_there():
    plan = found(FIELDS, INIT, CALL)
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack)
    assert (plan.holds, plan.safe, plan.kind) == (Holds.ARRAY_STACKED, True, Kind.FOLD)
    text = HEAD + FIELDS + INIT + CALL
    (site,) = plan.stack.sites
    assert text[site.place.span.start : site.place.span.end] == "layers"
    assert len(plan.stack.annotations) == 1


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            "@classmethod\n    def init(cls, depth, *, key):\n        return cls(layers={}, norm=None)", id="cls"
        ),
        pytest.param(
            "@classmethod\n    def init(cls, depth, *, key):\n        return Model(None, {})", id="by its name"
        ),
    ],
)
def test_a_class_method_counts_too(made):
    plan = found(FIELDS, f"\n    {made.format(MANY)}\n", CALL)
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack)


AGAIN = """\
        for _ in range(2):
            layers.append(Block(8, key=key))
            m = Model(None, layers)
        return m"""
APPENDED = """\

    @staticmethod
    def init(depth, *, key):
        layers = []
        for k in jr.split(key, depth):
            layers.append(Block(8, key=k))
{rest}
"""


@pytest.mark.parametrize(
    ("rest", "stacked"),
    [
        ("        return Model(None, layers)", True),
        ("        layers += [Block(8, key=key)]\n        return Model(None, layers)", True),
        ("        m = Model(None, layers)\n        layers.append(Block(8, key=key))\n        return m", False),
        (AGAIN, False),
    ],
)
def test_a_list_that_is_filled_before_it_is_handed_on_is_stacked_there(rest, stacked):
    plan = found(FIELDS, APPENDED.format(rest=rest), CALL)
    assert isinstance(plan, Plan) and isinstance(plan.stack, InitStack) is stacked
    assert plan.safe is stacked


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((FIELDS, INIT, CALL, build("Model(norm, [Block(8, key=key)])")), "another call hands in a list"),
        ((FIELDS, CALL, build(f"Model(norm, {MANY})")), "it is built elsewhere"),
        ((FIELDS.replace("eqx.Module", "hax.Module"), INIT, CALL), "what the base class does is not shown"),
    ],
)
def test_elsewhere_it_is_stacked_in_the_call(parts, why):
    plan = only("import haliax as hax\n" + HEAD + "".join(parts))
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack), why
    assert (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, True)


@pytest.mark.parametrize(
    ("parts", "safe"),
    [
        pytest.param(
            (FIELDS, INIT.replace("return Model(", "m = Model(") + "        layers.append(m)\n", CALL),
            False,
            id="it grows after it is handed in",
        ),
        pytest.param(
            (FIELDS, INIT, CALL, "\n    def grow(self, more):\n        self.layers.append(more)\n"),
            False,
            id="it grows elsewhere",
        ),
        pytest.param(
            (FIELDS, INIT, CALL, "\n    def rest(self):\n        return self.layers + [1]\n"),
            True,
            id="it is needed as a list",
        ),
        pytest.param(
            (FIELDS, INIT, CALL, "\n\ndef rest(model: Model):\n    return isinstance(model.layers, list)\n"),
            True,
            id="it is asked for its type",
        ),
    ],
)
def test_a_list_of_the_classs_own_that_stays_one_is_stacked_in_the_call(parts, safe):
    plan = found(*parts)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert plan.safe is safe and plan.stack.at is not None


@pytest.mark.parametrize(
    "escape",
    [
        pytest.param("\n\nMAKERS = {'model': Model}\n", id="a table"),
        pytest.param("\n\ndef copy(make, parts):\n    return make(Model, *parts)\n", id="it is given to a call"),
        pytest.param("\n\ndef again(model: Model, parts):\n    return type(model)(None, parts)\n", id="its type"),
        pytest.param(
            "\n\ndef other(model: Model, parts):\n    return dataclasses.replace(model, layers=parts)\n", id="replace"
        ),
        pytest.param("\n\nclass Heir(Model):\n    pass\n\n\nh = Heir(None, load())\n", id="an heir"),
    ],
)
def test_a_class_that_others_may_call_holds_what_they_give(escape):
    plan = only("import dataclasses\n" + HEAD + FIELDS + INIT + CALL + escape)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert not plan.safe


@pytest.mark.parametrize(
    ("calls", "kind", "safe"),
    [
        pytest.param([f"Model(norm, {MANY})"], Kind.FOLD, True, id="one list"),
        pytest.param([f"Model(norm, layers={MANY})", f"Model(norm, ({MANY}))"], Kind.FOLD, True, id="two lists"),
        pytest.param([f"Model(norm, [Block(3, key=key), *{MANY}])"], Kind.GROUP, True, id="a first one of its own"),
        pytest.param([f"Model(norm, {MANY})", "Model(norm, load(key))"], Kind.FOLD, False, id="one is not shown"),
    ],
)
def test_what_all_calls_hand_in_shows_the_layers(calls, kind, safe):
    plan = found(FIELDS, CALL, build(*calls))
    assert isinstance(plan, Plan)
    assert (plan.kind, plan.safe, plan.holds) == (kind, safe, Holds.BLOCK_SEQ)


@pytest.mark.parametrize("call", [f"Model(*norm, {MANY})", f"Other(norm, {MANY})"])
def test_where_no_call_shows_a_list_the_caller_may_compose_it_of_anything(call):
    refusal = found(FIELDS, CALL, build(call))
    assert isinstance(refusal, Refusal) and refusal.rule == "SCN215"


def test_parts_of_different_classes_that_are_handed_in_are_no_layers():
    head = "[eqx.nn.Linear(8, 8, key=key), eqx.nn.Lambda(jnp.tanh), eqx.nn.LayerNorm(8)]"
    plan = found(FIELDS, CALL, build(f"Model(norm, {head})"))
    assert isinstance(plan, Refusal) and plan.rule == "SCN202"


def test_a_side_effect_of_what_is_handed_in_is_seen():
    loud = "seen = []\n\n\nclass Loud(eqx.Module):\n    def __call__(self, x):\n        seen.append(x)\n        return x\n\n\n"
    plan = found(loud, FIELDS, CALL, build("Model(norm, [Loud() for _ in range(depth)])"))
    assert isinstance(plan, Refusal) and plan.rule == "SCN207"


def test_a_builder_that_an_heir_overrides_builds_its_lists():
    build = "        self.layers = self.build(depth, key)\n\n    def build(self, depth, key):\n        return {}\n"
    model = FIELDS + "\n    def __init__(self, depth, *, key):\n" + build.format(MANY)
    heir = "\n\nclass Heir(Model):\n    def build(self, depth, key):\n        return {}\n"
    plan = found(model, CALL, heir.format("[Other(), *super().build(depth, key)]"))
    assert isinstance(plan, Plan) and (plan.holds, plan.safe) == (Holds.BLOCK_SEQ, True)
    plan = found(model, CALL, heir.format("load(depth)"))
    assert isinstance(plan, Plan) and not plan.safe
    plan = found(model, CALL, "\n\nclass Heir(Model):\n    def __call__(self, x):\n        return x\n")
    assert isinstance(plan, Plan) and (plan.holds, plan.safe) == (Holds.ARRAY_STACKED, True)


COPIED = """\
class Model(eqx.Module):
    layers: tuple{of}

    def __init__(self, layers):
        self.layers = tuple(layers)

    def rest(self):
        return Model(self.layers[1:])
"""


@pytest.mark.parametrize(
    ("of", "calls", "safe"),
    [
        pytest.param("", [f"Model({MANY})"], True, id="one list"),
        pytest.param("", [f"Model({MANY})", "Model(load(key))"], False, id="one is not shown"),
        pytest.param("[Block, ...]", [], True, id="its annotation says"),
        pytest.param("", [], None, id="nothing says"),
    ],
)
def test_a_copy_of_what_is_handed_in_holds_the_same(of, calls, safe):
    plan = found(COPIED.format(of=of), CALL, build(*calls) if calls else "")
    assert isinstance(plan, Refusal) is (safe is None)
    assert isinstance(plan, Refusal) or (isinstance(plan.stack, CallStack) and plan.safe is safe)
    assert isinstance(plan, Plan) or plan.rule == "SCN215"


def test_what_a_subclass_gives_to_super_counts():
    base = (
        "class Base(eqx.Module):\n    layers: list\n\n    def __init__(self, layers):\n        self.layers = layers\n"
    )
    sub = f"\n\nclass Model(Base):\n    def __init__(self, depth, *, key):\n        super().__init__({MANY})\n"
    plan = found(base, CALL, sub)
    assert isinstance(plan, Plan) and plan.safe
    assert isinstance(plan.stack, InitStack)
    other = "\n\nclass Second(Base):\n    def __init__(self, layers):\n        super().__init__(list(layers))\n"
    plan = found(base, CALL, sub, other)
    assert isinstance(plan, Plan) and not plan.safe


@pytest.mark.parametrize(
    ("calls", "safe"),
    [
        ((f"run({MANY}, jnp.ones(8))",), True),
        ((f"run({MANY}, jnp.ones(8))", f"run([Block(3, key=key), *{MANY}], jnp.ones(8))"), True),
        ((f"run({MANY}, jnp.ones(8))", "run(load(), jnp.ones(8))"), False),
        ((f"run({MANY}, jnp.ones(8))", "register(run)"), False),
        ((f"run({MANY}, jnp.ones(8))", "functools.partial(run, x=jnp.ones(8))"), False),
    ],
)
def test_a_function_is_safe_where_every_call_of_it_is_seen(calls, safe):
    run = "def run(layers, x):\n    for layer in layers:\n        x = layer(x)\n    return x\n"
    (plan,) = decide(HEAD + run + f"\n\ndef use(depth, key):\n    return {', '.join(calls)}\n")
    assert isinstance(plan, Plan) and plan.safe is safe


@pytest.mark.parametrize(("call", "listed"), [(f"run({MANY}, 1)", True), ("run(depth, 1)", False), ("go(1)", False)])
def test_what_a_function_is_given_counts(call, listed):
    run = "def run(layers, x):\n    for layer in layers:\n        x = layer(x)\n    return x\n"
    use = f"\n\ndef use(depth, key):\n    return {call}\n"
    assert [one.kind for one in decide(HEAD + run + use)] == ([Kind.FOLD] if listed else [])


@pytest.mark.parametrize(
    ("base", "listed"),
    [
        ("hax.nn.ModuleWithState", True),
        ("hax.nn.Layer", False),
        ("flax.linen.Module", False),
        ("torch.nn.Module", False),
    ],
)
def test_a_module_of_another_package_is_known_by_its_name(base, listed):
    text = (
        f"import flax\nimport haliax as hax\nimport torch\n{HEAD}class Model({base}):\n    layers: list[Block]\n{CALL}"
    )
    assert bool([one for one in decide(text) if isinstance(one, Plan)]) is listed
    assert not decide(text.replace("import equinox as eqx", "import optax as eqx").replace("list[Block]", "list"))


def test_two_objects_of_which_only_the_class_is_known_are_not_one():
    fields = "class Model(eqx.Module):\n    first: Block\n    last: Block\n    other: Block\n"
    init = "\n    def both(self, x):\n        return Inner([self.first, self.other, self.last])(x)\n"
    twice = init.replace("self.other", "self.first")
    inner = "\n\nclass Inner(eqx.Module):\n    layers: list\n" + CALL
    assert all(each.rule != "SCN204" for each in decide(HEAD + fields + init + inner))
    assert [each.rule for each in decide(HEAD + fields + twice + inner)] == ["SCN204"]
