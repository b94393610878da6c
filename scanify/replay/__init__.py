"""The checker of certificates. It imports neither jax nor the prover; they share only the table of primitives.

The functions here are imported on the first call, since they need numpy.
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.replay.check import replay, seal
else:
    replay, seal = (on_call("scanify.replay.check", name) for name in ("replay", "seal"))

__all__ = ["replay", "seal"]
