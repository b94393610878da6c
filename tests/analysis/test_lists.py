"""Where the list of layers lives: how it is filled, by what it is built, and where it is stacked then."""

import pytest
from helpers import MANY, decide, model, only, text_of

from scanify.analysis.plan import Holds, Kind, Plan, Refusal
from scanify.analysis.stack import After, CallStack, InitStack, Wrap
from tests.texts import texts


def plan(init: str, **given: str) -> Plan:
    found = only(model(init=init, **given))
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("init", "site", "kind"),
    [
        pytest.param(f"self.layers = []\nself.layers.extend({MANY})", After, Kind.FOLD, id="extend"),
        pytest.param(f"self.layers = [Block(3, key=key)]\nself.layers += {MANY}", After, Kind.GROUP, id="added to"),
        pytest.param(
            f"layers = {MANY}\nlayers.insert(0, Block(3, key=key))\nself.layers = layers", Wrap, Kind.GROUP, id="insert"
        ),
        pytest.param(
            "layers = []\nfor k in jr.split(key, depth):\n    layers += [Block(8, key=k)]\nself.layers = layers",
            Wrap,
            Kind.FOLD,
            id="added to in a loop",
        ),
        pytest.param(
            f"layers = {MANY}\nif depth > 4:\n    layers.append(Other())\nself.layers = layers",
            Wrap,
            Kind.GROUP,
            id="a last one on a condition",
        ),
    ],
)
def test_a_list_is_stacked_however_it_is_filled(init, site, kind):
    text = model(init=init).replace("class Model", "BLOCKS = {'a': Block, 'b': Other}\n\n\nclass Model")
    found = only(text)
    assert isinstance(found, Plan), found
    assert isinstance(found.stack, InitStack) and isinstance(found.stack.sites[0], site)
    assert found.safe


@pytest.mark.parametrize("constructor", ["__init__", "__post_init__"])
def test_the_constructor_of_a_dataclass_counts(constructor):
    assert isinstance(only(model().replace("__init__", constructor)), Plan)
    found = only(model().replace("__init__", "set_up"))  # what the caller gives, or what is put in its place
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack) and not found.safe


@pytest.mark.parametrize("second", ["Block(8, True, key=k)", "Other()"])
def test_a_list_of_each_branch_stays_and_is_compared_in_the_call(second):
    init = f"if depth > 4:\n    self.layers = {MANY}\nelse:\n    self.layers = [{second} for k in jr.split(key, depth)]"
    found = only(model(init=init))
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack)
    assert (found.holds, found.safe) == (Holds.BLOCK_SEQ, False)


def test_a_branch_without_layers_has_none():
    init = f"if depth > 4:\n    self.layers = {MANY}\nelse:\n    self.layers = None"
    assert len(text_of(plan(init), model(init=init))) == 1


@pytest.mark.parametrize(
    ("init", "stack", "holds"),
    [
        pytest.param(
            f"layers = {MANY}\nlayers.append(Other())\nself.layers = layers",
            InitStack,
            Holds.BLOCK_SEQ,
            id="added to after",
        ),
        pytest.param(
            f"layers = {MANY}\nlayers.insert(depth, Other())\nself.layers = layers",
            InitStack,
            Holds.BLOCK_SEQ,
            id="put in the middle",
        ),
    ],
)
def test_lists_that_change_before_they_are_kept(init, stack, holds):
    found = plan(init)
    assert isinstance(found.stack, stack)
    assert (found.holds, found.safe) == (holds, True)


@pytest.mark.parametrize(
    "fill",
    [
        f"layers = {MANY}\nlayers.pop()",
        f"layers = {MANY}\nlayers.extend(load(depth))",
        f"layers = {MANY}\nlayers += load(depth)",
        f"layers = [*load(depth), *{MANY}]",
        f"layers = load(depth) + {MANY}",
        f"layers = {MANY}\nlayers[1:2] = load(depth)",
    ],
)
def test_a_part_that_is_not_shown_may_be_anything(fill):
    found = plan(f"{fill}\nself.layers = layers")
    assert found.holds is Holds.BLOCK_SEQ and found.obligations
    found = only(model(init="layers = []\nlayers.extend(load(depth))\nself.layers = layers"))
    assert isinstance(found, Refusal) and found.rule == "SCN201"


def test_a_side_effect_of_any_class_of_the_list_is_seen():
    init = "self.layers = [Block(8, key=key), Block(8, key=key), Block(8, key=key), Loud()]"
    loud = "class Loud(eqx.Module):\n    def __call__(self, x):\n        seen.append(x)\n        return x\n\n\n"
    found = only(model(init=init).replace("class Model", f"seen = []\n\n\n{loud}class Model"))
    assert isinstance(found, Refusal) and found.rule == "SCN207"
    in_branches = f"if depth:\n    self.layers = {MANY}\nelse:\n    self.layers = [Loud() for k in range(depth)]"
    found = only(model(init=in_branches).replace("class Model", f"seen = []\n\n\n{loud}class Model"))
    assert isinstance(found, Refusal) and found.rule == "SCN207"


