"""Loops that read the last element of what they fill: what is carried then, and which lists are left alone."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Adds, Collection, Holds, Plan, Refusal
from tests.texts import texts

LOOP = "for layer in self.layers:\n    y.append(layer(y[-1]))"


def found(loop: str, before: str = "y = [x]", after: str = "return y", parameters: str = "x, mask") -> Plan | Refusal:
    return only(model(loop, before=before, after=after, parameters=parameters))


def test_the_last_element_is_the_carry():
    plan = found(LOOP)
    assert isinstance(plan, Plan) and plan.safe and plan.rule == "SCN105" and plan.holds is Holds.ARRAY_STACKED
    assert (plan.carry, plan.ys, plan.ahead) == (("last_y",), ("y",), ("last_y = y[-1]",))
    assert plan.collections == (Collection("y", Adds.LIST),)
    assert [one.text for one in plan.replaced] == ["last_y := ", "last_y"]


@pytest.mark.parametrize(
    ("name", "last"), [("hiddens", "last_hidden"), ("classes", "last_classe"), ("xs", "last_x"), ("_outs", "last_out")]
)
def test_it_is_named_after_the_list(name, last):
    plan = found(
        LOOP.replace("y", name).replace(f"la{name}er", "layer").replace(f"la{name}ers", "layers"), f"{name} = [x]"
    )
    assert isinstance(plan, Plan) and plan.carry == (last,)


def test_a_name_that_is_taken_is_not_used():
    plan = found(LOOP, "y = [x]\nlast_y = mask", "return y, last_y")
    assert isinstance(plan, Plan) and plan.carry == ("last_y_2",)


@pytest.mark.parametrize(
    ("before", "loop", "obligation"),
    [
        ("y = [0.0]", LOOP, "`last_y` keeps its dtype, though it starts as a Python number"),
        ("y = []\ny.append(1)", LOOP, "`last_y` keeps its dtype, though it starts as a Python number"),
        ("y = [np.zeros(8)]", LOOP, "`last_y` keeps its dtype, though it starts as an array of numpy"),
    ],
)
def test_what_the_list_begins_with_is_looked_at(before, loop, obligation):
    plan = found(loop, before)
    assert isinstance(plan, Plan) and obligation in texts(plan.obligations)


def test_a_parameter_that_is_a_number_begins_it():
    plan = found(LOOP, parameters="x: float, mask")
    assert isinstance(plan, Plan) and "`x` keeps its dtype, though it starts as a Python number" in texts(
        plan.obligations
    )


@pytest.mark.parametrize(("before", "parameters"), [("y = [None]", "x, mask"), ("y = [x]", "x=None, mask=None")])
def test_what_may_begin_as_none_is_no_stack(before, parameters):
    plan = found(LOOP, before, parameters=parameters)
    assert isinstance(plan, Plan) and plan.holds is Holds.BLOCK_SEQ


def test_a_number_whose_value_the_body_asks_for_is_refused():
    refusal = found(
        "for layer in self.layers:\n    if y[-1] > 2:\n        continue\n    y.append(layer(y[-1]))", "y = [0]"
    )
    assert isinstance(refusal, Refusal) and refusal.rule == "SCN208"


@pytest.mark.parametrize(
    ("before", "loop"),
    [
        ("y = [x]", "for layer in self.layers:\n    y.append(layer(y[-2]))"),
        ("y = [x]", "for layer in self.layers:\n    y.append(layer(y[0]) + y[-1])"),
        ("y = [x]", "for layer in self.layers:\n    y.append(layer(y[-1]) * len(y))"),
        ("y = [x]", "for layer in self.layers:\n    y[-1] = y[-1] * 2\n    y.append(layer(y[-1]))"),
        ("y = [x]", "for layer in self.layers:\n    y[-1] += 1\n    y.append(layer(y[-1]))"),
        ("y = [x]", "for layer in self.layers:\n    del y[-1]\n    y.append(layer(y[-1]))"),
        ("y = [x]", "for layer in self.layers:\n    y.extend(layer(y[-1]))"),
        ("y = [x]", "for layer in self.layers:\n    y += layer(y[-1])\n    y.append(x)"),
        ("y = [x]", "for layer in self.layers:\n    y += [layer(y[-1]), *y[:1]]"),
        ("y = [x]", "for layer in self.layers:\n    y.insert(0, layer(y[-1]))\n    y.append(x)"),
        ("y = [x]", "for layer in self.layers:\n    f = lambda: y[-1]\n    y.append(layer(x))\n    x = f()"),
        ("y = [x]", "for layer in self.layers:\n    x = sum(y[-1] for _ in range(2))\n    y.append(layer(x))"),
        ("y = [x]", "for layer in self.layers:\n    for _ in range(2):\n        y.append(layer(y[-1]))"),
        ("y = [x]", "for _ in range(2):\n    for layer in self.layers:\n        y.append(layer(y[-1]))"),
        ("y = [x]", "for layer, z in zip(self.layers, y[-1]):\n    y.append(layer(y[-1]) + z)"),
        ("y = [x]", "for layer in self.layers:\n    y.append(layer(y[-1]))\nelse:\n    x = 0"),
        ("y = [x]\nz = y", "for layer in self.layers:\n    y.append(layer(y[-1]) + len(z))"),
        ("y = [x]\nsee = lambda: y.pop()", "for layer in self.layers:\n    y.append(layer(y[-1]) + see())"),
        ("y = [x, x]\ny.pop()", LOOP),
        ("y = [x]\ny = helper(y)", LOOP),
        ("y = [*x]", LOOP),
        ("y = []", LOOP),
        ("y = list(x)", LOOP),
        ("y = jnp.split(x, keys)", LOOP),
        ("y = jnp.split(x, 0)", LOOP),
        ("y = np.split(x, 2)", LOOP),
        ("y = list(helper(x, 2))", LOOP),
        ("y = jnp.zeros((2, 8))", LOOP),
        ("global y\ny = [x]", LOOP),
        ("y = mask", LOOP),
        ("if mask:\n    y = [x]\nelse:\n    y = mask", LOOP),
    ],
)
def test_a_list_of_which_more_is_asked_is_left_alone(before, loop):
    refusal = found(loop, before)
    assert isinstance(refusal, Refusal) and refusal.rule in ("SCN205", "SCN206", "SCN212", "SCN213"), refusal


def test_a_list_of_the_caller_is_left_alone():
    refusal = found(LOOP, "", parameters="x, y")
    assert isinstance(refusal, Refusal) and refusal.rule == "SCN206"


@pytest.mark.parametrize(
    "before",
    ["x = x[-1]", "x = x[-1]\nx = x + 1", "y = x[-1]\nx = y[-1]", "x = [x[-1]]\nx = x[-1]", "x = x[-1][-1]"],
)
def test_the_last_row_of_an_array_is_no_list(before):
    plan = found("for layer in self.layers:\n    x = layer(x)", before, "return x")
    assert isinstance(plan, Plan) and plan.safe and (plan.rule, plan.carry, plan.ahead) == ("SCN101", ("x",), ())


@pytest.mark.parametrize(
    "before", ["y = jnp.split(x, 2)", "y = list(jnp.split(x, 2, axis=0))", "y: list = list(jnp.array_split(x, 3))"]
)
def test_the_parts_of_an_array_are_a_list_with_an_end(before):
    plan = found(LOOP, before)
    assert isinstance(plan, Plan) and (plan.rule, plan.carry, plan.ys) == ("SCN105", ("last_y",), ("y",))
