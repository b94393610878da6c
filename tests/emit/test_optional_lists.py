"""Lists that there may not be: the body asks if there is one before it adds to it."""

import jax.numpy as jnp
import pytest

from scanify.analysis.plan import Plan
from tests.against_loop import model, rewritten, same

X = jnp.linspace(-0.5, 1.0, 4)
CACHES = [jnp.ones(4) * i for i in range(5)]
CALLS = {
    "a list": (
        "new = [] if caches is not None else None\nfor i, layer in enumerate(self.layers):\n"
        "    h = caches[i] if caches is not None else None\n    x = layer(x, h)\n"
        "    if new is not None:\n        new.append(x * 2)\nreturn x, new"
    ),
    "a tuple": (
        "new = () if caches is not None else None\nfor layer in self.layers:\n    x = layer(x)\n"
        "    if new is not None:\n        new += (x,)\nreturn x, new"
    ),
    "a dict": (
        "new = {} if caches is not None else None\nfor i, layer in enumerate(self.layers):\n    x = layer(x)\n"
        "    if new is not None:\n        new[f'layer {i}'] = x\nreturn x, new"
    ),
    "two conditions": (
        "new = None\nif caches is not None:\n    new = []\nfor i, layer in enumerate(self.layers):\n    x = layer(x)\n"
        "    if not (new is None) and i != 2:\n        new.append(x)\nreturn x, new"
    ),
    "a list that is there": (
        "new = []\nfor layer in self.layers:\n    x = layer(x)\n    if new is not None:\n        new.append(x)\nreturn x, new"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_filled_where_it_is_one_and_stays_none_where_it_is_none(name: str) -> None:
    new = same(model(CALLS[name], parameters="x, caches"), (X, CACHES), (X, None))
    assert "in enumerate(self.layers)" not in new and "for layer in" not in new


@pytest.mark.parametrize("asked", ["new", "len(new) < 3", "new is caches", "new == []"])
def test_what_asks_for_more_than_whether_there_is_one_is_refused(asked: str) -> None:
    call = (
        f"new = []\nfor layer in self.layers:\n    x = layer(x)\n    if {asked}:\n        new.append(x)\nreturn x, new"
    )
    _, (found,) = rewritten(model(call, parameters="x, caches"), count=0)
    assert not isinstance(found, Plan)
    assert found.rule == "SCN206"


ALIASES = {
    "a part": "for layer in self.layers:\n    apply = layer.__call__\n    x = apply(x)\nreturn x",
    "a checkpoint or not": (
        "for layer in self.layers:\n    apply = jax.checkpoint(layer) if remat else layer\n    x = apply(x)\nreturn x"
    ),
    "a transformation": "for layer in self.layers:\n    apply = jax.vmap(layer)\n    x = apply(x[None])[0]\nreturn x",
    "in branches": (
        "for i in range(len(self.layers)):\n    if remat:\n        layer = self.layers[i]\n    else:\n"
        "        layer = jax.checkpoint(self.layers[i])\n    x = layer(x)\nreturn x"
    ),
    "all arguments of the caller": "for layer in self.layers:\n    x = layer(x, *[None][:remat])\nreturn x",
}


@pytest.mark.parametrize("name", ALIASES)
def test_a_layer_under_another_name_is_the_layer(name: str) -> None:
    new = same(model(ALIASES[name], parameters="x, remat"), (X, True), (X, False))
    assert "fold_via" in new