@pytest.mark.parametrize(
    ("made", "status"),
    [
        ("build(8, k) for k in jr.split(key, depth)", InitStack),
        ("build(widths[i]) for i in range(depth)", Refusal),
        ("build(4 if i == 0 else 8) for i in range(depth)", InitStack),
    ],
)
def test_layers_of_a_class_that_is_not_shown_may_be_alike(made, status):
    init = f"self.layers = [build(3, key), *[{made}], build(2, key)]"
    found = only(model(init=init))
    assert isinstance(found.stack if isinstance(found, Plan) else found, status)
    assert found.rule == "SCN201" if isinstance(found, Refusal) else not found.safe


CONVOLVES = """\
class Conv2d_(eqx.nn.Conv2d):
    pass


class Physics(eqx.Module):
    conv: Conv2d_

    def __call__(self, x):
        return x


class PhysicsConv(Physics):
    pass


"""


@pytest.mark.parametrize(
    ("made", "refused"),
    [
        ("Conv2d_(w[i], w[i + 1], 3, key=key)", True),
        ("PhysicsConv(4 if i == 0 else 8)", False),
        ("PhysicsConv(8)", False),
        ("Physics(w[i])", False),
        ("Block(w[i], w[i + 1], key=key)", True),
    ],
)
def test_layers_of_a_size_each_are_not_alike(made, refused):
    text = model(init=f"self.layers = [{made} for i in range(depth)]")
    found = only(text.replace("class Model", f"{CONVOLVES}class Model"))
    assert isinstance(found, Refusal) is refused
    beside = model(
        "for layer, other in zip(self.layers, self.others):\n    x = other(layer(x))",
        f"self.layers = {MANY}\nself.others = [{made} for i in range(depth)]",
    )
    found = only(beside.replace("class Model", f"{CONVOLVES}class Model"))
    assert isinstance(found, Plan)
    assert any("one body fits all layers in `self.others`" in each for each in found.bodies.doubts)


@pytest.mark.parametrize(
    ("header", "element", "refused"),
    [
        ("M = TypeVar('M')\n\n\nclass Stack(eqx.Module, Generic[M]):", "M", True),
        ("class Stack[M](eqx.Module):", "M", True),
        ("class Stack(eqx.Module):", "eqx.Module", True),
        ("class Stack(eqx.Module):", "eqx.nn.Linear", False),
    ],
)
def test_a_container_of_layers_of_any_class_is_left_alone(header, element, refused):
    text = f"import equinox as eqx\nfrom typing import Generic, TypeVar\n\n{header}\n    layers: list[{element}]\n"
    text += (
        "\n    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    )
    found = only(text)
    assert isinstance(found, Refusal) is refused
    assert not refused or found.rule == "SCN215"


@pytest.mark.parametrize(
    ("call", "refused"),
    [
        ("warnings.warn('slow')", False),
        ("warnings.simplefilter('error')", True),
        ("warnings.warn(next(keys))", True),
    ],
)
def test_what_only_warns_is_a_note(call, refused):
    text = model(f"for layer in self.layers:\n    {call}\n    x = layer(x)")
    found = only(
        text.replace("import functools\n", "import functools\nimport logging\nimport warnings\n", 1).replace(
            "def helper", "log = logging.getLogger(__name__)\nother = functools.partial(log)\n\n\ndef helper"
        )
    )
    assert isinstance(found, Refusal) is refused
    assert refused or "warns once, while the layers are traced" in found.notes[0]


@pytest.mark.parametrize("made", ["object.__new__(Block)", "x"])
def test_an_attribute_that_the_body_sets_is_not_understood(made):
    loop = f"for layer in self.layers:\n    y = {made}\n    object.__setattr__(y, 'scale', 1)\n    x = layer(x)"
    found = only(model(loop))
    assert not (isinstance(found, Plan) and found.safe)


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ("assert x.ndim == 1", False),
        ("if x.ndim != 1:\n        raise ValueError(x.shape)", False),
        ("names = ['a']\n    names.reverse()\n    names.sort()", False),
        ("seen.append(x)", True),
        ("print(x)", True),
    ],
)
def test_a_function_that_is_called_for_its_effect_is_looked_into(body, refused):
    text = model("for layer in self.layers:\n    check(x)\n    x = layer(x)")
    found = only(text.replace("def helper", f"seen = []\n\n\ndef check(x):\n    {body}\n\n\ndef helper"))
    assert isinstance(found, Refusal) is refused


@pytest.mark.parametrize("call", ["mask.check(x)", "unknown(x)", "x.names.reverse()"])
def test_a_call_for_its_effect_of_what_is_not_shown_is_not_understood(call):
    found = only(model(f"for layer in self.layers:\n    {call}\n    x = layer(x)"))
    assert isinstance(found, Plan) and any("is not understood" in each for each in texts(found.obligations))


