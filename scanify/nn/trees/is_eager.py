"""Check whether code runs outside of every transformation."""

import jax

try:  # jax has no public function for this
    from jax._src.core import trace_state_clean as _nothing_is_traced
except ImportError:

    def _nothing_is_traced() -> bool:
        return False


def is_eager() -> bool:
    """Return True if nothing is being traced, and `jax.jit` compiles."""
    return bool(_nothing_is_traced()) and not jax.config.jax_disable_jit
