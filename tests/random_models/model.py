"""A model put together at random: its loop is its own oracle."""

import random
import re
from dataclasses import dataclass
from textwrap import indent

from tests.random_models.bodies import HAZARDS, random_body, written
from tests.random_models.heads import HEAD_BUGS, Head, random_head
from tests.random_models.lists import LIST_BUGS, Layers, random_layers
from tests.random_models.named import in_a_dict, named_head, random_named
from tests.random_models.prelude import prelude

ARGUMENTS = "x, s, mask, ks, key, state, log, flag=True"
PASSED = "x, s, mask, ks, key, state, log, flag"
KEYS = [
    "keys = [None] * {n} if key is None else jr.split(key, {n})",
    "keys = [None] * {n} if key is None else list(jr.split(key, {n}))",
    "if key is None:\n    keys = [None] * {n}\nelse:\n    keys = jr.split(key, {n})",
]
SURROUNDINGS = [
    "{loop}",
    "{loop}",
    "{loop}",
    "if flag:\n{loop1}\nelse:\n    x = -x",
    "with jax.named_scope('all'):\n{loop1}",
    (
        "def run(x, s, state, key, h=h, total=total):\n{loop1}\n    return x, s, state, total\n"
        "x, s, state, total = run(x, s, state, key)"
    ),
    "if mask is not None:\n{loop1}",
    "for t in range(2):\n{loop1}\n    x = x * 0.5",
]
WRONG_SURROUNDINGS = [
    "try:\n{loop1}\nfinally:\n    pass",
    "try:\n{loop1}\nexcept Exception:\n    x = x * 0",
    "for t in range(3):\n{loop1}\n    if t == 1:\n        break\n    h = x * 0\nx = x + h",
]
# A plain sum over what a batch norm gives has no gradient but rounding.
NORMED = (
    "def run(x, state, s=s, h=h, total=total):\n{loop1}\n    return x, state\n"
    "xs, state = jax.vmap(run, in_axes=(0, None), out_axes=(0, None), axis_name='batch')("
    "jnp.stack([x, x * 2, -x]), state)\nx = xs[0] * xs[1] - xs[2]"
)
CHOSEN = [
    "chosen = self.layers",
    "chosen = reversed(self.layers) if flag else self.layers",
    "chosen = self.layers if flag else self.layers[::-1]",
    "if mask is None:\n    chosen = self.layers\nelse:\n    chosen = self.layers[::-1]",
]
SLOTS = "[x * u for u in range(DEPTH)]"
COLLECTED = ["x = x + sum(outs)", "x = x + jnp.mean(jnp.stack(outs), 0)", "x = x + outs[-1]", "x = x * len(outs)"]
TAILED = ["x = x + sum(tail)", "x = x + tail[-1]", "x = x * len(tail) + tail[0]"]
# The number of loops over layers that each adds.
AFTERWARDS = {
    "pass": 0,
    "x = x / len(self.layers)": 0,
    "x = self.out(x)": 0,
    "x = self.layers[-1](x)": 0,
    "for layer in self.layers[1:]:\n    x = x + layer.weight[0]": 1,
    "for layer in self.layers:\n    x = layer(x)": 1,
    "first, *others = self.layers\nx = first(x)\nfor layer in others:\n    x = jnp.sin(layer(x))": 1,
    "*others, end = self.layers\nfor u, layer in enumerate(others):\n    x = layer(x) * u\nx = end(x)": 1,
    "start, others = self.layers[0], self.layers[1:]\nfor layer in others:\n    x = layer(x) + start(x)": 1,
    "for u, layer in enumerate(self.layers):\n    x = layer(x) * u": 1,
    "u = 0\nfor layer in self.layers:\n    x = layer(x) + (ks[u] if u % 2 else u)\n    u += 1": 1,
    "u = 1\nfor layer in reversed(self.layers[1:]):\n    x = layer(x) * u\n    u = u + 1": 1,
    "terms = [x]\nterms.extend(layer(x) for layer in self.layers)\nx = sum(terms)": 1,
    "x = sum([layer(x) for layer in self.layers])": 1,
    "x = jnp.stack([layer.attend(x, mask) for layer in self.layers]).sum(0)": 1,
    "x = sum([jnp.sum(layer.weight) for layer in self.layers], x)": 0,
}
WRONG_AFTERWARDS = [
    "x = x + last",
    "x = x + h",
    "x = layer(x)",
    "x = x + len(locals())",
    "x = see() + x",
    "x = x + (layer is self.layers[-1])",
    "x = x + i",
    "ys = (one(x) for one in self.layers)\nx = x * 2\nx = sum(ys)",
    "x = next(one(x) for one in self.layers)",
]


