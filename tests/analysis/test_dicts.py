"""Layers that live in a dict: which dicts are known, how loops walk them, and what is left alone."""

import pytest
from helpers import PRELUDE, decide, model, only

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import CallStack
from tests.texts import texts

COMPREHENSION = "self.blocks = {f'block{i}': Block(8, key=k) for i, k in enumerate(jr.split(key, depth))}"
VALUES = "for layer in self.blocks.values():\n    x = layer(x)"


def text_of(loop: str = VALUES, init: str = COMPREHENSION, annotation: str = "dict[str, Block]", **given: str) -> str:
    text = model(loop, init=init, before="outs = {}", **given)
    text = text.replace("layers: list[Block]", f"blocks: {annotation}\n    layers: list[Block]")
    return text.replace("import functools\n", "import functools\nfrom collections import OrderedDict\n")


def planned(loop: str = VALUES, **given: str) -> Plan:
    found = only(text_of(loop, **given))
    assert isinstance(found, Plan), found
    return found


def refused(loop: str = VALUES, stack=None, **given: str) -> Refusal:
    found = only(text_of(loop, **given), stack=stack)
    assert isinstance(found, Refusal), found
    return found


BUILT = {
    "a comprehension": COMPREHENSION,
    "filled by name": (
        "self.blocks = {}\nfor i, k in enumerate(jr.split(key, depth)):\n    self.blocks[f'block{i}'] = Block(8, key=k)"
    ),
    "filled before it is assigned": (
        "blocks = dict()\nfor i, k in enumerate(jr.split(key, depth)):\n"
        "    block = Block(8, key=k)\n    blocks[str(i)] = block\nself.blocks = blocks"
    ),
    "written out": "a, b, c = keys\nself.blocks = {'a': Block(8, key=a), 'b': Block(8, key=b), 'c': Block(8, key=c)}",
}


@pytest.mark.parametrize("init", BUILT.values(), ids=BUILT)
def test_a_dict_that_is_seen_being_built_is_walked_in_the_call(init):
    plan = planned(init=init)
    assert isinstance(plan.stack, CallStack)
    assert (plan.container, plan.numbers, plan.xs, texts(plan.obligations)) == ("self.blocks.values()", None, (), ())
    assert (plan.rule, plan.holds, plan.kind) == ("SCN102", Holds.BLOCK_SEQ, Kind.FOLD)
    assert plan.call is not None
    assert plan.call.owner == "Block"


def test_values_of_several_classes_are_of_none_that_could_be_named():
    other = "else:\n    self.blocks = {'a': Other(), 'b': Other(), 'c': Other()}"
    plan = planned(init=f"if depth > 3:\n    {COMPREHENSION}\n{other}")
    assert plan.call is not None
    assert plan.call.owner is None


@pytest.mark.parametrize("put", ["m.blocks['a'] = y", "m.blocks.update(y)", "m.blocks.pop('a')", "del m.blocks['a']"])
def test_a_dict_that_is_changed_elsewhere_may_hold_layers_of_any_class(put):
    text = text_of().rstrip() + f"\n\n\ndef change(m: Model, y):\n    {put}\n"
    plan = only(text)
    assert isinstance(plan, Plan)
    assert plan.call is None or plan.call.owner is None
    assert plan.obligations


@pytest.mark.parametrize(
    "annotation", ["dict[str, Block]", "'dict[str, Block]'", "OrderedDict[str, Block]", "Mapping[str, Block]"]
)
def test_a_dict_of_the_callers_is_known_by_its_annotation(annotation):
    field = PRELUDE.replace("layers: list[Block]", f"blocks: {annotation}")
    field += "    def __call__(self, x):\n        for layer in self.blocks.values():\n            x = layer(x)\n        return x\n"
    function = (
        PRELUDE
        + f"    pass\n\n\ndef run(x, blocks: {annotation}):\n    for layer in blocks.values():\n        x = layer(x)\n    return x\n"
    )
    for text, container in ((field, "self.blocks.values()"), (function, "blocks.values()")):
        plan = only(text)
        assert isinstance(plan, Plan), plan
        assert (plan.container, plan.holds) == (container, Holds.BLOCK_SEQ)
        assert isinstance(plan.stack, CallStack)


HEADS = {
    "for name, layer in self.blocks.items():": ("self.blocks.values()", []),
    "for layer in iter(self.blocks.values()):": ("iter(self.blocks.values())", []),
    "for layer in list(self.blocks.values()):": ("list(self.blocks.values())", []),
    "for layer, k in zip(self.blocks.values(), keys):": ("self.blocks.values()", [("k", "keys")]),
    "for layer, k in zip(self.layers, self.blocks.values()):": ("self.layers", [("k", "list(self.blocks.values())")]),
}


@pytest.mark.parametrize("head", HEADS)
def test_the_ways_to_walk_the_values(head):
    container, xs = HEADS[head]
    plan = planned(
        f"{head}\n    x = layer(x)",
        init=f"self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\n{COMPREHENSION}",
    )
    assert plan.container == container
    assert [(one.target, one.source) for one in plan.xs] == xs


