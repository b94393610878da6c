"""Traps in loops beside the first one, and in lists whose elements have nothing in common."""

from tests.random_projects.forms.form import Form, tags
from tests.random_projects.layers import Layer
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots

_SCALED = Layer("scaled", "w: jax.Array", "self.w = jr.normal(key, (d,))", "x * self.w", tags("vector init plain"))
LEVEL = Layer(
    "level",
    "lin: eqx.nn.Linear",
    "self.lin = eqx.nn.Linear(before, after, key=key)",
    "jnp.tanh(self.lin(x))",
    tags("vector matrix init linear"),
    new="LAYER(4 * 2**i, 8 * 2**i, k)",
    parameters="before, after, key",
)
UNET = Form(
    "u-net",
    (
        "@before\nskips = []\nfor b in self.BLOCKS:#@\n    skips.append(x)\n    x = b(x)\nfor b in self.ups:#@\n    x = b(x) + skips.pop()\n@after\nreturn x"
    ),
    tags("method"),
    build="k1, k2 = jr.split(key)\nself.BLOCKS = [LAYER(4 * 2**i, 8 * 2**i, k) for i, k in enumerate(jr.split(k1, n))]",
    init="self.ups = [LAYER(8 * 2**i, 4 * 2**i, k) for i, k in reversed(list(enumerate(jr.split(k2, n))))]",
    fields="ups: list[LAYER]",
)
POOL = Form(
    "pooled input",
    "@before\ny = jnp.zeros(4)\nx = jnp.tile(x, 8)\nfor b in self.BLOCKS:#@\n    y = y + b(x[:4])\n    x = x.reshape(-1, 2).mean(1)\n@after\nreturn y",
    tags("method"),
)
DENSE = Form(
    "dense connections",
    "@before\nfor b in self.BLOCKS:#@\n    x = jnp.concatenate([x, jax.nn.relu(b(x))])\n@after\nreturn x",
    tags("method"),
    build="self.BLOCKS = [LAYER(4 * (i + 1), 4, k) for i, k in enumerate(jr.split(key, n))]",
)
CALLBACKS = """
class Callback(eqx.Module):
    def on_step(self, x):
        raise NotImplementedError


class Record(Callback):
    name: str

    def on_step(self, x):
        LOG.append(self.name)
        return None


class Stop(Callback):
    def on_step(self, x):
        return {"steps": len(LOG)}
"""
COMPOSED = """
class Shift(eqx.Module):
    by: jax.Array

    def __call__(self, x):
        return x + self.by


class Sine(eqx.Module):
    def __call__(self, x):
        return jnp.sin(x)
"""
CALLED_BACK = Form(
    "callbacks",
    "@before\nLOG.clear()\nanswers = [c.on_step(x) for c in self.callbacks]#@\nx = self.BLOCKS[0](x)\n@after\nreturn x, answers",
    tags("method simple"),
    fields="callbacks: list",
    init="self.callbacks = [Record('a'), Record('b'), Stop()]",
)
COMPOSER = Form(
    "composed by the caller",
    "@before\nfor b in self.BLOCKS:#@\n    x = b(x)\n@after\nreturn x",
    tags("method"),
    build="self.BLOCKS = list(operators)",
    annotation="list",
)
_STEPPED = "def trace(self, x):\n    steps = []\n    for b in self.BLOCKS:\n        x = b(x)\n        if float(x[0]) > 100:\n            break\n        steps.append(float(x[0]))\n    return steps\n"
_PRINTED = "def describe(self, x):\n    for i, b in enumerate(self.BLOCKS):\n        x = b(x)\n        LOG.append((i, float(x[0])))\n    return len(LOG)\n"
_HOT = "def decode(self, x, log):\n    for b in self.BLOCKS:\n        x = b(x)\n        log['calls'] = log.get('calls', 0) + 1\n    return x\n"


def _trap(name: str, *variants: Variant, expect: Expect = Expect.HELD) -> Trap:
    return Trap(name, expect, variants)


LOOPS = (
    _trap(
        "another loop that must stay",
        slots("elastic simple for", net__methods=_STEPPED, extra="seen.append(net.trace(x))"),
        slots("elastic simple for", common="LOG = []", net__methods=_PRINTED, extra="seen.append(net.describe(x))"),
        slots("elastic simple for", net__methods=_HOT, extra="log = {}\nseen.append((net.decode(x, log), log))"),
        expect=Expect.SLOW,
    ),
    _trap("u-net", Variant(form=UNET, layer=LEVEL, length=3), expect=Expect.IDLE),
    _trap("pooled input", Variant(form=POOL, length=3), expect=Expect.IDLE),
    _trap("dense connections", Variant(form=DENSE, layer=LEVEL, length=3), expect=Expect.IDLE),
    _trap("callbacks", Variant(slots(common=f"LOG = []\n\n\n{CALLBACKS.strip()}").slots, form=CALLED_BACK)),
    _trap(
        "composed by the caller",
        Variant(
            slots(
                common=COMPOSED,
                net__parameters=", operators",
                made="NET(4, N, jr.key(0), [Shift(jnp.ones(4)), LAYER(4, jr.key(1)), Sine()])",
            ).slots,
            form=COMPOSER,
            layer=_SCALED,
        ),
        Variant(
            slots(
                common=COMPOSED,
                net__parameters=", operators",
                made="NET(4, N, jr.key(0), [LAYER(4, jr.key(1)), Shift(jnp.ones(4))])",
            ).slots,
            form=COMPOSER,
            layer=_SCALED,
        ),
        expect=Expect.IDLE,
    ),
)
