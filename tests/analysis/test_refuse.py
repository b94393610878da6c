"""Loops over modules that are left as they are, each for its reason; and loops that are not listed at all."""

import pytest
from helpers import MANY, PRELUDE, decide, model, only, refused

from scanify.analysis.decide.remedies import REMEDIES
from scanify.analysis.plan import Kind, Plan, Refusal
from scanify.analysis.stack import CallStack
from scanify.rules import RULES


def body(text: str) -> str:
    return "for layer in self.layers:\n    " + text.replace("\n", "\n    ")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("SCN205", "x = layer(x)\nif x.sum() > 0:\n    break"),
        ("SCN205", "h = layer(x)\nstop = h[0] > 0\nif mask and stop:\n    return x\nx = h"),
        ("SCN205", "x = layer(x)\nif layer.attend(mask):\n    break"),
        ("SCN205", "x = layer(x)\nif (n := len(x) * x) is mask:\n    break"),
        ("SCN205", "x = layer(x)\nif x.shape[0] > 2:\n    break"),
        ("SCN205", "x = layer(x)\nouts.append(x)\nif mask:\n    return x"),
        ("SCN205", "for y in x:\n    if y > 0:\n        return y\nx = layer(x)"),
        ("SCN205", "x = layer(x)\nyield x"),
        ("SCN206", "x = layer(x)\nouts.append(outs[-1])"),
        ("SCN206", "x = layer(x, outs)\nouts += [x]"),
        ("SCN206", "x = layer(x, outs)\nouts += (x,)"),
        ("SCN206", "x, outs[0] = layer(x, outs[0])"),
        ("SCN207", "x = layer(x)\nprint(x)"),
        ("SCN207", "x = layer(x)\nmask.seen = x"),
        ("SCN207", "x = layer(x, key=next(keys))"),
        ("SCN207", "x = layer(x) * np.random.rand()"),
        ("SCN207", "x = layer(x, (lambda: next(keys))())"),
        ("SCN207", "x = layer(x, [next(keys) for _ in range(2)])"),
        ("SCN207", "global counter\nx = layer(x)"),
        ("SCN212", "while mask:\n    x = layer(x)"),
        ("SCN212", "try:\n    x = layer(x)\nexcept ValueError:\n    pass"),
        ("SCN212", "del mask\nx = layer(x)"),
        ("SCN212", "x = super().__call__(layer(x))"),
        ("SCN210", "y = layer(x)"),
        ("SCN210", "x, state = layer(x, state)"),
    ],
)
def test_what_the_body_may_not_do(rule, text):
    refused(rule, model(body(text), before="outs = [0]"))


def test_a_layer_that_is_wrapped_before_it_is_applied_is_a_part_of_the_body():
    found = only(model(body("layer = eqx.filter_jit(layer)\nx = layer(x)")))
    assert isinstance(found, Plan)
    assert (found.carry, found.call, found.safe) == (("x",), None, True)


def test_an_exit_on_the_line_of_the_loop():
    refused("SCN205", model("for layer in self.layers: x = layer(x); break"))


@pytest.mark.parametrize("test", ["layer.flag", "isinstance(layer, Other)", "keys is None"])
def test_an_exit_that_is_decided_when_a_layer_is_traced_is_none_of_these(test):
    found = only(model(body(f"x = layer(x)\nif {test}:\n    break")))
    assert isinstance(found, Plan)
    assert found.ends_early


@pytest.mark.parametrize("text", ["x = layer(x, key=keys.pop())", "x = layer(x)\nmask.update(x)"])
def test_methods_of_what_the_caller_gives_are_for_a_run(text):
    found = only(model(body(text)))
    assert isinstance(found, Plan) and not found.safe


def test_a_helper_with_a_side_effect_is_seen_through():
    text = model(body("x = layer(count(x))"))
    text = text.replace(
        "class Model", "SEEN = []\n\n\ndef count(x):\n    SEEN.append(1)\n    return x\n\n\nclass Model"
    )
    assert "SEEN" in refused("SCN207", text).reason


