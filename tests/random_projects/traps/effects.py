"""Traps in what a layer does when it is called: it counts, draws, remembers or writes, and a scan calls it once."""

from textwrap import indent

from tests.random_projects.forms.form import Form
from tests.random_projects.layers import Layer
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.HELD, variants)


def _common(common: str, enter: str, before: str = "", needs: str = "", **more: str) -> Variant:
    """Definitions, what a layer does with them, and how they are begun again before each call of the model."""
    return slots(needs, common=common, enter=enter, **({"call__before": before} if before else {}), **more)


COUNTER = """
COUNT = 0


def reset():
    global COUNT
    COUNT = 0


def tick():
    global COUNT
    COUNT += 1
    return float(COUNT)
"""
NOISE = """
class Noise:
    def __init__(self):
        self.n = 0

    def __call__(self):
        self.n += 1
        return 0.5 * self.n


NOISE = Noise()
"""
DEFAULT = """
def count(seen=[0]):
    seen[0] += 1
    return 1.0 / seen[0]
"""
COUNTED_FUNCTION = """
def gain():
    gain.calls += 1
    return 0.5**gain.calls


gain.calls = 0
"""
GENERATOR = """
RATES = []


def rates():
    rate = 1.0
    while True:
        yield rate
        rate *= 0.7
"""
DRAWS = """
def jitter():
    return random.uniform(0.5, 1.5)
"""
KEYS = """
class Keys:
    key = None


KEYS = Keys()


def next_key():
    KEYS.key, sub = jr.split(KEYS.key)
    return sub
"""
DEPTH = 'DEPTH = contextvars.ContextVar("depth", default=0)'
SCALES = "SCALES = {}"
LOG = "LOG = []"

_MIXER = """class Mixer(eqx.Module):
    w: jax.Array

    def __call__(self, x):
        return jnp.tanh(self.w * x) * EFFECT"""


def _injected(name: str, effect: str, fields: str, init: str, new: str, parameters: str = "mixer") -> Layer:
    before = _MIXER.replace("EFFECT", effect)
    return Layer(name, fields, init, "x + self.mixer(x)", tags("vector init"), new, parameters, before)


def _injections(common: str, effect: str, before: str, without: str = "") -> tuple[Variant, ...]:
    new = "LAYER(Mixer(jr.normal(k, (d,))))"
    made = "LAYER(lambda q: Mixer(jr.normal(q, (d,))), k)"
    layers = (
        _injected("injected, annotated", effect, "mixer: Mixer", "self.mixer = mixer", new),
        _injected("injected", effect, "mixer: eqx.Module", "self.mixer = mixer", new),
        _injected("injected, callable", effect, "mixer: Callable", "self.mixer = mixer", new),
        _injected(
            "injected by keyword",
            effect,
            "mixer: Mixer",
            "self.mixer = mixer",
            "LAYER(mixer=Mixer(jr.normal(k, (d,))))",
        ),
        _injected("injected factory", effect, "mixer: Mixer", "self.mixer = make(key)", made, "make, key"),
        _injected("injected dataclass", effect, "mixer: eqx.Module", "", new, ""),
    )
    made_slots = slots(common=common, call__before=before).slots
    return tuple(Variant(made_slots, without=tags(without), layer=layer) for layer in layers)


def _given(value: str, name: str, first: str, enter: str = "") -> Variant:
    """The model is given an object, and its body (or its layers, in `enter`) changes it."""
    call = f"b(x, {name})" if enter else "b(x)"
    lines = indent(f"{first}\nx = {call}".strip(), "    ")
    form = Form(
        "given an object",
        f"for b in self.BLOCKS:#@\n{lines}\nreturn x",
        tags("method"),
        call=call,
        signature=f", {name}" if enter else "",
        enter=enter,
        arguments=((name, value),),
    )
    after = slots(call__after=f"y = (y, jax.tree.map(np.asarray, {name}))").slots
    return Variant(after, form=form, eager="np." in value)


