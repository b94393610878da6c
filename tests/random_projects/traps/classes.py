"""Traps in classes: what a layer is, or what a method of the model does, does not stand where its name does."""

from dataclasses import replace

from tests.random_projects.layers import INJECTED, SCALE, Layer
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags


def _trap(name: str, *variants: Variant, expect: Expect = Expect.HELD) -> Trap:
    return Trap(name, expect, variants)


def _built(variant: Variant, build: str) -> Variant:
    return replace(variant, build=build)


FINAL = """
class Final(LAYER):
    def __call__(self, x, *args, **kwargs):
        return x * 3
"""
PLAIN = """
class Plain(LAYER):
    def __call__(self, x, *args, **kwargs):
        return x * 3


def use_plain():
    global LAYER
    LAYER = Plain
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
COUNT = "TURNS = {'n': 0}"
PATCH = """
def patched(cls):
    call = cls.__call__

    def counted(self, *args, **kwargs):
        TURNS["n"] += 1
        x, *rest = args
        return call(self, x * TURNS["n"], *rest, **kwargs)

    cls.__call__ = counted
    return cls
"""
OVERRIDDEN = """
class Deep(NET):
    def turn(self, x):
        TURNS["n"] += 1
        return x * TURNS["n"]
"""
SUBCLASS = """
class Counting(LAYER):
    def __call__(self, x, *args, **kwargs):
        TURNS["n"] += 1
        return super().__call__(x * TURNS["n"], *args, **kwargs)
