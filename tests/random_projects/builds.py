"""How a model comes to its list of layers.

`EXPR` stands for an expression that is a new list, `NEW` for a new layer of the key `k` and the number `i`, `EACH` for
the loop over these.
"""

EXPRESSIONS = (
    "[NEW EACH]",
    "[NEW EACH]",
    "[NEW EACH]",
    "make_blocks(d, n, key)",
    "self.make_blocks(d, n, key)",
)
BUILDS = (
    "self.BLOCKS = EXPR",
    "self.BLOCKS = EXPR",
    "self.BLOCKS = EXPR",
    "blocks = EXPR\nself.BLOCKS = blocks",
    "self.BLOCKS = tuple(EXPR)",
    "self.BLOCKS = tuple(NEW EACH)",
    "self.BLOCKS = []\nEACH:\n    self.BLOCKS.append(NEW)",
    "blocks = []\nEACH:\n    blocks.append(NEW)\nself.BLOCKS = blocks",
    "keys = jr.split(key, n)\nself.BLOCKS = [NEW for i, k in enumerate(keys)]",
    "blocks = []\nfor i in range(n):\n    key, k = jr.split(key)\n    blocks.append(NEW)\nself.BLOCKS = tuple(blocks)",
    "self.BLOCKS = [NEW for i, k in enumerate(list(jr.split(key, n)))]",
)
# Definitions that expressions call, in a file of their own and in the class of the model.
HELPER = "def make_blocks(d, n, key):\n    return [NEW EACH]"
METHOD = "@staticmethod\ndef make_blocks(d, n, key):\n    return [NEW EACH]"


def with_layers(text: str, new: str) -> str:
    """A text with the call that makes a layer, and the loop over keys, in it."""
    counted = " i)" in new
    each = "for i, k in enumerate(jr.split(key, n))" if counted else "for k in jr.split(key, n)"
    text = text.replace("EACH", each).replace("NEW", new)
    if counted:  # a loop that was written with keys alone
        text = text.replace("for k in jr.split(k1, n)", "for i, k in enumerate(jr.split(k1, n))")
        text = text.replace("for k in jr.split(k2, n)", "for i, k in enumerate(jr.split(k2, n))")
    return text