EFFECTS = (
    _trap(
        "counter of a module",
        _common(COUNTER, "x = x * tick()", "reset()"),
        _common(COUNTER.replace("def tick", "def tock").replace("COUNT", "TURNS"), "x = x + 0.1 * tock()", "reset()"),
        slots("statement", common=COUNTER, first="x = x * tick()", call__before="reset()"),
    ),
    _trap(
        "stateful callable",
        _common(NOISE, "x = x * NOISE()", "NOISE.n = 0"),
        _common(
            NOISE,
            "x = x + self.noise()",
            "NOISE.n = 0",
            "init",
            fields="noise: object = eqx.field(static=True)",
            init="self.noise = NOISE",
        ),
        _common(
            NOISE,
            "x = x * self.noise()",
            "NOISE.n = 0",
            "init",
            fields="noise: Callable = eqx.field(static=True)",
            init="self.noise = NOISE",
        ),
        _common(COUNTED_FUNCTION, "x = x * gain()", "gain.calls = 0"),
    ),
    _trap("mutable default", _common(DEFAULT, "x = x * count()", "count.__defaults__[0][0] = 0")),
    _trap(
        "shared iterator",
        slots(
            common="TURNS = {}",
            enter="x = x * next(TURNS['count'])",
            call__before="TURNS['count'] = itertools.count(1)",
        ),
        _common(GENERATOR, "x = x * next(RATES[-1])", "RATES.append(rates())"),
        slots(
            "statement",
            before="steps = iter([1.0, 0.5, 0.25, 0.125, 0.0625, 0.03, 0.02, 0.01, 0.005, 0.002])",
            first="x = x * next(steps)",
        ),
        slots("statement", before="steps = [float(u) for u in range(12)]", first="x = x * steps.pop()"),
    ),
    _trap(
        "random state of the process",
        _common(DRAWS, "x = x * jitter()", "random.seed(0)"),
        slots(enter="x = x * random.random()", call__before="random.seed(1)"),
        slots(enter="x = x + np.random.uniform()", call__before="np.random.seed(0)"),
        slots("statement", first="x = x * np.random.normal()", call__before="np.random.seed(2)"),
        _common(
            "RNG = np.random.default_rng(0)",
            "x = x * RNG.random()",
            "RNG.bit_generator.state = np.random.default_rng(3).bit_generator.state",
        ),
    ),
    _trap("key of a module", _common(KEYS, "x = x + jr.normal(next_key(), x.shape)", "KEYS.key = jr.key(3)")),
    _trap("context variable", _common(DEPTH, "DEPTH.set(DEPTH.get() + 1)\nx = x * DEPTH.get()", "DEPTH.set(0)")),
    _trap(
        "identity of a layer",
        _common(SCALES, "x = x * SCALES.setdefault(id(self), 1.0 + len(SCALES))", "SCALES.clear()"),
        slots("statement for method", last="if b is self.BLOCKS[-1]:\n    x = x * 2"),
        slots("statement for method", first="if b is not self.BLOCKS[0]:\n    x = x * 0.5"),
        slots("statement for method", first="if id(b) == id(self.BLOCKS[1]):\n    x = -x"),
    ),
    _trap(
        "record of the calls",
        _common(LOG, "LOG.append(x.shape)", "LOG.clear()", call__after="y = (y, len(LOG))"),
        slots(
            "statement",
            common=LOG,
            net__methods="def note(self, x):\n    LOG.append(x.ndim)\n",
            first="LOG.append(0)",
            call__before="LOG.clear()",
            call__after="y = (y, len(LOG))",
        ),
        _common("SEEN = {}", "SEEN['calls'] = SEEN.get('calls', 0) + 1\nx = x * SEEN['calls']", "SEEN.clear()"),
        slots("statement method", before="log = {'n': 0}", first="log['n'] += 1\nx = x * log['n']"),
    ),
    _trap("injected counter", *_injections(COUNTER, "tick()", "reset()")),
    _trap(
        "injected key",
        *_injections(KEYS, "jr.bernoulli(next_key(), 0.5, x.shape)", "KEYS.key = jr.key(3)", without="traced"),
    ),
    _trap(
        "global counted in the body",
        slots(
            "statement for", common="TURN = 0", before="global TURN\nTURN = 0", first="TURN = TURN + 1\nx = x * TURN"
        ),
        slots(
            "statement for",
            before="turn = 0\n\ndef tick():\n    nonlocal turn\n    turn += 1\n    return turn\n",
            first="x = x * tick()",
        ),
    ),
    _trap(
        "printed in the body",
        slots("statement", first="print('layer')"),
        slots(enter="print('called', x.shape)"),
    ),
    _trap(
        "argument of the caller changed",
        _given("np.zeros(4)", "total", "total += 1.0\nx = x + total"),
        _given("{'n': 0}", "total", "total['n'] += 1"),
        _given("{'n': 0}", "total", "total['n'] = total.get('n', 0) + 1\nx = x * total['n']"),
        _given("[]", "total", "x = x * (1 + len(total))\ntotal.append(0.0)"),
        _given("np.zeros(4)", "total", "", enter="total += 1.0\nx = x + total"),
        _given("{'n': 0}", "total", "", enter="total['n'] += 1\nx = x * total['n']"),
    ),
)