@pytest.mark.parametrize(
    "after",
    ["return layer(x)", "return x + n", "if mask:\n    return f\nreturn x", "return [last for _ in range(2)]"],
)
def test_values_that_only_the_python_loop_leaves_behind(after):
    text = "n = x.shape[0] * 2\nf = lambda: layer\nlast = layer\nx = layer(x) * n"
    refused("SCN209", model(body(text), before="n = f = last = None", after=after))


@pytest.mark.parametrize("last", ["h = len(layer(x))", "h = layer", "h = mask, layer"])
def test_a_last_value_that_is_no_array_is_left_to_the_loop(last):
    refused("SCN209", model(body(f"{last}\nx = layer(x)"), before="h = x", after="return x, h"))


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("if mask:\n    h = x", body("h = x\nx = layer(h)")),
        ("", body("if mask is None:\n    h = x\nx = layer(x)")),
        ("", "for turn in mask:\n    for layer in self.layers:\n        h = x\n        x = layer(h)\n    h = 2"),
    ],
)
def test_a_last_value_that_may_have_no_value_before_the_loop(before, loop):
    refused("SCN209", model(loop, before=before, after="return x, h"))


def test_a_last_value_without_one_before_needs_a_layer():
    found = only(model(body("h = layer(x)\nx = x + h"), after="return x, h"))
    assert isinstance(found, Plan)
    assert (found.carry, found.unset, found.safe) == (("x", "h"), ("h",), False)


def test_a_temporary_that_is_bound_again_before_it_is_read_is_no_loss():
    text = model(body("h = x\nx = layer(h)"), after="h = x + 1\nreturn h")
    assert not isinstance(only(text), Refusal)


def test_a_temporary_read_in_the_next_turn_of_an_outer_loop():
    loop = "for turn in mask:\n    x = x + h\n    for layer in self.layers:\n        h = len(x)\n        x = layer(x)"
    refused("SCN209", model(loop, before="h = 0"))


@pytest.mark.parametrize(
    "before",
    ["def f():\n    return x", "f = lambda: x", "f = (x for _ in mask)", "def f():\n    nonlocal x\n    x = 1"],
)
def test_a_function_made_before_the_loop_that_sees_the_carry(before):
    refused("SCN211", model(body("x = layer(x)"), before=before))


def test_a_function_made_after_the_loop_sees_what_it_saw():
    assert not isinstance(only(model(after="return jax.tree.map(lambda y: y + x, mask)")), Refusal)


@pytest.mark.parametrize(("start", "rule"), [("x = []", "SCN206"), ("x = ()", "SCN206"), ("x = {}", "SCN206")])
def test_carries_that_are_not_yet_arrays(start, rule):
    refused(rule, model(body("x = layer(x)"), before=start))


@pytest.mark.parametrize(
    ("rule", "head"),
    [
        ("SCN213", "for layer, k in zip(self.layers, iter(keys)):"),
        ("SCN213", "for layer, k in zip(self.layers, iter(mask)):"),
        ("SCN208", "for layer, i, j in zip(self.layers, range(9), range(3)):"),
    ],
)
def test_ways_of_walking_that_are_not_plain(rule, head):
    refused(rule, model(f"{head}\n    x = layer(x)"))


@pytest.mark.parametrize(
    ("walked", "before"), [("list(jr.split(x))", "keys = jr.split(x)"), ("keys.values()", ""), ("[1, 2, 3]", "")]
)
def test_what_is_walked_beside_the_layers_is_a_sequence(walked, before):
    found = only(model(f"for layer, k in zip(self.layers, {walked}):\n    x = layer(x, k)", before=before))
    source = f"list({walked})" if "values" in walked else walked
    assert isinstance(found, Plan) and [(each.target, each.source) for each in found.xs] == [("k", source)]


def test_every_rule_that_refuses_says_what_to_do():
    # What a target has no words for is refused where text is made, with a remedy for each target.
    assert set(REMEDIES) == {rule.id for rule in RULES if rule.id.startswith("SCN2")} - {"SCN217"}


def test_an_else_of_the_loop():
    refused("SCN213", model("for layer in self.layers:\n    x = layer(x)\nelse:\n    x = x + 1"))


