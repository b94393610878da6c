"""The text: what Python's own help says of its language, half a megabyte that is installed with every Python."""

from pydoc_data.topics import topics

import numpy as np

CHARACTERS = 128  # ASCII; the few others become question marks


def characters() -> np.ndarray:
    """All topics, one after another; int32."""
    text = "\n\n".join(topics[name] for name in sorted(topics))
    return np.frombuffer(text.encode("ascii", "replace"), np.uint8).astype(np.int32)


def batch(text: np.ndarray, step: int, size: int, length: int) -> np.ndarray:
    """Windows of the text with the character after each, `(size, length + 1)`: the same ones for the same step."""
    starts = np.random.default_rng(step).integers(0, len(text) - length, size)
    return np.stack([text[start : start + length + 1] for start in starts])
