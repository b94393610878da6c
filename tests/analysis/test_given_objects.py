"""Objects of the caller that are walked beside the layers, of a list that may be None: their methods are the project's."""

import pytest
from helpers import PRELUDE, decide, model, only

from scanify.analysis.plan import Plan, Refusal

CACHE = """\
class Cache(eqx.Module):
    k: jax.Array

    def update(self, k):
        return CHANGED


class Cached(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(8, 8, key=key)

    def __call__(self, x, cache: Cache | None = None):
        if cache is not None:
            cache = cache.update(x)
            x = cache.k
        return self.linear(x), cache


class Net(eqx.Module):
    layers: list[Cached]

    def __init__(self, depth, key):
        self.layers = [Cached(k) for k in jr.split(key, depth)]

    def __call__(self, x, caches: ANNOTATION = None):
        if caches is None:
            for layer in self.layers:
                x, _ = layer(x)
            return x, None
        new = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer(x, cache)
            new.append(cache)
        return x, new
"""


def loops(annotation: str, changed: str) -> list[Plan | Refusal]:
    text = CACHE.replace("ANNOTATION", annotation).replace("CHANGED", changed)
    return decide(PRELUDE[: PRELUDE.index("class Model")] + text)


@pytest.mark.parametrize(
    "annotation", ["list[Cache] | None", "tuple[Cache, ...] | None", "list[Cache | None] | None", "list[Cache]"]
)
def test_a_method_of_a_cache_that_is_named_like_a_dicts_changes_nothing(annotation):
    assert [(type(each), each.rule) for each in loops(annotation, "Cache(self.k + k)")] == [
        (Plan, "SCN101"),
        (Plan, "SCN105"),
    ]


def test_one_that_does_is_not_safe():
    found = loops("list[Cache] | None", "SEEN.append(k) or self")[1]
    assert not (isinstance(found, Plan) and found.safe)


@pytest.mark.parametrize("annotation", ["list[dict] | None", "list[dict[str, jax.Array]]"])
def test_a_dict_of_the_caller_is_changed(annotation):
    text = CACHE.replace("cache: Cache | None", "cache").replace("ANNOTATION", annotation).replace("CHANGED", "self")
    found = decide(PRELUDE[: PRELUDE.index("class Model")] + text)[1]
    assert not (isinstance(found, Plan) and found.safe)


CALLERS = """

def without(model: Net, x):
    return model(x)


def with_some(model: Net, x, caches: list[Cache]):
    return model(x, caches)
"""


def test_a_call_without_caches_does_not_come_to_the_loop_over_them():
    text = CACHE.replace("ANNOTATION", "list[Cache] | None").replace("CHANGED", "Cache(self.k + k)")
    found = decide(PRELUDE[: PRELUDE.index("class Model")] + text + CALLERS)
    assert [(type(each), each.rule) for each in found] == [(Plan, "SCN101"), (Plan, "SCN105")]


def test_what_runs_after_none_is_given_a_value_is_seen():
    loop = (
        "        if caches is None:\n            caches = SEEN\n        for layer, cache in zip(self.layers, caches):\n"
        "            x, _ = layer(x)\n            if caches is not None:\n                SEEN.append(cache)\n        return x\n"
    )
    head, _, _ = CACHE.partition("        if caches is None:")
    text = head.replace("ANNOTATION", "list[Cache] | None").replace("CHANGED", "self") + loop + CALLERS
    (found,) = decide(PRELUDE[: PRELUDE.index("class Model")] + "SEEN = []\n\n\n" + text)
    assert isinstance(found, Refusal)


def test_a_norm_that_may_be_none_is_called_where_it_is_not():
    block = "        self.linear = eqx.nn.Linear(8, 8, key=key)\n        self.norm = eqx.nn.LayerNorm(8) if normed else None\n"
    call = "        x = self.linear(x)\n        return self.norm(x) if self.norm is not None else x\n"
    normed = f"class Normed(eqx.Module):\n    linear: eqx.nn.Linear\n    norm: eqx.nn.LayerNorm | None\n\n    def __init__(self, normed, *, key):\n{block}\n    def __call__(self, x):\n{call}\n\n"
    text = model(init="self.layers = [Normed(depth > 3, key=k) for k in jr.split(key, depth)]")
    found = only(text.replace("class Model", f"{normed}class Model", 1))
    assert isinstance(found, Plan) and found.safe


STATES = """

class State(eqx.Module):
    k: jax.Array
    size: int


class Stateful(eqx.Module):
    layers: list[Block]

    def __init__(self, depth, key):
        self.layers = [Block(8, key=k) for k in jr.split(key, depth)]

    def start(self, sizes):
        return [State(jnp.zeros((size, each)), size) for size, each in sizes]

    def run(self, x, sizes):
        for layer, state in zip(self.layers, self.start(sizes)):
            x = layer(x, state.k)
        return x
"""


def test_objects_beside_the_layers_that_nobody_applies_are_no_layers():
    (found,) = decide(PRELUDE[: PRELUDE.index("class Model")] + STATES)
    assert isinstance(found, Plan), found


@pytest.mark.parametrize(
    "declared", ["str", "eqx.AbstractVar[str]", "eqx.AbstractClassVar[str]", "typing.ClassVar[str]"]
)
@pytest.mark.parametrize("given", ["dict", "Settings"])
def test_a_label_that_is_looked_for_is_no_object(declared, given):
    text = model(
        loop="for layer in self.layers:\n    if layer.label in settings:\n        x = layer(x)",
        parameters=f"x, settings: {given}",
    )
    text = text.replace(
        "class Block(eqx.Module):\n",
        f"class Settings(eqx.Module):\n    rate: float\n\n\nclass Block(eqx.Module):\n    label: {declared}\n",
    )
    found = only(text)
    assert isinstance(found, Plan) or "compares object identity" not in found.reason, found.reason


CONFIGURED = """\
import copy
import dataclasses
import equinox as eqx
import jax.random as jr


@dataclasses.dataclass
class Wide:
    width: int
    block: object


@dataclasses.dataclass
class Deep:
    width: int
    block: object


class Stage(eqx.Module):
    layers: list

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, x):
        return self.layers[0](x)


class Net(eqx.Module):
    stages: list

    def __init__(self, settings: {annotation}, *, key):
        self.stages = []
        for setting in settings:
            mine = copy.copy(setting)
            self.stages.append(Stage([mine.block(mine, key=key)]))

    def __call__(self, x):
        for stage in self.stages:
            x = stage(x)
        return x
"""


@pytest.mark.parametrize("annotation", ["list[Wide]", "list[Wide | Deep]", "tuple[Wide | Deep, ...]"])
def test_settings_of_any_of_several_classes_are_others_for_each_stage(annotation):
    found = only(CONFIGURED.replace("{annotation}", annotation))
    assert not (isinstance(found, Plan) and found.safe)