def test_an_index_that_cannot_be_counted_with_range():
    loop = "for i, layer in enumerate(self.layers):\n    x = layer(x) * i"
    refused("SCN208", model(loop, before="range = np.arange"))
    refused("SCN208", model("for (i, j), layer in enumerate(self.layers):\n    x = layer(x) * j"))
    assert not isinstance(only(model("for i, layer in enumerate(self.layers):\n    x = layer(x)")), Refusal)


def test_layers_taken_by_some_turns():
    refused("SCN208", model("for i in range(3):\n    if mask is not None:\n        x = self.layers[i](x)"))


@pytest.mark.parametrize(
    ("rule", "init"),
    [
        ("SCN202", "self.layers = [Block(8, key=key), Other()]"),
        ("SCN203", "self.layers = [Block(8, key=key), Block(16, key=key)]"),
        ("SCN203", "self.layers = [Block(8, key=key), Block(8, 0.5, key=key)]"),
        ("SCN204", "self.layers = [Block(8, key=key)] * depth"),
        ("SCN204", "block = Block(8, key=key)\nself.layers = [block for _ in range(depth)]"),
        ("SCN204", "block = Block(8, key=key)\nself.layers = [block, block]"),
        ("SCN201", "self.layers = load(depth)"),
        ("SCN204", "block = Block(8, key=key)\nself.layers = [block, block, block, Block(8, key=key)]"),
        ("SCN204", "block = Block(8, key=key)\nself.layers = []\nself.layers.append(block)\nself.layers.append(block)"),
        ("SCN203", "self.layers = [Block(8, key=key)]\nself.layers.append(Block(8, key=key))"),
        ("SCN201", "self.layers = []"),
    ],
)
def test_lists_that_cannot_be_stacked_or_not_be_shown_to_be(rule, init):
    refused(rule, model(init=init))


def test_a_list_that_is_filled_in_another_block_than_it_is_made_in():
    init = f"self.layers = []\nif depth:\n    self.layers = {MANY}\nself.layers.append(Block(8, key=key))"
    refused("SCN201", model(init=init), stack="init")
    found = only(model(init=init))
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack)


@pytest.mark.parametrize(
    "use",
    [
        "return self.layers",
        "return self.layers + [x]",
        "return isinstance(self.layers, list)",
        "return helper(self.layers)",
        "return self.layers == x",
        "other = self.layers\n        return helper(other)",
        "return eqx.tree_at(lambda m: m.layers[0].linear, self, x)",
        "return {'layers': self.layers}",
    ],
)
def test_other_uses_that_need_a_list(use):
    text = model() + f"\n    def other(self, x):\n        {use}\n"
    assert "--stack call" in refused("SCN214", text, stack="init").remedy
    assert not isinstance(only(text, stack="call"), Refusal)


@pytest.mark.parametrize(
    ("use", "holds", "safe"),
    [
        ("return jax.tree.leaves(self.layers)", "ArrayStacked", True),
        ("return helper(self.layers)", "BlockSeq", False),
        ("return eqx.tree_at(lambda m: m.layers[0], self, x)", "BlockSeq", False),
    ],
)
def test_a_list_that_is_needed_elsewhere_is_stacked_in_the_call(use, holds, safe):
    plan = only(model() + f"\n    def other(self, x):\n        {use}\n")
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)
    assert (plan.holds.value, plan.safe) == (holds, safe)
    assert plan.stack.at is not None and str(plan.stack.at) in plan.notes[0]


@pytest.mark.parametrize(
    "use",
    [
        "return len(self.layers)",
        "return self.layers[0]",
        "return self.layers[1:]",
        "return [layer for layer in self.layers]",
        "return list(self.layers)",
        "return [*self.layers]",
        "return helper(*self.layers)",
        "return list(zip(self.layers, x))",
        "return self.layers is None",
        "if self.layers:\n            return x",
    ],
)
def test_other_uses_that_a_sequence_serves(use):
    assert not isinstance(only(model() + f"\n    def other(self, x):\n        {use}\n"), Refusal)


def test_an_attribute_of_the_same_name_of_another_class_is_another_list():
    text = (
        model()
        + "\n\nclass Unrelated:\n    def __init__(self):\n        self.layers = []\n        self.layers.append(1)\n"
    )
    assert not isinstance(only(text), Refusal)


