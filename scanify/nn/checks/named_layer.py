"""What a layer is called: in profiles, and in errors that are raised while it is traced."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import equinox as eqx
import jax


@contextmanager
def named_layer(layer: Any, which: str) -> Iterator[None]:
    """Operations of the layer carry the name of its class in profiles; an error says which layer was traced."""
    try:
        with jax.named_scope(name_of(layer)):
            yield
    except Exception as error:
        note = f"raised while {which}, of type {type(layer).__qualname__}, was traced"
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def name_of(layer: Any) -> str:
    """What profiles call a layer: a module by its class."""
    return type(layer).__qualname__ if isinstance(layer, eqx.Module) else "layer"
