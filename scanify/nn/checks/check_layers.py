"""The switch: whether what is traced looks for NaNs in each layer, and who is told."""

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
    """While this context is open, every scan, fold and map over layers that is traced reports the layer and the line of
    the source where a NaN comes up.

    For debugging: a loop in Python can be stepped through, the body of a scan is traced once for all layers. A layer is
    reported where its carry or its y has a NaN that it was not given, by its index, the operation that made the first
    one and the line of that; one that is given a NaN among its own parameters, or with the first carry, is reported for
    that. `report` is called with the text, when the layer runs, once for each layer of a compiled program; without it
    the text is printed to standard error. A `report` that raises ends the program.

    It acts when a function is traced: one that `jax.jit` has traced before stays as it was. Off, which is the default,
    nothing is added to any program. The environment variable `SCANIFY_CHECK_LAYERS=1` switches it on for a whole run.
    Only what runs forward is looked at: for gradients see `jax.debug_nans`.
    """
    token = _REPORT.set(report or _printed)
    try:
        yield
    finally:
        _REPORT.reset(token)


def who_is_told() -> Report | None:
    """Where reports go; None where layers are not looked at."""
    return _REPORT.get() or (_printed if os.environ.get(_VARIABLE, "") not in ("", "0") else None)


def _printed(text: str) -> None:
    print(f"scanify: {text}", file=sys.stderr, flush=True)
