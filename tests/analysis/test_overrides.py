"""What runs in a loop need not be what its class shows: heirs, objects of a module, functions that ask which layer."""

import pytest
from helpers import decide, model

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

APPLY = "for layer in self.layers:\n    x = self.apply(layer, x)"
METHOD = "\n    def apply(self, layer, x):\n        return layer(x)\n"
HEIR = """

SEEN = []


class Heir(Model):
    def apply(self, layer, x):
        SEEN.append(1)
        return layer(x) * len(SEEN)
"""
STATE = """\
class Count:
    number = 0

    def up(self):
        self.number += 1
        return self.number


STATE = Count()


class Block("""


def found(text: str) -> Plan | Refusal:
    return next(one for one in decide(text) if one.carry or isinstance(one, Refusal))


def test_a_method_that_an_heir_replaces_by_one_with_an_effect():
    assert isinstance(found(model(APPLY) + METHOD), Plan)
    one = found(model(APPLY) + METHOD + HEIR)
    assert isinstance(one, Refusal) and "`SEEN` is changed" in one.reason


def test_a_method_of_an_heir_of_an_heir():
    between = "\n\nclass Between(Model):\n    pass\n"
    one = found(model(APPLY) + METHOD + between + HEIR.replace("Heir(Model)", "Heir(Between)"))
    assert isinstance(one, Refusal) and "`SEEN` is changed" in one.reason


def test_a_class_that_is_no_heir_may_do_as_it_likes():
    one = found(model(APPLY) + METHOD + HEIR.replace("Heir(Model)", "Heir(Other)"))
    assert isinstance(one, Plan) and one.safe


@pytest.mark.parametrize("which", ["layer is self.layers[0]", "self.layers[0] is not layer"])
def test_a_method_that_asks_which_layer_it_is_given(which):
    one = found(model(APPLY) + METHOD.replace("return layer(x)", f"return x if {which} else layer(x)"))
    assert isinstance(one, Plan) and "makes other objects of the same values" in texts(one.obligations)[0]


@pytest.mark.parametrize(
    "inherited", ["super().__call__(x)", "super(Noisy, self).__call__(x)", "super(Narrow, self).__call__(x)"]
)
def test_what_a_class_inherits_of_a_layer_of_equinox_is_not_understood(inherited):
    classes = """\
class Noisy(eqx.nn.Linear):
    def __call__(self, x):
        print(x)
        return x


class Narrow(Noisy):
    pass


class Wide(NARROW):
    def __call__(self, x, mask=None):
        return CALL


class Block("""
    base = "Narrow" if "N" in inherited else "eqx.nn.Linear"
    classes = classes.replace("CALL", inherited).replace("NARROW", base)
    text = (
        model()
        .replace("class Block(", classes, 1)
        .replace("eqx.nn.Linear(dim, dim, key=key)", "Wide(dim, dim, key=key)")
    )
    assert not getattr(found(text), "safe", False)


@pytest.mark.parametrize("which", ["layer is None", "x is None"])
def test_a_method_that_asks_for_a_constant(which):
    one = found(model(APPLY) + METHOD.replace("return layer(x)", f"return x if {which} else layer(x)"))
    assert isinstance(one, Plan) and one.safe


def test_a_layer_that_changes_an_object_of_the_module():
    text = model().replace("class Block(", STATE, 1)
    assert texts(found(text).obligations) == ()
    one = found(text.replace("return x + self.linear(x)", "return x + self.linear(x) * STATE.up()"))
    assert isinstance(one, Refusal) and "`self.number` is changed" in one.reason


def test_a_layer_from_elsewhere_may_be_of_a_class_that_does_more():
    given = model(init="self.layers = layers").replace("depth, *, key)", "layers: list[Block])")
    heir = (
        "\n\nSEEN = []\n\n\nclass Loud(Block):\n    def __call__(self, x):\n        SEEN.append(1)\n        return x\n"
    )
    assert texts(found(given).obligations) == ()
    one = found(given + heir)
    assert isinstance(one, Refusal) and "`SEEN` is changed" in one.reason
