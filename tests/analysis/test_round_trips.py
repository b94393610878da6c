"""Values that come as one per layer and go back as one per layer: copying them in each call can cost more than layers."""

from textwrap import indent

import pytest

from scanify.analysis.obligation import COST
from scanify.analysis.plan import Plan
from tests.analysis.helpers import model, only
from tests.texts import texts

TRIPS = {
    "a list, zipped": """
        new = []
        for layer, cache in zip(self.layers, caches):
            x, cache = layer.step(x, cache)
            new.append(cache)
        return x, new
    """,
    "a dict by the names of the layers": """
        new = {}
        for layer in self.layers:
            x, new[layer.name] = layer.step(x, caches[layer.name])
        return x, new
    """,
    "a tuple that grows": """
        new = ()
        for i, layer in enumerate(self.layers):
            x, c = layer.step(x, caches[i])
            new = new + (c,)
        return x, new
    """,
    "a field of what is passed": """
        new = []
        for layer, c in zip(self.layers, caches.entries):
            x, c = layer.step(x, c)
            new += [c]
        return x, caches.replace(entries=tuple(new))
    """,
    "keys and values of a dict": """
        ks, vs = [], []
        for layer, k, v in zip(self.layers, caches["k"], caches["v"]):
            x, (k, v) = layer.step(x, (k, v))
            ks.append(k)
            vs.append(v)
        return x, {"k": ks, "v": vs}
    """,
    "a copy of a dict": """
        state = dict(caches)
        new = {}
        for layer in self.layers:
            x, c = layer.step(x, state.get(layer.name))
            new[layer.name] = c
        return x, new
    """,
    "taken out of a comprehension": """
        rows = [c for c in caches.values()]
        new = []
        for layer, c in zip(self.layers, rows):
            x, c = layer.step(x, c)
            new.append(c)
        return x, dict(zip(caches, new))
    """,
    "missing at first": """
        rows = [None] * len(self.layers) if caches is None else caches
        new = []
        for layer, c in zip(self.layers, rows):
            x, c = layer.step(x, c)
            new.append(c)
        return x, new
    """,
    "the carry of another scan": """
        def token(carry, at):
            y, rows = carry
            new = []
            for layer, c in zip(self.layers, rows):
                y, c = layer.step(y, c)
                new.append(c)
            return (y, new), y

        return jax.lax.scan(token, (x, caches), None, 8)
    """,
}
OTHERS = {
    "hidden states": """
        states = []
        for layer in self.layers:
            x = layer(x)
            states.append(x)
        return x, states
    """,
    "hidden states beside masks": """
        states = []
        for layer, m in zip(self.layers, caches):
            x = layer.attend(x, m)
            states.append(x)
        return x, states
    """,
    "caches that are made here": """
        made = [jnp.zeros_like(x) for _ in self.layers]
        new = []
        for layer, c in zip(self.layers, made):
            x, c = layer.step(x, c)
            new.append(c)
        return x, new
    """,
    "one array throughout": """
        new = []
        for layer, c in zip(self.layers, jnp.asarray(caches)):
            x, c = layer.step(x, c)
            new.append(c)
        return x, jnp.stack(new)
    """,
    "an array with a row for each layer": """
        new = []
        for layer, c in zip(self.layers, rows):
            x, c = layer.step(x, c)
            new.append(c)
        return x, new
    """,
    "states that scans over time begin with": """
        new = []
        for i, layer in enumerate(self.layers):
            last, x = jax.lax.scan(layer.step, caches[i], x)
            new.append(last)
        return x, new
    """,
    "pairs of such states, zipped": """
        new = []
        for layer, (h, c) in zip(self.layers, caches):
            last, x = jax.lax.scan(layer.step, init=(h, c), xs=x)
            new.append(last)
        return x, new
    """,
    "keys, and what is added up": """
        total = []
        for layer, k in zip(self.layers, jax.random.split(key, 3)):
            x, loss = layer.step(x, k)
            total.append(loss)
        return x, sum(total)
    """,
    "parameters of the model, and what layers say of them": """
        told = []
        for layer, s in zip(self.layers, self.scales):
            x, t = layer.step(x, s)
            told.append(t)
        return x, told
    """,
    "a cache that is carried": """
        for layer in self.layers:
            x, caches = layer.step(x, caches)
        return x, caches
    """,
    "one value for each head": """
        return [layer.attend(x, m) for layer, m in zip(self.layers, caches)]
    """,
}
STEP = "    name: str = eqx.field(static=True, default='')\n\n    def step(self, x, cache):\n        return self(x), cache\n\n    def attend("


def decided(body: str) -> Plan:
    lines = body.strip("\n").splitlines()
    text = "\n".join(line[8:] for line in lines) + "\n"
    source = model(loop="", after=text, parameters="x, caches, rows: jax.Array, key=None").replace(
        "    def attend(", STEP, 1
    )
    found = only(source)
    assert isinstance(found, Plan), indent(source, "    ")
    return found


@pytest.mark.parametrize("name", TRIPS)
def test_values_that_come_and_go_layer_by_layer_are_never_safe(name: str) -> None:
    plan = decided(TRIPS[name])
    assert not plan.safe and len(plan.cost) == 1 and plan.beyond_cases() == plan.cost
    assert set(plan.obligations) - set(plan.left({COST})) == set(plan.cost)
    assert "each call copies" in texts(plan.cost)[0] and "stack the values once" in texts(plan.cost)[0]


@pytest.mark.parametrize("name", OTHERS)
def test_other_ways_to_collect_cost_what_they_did(name: str) -> None:
    assert texts(decided(OTHERS[name]).cost) == ()
