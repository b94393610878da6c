"""A first look at a file, by its text: whether it may hold a loop over parameters."""

_JAX = ("jax", "jnp", "lax")


def may_walk_parameters(text: str) -> bool:
    """Whether a file says anything of loops and of jax."""
    return "for " in text and any(word in text for word in _JAX)