@pytest.mark.parametrize(
    ("walked", "few"),
    [
        ("range(2)", True),
        ("range(3)", False),
        ("range(1, 2 + depth)", False),
        ("range(1, 4)", False),
        ("jr.split(key, 2)", True),
        ("(1, *depth)", False),
        ("[1, 2, 3]", False),
    ],
)
@pytest.mark.parametrize(
    "how", ["[Block(8, key=key) for k in {}]", "[]\nfor k in {}:\n    self.layers.append(Block(8, key=key))"]
)
def test_lists_of_one_or_two_layers_are_left_alone(walked, few, how):
    found = only(model(init=f"self.layers = {how.format(walked)}"))
    assert isinstance(found, Refusal) is few
    assert not few or (found.rule == "SCN203" and "fewer than three" in found.reason)


@pytest.mark.parametrize("norm", ["eqx.experimental.BatchNorm", "experimental.BatchNorm"])
def test_layers_that_change_python_objects_are_not_safe(norm):
    normed = f"from equinox import experimental\n\n\nclass Inner(eqx.Module):\n    norm: {norm}\n\n\n"
    normed += "class Normed(eqx.Module):\n    inner: Inner\n\n    def __call__(self, x):\n        return self.inner.norm(x)\n\n\n"
    text = model(init="self.layers = [Normed() for _ in range(depth)]").replace("class Model", f"{normed}class Model")
    found = only(text)
    assert isinstance(found, Plan) and not found.safe
    assert isinstance(only(text.replace("self.inner.norm(x)", "x * 2")), Plan)  # held, and never applied


@pytest.mark.parametrize("call", ["jax.lax.stop_gradient(layer)", "jax.device_put(layer)"])
def test_a_layer_whose_arrays_are_only_looked_at_is_the_same_layer(call):
    found = only(
        model(f"for i, layer in enumerate(self.layers):\n    if i < 2:\n        layer = {call}\n    x = layer(x)")
    )
    assert isinstance(found, Plan) and found.safe, found


def test_what_a_function_gives_back_instead_is_not_shown():
    scaled = "def scaled(layer, s):\n    layer = wrap(layer)\n    return layer\n\n\n"
    text = model(init="self.layers = [scaled(Block(8, key=k), 0.1) for k in jr.split(key, depth)]")
    found = only(text.replace("class Model", f"{scaled}class Model"))
    assert isinstance(found, Plan) and not found.safe


@pytest.mark.parametrize(
    ("annotation", "listed"),
    [("tuple[eqx.Module, ...]", True), ("list[eqx.nn.Linear]", True), ("list[Callable]", True)],
)
def test_a_parameter_that_is_said_to_hold_modules(annotation, listed):
    text = f"from typing import Callable\nimport equinox as eqx\n\n\ndef run(blocks: {annotation}, x):\n"
    text += "    for block in blocks:\n        x = block(x)\n    return x\n"
    assert bool(decide(text)) is listed


OBJECTS = """
import abc
import typing


class Reset(abc.ABC):
    def __call__(self, x):
        return x


class Jitter(Reset):
    def __call__(self, x):
        x.q[:] = 0
        return x
"""


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        pytest.param(("", ""), False, id="objects of plain classes"),
        pytest.param(("class Jitter(Reset)", "class Jitter(eqx.Module, Reset)"), True, id="a module among them"),
        pytest.param(("abc.ABC", "typing.Protocol"), True, id="a protocol that modules may follow"),
        pytest.param(("abc.ABC", "load()"), True, id="a base that is not shown"),
        pytest.param(("abc.ABC", "eqx.Module"), True, id="modules"),
    ],
)
def test_a_list_that_is_said_to_hold_no_modules_holds_none(change, listed):
    text = model(init="pass").replace("\n\nclass Block", f"{OBJECTS.replace(*change)}\n\nclass Block")
    text = text.replace("layers: list[Block]", "layers: tuple[Reset, ...]")
    assert bool(decide(text)) is listed


@pytest.mark.parametrize(
    "fill",
    [
        "self.layers = []\nfor i in range(4):\n    self.layers.append(Block(8, key=key))",
    ],
)
def test_a_constructor_that_a_subclass_runs_again_fills_the_list_before_it_is_stacked(fill):
    head, call = (
        model(init=fill)
        .replace("class Model(eqx.Module):", "class Filled(eqx.Module):")
        .rsplit("    def __call__(self, x, mask", 1)
    )
    plan = only(f"{head}\n\nclass Model(Filled):\n    def __call__(self, x, mask{call}")
    assert [type(site).__name__ for site in plan.stack.sites] == ["After"]


MADE_ELSEWHERE = """\
import equinox as eqx
from elsewhere import make


class Model(eqx.Module):
    blocks: list[eqx.Module]

    def __init__(self, depth, *, key):
        self.blocks = []
BUILD

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


@pytest.mark.parametrize(
    ("build", "same"),
    [
        ("        for i in range(depth):\n            block = make(i)\n            self.blocks.append(block)", False),
        ("        block = make(0)\n        for i in range(depth):\n            self.blocks.append(block)", True),
    ],
)
def test_a_name_that_the_loop_binds_anew_is_not_one_object(build, same):
    """What an unknown function gives may be another layer each time, and where it is called once it is one."""
    found = only(MADE_ELSEWHERE.replace("BUILD", build))
    assert isinstance(found, Refusal) and ("may be one object" in found.reason) is same, found