NAMED = {
    "for name, layer in self.blocks.items():\n    x = layer(x) * len(name)": ("layer", "name"),
    "for name, layer in self.blocks.items():\n    x = layer(x)\n    outs[name] = x": ("layer", "name"),
}


@pytest.mark.parametrize("loop", NAMED)
def test_a_name_that_the_body_reads_is_walked_beside_the_layers(loop):
    plan = planned(loop)
    layer, name = NAMED[loop]
    assert (plan.container, plan.layer, plan.holds) == ("self.blocks.values()", layer, Holds.BLOCK_SEQ)
    assert [(one.target, one.source) for one in plan.xs] == [(name, "list(self.blocks)")]


TAKEN = {
    "for i in range(3):\n    x = self.blocks[f'block{i}'](x)": "[self.blocks[f'block{i}'] for i in range(3)]",
    "for i in range(3):\n    x = self.blocks['b' + str(i)](x)": "[self.blocks['b' + str(i)] for i in range(3)]",
    "for i in range(3):\n    x = self.blocks['b%d' % (i + 1)](x)": "[self.blocks['b%d' % (i + 1)] for i in range(3)]",
    "for n in ('b', 'a', 'c'):\n    x = self.blocks[n](x)": "[self.blocks[n] for n in ('b', 'a', 'c')]",
}


@pytest.mark.parametrize("loop", TAKEN)
def test_layers_that_are_taken_by_name(loop):
    plan = planned(loop)
    assert (plan.container, plan.numbers, plan.xs) == (TAKEN[loop], None, ())


@pytest.mark.parametrize(
    "head",
    [
        "for i in range(3):\n    if mask is None:\n        x = self.blocks[f'block{i}'](x)",
        "for name in self.order:\n    x = self.blocks[name](x)",
        "for name in self.blocks:\n    x = self.blocks[name](x)",
        "for name in self.blocks.keys():\n    layer = self.blocks[name]\n    x = layer(x) * len(name)",
        "for name in keys:\n    x = self.blocks[name](x)",
        "for i in range(3):\n    x = self.blocks[f'block{i!r}{x}'](x)",
    ],
)
def test_what_may_not_be_taken_in_every_turn_is_refused(head):
    found = refused(head)
    assert (found.rule, found.container) == ("SCN208", "self.blocks")
    assert "is read in some iterations only" in found.reason or "are taken by `name`" in found.reason


@pytest.mark.parametrize(
    ("loop", "rule"),
    [
        ("for name, layer in self.blocks.items():\n    x = layer(x)\n    self.blocks[name] = layer", "SCN207"),
        ("for name, layer in self.blocks.items():\n    x = layer(x)\n    self.blocks.pop(name)", "SCN207"),
        ("for name, layer in self.blocks.items():\n    x = layer(x)\n    del self.blocks[name]", "SCN212"),
        ("for name, layer in self.blocks.items():\n    x = layer(x)\nx = x * len(name)", "SCN209"),
        ("for layer, name in zip(self.layers, self.blocks):\n    x = layer(x)", "SCN213"),
        ("for layer, name in zip(self.layers, self.blocks.items()):\n    x = layer(x)", "SCN213"),
    ],
)
def test_loops_that_are_refused(loop, rule):
    init = f"self.layers = [Block(8, key=k) for k in keys]\n{COMPREHENSION}"
    assert refused(loop, init=init).rule == rule


@pytest.mark.parametrize(
    ("init", "rule"),
    [
        ("self.blocks = build(key)", "SCN201"),
        ("self.blocks = {}", "SCN201"),
        ("b = Block(8, key=key)\nself.blocks = {'a': b, 'b': b, 'c': b}", "SCN204"),
        ("b = Block(8, key=key)\nself.blocks = {n: b for n in names}", "SCN204"),
    ],
)
def test_dicts_that_are_refused(init, rule):
    assert refused(init=init).rule == rule


@pytest.mark.parametrize(
    "fill",
    [
        f"{COMPREHENSION}\nself.blocks.pop('block0')",
        f"{COMPREHENSION}\nself.blocks.update(load(key))",
        f"{COMPREHENSION}\nself.blocks.setdefault('a', load(key))",
        f"{COMPREHENSION}\nself.blocks['a'] = load(key)",
        f"{COMPREHENSION}\nself.blocks |= load(key)",
    ],
)
def test_a_part_that_is_not_shown_may_be_anything(fill):
    plan = planned(init=fill)
    assert plan.call is None or plan.call.owner is None
    assert plan.obligations


def test_a_dict_is_not_built_stacked():
    found = refused(stack="init")
    assert (found.rule, found.remedy) == ("SCN214", "use `--stack call`")
    assert "the values of the dict" in found.reason