"""
_SIMPLE = "elastic plain simple for"
_OWN_NEW = replace(
    SCALE,
    name="another by __new__",
    fields="w: jax.Array\n\ndef __new__(cls, *args, **kwargs):\n    return super().__new__(Fast if cls is LAYER else cls)\n",
)
_FAST = "class Fast(LAYER):\n    def __call__(self, x):\n        return x * 3 * self.w"
_MADE = Layer(
    "a function each",
    "w: jax.Array\ng: Callable",
    "self.w = jr.normal(key, (d,))\nself.g = GATE",
    "x + self.g(self.w * x)",
    tags("vector init plain"),
)
CLASSES = (
    _trap(
        "builder overridden",
        _built(
            slots(
                _SIMPLE,
                net__methods="def build(self, d, n, key):\n    return [NEW EACH]\n",
                layers__after=FINAL,
                net__after="class Deep(NET):\n    def build(self, d, n, key):\n        return [*super().build(d, n, key), Final(d, key)]",
                made="Deep(4, N, jr.key(0))",
            ),
            "self.BLOCKS = self.build(d, n, key)",
        ),
        _built(
            slots(
                _SIMPLE,
                net__methods="def build(self, d, n, key):\n    return [NEW EACH]\n",
                net__after="class Deep(NET):\n    held: list\n\n    def build(self, d, n, key):\n        self.held = super().build(d, n, key)\n        return self.held\n\n    def __init__(self, d, n, key):\n        super().__init__(d, n, key)\n        self.held.pop()",
                made="Deep(4, N, jr.key(0))",
            ),
            "self.BLOCKS = self.build(d, n, key)",
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "one layer of a subclass",
        _built(slots(_SIMPLE, layers__after=FINAL), "self.BLOCKS = EXPR + [Final(d, key)]"),
        _built(
            slots(_SIMPLE, layers__after=FINAL),
            "keys = jr.split(key, n)\nself.BLOCKS = [Final(d, k) if i == n - 1 else LAYER(d, k) for i, k in enumerate(keys)]",
        ),
        _built(
            slots(_SIMPLE, layers__after=FINAL),
            "self.BLOCKS = [(Final if i % 2 else LAYER)(d, k) for i, k in enumerate(jr.split(key, n))]",
        ),
        _built(
            slots(_SIMPLE, layers__after=FINAL, first="if isinstance(b, Final):\n    x = x * 0.5"),
            "self.BLOCKS = [(Final if i == 0 else LAYER)(d, k) for i, k in enumerate(jr.split(key, n))]",
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
    _trap(
        "class bound again",
        slots("plain simple", layers__after=PLAIN, make__after="use_plain()"),
        slots("plain simple", layers__after=PLAIN, call__before="use_plain()"),
        expect=Expect.EITHER,
    ),
    _trap(
        "class patched",
        slots(common=COUNT, layers__after=f"{PATCH.strip()}\n\n\npatched(LAYER)", call__before="TURNS['n'] = 0"),
        slots(
            common=f"{COUNT}\n\n\n{PATCH.strip()}",
            call__before="TURNS['n'] = 0",
            make__before="if not hasattr(LAYER, 'patched'):\n    LAYER.patched = True\n    patched(LAYER)",
        ),
    ),
    _trap(
        "another class by __new__",
        Variant(slots(layers__after=_FAST).slots, tags("for"), layer=_OWN_NEW),
        expect=Expect.EITHER,
    ),
    _trap(
        "method overridden with an effect",
        slots(
            "statement simple method for",
            common=COUNT,
            net__methods="def turn(self, x):\n    return x * 0.5\n",
            first="x = self.turn(x)",
            net__after=OVERRIDDEN,
            made="Deep(4, N, jr.key(0))",
            call__before="TURNS['n'] = 0",
        ),
        _built(
            slots(
                "statement simple plain method for",
                common=COUNT,
                layers__after=SUBCLASS,
                net__methods="def one(self, d, k):\n    return LAYER(d, k)\n",
                net__after="class Deep(NET):\n    def one(self, d, k):\n        return Counting(d, k)",
                made="Deep(4, N, jr.key(0))",
                call__before="TURNS['n'] = 0",
            ),
            "self.BLOCKS = [self.one(d, k) for k in jr.split(key, n)]",
        ),
        _built(
            slots(
                "statement simple plain for",
                common=COUNT,
                layers__after=SUBCLASS,
                net__fields="depth: int",
                call__before="TURNS['n'] = 0",
            ),
            "self.depth = n\ncls = Counting if d < 100 else LAYER\nself.BLOCKS = [cls(d, k) for k in jr.split(key, n)]",
        ),
    ),
    _trap(
        "class from the caller",
        _built(
            slots(
                "elastic plain simple for",
                common=COUNT,
                layers__after=SUBCLASS,
                call__before="TURNS['n'] = 0",
                net__parameters=", cls=LAYER",
                made="NET(4, N, jr.key(0), Counting)",
            ),
            "self.BLOCKS = [cls(d, k) for k in jr.split(key, n)]",
        ),
        _built(
            slots(
                "elastic plain simple for",
                common=COUNT,
                layers__after=SUBCLASS,
                call__before="TURNS['n'] = 0",
                net__parameters=", make_one",
                made="NET(4, N, jr.key(0), lambda k: Counting(4, k))",
            ),
            "self.BLOCKS = [make_one(k) for k in jr.split(key, n)]",
        ),
    ),
    _trap(
        "function made for each layer",
        Variant(layer=replace(_MADE, init=_MADE.init.replace("GATE", "lambda v: jnp.where(v > 0, v, 0.1 * v)"))),
        Variant(
            layer=replace(
                _MADE,
                init="self.w = jr.normal(key, (d,))\ns = float(jr.uniform(key, ()))\nself.g = lambda v: jnp.tanh(v) * s",
            ),
            eager_init=True,
        ),
        Variant(
            layer=replace(
                _MADE, init=_MADE.init.replace("GATE", "functools.partial(jax.nn.leaky_relu, negative_slope=0.2)")
            )
        ),
        Variant(
            layer=replace(
                _MADE,
                init="self.w = jr.normal(key, (d,))\nself.g = functools.partial(jnp.multiply, float(jr.uniform(key, ())))",
            ),
            eager_init=True,
        ),
        Variant(
            layer=replace(
                _MADE, init="self.w = jr.normal(key, (d,))\nself.g = jnp.tanh if jr.uniform(key, ()) > 0.5 else jnp.sin"
            ),
            eager_init=True,
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "number made for each layer",
        Variant(
            slots(
                "plain init", fields="s: float", init="self.s = float(jr.uniform(key, ()))", enter="x = x * self.s"
            ).slots,
            tags("plain init"),
            eager_init=True,
        ),
        Variant(
            slots(
                fields="s: float = eqx.field(static=True)",
                init="self.s = float(jr.uniform(key, ()))",
                enter="x = x * self.s",
            ).slots,
            tags("plain init"),
            eager_init=True,
        ),
        slots(
            "plain init",
            common="TURNS = itertools.count()",
            fields="place: int = eqx.field(static=True)",
            init="self.place = next(TURNS) % 5",
            enter="x = x * 0.5**self.place",
        ),
        slots(
            "plain init",
            fields="place: int = eqx.field(static=True)\nmade = 0",
            init="self.place = LAYER.made % 3\nLAYER.made += 1",
            enter="x = x[: 4] * (1 + self.place)",
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "one submodule in all layers",
        Variant(
            layer=replace(INJECTED, name="shared", new="LAYER(mixer)"),
            slots={"net.before": "mixer = Mixer(d, key)"},
            build="self.BLOCKS = [NEW for _ in range(n)]",
        ),
        Variant(
            layer=replace(INJECTED, name="shared", new="LAYER(self.mixer)"),
            slots={"net.before": "self.mixer = Mixer(d, key)", "net.fields": "mixer: Mixer"},
            build="self.BLOCKS = [NEW for _ in range(n)]",
        ),
        expect=Expect.EITHER,
    ),
    _trap(
        "field that converts the list",
        Variant(
            annotation="tuple = eqx.field(converter=lambda many: tuple(many)[::-1])",
            build="self.BLOCKS = EXPR",
            needs=tags("for"),
        ),
        Variant(annotation="list = eqx.field(converter=list)", build="self.BLOCKS = EXPR", needs=tags("for")),
        expect=Expect.LIST,
    ),
)
