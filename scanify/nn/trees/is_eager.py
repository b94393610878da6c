"""Whether code runs outside of every transformation, as it stands."""

import jax

try:  # jax says it nowhere in public
    from jax._src.core import trace_state_clean as _nothing_is_traced
except ImportError:

    def _nothing_is_traced() -> bool:
        return False


def is_eager() -> bool:
    """Whether nothing is being traced, and `jax.jit` compiles what it is given."""
    return bool(_nothing_is_traced()) and not jax.config.jax_disable_jit
