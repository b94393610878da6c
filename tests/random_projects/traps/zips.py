"""Traps in what is walked beside the layers: shorter or longer than the list, or nothing that an array could hold."""

from tests.random_projects.forms.form import Form, tags
from tests.random_projects.trap import Expect, Trap, Variant

_TAGS = tags("statement simple method")


def _beside(
    source: str, use: str, *, arguments: tuple[tuple[str, str], ...] = (), fields: str = "", init: str = ""
) -> Variant:
    text = f"@before\nfor b, g in zip(self.BLOCKS, {source}):#@\n    @first\n    x = {use}\n    @last\n@after\nreturn x"
    return Variant(form=Form("zip, special", text, _TAGS, arguments=arguments, fields=fields, init=init))


def _argument(value: str, use: str = "BODY * g") -> Variant:
    return _beside("gains", use, arguments=(("gains", value),))


def _field(value: str, use: str = "BODY * g") -> Variant:
    return _beside("self.gains", use, fields="gains: tuple = eqx.field(static=True)", init=f"self.gains = {value}")


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.EITHER, variants)


ZIPS = (
    _trap(
        "zip with fewer",
        _argument("jnp.linspace(0.5, 1.5, N - 1)"),
        _argument("[1.0, 0.5]"),
        _argument("(jnp.ones(4), jnp.zeros(4))"),
        _field("(1.0, 0.5)"),
        _field("tuple(0.1 * u for u in range(n - 1))"),
        _beside("range(2)", "BODY * g"),
        _beside("[jnp.ones(4)] * 2", "BODY * g"),
        _beside("self.BLOCKS[1:]", "g(BODY)"),
    ),
    _trap(
        "zip with more",
        _argument("jnp.linspace(0.5, 1.5, N + 2)"),
        _argument("[1.0, 0.5, 0.25, 2.0, 1.0, 1.0, 3.0]"),
        _field("(1.0, 0.5, 0.25, 2.0, 1.0, 1.0, 3.0)"),
        _field("tuple(0.1 * u for u in range(n + 3))"),
        _beside("range(20)", "BODY * g"),
        _beside("itertools.count(1)", "BODY * g"),
        _beside("itertools.cycle([1.0, -1.0])", "BODY * g"),
    ),
    _trap(
        "zip with what is no array",
        _field("('up', 'down', 'up', 'up', 'down')", "BODY * (2.0 if g == 'up' else 0.5)"),
        _field("(True, False, True, True, False)", "BODY if g else x"),
        _field("(jnp.tanh, jnp.sin, jnp.cos, jnp.tanh, jnp.sin)", "g(BODY)"),
        _beside("[None, 0.5, None, 0.5, 0.1]", "BODY if g is None else BODY * g"),
        _beside("['a', 'bb', 'ccc', 'd', 'e']", "BODY * len(g)"),
        _beside("[jnp.sin, jnp.cos] * 3", "g(BODY)"),
        _beside("[lambda v: v * 2] * 6", "g(BODY)"),
    ),
)