def test_a_list_built_in_a_file_that_was_not_given():
    files = {
        "base.py": PRELUDE
        + "    def __init__(self, depth, *, key):\n        self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\n"
    }
    text = "from base import Model\nclass Net(Model):\n    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    assert "base.py" in refused("SCN201", text, files=files, stack="init").reason
    found = only(text, files=files)
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack)
    assert any("base.py" in note for note in found.notes)


def test_the_kind_says_what_the_loop_is():
    assert refused("SCN206", model(body("x = layer(x)\nmask.append(x)"))).kind is Kind.SCAN
    assert refused("SCN210", model(body("y = layer(x)\nouts.extend([y, y])"), before="outs = [0]")).kind is Kind.MAP
    two = "self.layers = [Block(8, key=key), Block(16, key=key)]"
    assert refused("SCN203", model(init=two)).kind is Kind.GROUP


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(model("for i in range(3):\n    x = x + 1"), id="a loop over numbers"),
        pytest.param(model(init="self.layers = [1, 2, 3]"), id="a list of numbers"),
        pytest.param(model(init="self.layers = [jnp.ones(3) for _ in range(depth)]"), id="a list of arrays"),
        pytest.param(model(init="self.layers = [lambda x: x for _ in range(depth)]"), id="a list of functions"),
        pytest.param(model("for layer in self.layers:  # scanify: ignore\n    x = layer(x)"), id="asked to be ignored"),
        pytest.param(model("# scanify: ignore\nfor layer in self.layers:\n    x = layer(x)"), id="ignored from above"),
        pytest.param(model("for layer in self.layers:  # scanify: ignore[SCN1]\n    x = layer(x)"), id="by its rule"),
        pytest.param(
            model("for layer in self.layers:  # scanify: ignore[SCN207]\n    x = layer(x)\n    print(x)"),
            id="refused so",
        ),
        pytest.param(f"# scanify: ignore-file\n{model()}", id="a file that is ignored"),
        pytest.param(f"# scanify: ignore-file[SCN101] why\n{model()}", id="a file, by rule"),
        pytest.param(model("for layer in self.layers:\n    x = x + 1"), id="the layer is not used"),
        pytest.param(
            "def f(fs, x):\n    for f in fs:\n        x = f(x)\n    return x\n", id="functions of unknown kind"
        ),
        pytest.param("for line in lines:\n    total = line.count(total)\n", id="no modules at all"),
    ],
)
def test_loops_that_are_not_listed(text):
    assert decide(text) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# scanify: ignore[SCN2]",
        "# scanify: ignore[SCN102, SCN205]",
        "# scanify: ignore[]",
        "# scanify: ignored",
        "# scanify: ignore-file[SCN2]",
        "# scanify: ignore-files",
        "# see # scanify",
    ],
)
def test_a_comment_about_something_else_silences_nothing(comment):
    (plan,) = decide(model(f"for layer in self.layers:  {comment}\n    x = layer(x)"))
    assert plan.rule == "SCN101"


def with_block(call: str, field: str = "") -> str:
    """The model with another `__call__` of its blocks."""
    text = model().replace(
        "        return x + self.linear(x)\n", "".join(f"        {line}\n" for line in call.split("\n"))
    )
    return text.replace("    linear: eqx.nn.Linear\n", f"    linear: eqx.nn.Linear\n{field}")


@pytest.mark.parametrize(
    "call",
    [
        "print(x.shape)\nreturn x",
        "SEEN.append(x)\nreturn x",
        "return x * np.random.rand()",
        "return self.linear(next(SEEN))",
    ],
)
def test_a_side_effect_in_the_layers_own_method(call):
    text = with_block(call).replace("class Block", "SEEN = []\n\n\nclass Block")
    assert refused("SCN207", text).at.span.line == text[: text.index(call.partition("\n")[0])].count("\n") + 1


def test_lists_that_a_layer_fills_for_itself_are_no_side_effect():
    call = "parts = []\nfor _ in range(2):\n    parts.append(self.linear(x))\nreturn sum(parts)"
    assert not isinstance(only(with_block(call)), Refusal)


