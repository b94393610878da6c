"""Loops over lists of parameters that no scan can be, each with its reason; and loops over lists of other things."""

from pathlib import Path

import pytest

from scanify.analysis.plan import Plan, Refusal
from scanify.pipeline import Project
from tests.emit.parameters.programs import HEAD
from tests.emit.targets.models import rewritten

REFUSED = {
    "the names of a dict are walked": (
        """
    for p in params["layers"]:
        for name in p:
            x = x @ p[name]
    return x
""",
        "SCN213",
        "sorts its keys",
    ),
    "the items of a dict are walked in a function": (
        """
    def layer(p, x):
        for name, w in p.items():
            x = x @ w
        return x

    for p in params["layers"]:
        x = layer(p, x)
    return x
""",
        "SCN213",
        "sorts its keys",
    ),
    "the first name of a dict is taken": (
        """
    for p in params["layers"]:
        names = list(p)
        x = x @ p[names[0]]
    return x
""",
        "SCN213",
        "sorts its keys",
    ),
    "a dict is carried and walked": (
        """
    state = {"x": x, "a": x}
    for p in params["layers"]:
        for name, v in state.items():
            x = x * v @ p["w"]
        state = {"x": x, "a": state["x"]}
    return state
""",
        "SCN213",
        "sorts its keys",
    ),
    "a dict that is walked beside the layers is walked": (
        """
    for p, cache in zip(params["layers"], params["caches"]):
        x = x @ p["w"]
        for name, v in cache.items():
            x = jnp.tanh(x * v)
    return x
""",
        "SCN213",
        "sorts its keys",
    ),
    "random numbers of numpy are drawn": (
        """
    for p in params["layers"]:
        x = x @ p["w"] * np.random.normal()
    return x
""",
        "SCN207",
        "side effect",
    ),
    "the last layer is another one": (
        """
    for i, (w, b) in enumerate(params):
        x = x @ w + b
        if i < len(params) - 1:
            x = jnp.tanh(x)
    return x
""",
        "SCN208",
        "the number of the layer",
    ),
    "an element is written to": (
        """
    for p in params["layers"]:
        p["w"] = p["w"] * 2
        x = x @ p["w"]
    return x
""",
        "SCN206",
        "`p` collects",
    ),
    "something is printed": (
        """
    for p in params["layers"]:
        x = x @ p["w"]
        print(x.shape)
    return x
""",
        "SCN207",
        "side effect",
    ),
    "the loop may end early": (
        """
    for p in params["layers"]:
        x = x @ p["w"]
        if stop:
            break
    return x
""",
        "SCN217",
        "may end before its last one",
    ),
    "an element is read after the loop": (
        """
    for p in params["layers"]:
        x = x @ p["w"]
    return x @ p["w"]
""",
        "SCN209",
        "read after the loop",
    ),
    "a carry begins as None": (
        """
    y = None
    for p in params["layers"]:
        y = x @ p["w"] if y is None else y @ p["w"]
    return y
""",
        "SCN217",
        "",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_with_its_reason(what: str, tmp_path: Path) -> None:
    body, rule, said = REFUSED[what]
    text = f"{HEAD}import numpy as np\n\n\ndef apply(params, x, stop=False):{body}"
    after, outcome = rewritten(text, tmp_path, "lax")
    found = [loop for loop in outcome.analysis.loops if isinstance(loop, Refusal)]
    assert [loop.rule for loop in found] == [rule] and said in found[0].reason, outcome.analysis.loops
    assert after == text and "target scanify" not in found[0].remedy


def test_an_element_that_is_compared_with_the_last_one_is_an_obligation(tmp_path: Path) -> None:
    body = """
    for p in params["layers"]:
        x = x @ p["w"]
        if p is not params["layers"][-1]:
            x = jnp.tanh(x)
    return x
"""
    (tmp_path / "model.py").write_text(f"{HEAD}\n\ndef apply(params, x):{body}")
    (plan,) = Project.load([tmp_path]).analyse(target="lax").loops
    assert isinstance(plan, Plan) and any("makes other objects" in each.text for each in plan.obligations)


def test_sorted_items_are_walked_alike(tmp_path: Path) -> None:
    body = """
    for p in params["layers"]:
        for name, w in sorted(p.items()):
            x = x @ w
    return x
"""
    _, outcome = rewritten(f"{HEAD}\n\ndef apply(params, x):{body}", tmp_path, "lax")
    assert len(outcome.applied) == 1


LEFT_ALONE = {
    "batches of a step of training": """
def loss(params, batch):
    return jnp.sum((batch["x"] @ params["w"] - batch["y"]) ** 2)


def train(params, batches):
    for batch in batches:
        grads = jax.grad(loss)(params, batch)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params
""",
    "batches for the parameters of layers": """
def train(layers, batches):
    for x, y in batches:
        layers = layers - 0.1 * x.T @ (x @ layers - y)
    return layers
""",
    "a step of training on layers": """
def loss(params, x):
    return (x @ params["w"]).sum()


def greedy(layers, x):
    for layer in layers:
        grads = jax.grad(loss)(layer, x)
        x = x @ (layer["w"] - grads["w"])
    return x
""",
    "losses and metrics": """
def penalty(params, rate):
    total = 0.0
    for p in params["layers"]:
        total = total + rate * jnp.sum(p["w"] ** 2)
    return total


def mean(metrics):
    total = jnp.zeros(3)
    for m in metrics:
        total = total * 0.9 + m["loss"]
    return total
""",
    "norms of gradients": """
def norm(grads):
    total = 0.0
    for g in grads:
        total += jnp.sum(g["w"] * g["w"])
    return jnp.sqrt(total)
""",
    "states of optimisers": """
def update(params, states, grads):
    new = []
    for p, s, g in zip(params, states, grads):
        m = 0.9 * s["m"] + 0.1 * g
        new.append((p - 0.1 * m, {"m": m}))
    return new


def chain(transforms, updates, states):
    for transform, state in zip(transforms, states):
        updates, state = transform.update(updates, state)
    return updates
""",
    "a new list of parameters": """
def average(params, others, rate):
    new = []
    for p, q in zip(params, others):
        new.append({"w": rate * p["w"] + (1 - rate) * q["w"]})
    return new
""",
    "configurations of layers": """
def build(key, x, layers):
    for width in layers:
        key, sub = jax.random.split(key)
        w = jax.random.normal(sub, (x.shape[-1], width))
        x = x @ w
    return x
""",
    "hyperparameters": """
def schedule(x, rates):
    for rate in rates:
        x = x * rate
    return x
""",
    "functions with their parameters": """
def serial(layers, params, x):
    for layer, p in zip(layers, params):
        x = layer(x * p["scale"])
    return x


def stax(apply_functions, params, x):
    for apply, p in zip(apply_functions, params):
        x = x * p["scale"]
        x = apply(p, x)
    return x
""",
    "objects that are no trees": """
def run(layers, x):
    for layer in layers:
        x = layer.forward(x) * layer.scale
    return x
""",
    "datasets": """
def statistics(datasets):
    total = jnp.zeros(3)
    for data in datasets:
        total = jnp.maximum(total, data["x"].max(0))
    return total
""",
    "steps of time": """
def rnn(params, h, inputs):
    for x in inputs:
        h = jnp.tanh(h @ params["u"] * x)
    return h
""",
    "layers of numpy": """
def count(params):
    total = 0
    for p in params:
        total += p["w"].size
    return total
""",
}


@pytest.mark.parametrize("what", LEFT_ALONE)
def test_what_is_no_list_of_layers_is_left_alone(what: str, tmp_path: Path) -> None:
    text = HEAD + LEFT_ALONE[what]
    after, outcome = rewritten(text, tmp_path, "lax")
    assert outcome.analysis.loops == ()
    assert after == text
