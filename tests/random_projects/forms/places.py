"""Where a list and its loop stand: in a function, in another object, in a dict, in a list, in a base class."""

from tests.random_projects.forms.form import STATEMENT, Form, tags

_FIT = tags("statement simple method")
_HOLDER = "class Encoder(eqx.Module):\n    BLOCKS: list[LAYER]\n\n    def __init__(self, d, n, key):\n        self.BLOCKS = [NEW EACH]"
PLACES = (
    Form(
        "function",
        "@before\nx = run(self.BLOCKS, x)\n@after\nreturn x",
        tags("simple elastic"),
        other="def run(blocks: list[LAYER], x):\n    for b in blocks:#@\n        x = BODY\n    return x",
    ),
    Form(
        "function without annotations",
        "@before\nx = run(self.BLOCKS, x)\n@after\nreturn x",
        tags("simple elastic"),
        other="def run(blocks, x):\n    for b in blocks:#@\n        x = BODY\n    return x",
    ),
    Form(
        "outside",
        "@before\nx = encode(self, x)\n@after\nreturn x",
        tags("simple elastic"),
        other='def encode(net: "NET", x):\n    for b in net.BLOCKS:#@\n        x = BODY\n    return x',
    ),
    Form(
        "field of a field",
        f"@before\nfor b in self.encoder.BLOCKS:#@{STATEMENT}",
        _FIT,
        other=_HOLDER,
        build="self.encoder = Encoder(d, n, key)",
        field="encoder: Encoder",
    ),
    Form(
        "owner of the model",
        "x = self.encoder(x)\nreturn x",
        tags("statement simple"),
        other=f"{_HOLDER}\n\n    def __call__(self, x):\n        @before\n        for b in self.BLOCKS:#@\n            @first\n            x = BODY\n            @last\n        @after\n        return x",
        build="self.encoder = Encoder(d, n, key)",
        field="encoder: Encoder",
    ),
    Form(
        "base class",
        f"@before\nfor b in self.BLOCKS:#@{STATEMENT}",
        _FIT,
        other=_HOLDER,
        build="super().__init__(d, n, key)\nself.depth = n",
        field="depth: int",
        base="Encoder",
    ),
    Form(
        "nested lists",
        "@before\nfor stage in self.BLOCKS:\n    for b in stage:#@\n        @first\n        x = BODY\n        @last\n    x = x * 0.5\n@after\nreturn x",
        _FIT,
        build="self.BLOCKS = [[NEW EACH] for key in jr.split(key, 2)]",
        annotation="list[list[LAYER]]",
    ),
    Form(
        "two subscripts",
        "@before\nfor i in range(len(self.BLOCKS)):\n    for j in range(len(self.BLOCKS[i])):#@\n        x = BODY\n@after\nreturn x",
        tags("simple method"),
        call="self.BLOCKS[i][j](x)",
        build="self.BLOCKS = [[NEW EACH] for key in jr.split(key, 2)]",
        annotation="list[list[LAYER]]",
    ),
    Form(
        "lists in a dict",
        '@before\nfor b in self.BLOCKS["enc"]:#@\n    @first\n    x = BODY\n    @last\nfor b in self.BLOCKS["dec"]:#@\n    x = jnp.sin(BODY)\n@after\nreturn x',
        _FIT,
        annotation="dict[str, list[LAYER]]",
        build='k1, k2 = jr.split(key)\nself.BLOCKS = {"enc": [NEW for k in jr.split(k1, n)], "dec": [NEW for k in jr.split(k2, n)]}',
    ),
    Form(
        "inner function",
        "@before\ndef run(x):\n    for b in self.BLOCKS:#@\n        @first\n        x = BODY\n        @last\n    return x\n\nx = jax.checkpoint(run)(x)\n@after\nreturn x",
        tags("statement simple elastic method"),
    ),
    Form(
        "method",
        "@before\nx = self.encode(x)\n@after\nreturn x",
        tags("simple elastic method"),
        methods="def encode(self, x):\n    for b in self.BLOCKS:#@\n        x = BODY\n    return x",
    ),
)
