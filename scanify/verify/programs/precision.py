"""The precision in which two versions are run to be compared.

On accelerators the products of float32 matrices are rounded more coarsely by default (TensorFloat-32, bfloat16), and
the compiler chooses which: for a GPT on an H200 a loop and its scan, equal operation by operation, were 1e-3 apart
(docs/benchmarks/gpu.md). Timings and measurements keep the default.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Trace matrix products and convolutions without an explicit precision in the precision of their dtypes."""
    if jax.default_backend() == "cpu":  # it has no other precision
        yield
        return
    with jax.default_matmul_precision("highest"):
        yield
