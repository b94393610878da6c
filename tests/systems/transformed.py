"""What jax makes of a function of parameters and a batch: the same of a loop and of its scan."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from scanify.pipeline import Project


def _linearized(f: Any, *x: Any) -> Any:
    value, linear = jax.linearize(f, *x)
    return value, linear(*x)


def _pulled_back(f: Any, *x: Any) -> Any:
    value, pull = jax.vjp(f, *x)
    return value, pull(jnp.cos(value))


TRANSFORMATIONS: dict[str, Callable[..., Any]] = {
    "jit": lambda f, *x: jax.jit(f)(*x),
    "jvp": lambda f, *x: jax.jvp(f, x, x),
    "vmap": lambda f, held, batch: jax.vmap(f, in_axes=(None, 0))(held, jnp.stack([batch, jnp.sin(batch)])),
    "linearize": _linearized,
    "vjp": _pulled_back,
}


def is_left_alone(file: str, folder: Path) -> bool:
    """Whether nothing is said of the code in a file, looked at as a project of its own."""
    alone = folder / "model.py"
    alone.write_text(Path(file).read_text())
    found = Project.load([alone]).analyse(remarks=True)
    return not found.without_undecided().loops and not found.remarks
