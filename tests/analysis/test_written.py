"""Code that writes into layers after they were made, or puts another list in their place: the list then stays one."""

import pytest
from helpers import INIT, kept, model, only

from scanify.analysis.plan import Holds, Plan
from scanify.analysis.stack import CallStack, InitStack

PUT = """\
def put(layer, w):
    object.__setattr__(layer.linear, "weight", w)


"""
METHODS = """\
    def load(self, w):
        object.__setattr__(self, "linear", w)

    def attend(
"""


def found(use: str, helper: str = "", text: str = "") -> Plan:
    lines = "".join(f"    {line}\n" for line in use.split("\n"))
    plan = only(f"{text or model()}\n\nimport dataclasses\n\n\n{helper}def use(model, w, i):\n{lines}")
    assert isinstance(plan, Plan), plan
    return plan


@pytest.mark.parametrize(
    "use",
    [
        "for layer in model.layers:\n    object.__setattr__(layer.linear, 'weight', w)",
        "for i, layer in enumerate(model.layers):\n    setattr(layer, 'linear', w[i])",
        "for layer, v in zip(model.layers, w):\n    layer.linear.weight = v",
        "for layer in model.layers:\n    part = layer.linear\n    part.weight[0] = w",
        "for layer in model.layers:\n    for name in w:\n        object.__setattr__(getattr(layer, name), 'weight', w)",
        "model.layers[0].linear.weight = w",
        "part = model.layers[i].linear\npart.weight[0] += w",
        "made = Model(2, key=w)\nvars(made.layers[0])['linear'] = w",
        "model.layers[0].__dict__.update(linear=w)",
        "object.__setattr__(model, 'layers', w)",
        "return dataclasses.replace(model, layers=w)",
    ],
)
def test_a_list_whose_layers_are_written_into_stays_one(use):
    assert isinstance(found(use).stack, CallStack)


@pytest.mark.parametrize(
    "use", ["for layer in model.layers:\n    put(layer, w)", "[put(w=w, layer=x) for x in model.layers]"]
)
def test_a_function_that_writes_into_layers_is_known_by_the_field(use):
    plan = found(use, PUT)
    assert isinstance(plan.stack, CallStack) and plan.holds is Holds.BLOCK_SEQ
    method = found(
        "for layer in model.layers:\n    layer.load(w)", "", model().replace("    def attend(", METHODS.rstrip(), 1)
    )
    assert isinstance(method.stack, CallStack)


@pytest.mark.parametrize(
    "use",
    [
        "for layer in model.layers:\n    show(layer.linear.weight, w)",
        "for i, layer in enumerate(model.layers):\n    w[i] = layer.linear.weight",
        "object.__setattr__(model, 'norm', w)",
        "w.weight = model.layers[0].linear.weight",
        "return dataclasses.replace(model, norm=w)",
        "n = len(model.layers)",
    ],
)
def test_a_list_whose_layers_are_read_is_built_stacked(use):
    plan = found(use, "def show(weight, w):\n    return weight + w\n\n\n")
    assert isinstance(plan.stack, InitStack) and plan.holds is Holds.ARRAY_STACKED


@pytest.mark.parametrize(
    "line",
    [
        "for i in range(0, depth, 2):\n    object.__setattr__(self.layers[i].linear, 'weight', jnp.zeros((8, 8)))",
        "for layer in self.layers[::2]:\n    object.__setattr__(layer, 'rate', 0.5)",
        "for i, layer in enumerate(self.layers):\n    object.__setattr__(layer, 'rate', 0.1 * i)",
        "put(self.layers[0], jnp.zeros((8, 8)))",
        "first, *rest = self.layers\nput(first, jnp.zeros((8, 8)))",
        "vars(self.layers[0])['linear'] = eqx.nn.Linear(8, 8, key=key)",
        "put(max(self.layers, key=lambda layer: layer.linear.weight.sum()), jnp.zeros((8, 8)))",
    ],
)
def test_layers_that_the_constructor_writes_into_may_differ(line):
    plan = only(kept(model(init=f"{INIT}\n{line}")).replace("class Model", f"{PUT}class Model", 1))
    assert isinstance(plan, Plan) and isinstance(plan.stack, CallStack) and plan.holds is Holds.BLOCK_SEQ