@pytest.mark.parametrize(
    ("init", "annotation"),
    [
        ("self.blocks = {'a': 1, 'b': 2}", "dict"),
        ("self.blocks = {str(i): jnp.ones(3) for i in range(depth)}", "dict"),
        ("self.blocks = [Block(8, key=k) for k in jr.split(key, depth)]", "list[Block]"),
        ("self.blocks = build(key)", "Registry"),
        ("self.blocks = blocks", "Registry"),
    ],
)
def test_what_is_no_dict_of_modules_is_not_listed(init, annotation):
    assert decide(text_of(init=init, annotation=annotation)) == []


@pytest.mark.parametrize(
    "loop", ["for layer in self.blocks:\n    x = layer(x)", "for n in self.blocks:\n    x = x * len(n)"]
)
def test_a_walk_of_the_names_is_no_walk_of_layers(loop):
    assert decide(text_of(loop)) == []


def test_independent_layers_of_a_dict():
    for element, xs in (("layer(x)", []), ("layer(x) * len(n)", [("n", "list(self.blocks)")])):
        plan = planned(f"outs = [{element} for n, layer in self.blocks.items()]")
        assert (plan.rule, plan.kind, plan.container) == ("SCN104", Kind.MAP, "self.blocks.values()")
        assert [(one.target, one.source) for one in plan.xs] == xs


@pytest.mark.parametrize(
    ("name", "loop"),
    [
        ("list", "for name, layer in self.blocks.items():\n    x = layer(x) * len(name)"),
        ("list", "for name in list(self.blocks):\n    x = self.blocks[name](x)"),
        ("sorted", "for name in sorted(self.blocks):\n    x = self.blocks[name](x)"),
    ],
)
def test_a_name_of_the_files_own_is_not_pythons(name, loop):
    found = decide(text_of(loop).replace("def helper(x):", f"def {name}(x):"))
    assert not any(isinstance(one, Plan) for one in found)


@pytest.mark.parametrize(
    "constant", ["NAMES = ('a', 'b', 'c')", "NAMES = (name for name in 'abc')", "for NAMES in (): pass"]
)
@pytest.mark.parametrize("walked", ["NAMES", "sorted(self.blocks)", "list(self.blocks)"])
def test_names_that_are_not_those_of_the_dict_are_refused(constant, walked):
    loop = f"for name in {walked}:\n    x = self.blocks[name](x)"
    found = only(text_of(loop).replace("class Model(", f"{constant}\n\n\nclass Model("))
    assert isinstance(found, Refusal) and found.rule == "SCN208"


@pytest.mark.parametrize(
    ("head", "rule"),
    [
        ("for n, layer in zip(self.blocks, self.blocks.values()):", "SCN213"),
        ("for n, layer in zip(self.blocks.keys(), self.blocks.values()):", "SCN213"),
        ("for n, layer in list(self.blocks.items()):", "SCN213"),
        ("for i, (n, layer) in enumerate(self.blocks.items()):", "SCN213"),
        ("for i, (k, (n, layer)) in enumerate(zip(keys, self.blocks.items())):", "SCN213"),
    ],
)
def test_names_and_values_that_are_not_plain_items_are_refused(head, rule):
    assert refused(f"{head}\n    x = layer(x) * len(n)").rule == rule


def test_names_that_are_tuples():
    plan = planned("for (kind, i), layer in self.blocks.items():\n    x = layer(x) * i")
    assert [(one.target, one.source) for one in plan.xs] == [("(kind, i)", "list(self.blocks)")]


def test_a_local_name_for_the_values_is_no_xs():
    init = f"self.layers = [Block(8, key=k) for k in keys]\n{COMPREHENSION}"
    for of in ("values", "keys"):
        loop = f"others = self.blocks.{of}()\nfor layer, other in zip(self.layers, others):\n    x = layer(x)"
        assert refused(loop, init=init).rule == "SCN213"


SIZES = """\
class Table(eqx.Module):
    rows: jax.Array

    def __init__(self, n, key):
        self.rows = jr.normal(key, (n, 4))

    def __call__(self, i):
        return self.rows[i]


class Model(eqx.Module):
    tables: list

    def __init__(self, sizes: SIZES, *, key):
        self.tables = [Table(n, jr.fold_in(key, i)) for i, n in enumerate(WALKED)]

    def __call__(self, row):
        total = jnp.zeros(4)
        outs = []
        for i, table in enumerate(self.tables):
            out = table(row[i])
            total = total + out
            outs.append(out)
        return total, outs
"""


@pytest.mark.parametrize(
    "walked",
    [
        "sizes.values()",
        "[n for _, n in sizes.items()]",
        "{'a': 3, 'b': 4, 'c': 5, 'd': 6}.values()",
        "(n for name, n in {'a': 3, 'b': 4, 'c': 5}.items())",
    ],
)
def test_tables_of_the_sizes_in_a_dict_are_not_alike(walked: str) -> None:
    text = PRELUDE[: PRELUDE.index("class Model(")] + SIZES.replace("SIZES", "dict[str, int]").replace("WALKED", walked)
    (found,) = decide(text)
    assert isinstance(found, Refusal) and found.rule == "SCN203", found
