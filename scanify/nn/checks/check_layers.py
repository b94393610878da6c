"""The switch that makes traced layers check for NaNs, and the function that receives the reports."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Report = Callable[[str], None]
_VARIABLE = "SCANIFY_CHECK_LAYERS"
_REPORT: ContextVar[Report | None] = ContextVar("scanify_check_layers", default=None)


@contextmanager
def check_layers(report: Report | None = None) -> Iterator[None]:
    """While this context is open, every traced scan, fold and map over layers reports the layer and the source line at
    which a NaN first occurs.

    For debugging: a Python loop can be stepped through, but the body of a scan is traced once for all layers. A layer
    is reported if its carry or its y has a NaN that was not in its inputs, with its index, the operation that produced
    the first one and the line of that operation; a layer with a NaN among its own parameters, or in the first carry, is
    reported for that. `report` is called with the text, when the layer runs, once for each layer of a compiled program;
    by default, the text is printed to standard error. A `report` that raises ends the program.

    It acts when a function is traced: one that `jax.jit` has traced before is unchanged. When off, the default, nothing
    is added to any program. The environment variable `SCANIFY_CHECK_LAYERS=1` switches it on for a whole run. Only the
    forward pass is checked: for gradients see `jax.debug_nans`.
    """
    token = _REPORT.set(report or _printed)
    try:
        yield
    finally:
        _REPORT.reset(token)


def who_is_told() -> Report | None:
    """Return the function that receives reports; None if layers are not checked."""
    return _REPORT.get() or (_printed if os.environ.get(_VARIABLE, "") not in ("", "0") else None)


def _printed(text: str) -> None:
    print(f"scanify: {text}", file=sys.stderr, flush=True)
