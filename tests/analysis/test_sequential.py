"""What is said of `equinox.nn.Sequential`."""

from pathlib import Path
from textwrap import indent

import pytest
from helpers import PRELUDE, decide, kept, only

from scanify.analysis.index.project import Index
from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import Called, CallStack, InitStack
from scanify.analysis.watchers import with_watchers
from scanify.source.file import Source
from tests.texts import texts

COMPREHENSION = "eqx.nn.Sequential([Block(8, key=k) for k in jr.split(key, depth)])"
CALL = "return self.seq(x)"


def text(made: str = COMPREHENSION, call: str = CALL, field: str = "eqx.nn.Sequential", more: str = "") -> str:
    """A model that holds `made`, an expression or the statements that end with the assignment of `self.seq`."""
    build = made if "self.seq" in made else f"self.seq = {made}"
    body = f"seq: {field}\n\ndef __init__(self, depth, widths, block: type, *, key):\n{indent(build, '    ')}\n"
    body += f"\ndef __call__(self, x, state=None, *, key=None):\n{indent(call, '    ')}\n"
    head = PRELUDE[: PRELUDE.index("class Model(")].replace("import jax\n", "import jax\nfrom equinox import nn\n", 1)
    return f"{head}class Model(eqx.Module):\n{indent(body, '    ')}\n{more}"


def plan(*args, **given) -> Plan:
    found = only(text(*args, **given))
    assert isinstance(found, Plan), found
    return found


def refusal(*args, stack=None, **given) -> Refusal:
    found = only(text(*args, **given), stack=stack)
    assert isinstance(found, Refusal), found
    return found


def loop(body: str, head: str = "for i, k in enumerate(jr.split(key, depth)):") -> str:
    return f"blocks = []\n{head}\n{indent(body, '    ')}\nself.seq = nn.Sequential(blocks)"


# -- what it becomes --------------------------------------------------------------------------------------------------


def test_the_constructor_and_the_field_are_all_that_changes():
    found = plan()
    source = text()
    assert (found.rule, found.kind, found.holds) == ("SCN103", Kind.FOLD, Holds.ARRAY_STACKED)
    assert isinstance(found.stack, InitStack)
    (site,) = found.stack.sites
    assert isinstance(site, Called)
    assert source[site.place.span.start : site.place.span.end] == "eqx.nn.Sequential"
    (annotation,) = found.stack.annotations
    assert source[annotation.place.span.start : annotation.place.span.end] == "eqx.nn.Sequential"
    assert (found.safe, found.loops, found.carry) == (True, False, ())


def test_the_line_is_that_of_the_constructor():
    found = plan("eqx.nn.Sequential(\n    [Block(8, key=k) for k in jr.split(key, depth)]\n)")
    lines = text("eqx.nn.Sequential(\n    [Block(8, key=k) for k in jr.split(key, depth)]\n)").split("\n")
    assert "self.seq = eqx.nn.Sequential(" in lines[found.place.span.line - 1]
    assert "self.seq(x)" in lines[found.body.span.line - 1]
    assert found.container == "eqx.nn.Sequential([...])"


@pytest.mark.parametrize(
    ("made", "kind", "holds"),
    [
        pytest.param("nn.Sequential(Block(8, key=k) for k in jr.split(key, depth))", "fold", "ArrayStacked", id="bare"),
        pytest.param(
            "eqx.nn.Sequential(layers=[Block(8, key=k) for k in jr.split(key, depth)])",
            "fold",
            "ArrayStacked",
            id="keyword",
        ),
        pytest.param(loop("blocks.append(Block(8, key=k))"), "fold", "ArrayStacked", id="append loop"),
        pytest.param(
            loop("blocks.append(Block(8, 0.1 * i / depth, key=k))"), "fold", "BlockSeq", id="a rate that grows"
        ),
        pytest.param(
            loop("rate = i / depth\nblocks.append(Block(8, rate, key=k))"), "fold", "BlockSeq", id="a name for it"
        ),
        pytest.param(
            loop("blocks.append(Block(8, 0 if i % 2 == 0 else 3, key=k))"), "group", "BlockSeq", id="every second one"
        ),
        pytest.param(
            "nn.Sequential([Other(), *[Block(8, key=k) for k in jr.split(key, depth)]])",
            "group",
            "BlockSeq",
            id="a stem",
        ),
        pytest.param(
            "nn.Sequential([Block(8, key=k) if k else Other() for k in jr.split(key, 4)])",
            "group",
            "BlockSeq",
            id="mixed",
        ),
        pytest.param(
            loop("blocks.append(Block(8, key=k))\nif depth > 2:\n    blocks.append(Other())"),
            "group",
            "BlockSeq",
            id="two of a kind, one on a condition",
        ),
        pytest.param(
            "nn.Sequential([nn.MaxPool1d(3, padding=1) for _ in range(depth)])", "fold", "BlockSeq", id="of equinox"
        ),
        pytest.param(
            "nn.Sequential([Block(8, key=a), Block(8, key=b), Block(8, key=c)])",
            "fold",
            "ArrayStacked",
            id="three of a kind",
        ),
    ],
)
def test_kinds_and_containers(made, kind, holds):
    given = made.replace("key=a", "key=key").replace("key=b", "key=key").replace("key=c", "key=key")
    found = only(kept(text(given, field="nn.Sequential")))
    assert isinstance(found, Plan), found
    assert (found.kind.value, found.holds.value) == (kind, holds)


