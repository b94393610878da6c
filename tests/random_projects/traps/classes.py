"""Traps in classes: what a layer is made of, or what it is, does not stand where its name does."""

from tests.random_projects.layers import Layer
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags


def _trap(name: str, *variants: Variant, expect: Expect = Expect.HELD) -> Trap:
    return Trap(name, expect, variants)


FINAL = """
class Final(LAYER):
    def __call__(self, x, *args, **kwargs):
        return x * 3
"""
TAG = """
class Tag:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return isinstance(other, Tag)

    def __hash__(self):
        return 1
"""
NEW = Layer(
    "another by __new__",
    "w: jax.Array",
    "self.w = jr.normal(key, (d,))",
    "x + jnp.tanh(self.w * x)",
    tags("vector init plain"),
)
_RESULT = "x * self.w * GAIN"
CLASSES = (
    _trap(
        "builder overridden",
        slots(
            "elastic plain simple",
            net__methods="def build(self, d, n, key):\n    return [NEW EACH]\n",
            layers__after=FINAL,
            net__after="class Deep(NET):\n    def build(self, d, n, key):\n        return [*super().build(d, n, key), Final(d, key)]",
            made="Deep(4, N, jr.key(0))",
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "one layer of a subclass",
        Variant(
            slots("elastic plain simple", layers__after=FINAL).slots,
            tags("elastic plain simple"),
            build="self.BLOCKS = EXPR + [Final(d, key)]",
        ),
        Variant(
            slots("elastic plain simple", layers__after=FINAL).slots,
            tags("elastic plain simple"),
            build="keys = jr.split(key, n)\nself.BLOCKS = [Final(d, k) if i == n - 1 else LAYER(d, k) for i, k in enumerate(keys)]",
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "equal to everything of its kind",
        slots(
            "init",
            common=TAG,
            fields="tag: object = eqx.field(static=True)",
            init="self.tag = Tag(float(jnp.sum(jax.tree.leaves(self.__dict__)[0])))",
            enter="x = x * self.tag.v",
        ),
    ),
)
