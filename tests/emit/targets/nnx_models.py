"""Models of Flax NNX whose loops are rewritten, as texts: a `Block` of each kind, and a `Model` with a loop."""

BLOCKS = {
    "dense": """
        self.norm = nnx.LayerNorm(dim, rngs=rngs)
        self.linear = nnx.Linear(dim, dim, kernel_init=nnx.initializers.normal(0.5), rngs=rngs)

    def __call__(self, x):
        return x + nnx.gelu(self.linear(self.norm(x)))
""",
    "dropout": """
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(nnx.gelu(self.linear(x)))
""",
    "statistics": """
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.norm = nnx.BatchNorm(dim, rngs=rngs)
        self.dropout = nnx.Dropout(0.3, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(self.norm(nnx.gelu(self.linear(x))))
""",
    "counting": """
        self.linear = nnx.Linear(dim, dim, rngs=rngs)
        self.count = nnx.Variable(jnp.zeros((), jnp.int32))
        self.last = nnx.Variable(jnp.zeros((2, dim)))

    def __call__(self, x):
        self.count[...] += 1
        self.last[...] = x
        return x + self.linear(x) * self.count[...]
""",
}

LOOP = """
        for layer in self.layers:
            x = layer(x)
        return x
"""


def model(block: str, call: str = LOOP, layers: str = "nnx.List([Block(4, rngs=rngs) for _ in range(n)])") -> str:
    """A file with a block, by its name or its text from the constructor's body on, and a model."""
    return (
        "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\n\n\n"
        f"class Block(nnx.Module):\n    def __init__(self, dim, *, rngs):{BLOCKS.get(block, block)}\n\n"
        f"class Model(nnx.Module):\n    def __init__(self, n, *, rngs):\n        self.layers = {layers}\n\n"
        f"    def __call__(self, x):{call}"
    )


BESIDE_LAYERS = """
        for layer, norm in zip(self.layers, self.norms):
            x = norm(layer(x))
        return x
"""


def with_norms(text: str) -> str:
    """The text of a model that holds a second list of modules."""
    norms = "self.norms = nnx.List([nnx.BatchNorm(4, rngs=rngs) for _ in range(n)])"
    return text.replace("        self.layers =", f"        {norms}\n        self.layers =")
