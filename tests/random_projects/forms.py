"""The forms of loops: how a forward pass walks a list of layers.

`self.BLOCKS` is the list. `@first`, `@last`, `@before` and `@after` are slots, `#@` stands at the end of a line that
begins a loop, and `BODY` is the update of the carry, which a trap may replace.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """The body of the model's `__call__`, what its layers take beside `x`, and what the model takes.

    `signature`, `enter` and `gives` are of the layer: its further parameters, the statements it begins with and what it
    returns, where `Y` is what it computes. `arguments` are of the model beside `x`, with the values they are called
    with. `naive` is the same pass as one who looks at nothing would write it. Tags: "statement" for one with slots in
    its body, "simple" for a layer that is called as `b(x)`, "elastic" where any number of layers will do, "method"
    where the loop stands in the method of the model.
    """

    name: str
    text: str
    tags: frozenset[str]
    call: str = "b(x)"
    signature: str = ""
    enter: str = ""
    gives: str = "Y"
    arguments: tuple[tuple[str, str], ...] = ()
    naive: str = ""
    init: str = ""
    fields: str = ""
    other: str = ""
    build: str = ""
    keyed: bool = False


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


_STATEMENT = "\n    @first\n    x = BODY\n    @last\n@after\nreturn x"
_NAIVE = (
    "@before\ndef turn(x, b):"
    + _STATEMENT.replace("\n@after\nreturn x", "\n    return x")
    + "\nx = NAIVE\n@after\nreturn x"
)

FOR = Form(
    "for",
    f"@before\nfor b in self.BLOCKS:#@{_STATEMENT}",
    _tags("statement simple elastic method for"),
    naive=_NAIVE,
)
ENUMERATE = Form(
    "enumerate",
    "@before\nfor i, b in enumerate(self.BLOCKS):#@\n    @first\n    x = BODY * 0.5**i\n    @last\n@after\nreturn x",
    _tags("statement simple elastic method"),
)
INDEX = Form(
    "index",
    f"@before\nfor i in range(len(self.BLOCKS)):#@\n    b = self.BLOCKS[i]{_STATEMENT}",
    _tags("statement simple elastic method"),
)
SUBSCRIPT = Form(
    "subscript",
    f"@before\nfor i in range(len(self.BLOCKS)):#@{_STATEMENT}",
    _tags("simple elastic method"),
    call="self.BLOCKS[i](x)",
)
WHILE = Form(
    "while",
    f"@before\ni = 0\nwhile i < len(self.BLOCKS):#@\n    b = self.BLOCKS[i]{_STATEMENT}".replace(
        "    @last\n", "    @last\n    i += 1\n"
    ),
    _tags("statement simple elastic method"),
)
REVERSED = Form(
    "reversed",
    f"@before\nfor b in reversed(self.BLOCKS):#@{_STATEMENT}",
    _tags("statement simple elastic method"),
)
SLICE = Form(
    "slice",
    "@before\nfor b in self.BLOCKS[:-1]:#@\n    @first\n    x = jax.nn.relu(BODY)\n    @last\n@after\nreturn self.BLOCKS[-1](x)",
    _tags("statement simple method"),
)
ZIP = Form(
    "zip",
    "@before\nfor b, g in zip(self.BLOCKS, gains):#@\n    @first\n    x = BODY * g\n    @last\n@after\nreturn x",
    _tags("statement simple method"),
    arguments=(("gains", "jnp.linspace(0.5, 1.5, N)"),),
)
KEYS = Form(
    "keys",
    f"@before\nfor b, k in zip(self.BLOCKS, jr.split(key, len(self.BLOCKS))):#@{_STATEMENT}",
    _tags("statement method"),
    call="b(x, key=k)",
    signature=", *, key",
    enter="x = x + 0.1 * jr.normal(key, x.shape)",
    arguments=(("key", "jr.key(5)"),),
)
MASKED = Form(
    "masked",
    f"@before\nfor b in self.BLOCKS:#@{_STATEMENT}",
    _tags("statement elastic method"),
    call="b(x, mask)",
    signature=", mask=None",
    enter="if mask is not None:\n    x = x * mask",
    arguments=(("mask", "jnp.linspace(0.5, 1.0, 4)"),),
)
COLLECT = Form(
    "collect",
    "@before\nhidden = []\nfor b in self.BLOCKS:#@\n    @first\n    x = BODY\n    hidden.append(x)\n    @last\n@after\nreturn x, jnp.stack(hidden)",
    _tags("statement simple elastic method"),
)
MAPPED = Form(
    "comprehension",
    "@before\ny = sum([BODY for b in self.BLOCKS])#@\n@after\nreturn y",
    _tags("simple elastic method"),
)
STACKED = Form(
    "stack",
    "@before\ny = jnp.stack([BODY for b in self.BLOCKS]).mean(0)#@\n@after\nreturn y",
    _tags("simple elastic method"),
)
REDUCE = Form(
    "reduce",
    "@before\nx = functools.reduce(lambda x, b: BODY, self.BLOCKS, x)#@\n@after\nreturn x",
    _tags("simple elastic method"),
)
MAP = Form(
    "map",
    "@before\ny = sum(map(lambda b: BODY, self.BLOCKS))#@\n@after\nreturn y",
    _tags("simple elastic method"),
)
CACHE = Form(
    "cache",
    "@before\nkept = []\nfor b, cache in zip(self.BLOCKS, caches):#@\n    @first\n    x, cache = b(x, cache, pos)\n    kept.append(cache)\n    @last\n@after\nreturn x, kept",
    _tags("statement method"),
    call="b(x, cache, pos)",
    signature=", cache, pos",
    enter="cache = cache.at[pos].set(x)\nx = x + jnp.mean(cache, 0)",
    gives="Y, cache",
    arguments=(("caches", "jnp.ones((N, 3, 4))"), ("pos", "jnp.asarray(1)")),
)
STATE = Form(
    "state",
    "@before\ns = jnp.zeros(4)\nfor b in self.BLOCKS:#@\n    @first\n    x, s = b(x, s)\n    @last\n@after\nreturn x, s",
    _tags("statement elastic method"),
    call="b(x, s)",
    signature=", s",
    enter="s = 0.5 * s + jnp.cos(x)\nx = x + s",
    gives="Y, s",
)
LOCAL = Form(
    "local",
    f"@before\nblocks = self.BLOCKS\nfor b in blocks:#@{_STATEMENT}",
    _tags("statement simple elastic method"),
)
FUNCTION = Form(
    "function",
    "@before\nx = run(self.BLOCKS, x)\n@after\nreturn x",
    _tags("simple elastic"),
    other="def run(blocks: list[LAYER], x):\n    for b in blocks:#@\n        x = BODY\n    return x",
)
OUTSIDE = Form(
    "outside",
    "@before\nx = encode(self, x)\n@after\nreturn x",
    _tags("simple elastic"),
    other='def encode(net: "NET", x):\n    for b in net.BLOCKS:#@\n        x = BODY\n    return x',
)
DECODE = Form(
    "training and decode",
    (
        "@before\nif cache is None:\n    for b in self.BLOCKS:#@\n        @first\n        x = b(x)\n        @last\n"
        "    return x\nkept = []\nfor b, c in zip(self.BLOCKS, cache):#@\n    x, c = b.step(x, c)\n    kept.append(c)\n"
        "@after\nreturn x, jnp.stack(kept)"
    ),
    _tags("statement method step"),
    arguments=(("cache", "jnp.ones((N, 4))"),),
)
NESTED = Form(
    "nested lists",
    "@before\nfor stage in self.BLOCKS:\n    for b in stage:#@\n        @first\n        x = BODY\n        @last\n    x = x * 0.5\n@after\nreturn x",
    _tags("statement simple method ownbuild"),
    build="self.BLOCKS = [[NEW EACH] for key in jr.split(key, 2)]",
)
IN_DICT = Form(
    "lists in a dict",
    '@before\nfor b in self.BLOCKS["enc"]:#@\n    @first\n    x = BODY\n    @last\nfor b in self.BLOCKS["dec"]:#@\n    x = jnp.sin(BODY)\n@after\nreturn x',
    _tags("statement simple method ownbuild"),
    build='k1, k2 = jr.split(key)\nself.BLOCKS = {"enc": [NEW for k in jr.split(k1, n)], "dec": [NEW for k in jr.split(k2, n)]}',
)
TWO_LISTS = Form(
    "two lists",
    "@before\nfor b, f in zip(self.BLOCKS, self.norms):#@\n    @first\n    x = f(BODY)\n    @last\n@after\nreturn x",
    _tags("statement simple method"),
    init="self.norms = [eqx.nn.LayerNorm(d) for _ in range(n)]",
    fields="norms: list[eqx.nn.LayerNorm]",
)
TWICE = Form(
    "two loops",
    "@before\nfor b in self.BLOCKS:#@\n    @first\n    x = BODY\n    @last\nfor b in self.BLOCKS:#@\n    x = x + jnp.sin(BODY)\n@after\nreturn x",
    _tags("statement simple elastic method"),
)
SEQUENTIAL = Form(
    "sequential",
    "@before\nx = self.BLOCKS(x)\n@after\nreturn x",
    _tags("method ownbuild"),
    signature=", *, key=None",
    build="self.BLOCKS = eqx.nn.Sequential([NEW EACH])#@",
)
OPTIONAL_COLLECT = Form(
    "optional collect",
    (
        "@before\nhidden = [] if keep else None\nfor b in self.BLOCKS:#@\n    @first\n    x = BODY\n    if keep:\n"
        "        hidden.append(x)\n    @last\n@after\nreturn (x, hidden) if keep else x"
    ),
    _tags("statement simple elastic method"),
    arguments=(("keep", "True"),),
)
FORMS = (
    *(FOR, FOR, FOR, FOR, ENUMERATE, INDEX, SUBSCRIPT, WHILE, REVERSED, SLICE, ZIP, KEYS, MASKED, COLLECT, MAPPED),
    *(STACKED, REDUCE, MAP, CACHE, CACHE, STATE, LOCAL, FUNCTION, OUTSIDE, DECODE, DECODE, NESTED, IN_DICT, TWO_LISTS),
    *(TWICE, SEQUENTIAL, OPTIONAL_COLLECT),
)