@dataclass(frozen=True)
class Model:
    """A module's text with a function `build(key)` that gives `(model, state)`, and how the rewriter is asked.

    `loops` is the number of its loops over layers. With `planted` it may hold what a scan would get wrong. `keyed`
    says whether the call is given a key.
    """

    text: str
    stack: str | None
    remat: str | None
    loops: int
    planted: bool
    keyed: bool


def random_model(seed: int) -> Model:
    """The model of a seed. About a quarter of them hold something that a scan would get wrong."""
    pick = random.Random(seed)
    planted = pick.random() < 0.25
    bug = pick.choice(["body", "body", "body", "body", "head", "around", "after", "list"]) if planted else ""
    layers = random_layers(pick)
    if pick.random() < 0.08:
        layers = random_named(pick, layers.depth)
    if bug == "list":
        layers = Layers(pick.choice(LIST_BUGS), 3)
    pair = "(layer, mate)" if layers.family == "pair" else "layer"
    head = random_head(pick, plain=layers.family in ("plain", "pair"), layer=pair)
    if layers.named:
        head = named_head(pick, head)
    if bug == "head":
        head = Head(pick.choice(HEAD_BUGS), frozenset())
    body = random_body(pick, layers.family, head)
    if bug == "body":
        body.insert(pick.randrange(len(body) + 1), pick.choice(HAZARDS))
    loop = _loop(pick, head, [written(one, head) for one in body], "self.named" if layers.named else "self.layers")
    chosen = pick.choice(CHOSEN) if layers.family != "wide" and not layers.named and pick.random() < 0.1 else ""
    if chosen:
        first, _, rest = loop.partition("\n")
        loop = f"{first.replace('self.layers', 'chosen')}\n{rest}"
    around = pick.choice(WRONG_SURROUNDINGS if bug == "around" else SURROUNDINGS)
    if layers.family == "normed":
        around = NORMED
    if layers.family == "wide" and "for t" in around:
        around = "{loop}"
    end = pick.choice(list(AFTERWARDS)) if layers.family == "plain" and pick.random() < 0.4 else "pass"
    loops = 1 + AFTERWARDS[end]
    if bug == "after":
        end = pick.choice(WRONG_AFTERWARDS)
        if layers.family != "plain" and "lambda" in end:  # other layers are called with more, or give more
            end = "x = x + last"
    if re.search(r"\bouts|\btail|\bprev|\bfinal|\breturn \S+, s, state", loop) and re.search("def run|for t", around):
        around = "{loop}"  # the names are bound outside of the function and of the outer loop
    if "final" in loop:
        around += "\nx = x if final is None else x + final"
    if "outs" in loop:
        around += f"\n{pick.choice(COLLECTED)}"
    if "tail" in loop:
        around += f"\n{pick.choice(TAILED)}"
    if "slots" in loop:
        around += "\nx = x + sum(slots)"
    lines = around.replace("{loop1}", indent(loop, "    ")).replace("{loop}", loop) + f"\n{end}"
    lines = _with_starts(pick, lines, chosen)
    text = _module(pick, layers, in_a_dict(lines) if layers.named else lines)
    stack = pick.choice(["init", "call", None, None, None])
    stack = (
        None if layers.given or layers.named or "def encode(layers" in text else stack
    )  # nothing else can be asked for
    keyed = "jr.split(key, DEPTH)" in lines or pick.random() < 0.7
    return Model(text, stack, pick.choice(["none", None]), loops, planted, keyed)


def _loop(pick: random.Random, head: Head, body: list[str], container: str) -> str:
    if head.number:
        layer = f"{container}[{head.number}]"
        if pick.random() < 0.5:
            body = [f"layer = {layer}", *body]
        else:
            body = [re.sub(r"\blayer\b(?!')", layer, one) for one in body]
    return f"{head.line}\n{indent(chr(10).join(body), '    ')}"


def _with_starts(pick: random.Random, lines: str, chosen: str) -> str:
    start = "last = h = x * 0\ncount = 0\ntotal = 0.0\ngrown = [x]\narray = np.zeros(4)\n"
    if "keys" in lines:
        start += pick.choice(KEYS).format(n=pick.choice(["DEPTH", "len(self.layers)", "self.n"])) + "\n"
    final, tail = pick.choice(["None", "x * 0"]), pick.choice(["[x]", "[x * 2, x * 0.5]", "[]\ntail.append(x)"])
    for name, value in (("outs", "[]"), ("prev", "None"), ("final", final), ("slots", SLOTS), ("tail", tail)):
        if re.search(rf"\b{name}\b", lines):
            start += f"{name} = {value}\n"
    if chosen:
        start += f"{chosen}\n"
    if "see()" in lines:
        start += "def see():\n    return x * 2\n"
    return f"{start}{lines}\nx = jnp.sum(x) + total if x.shape != s.shape else x + total"


