"""What is there before the code that is run: what names of a file, defaults and constants of classes stand for."""

from scanify.analysis.values.domain import Array, Value
from scanify.analysis.values.replace import replace

EVER = 1  # the first moment of a run


def from_before(value: Value) -> Value:
    """A value as it is everywhere: an array is one and the same object whenever its name is asked for."""
    return replace(value, born=EVER) if isinstance(value, Array) else value