def test_layers_that_hold_functions_made_anew_are_looked_at():
    source = text().replace("self.linear = eqx.nn.Linear(dim, dim, key=key)", "self.linear = nn.Lambda(lambda x: x)")
    found = only(source)
    assert isinstance(found, Plan) and found.holds is Holds.BLOCK_SEQ


@pytest.mark.parametrize("count", ["n", "4", "len(ks)"])
def test_a_list_of_them_is_one_stack_only_if_each_has_as_many_layers(count):
    made = f"ks = key\nself.seq = [nn.Sequential([Block(8, key=k) for k in jr.split(key, {count})]) for n in widths]"
    call = "for one in self.seq:\n    x = one(x)\nreturn x"
    inner, around = decide(text(made.replace("len(ks)", "len(n)"), call, field="list"))
    assert isinstance(inner, Refusal) and inner.rule == "SCN214"
    assert isinstance(around, Plan) == (count == "4")


# -- what it stays ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        "nn.Sequential([nn.Linear(8, 8, key=key), nn.Lambda(jax.nn.relu), nn.Linear(8, 8, key=key)])",
        "nn.Sequential([Block(8, key=key), Block(8, key=key)])",
        "nn.Sequential([Block(8, key=k) for k in range(2)])",
        "nn.Sequential([nn.Linear(2, 8, key=key), nn.Linear(8, 8, key=key), nn.Linear(8, 1, key=key)])",
        "nn.Sequential([Block(8, key=k) for k in jr.split(key, 4)])  # scanify: ignore",
        "# scanify: ignore\nself.seq = nn.Sequential([Block(8, key=k) for k in jr.split(key, 4)])",
        "helper([Block(8, key=k) for k in jr.split(key, 4)])",
    ],
)
def test_left_alone(made):
    assert decide(text(made)) == []


REFUSED = {
    "the layers are one object": ("nn.Sequential([self.one for _ in range(4)])", "SCN201"),
    "the layers come from the caller": ("nn.Sequential(widths)", "SCN215"),
    "widths that grow": ("nn.Sequential([nn.Linear(n, n + 1, key=key) for n in widths])", "SCN203"),
    "an object of the loop that changes": (loop("c.stride = 1\nblocks.append(Block(c, key=k))"), "SCN203"),
    "a list that grows": (loop("c.append(i)\nblocks.append(Block(c, key=k))"), "SCN203"),
    "a dict that changes": (loop("c['n'] = i\nblocks.append(Block(c, key=k))"), "SCN203"),
    "an object that a function may change": (loop("helper(c)\nblocks.append(Block(c, key=k))"), "SCN203"),
    "sequences of lists that the loop fills": (
        loop("s = []\ns.append(nn.Linear(8, i, key=k))\nblocks.append(nn.Sequential(s))"),
        "SCN203",
    ),
}


@pytest.mark.parametrize(("made", "rule"), REFUSED.values(), ids=REFUSED)
def test_refused_for_its_layers(made, rule):
    found = only(text(made))
    assert isinstance(found, Refusal) and found.rule == rule


USES = {
    "its layers are asked for": "return len(self.seq.layers)",
    "a slice": "return self.seq[1:](x)",
    "it is given away": "return helper(self.seq)",
    "it is returned": "return self.seq",
    "a class is asked for": "return isinstance(self.seq, nn.Sequential)",
    "layers are compared as objects": "return [one is self.seq[0] for one in self.seq]",
    "an alias of it is sliced": "seq = self.seq\nreturn seq[:-1](x)",
    "a list of it is searched": "return [self.seq].index(x)",
    "the layers of an element of a list of it": "for one in [self.seq]:\n    x = one.layers[0](x)\nreturn x",
    "the same beside keys": "for one, k in zip([self.seq], x):\n    x = one.layers[0](x)\nreturn x",
    "it is compared": "return self.seq == x",
    "it is unpacked into a call": "return helper(**self.seq)",
}


