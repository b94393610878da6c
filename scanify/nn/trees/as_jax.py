"""Numpy arrays as jax arrays, which have 32 bits unless `jax_enable_x64` is set."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def as_jax(leaf: Any) -> Any:
    """Convert by `jnp.asarray`. Raises ValueError for integers that it would truncate."""
    refuse_cut(leaf)
    return jnp.asarray(leaf)


def refuse_cut(leaf: Any) -> None:
    """Raise ValueError for a numpy array with integers of more bits than jax has, which truncates them silently.

    If a model is not jitted, its layers compute with numpy's own numbers, and a scan would use others.
    """
    if not isinstance(leaf, np.ndarray) or leaf.dtype not in (np.int64, np.uint64) or not leaf.size:
        return
    narrow = np.iinfo(jax.dtypes.canonicalize_dtype(leaf.dtype))
    least, most = int(leaf.min()), int(leaf.max())
    if least < narrow.min or most > narrow.max:
        raise ValueError(
            f"expected arrays of numpy with whole numbers that {narrow.dtype} holds, which a scan computes with; got "
            f"{most if most > narrow.max else least}; set `jax_enable_x64`, or keep the loop where nothing is jitted"
        )
