"""The name of a layer: in profiles, and in errors that are raised while it is traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax


@contextmanager
def named_layer(layer: Any, which: str) -> Iterator[None]:
    """Name operations of the layer after its class in profiles; errors get a note about the traced layer."""
    try:
        with jax.named_scope(name_of(layer)):
            yield
    except Exception as error:
        note = f"raised while {which}, of type {type(layer).__qualname__}, was traced"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def name_of(layer: Any) -> str:
    """Return the name of a layer in profiles: for a module, its class."""
    return type(layer).__qualname__ if isinstance(layer, eqx.Module) else "layer"