@pytest.mark.parametrize("call", USES.values(), ids=USES)
def test_refused_for_a_use_that_a_stack_does_not_serve(call):
    found = [one for one in decide(text(call=call)) if one.rule == "SCN214"]
    assert len(found) == 1 and isinstance(found[0], Refusal)
    assert found[0].at is not None


def test_refused_where_a_part_is_replaced():
    more = "def reset(model):\n    return eqx.tree_at(lambda m: m.seq.layers[0], model, Other())\n"
    assert refusal(more=more).rule == "SCN214"


def test_a_search_for_layers_is_other_code():
    more = "def count(model):\n    is_one = lambda node: isinstance(node, Block)\n"
    more += "    return len(jax.tree.leaves(model, is_leaf=is_one))\n"
    source = Source(Path("model.py"), text(more=more))
    index = Index(Path(), [source], lambda path: None)
    (found,) = with_watchers(decide(source.text), index)
    assert isinstance(found, Plan) and not found.safe
    assert any("`is_one` of each part of a tree" in one for one in texts(found.elsewhere))


def test_a_question_for_the_class_is_other_code():
    more = "def is_stack(part):\n    return isinstance(part, eqx.nn.Sequential)\n"
    found = plan(more=more)
    assert len(texts(found.elsewhere)) == 1 and "is not asked of this one" in texts(found.elsewhere)[0]
    assert texts(found.obligations) == texts(found.elsewhere)


SERVED = {
    "called with a key": "return self.seq(x, key=key)",
    "called with state": "return self.seq(x, state, key=key)",
    "mapped": "return jax.vmap(self.seq)(x)",
    "measured, indexed and called": "x = self.seq[0](x) / len(self.seq)\nreturn self.seq(x)",
    "asked whether it is there": "if self.seq is not None:\n    x = self.seq(x)\nreturn x",
}


@pytest.mark.parametrize("call", SERVED.values(), ids=SERVED)
def test_uses_that_a_stack_serves(call):
    found = [one for one in decide(text(call=call)) if one.rule.startswith("SCN103") or one.rule == "SCN214"]
    assert [type(one) for one in found] == [Plan], found
    assert found[0].safe


def test_a_question_for_its_class_is_an_obligation():
    found = plan(more="def walk(part):\n    return isinstance(part, (list, nn.Sequential))\n")
    assert ["isinstance" in one for one in texts(found.obligations)] == [True]


def test_a_layer_with_side_effects_is_refused():
    source = text().replace("        return x + self.linear(x)", "        print(x)\n        return x + self.linear(x)")
    found = only(source)
    assert isinstance(found, Refusal) and found.rule == "SCN207"


@pytest.mark.parametrize("field", ["eqx.nn.Sequential = eqx.field(converter=list)", "'list[eqx.nn.Sequential]'"])
def test_a_field_that_does_not_keep_it_is_refused(field):
    assert refusal(field=field).rule == "SCN214"


def test_it_is_built_stacked_or_not_at_all():
    assert refusal(stack="call").rule == "SCN213"


# -- loops over one ---------------------------------------------------------------------------------------------------

WALKED = "for block in self.seq:\n    x = block(x)\nreturn x"


@pytest.mark.parametrize("after", ["return x", CALL], ids=["only walked", "walked and called"])
def test_one_that_is_walked_stays_and_is_stacked_in_the_call(after):
    (found,) = decide(text(call=WALKED.replace("return x", after)))
    assert isinstance(found, Plan)
    assert found.rule in ("SCN101", "SCN102") and (found.container, found.carry, found.loops) == (
        "self.seq",
        ("x",),
        True,
    )
    assert isinstance(found.stack, CallStack) and found.safe


def test_one_whose_only_loop_stays_is_nothing_to_rewrite():
    (found,) = decide(
        text(call="skips = list(state)\nfor block in self.seq:\n    x = block(x) + skips.pop()\nreturn x")
    )
    assert isinstance(found, Refusal)
    assert found.rule == "SCN207"


def test_another_loop_that_stays_leaves_it_alone():
    stays = "for block in self.seq:\n    x = block(x) + state.pop()\n"
    found = decide(text(call=stays + WALKED))
    assert not any(isinstance(each, Plan) and each.safe and each.place == found[0].place for each in found)
    assert not any(isinstance(each, Plan) and isinstance(each.stack, InitStack) for each in found)


def test_a_part_of_one_is_no_walk_over_its_stack():
    found = decide(text(call="for block in reversed(list(self.seq)):\n    x = block(x)\nreturn x"))
    assert not any(isinstance(each, Plan) and isinstance(each.stack, InitStack) and each.loops for each in found)
