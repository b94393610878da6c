"""Wrong rewrites to a `BlockSeq`: of the fixtures whose layers are unlike, and of a small model with two lists."""

from tests.mutants.mutant import Model, Mutant
from tests.mutants.of_fixtures import mutant

BEFORE = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import BlockSeq


class Block(eqx.Module):
    w: jax.Array
    scale: float

    def __call__(self, x, memory):
        memory = jnp.tanh(x @ self.w + memory)
        return x + self.scale * memory, memory


class Model(eqx.Module):
    blocks: list[Block]
    shifts: list[jax.Array]

    def __init__(self, *, key):
        keys = jax.random.split(key, 4)
        self.blocks = [Block(jax.random.normal(k, (3, 3)), 0.5 if i % 2 else 0.25) for i, k in enumerate(keys)]
        self.shifts = [jnp.full(3, 1.0 + i) for i in range(4)]

    def __call__(self, x, memories):
        new = []
        for block, shift, memory in zip(self.blocks, self.shifts, memories):
            x, memory = block(x + shift, memory)
            new.append(memory)
        return x, new

    def backwards(self, x, memories):
        for block, memory in zip(reversed(self.blocks), reversed(memories)):
            x, _ = block(x, memory)
        return x
"""
LIST = "[Block(jax.random.normal(k, (3, 3)), 0.5 if i % 2 else 0.25) for i, k in enumerate(keys)]"
LOOP = """        new = []
        for block, shift, memory in zip(self.blocks, self.shifts, memories):
            x, memory = block(x + shift, memory)
            new.append(memory)
        return x, new
"""
COLLECT = """        def apply(block, x, shift, memory):
            return block(x + shift, memory)

        x, new = self.blocks.collect_via(apply, in_axes=(0, 0))(x, self.shifts, memories)
        return x, new
"""
REVERSED = """        for block, memory in zip(reversed(self.blocks), reversed(memories)):
            x, _ = block(x, memory)
        return x
"""
FOLD = """        def apply(block, x, memory):
            return block(x, memory)[0]

        return self.blocks.fold_via(apply, in_axes=(0,), reverse=True)(x, memories)
"""
CASES = """
import jax
import jax.numpy as jnp


def forwards(module):
    return module.Model(key=jax.random.key(0)), (jnp.ones(3), [jnp.full(3, i / 10, jnp.float32) for i in range(4)])


def backwards(module):
    model, args = forwards(module)
    return model.backwards, args
"""


def _rewritten() -> str:
    text = BEFORE
    for old, new in ((LIST, f"BlockSeq.of({LIST})"), (LOOP, COLLECT), (REVERSED, FOLD)):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def model(case: str) -> Model:
    texts = {"model.py": BEFORE}, {"model.py": _rewritten()}
    return Model(f"two lists {case}", *texts, "model.py", CASES, case, ("none",), None)


FORWARDS, BACKWARDS = model("forwards"), model("backwards")

MUTANTS = (
    mutant(
        "the layers of a sequence are built in reverse order",
        "alternating:alternating",
        ("for k in jax.random.split(key, depth)]", "for k in jax.random.split(key, depth)][::-1]"),
        caught="parameters",
        only=True,
    ),
    mutant(
        "the layers of a sequence are applied in reverse order",
        "alternating:alternating",
        ("in_axes=(0,))", "in_axes=(0,), reverse=True)"),
        caught="outputs",
        silent="parameters",
    ),
    mutant(
        "the index of the layer is shifted by one",
        "alternating:alternating",
        ("range(len(self.layers))", "range(1, len(self.layers) + 1)"),
        caught="outputs",
        silent="parameters",
    ),
    mutant(
        "every second layer in place of every third",
        "alternating:alternating",
        ("i % 3 == 2", "i % 2 == 1"),
        caught="outputs",
        silent="parameters",
    ),
    mutant(
        "each layer is given the rate of another",
        "drop_path:drop_path",
        ("zip(rates, keys)", "zip(rates[::-1], keys)"),
        caught="parameters",
        says=r"drop_path\.rate",
    ),
    mutant(
        "each layer is given the key of another",
        "drop_path:drop_path",
        ("(x, key=keys)", "(x, key=keys[::-1])"),
        caught="outputs",
        silent="parameters keys",
    ),
    mutant(
        "the slice of the keys is off by one",
        "dense_expert:dense_expert",
        ("for k in keys[:dense]]", "for k in keys[:dense - 1]]"),
        ("for k in keys[dense:]]", "for k in keys[dense - 1:]]"),
        caught="parameters",
        says="different structures",
    ),
    mutant(
        "the second half of the layers gets the keys of the first",
        "dense_expert:dense_expert",
        ("for k in keys[dense:]]", "for k in keys[:sparse]]"),
        caught="parameters",
        only=True,
    ),
    Mutant(
        "the second list is one layer off",
        FORWARDS,
        (("(x, self.shifts, memories)", "(x, [*self.shifts[1:], self.shifts[0]], memories)"),),
        "outputs",
    ),
    Mutant(
        "each layer reads the state of the one before",
        FORWARDS,
        (("(x, self.shifts, memories)", "(x, self.shifts, [memories[-1], *memories[:-1]])"),),
        "outputs",
    ),
    Mutant(
        "each layer's new state is returned as that of the next",
        FORWARDS,
        (("return x, new", "return x, [new[-1], *new[:-1]]"),),
        "outputs",
    ),
    Mutant("the old states are returned", FORWARDS, (("return x, new", "return x, memories"),), "outputs"),
    Mutant(
        "the new states are returned as an array",
        FORWARDS,
        (("collect_via(", "scan_via("),),
        "output tree",
        says=r"output\[1\]",
    ),
    Mutant(
        "two inputs that are walked in reverse are reversed twice",
        BACKWARDS,
        (("reverse=True)(x, memories)", "reverse=True)(x, memories[::-1])"),),
        "outputs",
    ),
    Mutant(
        "the layers that are walked in reverse are reversed twice",
        BACKWARDS,
        ((f"BlockSeq.of({LIST})", f"BlockSeq.of({LIST}[::-1])"),),
        "parameters",
        says="scale",
    ),
)
