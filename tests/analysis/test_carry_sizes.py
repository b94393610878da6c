"""Carries that are shown to have another shape after each layer, and those that only look so."""

import pytest
from helpers import PRELUDE, decide

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

CLASSES = """\
import einops


class Down(eqx.Module):
    conv: eqx.nn.Conv2d
    norm: eqx.nn.GroupNorm

    def __init__(self, c, key):
        self.conv = eqx.nn.Conv2d(c, c, 3, stride=2, padding=1, key=key)
        self.norm = eqx.nn.GroupNorm(4, c)

    def __call__(self, x):
        return jax.nn.relu(self.norm(self.conv(x)))


class Up(eqx.Module):
    conv: eqx.nn.ConvTranspose2d

    def __init__(self, c, key):
        self.conv = eqx.nn.ConvTranspose2d(c, c, 4, 2, padding=1, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.conv(x))


class Residual(eqx.Module):
    first: eqx.nn.Conv2d
    second: eqx.nn.Conv2d
    short: eqx.nn.Conv2d

    def __init__(self, c, stride, key):
        self.first = eqx.nn.Conv2d(c, c, 3, stride, 1, key=key)
        self.second = eqx.nn.Conv2d(c, c, 3, padding=1, key=key)
        self.short = eqx.nn.Conv2d(c, c, 1, stride, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.second(jax.nn.relu(self.first(x))) + self.short(x))


class DownUp(eqx.Module):
    down: Down
    up: Up

    def __init__(self, c, key):
        self.down, self.up = Down(c, key), Up(c, key)

    def __call__(self, x):
        return x + self.up(self.down(x))


class Causal(eqx.Module):
    conv: eqx.nn.Conv1d

    def __init__(self, c, key):
        self.conv = eqx.nn.Conv1d(c, c, 3, key=key)

    def __call__(self, x):
        return x + jax.nn.gelu(self.conv(jnp.pad(x, ((0, 0), (2, 0)))))


class Squeeze(eqx.Module):
    fc: eqx.nn.Linear
    conv: eqx.nn.Conv2d

    def __init__(self, c, key):
        self.fc = eqx.nn.Linear(c, c, key=key)
        self.conv = eqx.nn.Conv2d(c, c, 3, padding="SAME", key=key)

    def __call__(self, x):
        scale = jax.nn.sigmoid(self.fc(jnp.mean(x, axis=(1, 2))))
        return x + self.conv(x) * scale[:, None, None]


class Joined(eqx.Module):
    halves: eqx.nn.Linear
    both: eqx.nn.Linear

    def __init__(self, c, key):
        self.halves = eqx.nn.Linear(c, c // 2, key=key)
        self.both = eqx.nn.Linear(2 * c, c, key=key)

    def half(self, x):
        return self.halves(x)

    def product(self, x):
        return x @ self.halves.weight.T

    def whole(self, x):
        return self.both(jnp.concatenate([x, jnp.tanh(x)]))


class Funnel(eqx.Module):
    attn: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP

    def __init__(self, c, key):
        self.attn = eqx.nn.MultiheadAttention(2, c, key=key)
        self.mlp = eqx.nn.MLP(c, c, 2 * c, 1, key=key)

    def __call__(self, x):
        q = x.reshape(-1, 2, 8).mean(axis=1)
        h = q + self.attn(q, x, x)
        return h + jax.vmap(self.mlp)(h)


class Halved(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, c, key):
        self.linear = eqx.nn.Linear(c, c, key=key)

    def pool(self, x):
        n = x.shape[0] - x.shape[0] % 2
        return x[:n].reshape(n // 2, 2, -1).mean(1)

    def __call__(self, x):
        return jax.vmap(self.linear)(self.pool(x))

    def first(self, x, n):
        return jnp.concatenate([x[:n], x[n:]])


def smaller(x):
    return 0.5 * (x[:, ::2] + x[:, 1::2])


"""
CONV = "eqx.nn.Conv2d(c, c, 3, key=k)"


