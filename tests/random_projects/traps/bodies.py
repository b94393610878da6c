"""Traps in the body of a loop: a carry of another type, python numbers, in-place numpy, early ends, unequal lengths."""

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags


def _trap(name: str, *variants: Variant, expect: Expect = Expect.HELD) -> Trap:
    return Trap(name, expect, variants)


BODIES = (
    _trap(
        "carry of another type",
        slots("simple for", before="x = x.astype(jnp.bfloat16)"),
        slots("simple for", before="x = x.astype(jnp.int32)"),
        slots("simple for", before="x = jnp.arange(4)"),
        slots("simple for", before="x = jnp.ones(4, jnp.float16)"),
        slots("simple for", start="jnp.arange(4)"),
        slots("simple for", start="jnp.linspace(0.1, 0.9, 4).astype(jnp.bfloat16)"),
        slots(
            "statement simple for",
            before="seen = jnp.zeros(4, jnp.bfloat16)",
            last="seen = seen + x",
            after="x = x + seen",
        ),
    ),
    _trap(
        "python number decides",
        slots("statement", before="alpha = 1.0", first="if alpha > 0.3:\n    x = x * 2", last="alpha *= 0.5"),
        slots("statement", before="width = 1", first="x = x + x[:width].sum()", last="width += 1"),
        slots("statement", before="n = 7", last="n = n // 2", after="x = x[: n + 1]"),
        slots("statement", before="name = ''", last="name += 'a'", after="x = x * len(name)"),
        expect=Expect.EITHER,
    ),
    _trap(
        "numpy array changed in place",
        slots(
            "statement method", before="total = np.zeros(4)\nsame = total", first="total += 1.0", after="x = x + same"
        ),
        slots("statement method", before="total = np.zeros(4)", first="total[0] += 1.0\nx = x * total[0]"),
        slots("for statement", before="table = np.ones(8)", first="table *= 0.5\nx = x * table[:4]"),
    ),
    _trap(
        "ends by value",
        Variant(
            slots("statement for", last="if float(x[0]) > 1.0:\n    break").slots, tags("statement for"), eager=True
        ),
        Variant(
            slots("statement for", first="if bool(jnp.any(x > 1.2)):\n    continue").slots,
            tags("statement for"),
            eager=True,
        ),
    ),
    _trap(
        "exceptions in the body",
        slots("statement for", first="try:\n    x = x + x[:3]\nexcept TypeError:\n    x = x * 0.5", common=""),
        expect=Expect.EITHER,
    ),
)
