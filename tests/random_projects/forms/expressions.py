"""Expressions that iterate over a list: comprehensions and `sum`."""

from tests.random_projects.forms.form import Form, tags

_ALL = tags("simple elastic method")
_FIT = tags("simple method")


def _value(name: str, expression: str, kinds: frozenset[str] = _ALL, **more: object) -> Form:
    return Form(name, f"@before\ny = {expression}#@\n@after\nreturn y", kinds, **more)  # type: ignore[arg-type]


EXPRESSIONS = (
    _value("comprehension", "sum([BODY for b in self.BLOCKS])"),
    _value("stack", "jnp.stack([BODY for b in self.BLOCKS]).mean(0)"),
    _value("generator", "sum(BODY for b in self.BLOCKS)"),
    _value(
        "zip in a comprehension",
        "jnp.stack([BODY * g for b, g in zip(self.BLOCKS, gains)])",
        _FIT,
        arguments=(("gains", "jnp.linspace(0.5, 1.5, N)"),),
    ),
    _value(
        "vmap of experts",
        "jnp.stack([jax.vmap(b)(jnp.stack([x, x])) for b in self.BLOCKS]).sum(0)[0]",
        tags("elastic method"),
    ),
    _value(
        "nested vmap of experts",
        "jnp.stack([jax.vmap(jax.vmap(b))(x[None, None]) for b in self.BLOCKS]).sum(0)[0, 0]",
        tags("elastic method"),
    ),
)