@pytest.mark.parametrize("parameter", ["Block", "width"])
def test_a_class_inside_a_function_sees_the_names_of_the_function(parameter):
    head, rest = model().split("class Model", 1)
    inner = "".join(f"    {line}\n" if line else "\n" for line in ("class Model" + rest).split("\n"))
    found = only(f"{head}def build({parameter}):\n{inner}")
    assert isinstance(found, Plan) and found.safe is (parameter == "width")


@pytest.mark.parametrize("use", ["self.blocks + [x]", "isinstance(self.blocks, list)", "self.blocks"])
@pytest.mark.parametrize(
    "init", [f"self.layers = self.blocks = {MANY}", f"self.layers = {MANY}\nself.blocks = self.layers"]
)
def test_a_list_that_is_needed_under_its_other_name(init, use):
    found = only(f"{model(init=init)}\n    def other(self, x):\n        return {use}\n")
    assert isinstance(found, Refusal) or isinstance(found.stack, CallStack)


WEIGHTS = """

def weights(model, kinds):
    return of_model(model), kinds


def of_model(model: Model):
    return [layer.linear.weight for layer in model.layers]

"""


@pytest.mark.parametrize("where", ["lambda m: weights(m, 3)", "weights", "functools.partial(of_model)"])
def test_a_list_that_the_where_of_a_tree_at_reads_in_a_function_is_stacked_in_the_call(where):
    asks = f"def load(model, values):\n    return eqx.tree_at({where}, model, values)\n"
    plan = next(one for one in decide(model() + WEIGHTS + asks) if isinstance(one, Plan) and one.carry)
    assert isinstance(plan.stack, CallStack) and "which `tree_at` may replace" in plan.stack.reason


@pytest.mark.parametrize("around", ["if mask:", "for t in range(2):", "with mask:", "while mask:"])
def test_a_name_that_a_function_in_the_body_reads_before_it_is_bound(around):
    body = "\n        ".join(["def later(y):\n            return y + bias", "bias = layer(x)", "x = later(x)"])
    refused("SCN210", model(f"{around}\n    for layer in self.layers:\n        {body}"))


@pytest.mark.parametrize("before", ["y = (bias := x)", "if (bias := x) is None:\n    pass", "y = [bias := x]"])
def test_a_name_that_an_expression_binds_before_the_loop_has_a_value(before):
    found = only(
        model("if mask:\n    for layer in self.layers:\n        x = layer(x) + bias\n        bias = x", before=before)
    )
    assert isinstance(found, Plan), found


@pytest.mark.parametrize(
    "where", ["m.layers", "(m.layers, m.norm)", "m.layers[0]", "[layer.linear for layer in m.layers]"]
)
@pytest.mark.parametrize("kind", ["tuple", "list"])
@pytest.mark.parametrize("annotation", [": Model", ""])
def test_a_tuple_that_a_tree_at_replaces_is_stacked_in_the_call_as_a_list_is(where, kind, annotation):
    init = f"self.layers = {kind}(Block(8, key=k) for k in jr.split(key, depth))"
    asks = f"def load(model{annotation}, values):\n    return eqx.tree_at(lambda m: {where}, model, values)\n"
    plan = only(model(init=init) + asks)
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (model(), "SCN212"),
        (model(body("x = layer(x)\nprint(x)")), "SCN212"),
        (model(init="self.layers = [Block(8, key=key), Block(16, key=key)]"), "SCN203"),
    ],
)
def test_a_package_that_scanify_is_made_with_cannot_import_it(text, rule):
    files = {"equinox/__init__.py": "", "equinox/nn/__init__.py": ""}
    found = refused(rule, text, files=files, path="equinox/nn/_mlp.py")
    assert rule != "SCN212" or "which imports `equinox` itself" in found.reason


@pytest.mark.parametrize("manager", ["open(mask) as f", "mask", "mask.timer()"])
def test_a_manager_that_is_not_listed_is_not_understood(manager):
    found = only(model(f"for layer in self.layers:\n    with {manager}:\n        x = layer(x)"))
    assert isinstance(found, Refusal) or not found.safe
