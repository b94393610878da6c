"""Statements that walk a list: `for` over it, over parts of it, by number, and beside something else."""

from tests.random_projects.forms.form import STATEMENT, Form, tags

_ALL = tags("statement simple elastic method")
_FIT = tags("statement simple method")  # with exactly as many layers as the model was made with


def _walk(name: str, head: str, kinds: frozenset[str] = _ALL, **more: str) -> Form:
    return Form(name, f"@before\n{head}#@{STATEMENT}", kinds, **more)  # type: ignore[arg-type]


FOR = Form("for", f"@before\nfor b in self.BLOCKS:#@{STATEMENT}", _ALL | {"for"}, naive=True)
WALKS = (
    *(FOR,) * 5,
    Form(
        "enumerate",
        "@before\nfor i, b in enumerate(self.BLOCKS):#@\n    @first\n    x = BODY * 0.5**i\n    @last\n@after\nreturn x",
        _ALL,
    ),
    Form("index", f"@before\nfor i in range(len(self.BLOCKS)):#@\n    b = self.BLOCKS[i]{STATEMENT}", _ALL),
    Form(
        "subscript",
        f"@before\nfor i in range(len(self.BLOCKS)):#@{STATEMENT}",
        tags("simple elastic method"),
        call="self.BLOCKS[i](x)",
    ),
    _walk("reversed", "for b in reversed(self.BLOCKS):"),
    _walk("reversed slice", "for b in self.BLOCKS[::-1]:", _FIT),
    _walk("tail", "for b in self.BLOCKS[1:]:", _FIT),
    _walk("local", "blocks = self.BLOCKS\nfor b in blocks:"),
    _walk("list of the list", "for b in list(self.BLOCKS):"),
    Form(
        "slice",
        "@before\nfor b in self.BLOCKS[:-1]:#@\n    @first\n    x = jax.nn.relu(BODY)\n    @last\n@after\nreturn self.BLOCKS[-1](x)",
        _FIT,
    ),
    Form(
        "zip",
        "@before\nfor b, g in zip(self.BLOCKS, gains):#@\n    @first\n    x = BODY * g\n    @last\n@after\nreturn x",
        _FIT,
        arguments=(("gains", "jnp.linspace(0.5, 1.5, N)"),),
    ),
    Form(
        "zip of numbers",
        "@before\nfor b, g in zip(self.BLOCKS, self.gains):#@\n    @first\n    x = BODY * g\n    @last\n@after\nreturn x",
        _FIT,
        fields="gains: tuple[float, ...] = eqx.field(static=True)",
        init="self.gains = tuple(1.0 - 0.1 * u for u in range(n))",
    ),
    Form(
        "keys",
        f"@before\nfor b, k in zip(self.BLOCKS, jr.split(key, len(self.BLOCKS))):#@{STATEMENT}",
        tags("statement method"),
        call="b(x, key=k)",
        signature=", *, key",
        enter="x = x + 0.1 * jr.normal(key, x.shape)",
        arguments=(("key", "jr.key(5)"),),
    ),
    Form(
        "chain of keys",
        "@before\nfor b in self.BLOCKS:#@\n    @first\n    key, k = jr.split(key)\n    x = b(x, key=k)\n    @last\n@after\nreturn x",
        tags("statement method elastic"),
        call="b(x, key=k)",
        signature=", *, key",
        enter="x = x + 0.1 * jr.normal(key, x.shape)",
        arguments=(("key", "jr.key(5)"),),
    ),
    Form(
        "optional keys",
        "@before\nkeys = [None] * len(self.BLOCKS) if key is None else jr.split(key, len(self.BLOCKS))\nfor b, k in zip(self.BLOCKS, keys):#@\n    @first\n    x = b(x, key=k)\n    @last\n@after\nreturn x",
        tags("statement method"),
        call="b(x, key=k)",
        signature=", *, key=None",
        enter="if key is not None:\n    x = x + 0.1 * jr.normal(key, x.shape)",
        arguments=(("key", "jr.key(5)"),),
    ),
    Form(
        "masked",
        f"@before\nfor b in self.BLOCKS:#@{STATEMENT}",
        tags("statement elastic method"),
        call="b(x, mask)",
        signature=", mask=None",
        enter="if mask is not None:\n    x = x * mask",
        arguments=(("mask", "jnp.linspace(0.5, 1.0, 4)"),),
    ),
    Form(
        "two lists",
        "@before\nfor b, f in zip(self.BLOCKS, self.norms):#@\n    @first\n    x = f(BODY)\n    @last\n@after\nreturn x",
        _FIT,
        init="self.norms = [eqx.nn.LayerNorm(d) for _ in range(n)]",
        fields="norms: list[eqx.nn.LayerNorm]",
    ),
    Form(
        "second list by number",
        "@before\nfor i, b in enumerate(self.BLOCKS):#@\n    @first\n    x = self.norms[i](BODY)\n    @last\n@after\nreturn x",
        _FIT,
        init="self.norms = [eqx.nn.LayerNorm(d) for _ in range(n)]",
        fields="norms: list[eqx.nn.LayerNorm]",
    ),
    Form(
        "two loops",
        "@before\nfor b in self.BLOCKS:#@\n    @first\n    x = BODY\n    @last\nfor b in self.BLOCKS:#@\n    x = x + jnp.sin(BODY)\n@after\nreturn x",
        _ALL,
    ),
    Form(
        "one list after another",
        f"@before\nfor b in self.BLOCKS + self.more:#@{STATEMENT}",
        _FIT,
        build="k1, k2 = jr.split(key)\nself.BLOCKS = [NEW for k in jr.split(k1, n)]",
        init="self.more = [NEW for k in jr.split(k2, n)]",
        fields="more: list[LAYER]",
    ),
    Form(
        "last one by number",
        "@before\nfor i, b in enumerate(self.BLOCKS):#@\n    @first\n    x = BODY\n    if i < len(self.BLOCKS) - 1:\n        x = jax.nn.relu(x)\n    @last\n@after\nreturn x",
        _ALL,
    ),
    Form(
        "checkpoint",
        "@before\nfor b in self.BLOCKS:#@\n    @first\n    x = eqx.filter_checkpoint(b)(x)\n    @last\n@after\nreturn x",
        tags("statement elastic method traced"),
    ),
    Form(
        "vmap",
        "@before\nxs = jnp.stack([x, x * 2])\nfor b in self.BLOCKS:#@\n    @first\n    xs = jax.vmap(b)(xs)\n    @last\nx = xs.sum(0)\n@after\nreturn x",
        tags("elastic method"),
    ),
    Form(
        "two streams",
        "@before\na, c = x, 2 * x\nfor b in self.BLOCKS:#@\n    @first\n    a, c = c, a + b(c)\n    @last\n@after\nreturn a - c",
        tags("elastic method"),
    ),
    Form(
        "method that is named like one of a list",
        "@before\nfor b in self.BLOCKS:#@\n    @first\n    x = self.sort(BODY)\n    @last\n@after\nreturn x",
        _ALL,
        methods="def sort(self, x):\n    return jnp.sort(x)",
    ),
)
