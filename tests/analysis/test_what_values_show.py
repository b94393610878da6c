"""What only the values of the whole project show: each of these was a safe fix that computed something else, or raised."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Holds, Plan, Refusal

LAYER = """
class Layer(eqx.Module):
    weight: jax.Array
    {field}

    def __init__(self, width, *, key{more}):
        self.weight = jr.normal(key, (width,))
        {init}

    def __call__(self, x):
        return x + jnp.tanh(self.weight * x){result}


class Model("""


def layered(field="", init="pass", result="", before="", more="", call="Layer(8, key=k)") -> str:
    text = model(init=f"self.layers = [{call} for k in jr.split(key, 4)]").replace("list[Block]", "list")
    layer = LAYER.format(field=field, init=init, result=result, more=more)
    return text.replace("class Model(", f"{before}\n{layer}", 1)


def held(text: str) -> bool:
    found = only(text)
    return isinstance(found, Refusal) or not found.safe


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(
            {
                "before": "import contextvars\nDEPTH = contextvars.ContextVar('depth', default=0)\n\n\ndef deeper():\n"
                "    DEPTH.set(DEPTH.get() + 1)\n    return DEPTH.get()\n\n",
                "result": " * deeper()",
            },
            id="a context variable that a helper sets",
        ),
        pytest.param(
            {
                "before": "class Noise(eqx.Module):\n    def __call__(self, x):\n        return x * np.random.rand()\n\n",
                "field": "noise: eqx.Module",
                "more": ", noise",
                "init": "self.noise = noise",
                "result": " + self.noise(x)",
                "call": "Layer(8, key=k, noise=Noise())",
            },
            id="a submodule that the constructor is given",
        ),
        pytest.param(
            {
                "before": "class Tag:\n    def __init__(self, value):\n        self.value = value\n\n"
                "    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 1\n\n",
                "field": "tag: Tag = eqx.field(static=True)",
                "init": "self.tag = Tag(float(jr.uniform(key, ())))",
                "result": " * self.tag.value",
            },
            id="objects that are equal to all of their kind",
        ),
    ],
)
def test_it_is_held_back(parts):
    assert held(layered(**parts))
    assert not held(layered())


def test_a_number_that_every_layer_makes_of_its_own_key_is_for_a_sequence():
    plan = only(layered(field="scale: float", init="self.scale = float(jr.uniform(key, ()))"))
    assert isinstance(plan, Plan)
    assert plan.holds is Holds.BLOCK_SEQ
    assert only(layered(field="scale: jax.Array", init="self.scale = jr.uniform(key, ())")).holds is Holds.ARRAY_STACKED


def test_a_counter_of_the_class_is_another_number_in_every_layer():
    parts = {"field": "count = 0\n    index: int", "init": "self.index = Layer.count\n        Layer.count += 1"}
    plan = only(layered(**parts, result=" * self.index"))
    assert isinstance(plan, Refusal) or plan.holds is Holds.BLOCK_SEQ


def test_a_layer_that_is_asked_for_by_identity_elsewhere_needs_the_list():
    text = layered() + "\n\ndef same(model: Model):\n    return model.layers[0] is model.layers[0]\n"
    assert held(text) or only(text).stack.__class__.__name__ == "CallStack"


def test_a_list_that_another_file_puts_in_place_of_the_first_is_seen():
    text = layered() + "\n\ndef shorter(model: Model):\n    object.__setattr__(model, 'layers', model.layers[:2])\n"
    assert held(text) or only(text).stack.__class__.__name__ == "CallStack"
