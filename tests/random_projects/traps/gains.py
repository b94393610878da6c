"""Loops that nothing would be gained from, or that no scan can be: the layers change the carry, or each is another."""

from tests.random_projects.layers import Layer
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags


def _trap(name: str, *variants: Variant, expect: Expect = Expect.HELD) -> Trap:
    return Trap(name, expect, variants)


STAGE = Layer(
    "stage",
    "lin: eqx.nn.Linear",
    "self.lin = eqx.nn.Linear(before, after, key=key)",
    "jnp.tanh(self.lin(x))",
    tags("vector matrix init linear"),
    new="LAYER(4 + i, 5 + i, k)",
    parameters="before, after, key",
)
GAINS = (
    _trap(
        "stages of different widths",
        Variant(
            layer=STAGE,
            build="self.BLOCKS = [LAYER(4 + i, 5 + i, k) for i, k in enumerate(jr.split(key, n))]",
            needs=tags("for"),
            body="CALL",
        ),
        Variant(
            layer=STAGE,
            needs=tags("for"),
            body="CALL",
            build="sizes = [4, 8, 16, 12, 6, 5][: n + 1]\nself.BLOCKS = [LAYER(a, b, k) for a, b, k in zip(sizes[:-1], sizes[1:], jr.split(key, n))]",
        ),
        Variant(
            layer=STAGE,
            needs=tags("for"),
            body="CALL",
            build="self.BLOCKS = []\nwidth = 4\nfor k in jr.split(key, n):\n    self.BLOCKS.append(LAYER(width, 2 * width, k))\n    width *= 2",
        ),
    ),
    _trap(
        "few layers",
        Variant(
            length=2,
            needs=tags("elastic"),
            build="k1, k2 = jr.split(key)\nself.BLOCKS = [NEW for i, k in [(0, k1), (1, k2)]]",
        ),
        Variant(build="self.BLOCKS = [NEW for i, k in [(0, key)]]", needs=tags("elastic")),
        expect=Expect.IDLE,
    ),
    _trap(
        "carry that grows",
        Variant(
            slots("statement for", first="x = x[:4]", last="x = jnp.concatenate([x, x[:1]])").slots,
            tags("statement for"),
        ),
        Variant(
            slots("statement for", last="x = jnp.concatenate([x, x[:4]])", first="x = x.reshape(-1, 4).mean(0)").slots,
            tags("statement for"),
        ),
    ),
    _trap(
        "no layers",  # what another trap takes by its number is not there
        *(
            Variant(slots("", made="NET(4, 0, jr.key(0))", **lines).slots, tags("elastic for simple"), alone=True)
            for lines in (
                {},
                {"before": "if not self.BLOCKS:\n    return x - 1"},
                {"before": "last = None", "last": "last = jnp.sin(x)", "after": "x = x if last is None else last"},
            )
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "list of functions",
        Variant(build="self.BLOCKS = [lambda x: x * 2, jnp.sin, jax.nn.relu]", annotation="list", needs=tags("for")),
        Variant(
            build="self.BLOCKS = [functools.partial(jnp.multiply, 0.5 * i) for i in range(n)]",
            annotation="list",
            needs=tags("for"),
        ),
        Variant(
            build="self.BLOCKS = [NEW for i, k in [(0, key)]] + [jax.nn.relu] + [NEW for i, k in [(1, key)]]",
            annotation="list",
            needs=tags("for"),
        ),
        expect=Expect.EITHER,
    ),
)
