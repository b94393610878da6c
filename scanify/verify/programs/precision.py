"""The arithmetic in which two versions are run to be compared.

On accelerators the products of float32 matrices are rounded more coarsely by default (TensorFloat-32, bfloat16), and
which products are is the compiler's choice: for a GPT on an H200 a loop and its scan, equal operation by operation,
were 1e-3 apart (docs/benchmarks/gpu.md). What is timed and measured keeps the default.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Trace matrix products and convolutions that do not say their precision with that of their dtypes."""
    if jax.default_backend() == "cpu":  # which has no other
        yield
        return
    with jax.default_matmul_precision("highest"):
        yield
