"""What a plan says of the loops it accepts."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Argument, Plan, Refusal
from scanify.analysis.stack import After, CallStack, InitStack, Wrap
from tests.texts import texts


def plan(*args, stack=None, **given) -> Plan:
    found = only(model(*args, **given), stack=stack)
    assert isinstance(found, Plan), found
    return found


@pytest.mark.parametrize(
    ("loop", "arguments"),
    [
        pytest.param("x = layer(x)", (), id="nothing but the carry"),
        pytest.param("x = layer(x, mask)", (Argument("mask"),), id="a shared positional argument"),
        pytest.param("x = layer(x, mask=mask)", (Argument("mask", "mask"),), id="a shared keyword argument"),
        pytest.param("x = layer(x, jnp.tril(mask))", (Argument("jnp.tril(mask)"),), id="an expression of shared names"),
        pytest.param("x = layer(x, None, key=None)", (Argument("None"), Argument("None", "key")), id="constants"),
    ],
)
def test_one_call_with_shared_arguments(loop, arguments):
    found = plan(f"for layer in self.layers:\n    {loop}")
    assert found.call is not None
    assert found.call.arguments == arguments
    assert (found.carry, found.xs) == (("x",), ())


def test_what_zip_walks_beside_the_layers_is_per_layer():
    found = plan("for layer, k in zip(self.layers, keys, strict=True):\n    x = layer(x, mask, key=k)")
    assert found.call is not None
    assert found.call.arguments == (Argument("mask"), Argument("k", "key", 0))
    assert [(xs.target, xs.source, xs.axis) for xs in found.xs] == [("k", "keys", 0)]
    assert found.call.owner == "Block"


def test_the_layers_may_stand_anywhere_in_zip():
    found = plan("for k, layer in zip(keys, self.layers):\n    x = layer(x, key=k)")
    assert (found.layer, [xs.target for xs in found.xs]) == ("layer", ["k"])
    assert found.call is not None and found.call.arguments == (Argument("k", "key", 0),)


def test_a_slice_of_what_is_walked_keeps_its_text():
    found = plan("for layer, k in zip(self.layers, keys[1:]):\n    x = layer(x, key=k)")
    assert found.xs[0].source == "keys[1:]"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = x + layer(x)", id="a statement around the call"),
        pytest.param("x = layer(mask, x)", id="the carry is not the first argument"),
        pytest.param("x = layer(x, x)", id="the carry is given twice"),
        pytest.param("x = layer(x, layer)", id="the layer is an argument"),
        pytest.param("x = layer(*x)", id="a starred argument"),
        pytest.param("x = layer(x, **mask)", id="keywords from a dict"),
        pytest.param("x = layer.linear.weight(x)", id="a method of a part of the layer"),
        pytest.param("x = layer(x, mask := keys)", id="an argument that binds a name"),
    ],
)
def test_bodies_that_need_a_local_function(body):
    assert plan(f"for layer in self.layers:\n    {body}").call is None


@pytest.mark.parametrize(
    ("keys", "walked", "source"),
    [
        ("first, *keys = jr.split(keys, 9)", "zip(self.layers, keys)", "keys[: len(self.layers)]"),
        ("keys = jr.split(keys, len(self.layers) + 1)", "zip(self.layers, keys)", "keys[: len(self.layers)]"),
        ("keys = None if mask else jr.split(keys, num=2 * 4)", "zip(self.layers, keys)", "keys[: len(self.layers)]"),
        ("*keys, last = jr.split(keys, 9)", "zip(self.layers[1:], keys)", "keys[: len(self.layers[1:])]"),
        ("", "zip(self.layers[:-1], keys)", "keys[: len(self.layers[:-1])]"),
        ("", "zip(self.layers[1:], self.scales)", "self.scales[: len(self.layers[1:])]"),
        ("", "zip(self.layers[:-1], keys, strict=True)", "keys"),
        ("", "zip(self.layers[:-1], keys[1:])", "keys[1:]"),
        ("*keys, last = jr.split(keys, 9)", "zip(self.layers, keys, strict=True)", "keys"),
        ("*keys, last = jr.split(keys, 9)", "zip(self.layers, keys[2:])", "keys[2:]"),
        ("*other, keys = jr.split(keys, 9)", "zip(self.layers, keys)", "keys"),
        ("keys = jr.split(keys, len(self.layers))", "zip(self.layers, keys)", "keys"),
        ("keys = jr.split(keys, 9 - 1)", "zip(self.layers, keys)", "keys"),
        ("len = 3\nkeys = jr.split(keys, 3 + 1)", "zip(self.layers, keys)", "keys"),
    ],
)
def test_of_what_may_be_longer_than_the_layers_a_zip_walks_as_much(keys, walked, source):
    found = plan(f"for layer, k in {walked}:\n    x = layer(x, key=k)", before=keys)
    assert [xs.source for xs in found.xs] == [source]


def test_an_xs_that_no_argument_uses_still_counts_turns():
    assert plan("for layer, k in zip(self.layers, keys):\n    x = layer(x)").call is None


@pytest.mark.parametrize(
    ("method", "owner"),
    [("attend", "Block"), ("scale", None), ("linear", None)],
    ids=["a method", "a static method, which is not given the layer", "a field that happens to be callable"],
)
def test_the_class_is_named_only_where_its_method_takes_the_layer(method, owner):
    found = plan(f"for layer in self.layers:\n    x = layer.{method}(x, mask)")
    assert found.call is not None
    assert found.call.owner == owner


def test_the_class_is_not_named_where_a_local_name_hides_it():
    found = plan("for layer in self.layers:\n    x = layer(x, mask)", before="Block = mask")
    assert found.call is not None
    assert found.call.owner is None


def test_the_class_is_not_named_where_a_factory_may_give_a_subclass():
    init = "self.layers = [make(k) for k in jr.split(key, depth)]"
    text = model("for layer in self.layers:\n    x = layer(x, mask)", init)
    text = text.replace("class Model", "def make(k):\n    return Block(8, key=k)\n\n\nclass Model")
    heir = "class Heir(Block):\n    pass\n\n\ndef make(k):\n    return Heir(8, key=k) if k else Block(8, key=k)"
    found = only(text.replace("def make(k):\n    return Block(8, key=k)", heir))
    assert isinstance(found, Plan)
    assert found.call is not None and found.call.owner is None


@pytest.mark.parametrize(
    ("body", "carry"),
    [
        ("x, mask = layer(x, mask), mask * 2", ("x", "mask")),
        ("h = layer(x)\nx = x + h", ("x",)),
        ("keys, sub = jr.split(keys)\nx = layer(x, key=sub)", ("keys", "x")),
        ("if mask is not None:\n    x = layer(x, mask)\nelse:\n    x = layer(x)", ("x",)),
        ("x = x + jnp.stack([layer(row) for row in x])", ("x",)),
        ("x = jax.vmap(lambda row: layer(row, mask))(x)", ("x",)),
        ("with jax.named_scope('layer'):\n    x = layer(x)", ("x",)),
        ("for _ in range(2):\n    x = layer(x)", ("x",)),
        ("parts = []\nparts.append(layer(x))\nx = parts[0]", ("x",)),
        ("jax.debug.print('{x}', x=x)\nx = layer(x)", ("x",)),
        ("x = self.norm(layer(x))", ("x",)),
        ("x = helper(layer(x))", ("x",)),
        ("assert x.ndim == 1\nx = layer(x)", ("x",)),
    ],
)
def test_the_carry_is_what_a_turn_reads_before_it_binds_it(body, carry):
    text = body.replace("\n", "\n    ")
    found = plan(f"for layer in self.layers:\n    {text}")
    assert (found.carry, texts(found.obligations)) == (carry, ())


@pytest.mark.parametrize(("annotation", "safe"), [("", False), (": jax.Array", True), (": np.ndarray", False)])
def test_an_array_of_the_callers_that_is_added_to_in_place_may_be_one_of_numpy(annotation, safe):
    text = model("for layer in self.layers:\n    x += layer(x)", parameters=f"x{annotation}, mask, keys")
    found = only(text)
    assert isinstance(found, Plan) and found.safe is safe


def test_broadcast_names_the_values_of_the_function_that_all_layers_share():
    found = plan("for layer in self.layers:\n    x = helper(x) + layer(x, mask)")
    assert found.broadcast == ("mask",)


@pytest.mark.parametrize(
    ("init", "site"),
    [
        ("self.layers = [Block(8, key=k) for k in jr.split(key, depth)]", Wrap),
        ("keys = jr.split(key, depth)\nself.layers = [Block(8, key=keys[i]) for i in range(depth)]", Wrap),
        ("self.layers = [Block(8, key=jr.fold_in(key, i)) for i in range(depth)]", Wrap),
        ("a, b, c = jr.split(key, 3)\nself.layers = [Block(8, key=a), Block(8, key=b), Block(8, key=c)]", Wrap),
        ("a, b, c = jr.split(key, 3)\nself.layers = (Block(8, key=a), Block(8, key=b), Block(8, key=c))", Wrap),
        ("self.layers = tuple(Block(8, key=k) for k in jr.split(key, depth))", Wrap),
        ("layers = [Block(8, key=k) for k in jr.split(key, depth)]\nself.layers = layers", Wrap),
        ("layers = []\nfor k in jr.split(key, depth):\n    layers.append(Block(8, key=k))\nself.layers = layers", Wrap),
        ("self.layers = []\nfor k in jr.split(key, depth):\n    self.layers.append(Block(8, key=k))", After),
        (
            "self.layers = []\nfor _ in range(depth):\n    key, sub = jr.split(key)\n    block = Block(8, key=sub)\n    self.layers.append(block)",
            After,
        ),
        ("self.layers: list[Block] = [Block(8, key=k) for k in jr.split(key, depth)]", Wrap),
    ],
)
def test_the_list_is_stacked_where_it_is_built(init, site):
    text = model(init=init) + (
        "\n    def build(self, depth, key):\n        return [Block(8, key=k) for k in jr.split(key, depth)]\n"
    )
    found = only(text)
    assert isinstance(found, Plan), found
    assert isinstance(found.stack, InitStack)
    assert isinstance(found.stack.sites[0], site)
    assert found.stack.annotations and {a.element for a in found.stack.annotations} == {"Block"}


def test_a_tuple_is_wrapped_with_its_parentheses():
    layers = "(Block(8, key=a), Block(8, key=b), Block(8, key=c))"
    text = model(init=f"a, b, c = jr.split(key, 3)\nself.layers = {layers}")
    found = only(text)
    assert isinstance(found, Plan) and isinstance(found.stack, InitStack)
    (site,) = found.stack.sites
    span = site.place.span
    assert text[span.start : span.end] == layers


@pytest.mark.parametrize("annotation", ["list[Block]", "tuple[Block, ...]", '"list[Block]"'])
def test_a_list_from_the_caller_is_stacked_in_the_call(annotation):
    text = model().replace("layers: list[Block]", f"layers: {annotation}")
    text = text.replace(
        "def __init__(self, depth, *, key):\n        self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\n",
        "",
    )
    found = only(text)
    assert isinstance(found, Plan)
    assert isinstance(found.stack, CallStack)
    assert found.call is not None and found.call.owner is None  # the layers may be of a subclass


def test_a_parameter_is_stacked_in_the_call():
    text = (
        model().split("class Model")[0]
        + "def apply(layers: list[Block], x):\n    for b in layers:\n        x = b(x)\n    return x\n"
    )
    found = only(text)
    assert isinstance(found, Plan) and isinstance(found.stack, CallStack)
    assert found.container == "layers"


def test_stack_call_leaves_the_list_as_it_is():
    assert isinstance(plan(stack="call").stack, CallStack)


def test_the_body_covers_its_comments():
    text = model("for layer in self.layers:  # all of them\n    # first\n    x = layer(x)  # last")
    found = only(text)
    assert (
        text[found.body.span.start : found.body.span.end] == "            # first\n            x = layer(x)  # last\n"
    )
    assert found.body.indent == " " * 12


def test_a_head_over_several_lines():
    text = model("for layer, k in zip(\n    self.layers,  # layers: all\n    keys,\n):\n    x = layer(x, key=k)")
    found = only(text)
    assert text[found.body.span.start : found.body.span.end] == "            x = layer(x, key=k)\n"


def test_two_loops_over_one_list_share_its_site():
    found = decide(model("for layer in self.layers:\n    x = layer(x)\nfor block in self.layers:\n    x = block(x)"))
    assert len(found) == 2
    assert found[0].stack == found[1].stack


def test_an_alias_of_the_list_is_followed():
    found = plan("for layer in stack:\n    x = layer(x)", before="stack = self.layers")
    assert isinstance(found.stack, InitStack)
    assert found.container == "stack"


def test_a_carry_that_starts_as_a_number_is_an_obligation():
    found = plan("for layer in self.layers:\n    x = layer(x)\n    total = total + x.sum()", before="total = 0.0")
    assert found.carry == ("x", "total")
    assert not found.safe and "Python number" in texts(found.obligations)[0]


@pytest.mark.parametrize(
    "body",
    ["x = layer(x, key=make_key())", "x = layer(x, key=keys())", "x = layer(x, key=keys.next())", "x = act(layer(x))"],
)
def test_calls_that_may_have_side_effects_are_obligations(body):
    found = plan(f"for layer in self.layers:\n    {body}", before="act = mask")
    assert not found.safe and "is not understood: " in texts(found.obligations)[0]


def test_classes_are_followed_through_relative_imports_and_packages():
    files = {
        "net/__init__.py": "",
        "net/parts/__init__.py": "from .blocks import Block as Unit\n",
        "net/parts/blocks.py": "import equinox as eqx\nclass Base(eqx.Module):\n    pass\nclass Block(Base):\n"
        "    def __call__(self, x, m):\n        return x\n",
    }
    text = (
        "from equinox import Module as M\nfrom .parts import Unit\nimport jax\n"
        "class Net(M):\n    def __init__(self, key):\n"
        "        self.layers = [Unit() for k in jax.random.split(key, 3)]\n"
        "    def __call__(self, x, m):\n        for layer in self.layers:\n            x = layer(x, m)\n        return x\n"
    )
    found = only(text, files=files, path="net/model.py")
    assert isinstance(found, Plan)
    assert found.call is not None and found.call.owner == "Unit"


def test_a_list_inherited_from_a_base_class_is_found():
    text = model(loop="pass", after="return x") + (
        "\n\nclass Child(Model):\n    def run(self, x):\n        for layer in self.layers:\n            x = layer(x)\n"
        "        return x\n"
    )
    found = only(text)
    assert isinstance(found, Plan) and isinstance(found.stack, InitStack)


def test_a_list_of_another_module_is_found_through_its_class():
    text = model(loop="pass") + (
        "\n\nclass Outer(eqx.Module):\n    model: Model\n\n    def __call__(self, x):\n"
        "        for layer in self.model.layers:\n            x = layer(x)\n        return x\n"
    )
    found = only(text)
    assert isinstance(found, Plan)
    assert found.container == "self.model.layers"


CHECKS = [
    ("def check(x):\n    if x.ndim != 1:\n        raise ValueError(x.shape)", True),
    ("def check(x):\n    assert x.ndim == 1, x.shape", True),
    ("SEEN = []\n\n\ndef check(x):\n    SEEN.append(x)", False),
    ("def check(x):\n    print(x)", False),
    ("def check(x):\n    x['seen'] = 1", False),
    ("def check(x):\n    yield x", True),  # nothing runs a generator that is not walked
    ("def inner(x):\n    print(x)\n\n\ndef check(x):\n    inner(x)", False),
]


@pytest.mark.parametrize(("check", "fine"), CHECKS)
def test_a_function_that_only_checks_may_be_called_for_nothing_else(check, fine):
    text = model("for layer in self.layers:\n    check(x)\n    x = layer(x)")
    found = only(text.replace("def helper(x):", f"{check}\n\n\ndef helper(x):"))
    assert isinstance(found, Plan) is fine, found
    if not fine:
        assert isinstance(found, Refusal) and found.rule == "SCN207"


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        ("xs = (x,)\n    xs = xs + (x,)", True),
        ("xs = [x]\n    xs = [*xs, x]", True),
        ("xs = [x]\n    xs += [x]", True),
        ("xs = y\n    xs += [x]", False),
        ("y += [x]", False),
        ("y.seen = y.seen + [x]", False),
    ],
)
def test_what_a_helper_collects_for_itself_is_its_own(line, fine):
    text = model("for layer in self.layers:\n    x = collect(x, mask)\n    x = layer(x)")
    helper = f"def collect(x, y):\n    {line}\n    return x\n\n\ndef helper(x):"
    found = only(text.replace("def helper(x):", helper))
    assert (isinstance(found, Plan) and found.safe) is fine, found


def test_a_function_that_adds_in_place_may_change_an_array_of_the_callers():
    found = only(
        model("for layer in self.layers:\n    check(x)\n    x = layer(x)").replace(
            "def helper(x):", "def check(x):\n    x += 1\n\n\ndef helper(x):"
        )
    )
    assert isinstance(found, Plan) and "an array of numpy would be changed in place" in texts(found.obligations)[0]


REMADE = """\
layers = [Block(8, key=k) for k in jr.split(key, depth)]
layers = tuple(scaled(layer, k) for layer, k in zip(layers, jr.split(key, depth)))
self.layers = layers
"""


def test_layers_that_are_made_of_those_of_another_list():
    plan = only(model(init=REMADE))
    assert isinstance(plan, Plan), plan
    assert not plan.safe and plan.call is not None and plan.call.owner is None
    text = model(init=REMADE.replace("scaled(layer, k)", "Wrapped(layer)"))
    wrapped = "class Wrapped(eqx.Module):\n    inner: Block\n\n    def __call__(self, x):\n        return print(x)\n\n\nclass Model("
    found = only(text.replace("class Model(", wrapped))
    assert (isinstance(found, Plan) and not found.safe) or found.rule == "SCN207"


@pytest.mark.parametrize("grown", ["", "layers.append(Other())\n"])
def test_a_name_of_several_lists_is_said(grown):
    init = "layers = [Other() for _ in range(3)]\nlayers = [Block(8, key=k) for k in jr.split(key, depth)]\n"
    plan = only(model(init=f"{init}{grown}self.layers = layers"))
    assert isinstance(plan, Plan) and not plan.safe
    assert plan.call is None or plan.call.owner is None


def test_calls_that_may_have_side_effects_say_why():
    found = plan(
        "for layer in self.layers:\n    x = act(norm(layer(x)))\n    x = act(x) + self.extra(x)",
        before="act = mask\nnorm = keys",
    )
    assert texts(found.obligations)[:2] == (
        "`norm()` is not understood: `keys` has no annotation (line 43); give a case, or annotate it",
        "`act()` is not understood: `mask` has no annotation (line 43); give a case, or annotate it",
    )
    assert texts(found.obligations)[2].startswith("`self.extra()` is not understood: ")


@pytest.mark.parametrize(("name", "noted"), [("'layer'", False), ("f'layer {x.ndim}'", True)])
def test_a_scope_of_each_layer_becomes_one(name: str, noted: bool) -> None:
    found = only(model(f"for layer in self.layers:\n    with jax.named_scope({name}):\n        x = layer(x)"))
    assert isinstance(found, Plan) and found.safe
    assert any(f"`jax.named_scope({name})` is one scope for all layers" in note for note in found.notes) == noted