def found_in(layer: str, body: str, *, start: str = "") -> Plan | Refusal:
    init = f"self.layers = [{layer} for k in jr.split(key, n)]\n        self.pool = eqx.nn.AvgPool1d(2, stride=2)"
    call = f"    def __call__(self, x):\n        {start or 'total = 0.0'}\n        for layer in self.layers:\n            {body}\n"
    (found,) = decide(
        PRELUDE[: PRELUDE.index("class Model")]
        + CLASSES
        + f"class Net(eqx.Module):\n    layers: list\n    pool: eqx.nn.AvgPool1d\n\n    def __init__(self, c, n, key):\n        {init}\n\n"
        + call
        + "        return x, total\n"
    )
    return found


CHANGED = {
    "pairs of what is left when the last is cut": ("Halved(c, k)", "x = layer(x)"),
    "strides in a layer's layer": ("Down(c, k)", "x = layer(x)"),
    "strides the other way": ("Up(c, k)", "x = layer(x)"),
    "strides on both ways through": ("Residual(c, 2, k)", "x = layer(x)"),
    "strides under vmap": ("Down(c, k)", "x = jax.vmap(layer)(x)"),
    "strides of a tuple": ("eqx.nn.Conv2d(c, c, (3, 3), stride=(2, 2), key=k)", "x = layer(x)"),
    "windows without padding": (CONV, "x = jax.nn.relu(layer(x))"),
    "wide windows of a general convolution": ("eqx.nn.Conv(2, c, c, 5, padding=1, key=k)", "x = layer(x)"),
    "a pool of the model's": ("Block(c, key=k)", "x = self.pool(layer(x))"),
    "every second": ("Block(c, key=k)", "x = layer(x)[::2]"),
    "every second, in a function": ("Block(c, key=k)", "x = smaller(layer(x))"),
    "all but the first": ("Block(c, key=k)", "x = layer(x[1:])"),
    "one of them": ("Block(c, key=k)", "x = layer(x)[0]"),
    "a new axis": ("Block(c, key=k)", "x = layer(x)[None]"),
    "a sum": ("Block(c, key=k)", "x = layer(x).sum(axis=0)"),
    "half of them, two at a time": ("Block(c, key=k)", "x = layer(x.reshape(-1, 2).mean(axis=1))"),
    "queries that are pooled": ("Funnel(c, k)", "x = layer(x)"),
    "what came before": ("Block(c, key=k)", "x = jnp.concatenate([x, layer(x)])"),
    "what came before, beside": ("Block(c, key=k)", "x = jnp.stack((layer(x), x))"),
    "many times": ("Block(c, key=k)", "x = jnp.repeat(layer(x), 2, axis=0)"),
    "twice as high and wide": (
        "Block(c, key=k)",
        "c, h, w = x.shape\n            x = layer(jax.image.resize(x, (c, 2 * h, w * 2), 'nearest'))",
    ),
    "twice as high, by a name": (
        "Block(c, key=k)",
        "tall = x.shape[1] * 2\n            x = layer(jax.image.resize(x, shape=(x.shape[0], tall), method='nearest'))",
    ),
    "twice as high, in a function of the layer's": (
        "Block(c, key=k)",
        "up = lambda t: jax.image.resize(t, (t.shape[0], 2 * t.shape[1]), 'linear')\n            x = up(layer(x))",
    ),
    "half as wide": ("Block(c, key=k)", "x = layer(jax.image.resize(x, (x.shape[0], x.shape[1] // 2), 'linear'))"),
    "means by a pattern": ("Block(c, key=k)", "x = einops.reduce(layer(x), 'c (h 2) (w 2) -> c h w', 'mean')"),
    "windows of lax": ("Block(c, key=k)", "x = jax.lax.reduce_window(layer(x), 0.0, jax.lax.add, (2,), (2,), 'VALID')"),
    "a second carry": ("Block(c, key=k)", "x = layer(x)\n            total = total[1:]"),
    "the first half": ("Block(c, key=k)", "n = x.shape[0]\n            x = layer(x)[: n // 2]"),
    "the first half of what there is": ("Block(c, key=k)", "x = layer(x[: len(x) >> 1])"),
    "the other half": ("Block(c, key=k)", "x = layer(x[int(x.shape[0] / 2) :])"),
    "all but as many": ("Block(c, key=k)", "*_, d = x.shape\n            x = layer(x)[..., : d - 3]"),
    "one of two parts": ("Block(c, key=k)", "x = jnp.split(layer(x), 2)[0]"),
    "two parts that are multiplied": ("Block(c, key=k)", "a, b = jnp.split(x, 2)\n            x = layer(a * b)"),
    "parts by their places": ("Block(c, key=k)", "a, b = jnp.split(x, [3])\n            x = layer(b)"),
    "rows of another array": ("Block(c, key=k)", "x = layer(jax.vmap(lambda row: row * x)(total))"),
    "rows of its own": ("Block(c, key=k)", "x = jax.vmap(lambda row: (row + x, row))(layer(x))[0]"),
    "another axis that is mapped": ("Block(c, key=k)", "x = jax.vmap(lambda row: 2 * row, 1)(layer(x))"),
    "turned rows": ("Block(c, key=k)", "x = jax.vmap(lambda row: row.T)(layer(x)).T"),
    "differences": ("Block(c, key=k)", "x = jnp.diff(layer(x))"),
    "one that is taken out": ("Block(c, key=k)", "x = jnp.delete(layer(x), 0)"),
    "one that is put in": ("Block(c, key=k)", "x = jnp.insert(layer(x), 0, 1.0)"),
    "a slice of so many": ("Block(c, key=k)", "x = jax.lax.dynamic_slice_in_dim(layer(x), 0, x.shape[0] - 1)"),
    "a slice of sizes": (
        "Block(c, key=k)",
        "n, d = x.shape\n            x = jax.lax.dynamic_slice(layer(x), (0, 0), (n - 1, d))",
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_carry_that_changes_its_size_is_held_back(name: str) -> None:
    layer, body = CHANGED[name]
    found = found_in(layer, body, start="total = jnp.zeros(9)")
    assert isinstance(found, Plan) and "keeps its shape" in " ".join(texts(found.obligations))


KEPT = {
    "cut by a number that may be all": (
        "Block(c, key=k)",
        "n = x.shape[0] - total.shape[0] % 2\n            x = layer(x[:n])",
    ),
    "two parts that are joined again": ("Halved(c, k)", "x = layer.first(x, 2)"),
    "down and up": ("DownUp(c, k)", "x = layer(x)"),
    "padded, then windows without padding": ("Causal(c, k)", "x = layer(x)"),
    "other axes and back": ("Block(c, key=k)", "x = layer(x.reshape(-1, 2).T).reshape(-1)"),
    "queries that are not": ("Funnel(c, k)", "x = layer.attn(x, x, x)"),
    "a scale of a mean": ("Squeeze(c, k)", "x = layer(x)"),
    "no strides": ("Residual(c, 1, k)", "x = layer(x)"),
    "strides that nobody shows": ("Residual(c, n, k)", "x = layer(x)"),
    "as wide as the padding": ("eqx.nn.Conv2d(c, c, 3, padding=1, key=k)", "x = layer(x)"),
    "windows of one": ("eqx.nn.Conv2d(c, c, 1, key=k)", "x = layer(x)"),
    "the same padding": ("eqx.nn.Conv1d(c, c, 4, padding='SAME', key=k)", "x = layer(x)"),
    "two halves": ("Joined(c, k)", "x = jnp.concatenate([layer.half(x), layer.half(-x)])"),
    "two parts": ("Block(c, key=k)", "a, b = jnp.split(layer(x), 2)\n            x = jnp.concatenate([b, a])"),
    "joined for a layer that takes both": ("Joined(c, k)", "x = layer.whole(x)"),
    "two products": ("Joined(c, k)", "x = jnp.concatenate([layer.product(x), layer.product(-x)])"),
    "a place that is written to": ("Block(c, key=k)", "x = layer(x).at[0].set(1.0)"),
    "an axis that comes and goes": ("Block(c, key=k)", "x = jnp.mean(jnp.stack([x, layer(x)]), axis=0)"),
    "an axis of vmap that goes": (
        "Block(c, key=k)",
        "x = jax.vmap(lambda s: layer(x) * s)(jnp.ones(3)).mean(0)",
    ),
    "an axis of vmap beside one that is given whole": (
        "Block(c, key=k)",
        "x = jax.vmap(lambda x, s: layer(x) * s, in_axes=(None, 0))(x, jnp.ones(3)).mean(0)",
    ),
    "a sum that keeps its axes": ("Block(c, key=k)", "x = x - layer(x).mean(axis=0, keepdims=True)"),
    "a number of another carry": ("Block(c, key=k)", "x = layer(x)\n            total = total + x.sum()"),
    "a slice that may be all": ("Block(c, key=k)", "x = layer(x)[:8]"),
    "half as high and back": (
        "Block(c, key=k)",
        (
            "c, h, w = x.shape\n            y = layer(jax.image.resize(x, (c, h // 2, w // 2), 'linear'))\n"
            "            x = jax.image.resize(y, (c, h, w), 'linear')"
        ),
    ),
    "the size of another array": (
        "Block(c, key=k)",
        "x = layer(jax.image.resize(x, (2 * total.shape[0], 2 * total.shape[1]), 'linear'))",
    ),
    "sizes that are bound twice": (
        "Block(c, key=k)",
        "h = x.shape[0] * 2\n            h = 8\n            x = layer(jax.image.resize(x, (h, x.shape[1]), 'linear'))",
    ),
    "higher and narrower": (
        "Block(c, key=k)",
        "x = layer(jax.image.resize(x, (x.shape[0] * 2, x.shape[1] // 2), 'linear'))",
    ),
    "a pattern that keeps every axis": ("Block(c, key=k)", "x = einops.reduce(layer(x), 'h w -> w h', 'mean')"),
    "half of another array": ("Block(c, key=k)", "x = layer(x)[: total.shape[0] // 2]"),
    "half of what is twice as long": ("Joined(c, k)", "n = 2 * x.shape[0]\n            x = layer.half(x)[: n // 2]"),
    "what may be a pair": ("Block(c, key=k)", "x, total = layer(x)"),
    "as many as there are": ("Block(c, key=k)", "n = x.shape[0]\n            x = layer(x)[:n]"),
    "up to the longer of two": ("Block(c, key=k)", "x = layer(x)[: x.shape[0] + 1]"),
    "halves that change places": (
        "Block(c, key=k)",
        "d = x.shape[-1]\n            x = jnp.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1)\n            x = layer(x)",
    ),
    "one of no parts": ("Block(c, key=k)", "x = jnp.split(layer(x), 1)[0].reshape(x.shape)"),
    "parts of what is twice as wide": ("Joined(c, k)", "a, b = jnp.split(layer.product(x), 2)\n            x = a * b"),
    "a slice of all": (
        "Block(c, key=k)",
        "n, d = x.shape\n            x = jax.lax.dynamic_slice(layer(x), (0, 0), (n, d))",
    ),
    "a slice of a number": ("Block(c, key=k)", "x = jax.lax.dynamic_slice_in_dim(layer(x), 0, 4)"),
    "a branch": ("Block(c, key=k)", "x = layer(x)[::2] if x.ndim > 2 else layer(x)"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_carry_that_may_keep_its_size_is_not_refused(name: str) -> None:
    found = found_in(*KEPT[name])
    assert isinstance(found, Plan), found