# -- where the loop and the list stand --------------------------------------------------------------------------------

# The other fields of a model, as `name: (annotation, value)`; it has those that it uses.
FIELDS = {
    "norms": ("list[Norm]", "[Norm(jnp.linspace(0.5, 1.0 + 0.1 * u, 4)) for u in range(DEPTH)]"),
    "scales": ("tuple", "tuple(0.1 * u for u in range(DEPTH))"),
    "table": ("jax.Array", "jnp.linspace(0.2, 0.9, DEPTH)"),
    "scale": ("jax.Array", "jnp.full(4, 0.7)"),
    "taps": ("tuple", "(0, 2)"),
    "options": ("dict", "{1: {'mask': jnp.full(4, 0.4)}, 2: {'k': 0.3}}"),
    "out": ("eqx.nn.Linear", "eqx.nn.Linear(4, 4, key=key)"),
    "n": ("int = eqx.field(static=True)", "DEPTH"),
    "half": ("int = eqx.field(static=True)", "DEPTH // 2"),
}
RETURN = "return x, s, state"


def _module(pick: random.Random, layers: Layers, lines: str) -> str:
    """The text of a module whose loop, `lines`, stands in the class, in a base class, in a function or beside it."""
    place = pick.choices(["call", "method", "function", "argument", "base", "local"], [10, 3, 2, 2, 2, 2])[0]
    if layers.given or layers.family in ("state", "normed", "pair") or layers.depth == 3:
        place = pick.choice(["call", "method"])
    used = {name: parts for name, parts in FIELDS.items() if re.search(rf"\bself\.{name}\b", lines)}
    fields = [f"{name}: {annotation}" for name, (annotation, _) in used.items()]
    init = [f"self.{name} = {value}" for name, (_, value) in used.items()]
    if place != "local":
        fields.insert(0, f"layers: {pick.choice(layers.annotations)}")
        init.insert(0, "self.layers = layers" if layers.given else layers.build)
    arguments = "self, layers, *, key" if layers.given else "self, *, key"
    body = "\n".join([*fields, "", f"def __init__({arguments}):", indent("\n".join(init or ["pass"]), "    "), "\n"])
    if "self.mix" in lines:
        body += "def mix(self, x, mask):\n    return x * mask + 1\n\n"
    outside, call = "", f"{lines}\n{RETURN}"
    if place == "method":
        body += f"def encode(self, {ARGUMENTS}):\n{indent(call, '    ')}\n\n"
        call = f"return self.encode({PASSED})"
    elif place == "function":
        outside = f"def encode(model: 'Model', {ARGUMENTS}):\n{indent(_renamed(call, 'model'), '    ')}\n\n\n"
        call = f"return encode(self, {PASSED})"
    elif place == "argument":
        element = pick.choice(["list[Base]", "list[Block]"] if "Block(4, key=k)" in layers.build else ["list[Base]"])
        element = "list[Wide]" if layers.family == "wide" else "dict[str, Base]" if layers.named else element
        inner = re.sub(r"\bself\.layers\b", "layers", call)
        inner = indent(_renamed(inner, "model"), "    ")
        outside = f"def encode(layers: {element}, model, {ARGUMENTS}):\n{inner}\n\n\n"
        call = f"return encode(self.layers, self, {PASSED})"
    elif place == "local":
        build = re.sub(r"\bself\.layers\b", "layers", layers.build)
        inner = re.sub(r"\bself\.layers\b", "layers", call)
        build = re.sub(r"\bkey\b(?!=)", "root", build)
        call = f"root = jr.key(5)\n{build}\n{inner}"
    call = f"def __call__(self, {ARGUMENTS}):\n{indent(call, '    ')}\n"
    if place == "base":
        classes = f"class Stack(eqx.Module):\n{indent(body, '    ')}\n\nclass Model(Stack):\n{indent(call, '    ')}"
    else:
        classes = f"class Model(eqx.Module):\n{indent(body + call, '    ')}"
    made = f"Model({layers.build}, key=key)" if layers.given else "Model(key=key)"
    build = f"def build(key):\n    return {made}, None\n"
    if layers.family in ("state", "normed"):
        build = "def build(key):\n    return eqx.nn.make_with_state(Model)(key=key)\n"
    text = f"{outside}{classes}\n\n{build}"
    return f"{prelude(layers.depth, text)}\n\n\n{text}"


def _renamed(text: str, name: str) -> str:
    return re.sub(r"\bself\b", name, text)
