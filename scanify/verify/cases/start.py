"""The evidence of a case on the initial parameters of both versions."""

from enum import Enum
from typing import Any


class Start(Enum):
    """CONSTRUCTED: the case builds the model. SAME_SOURCE: it is built by the same text in both versions.

    VALUES: the model is recorded with its values, and its construction was not seen. UNKNOWN: it has no values, either.
    """

    CONSTRUCTED = "constructed"
    SAME_SOURCE = "same source"
    VALUES = "values"
    UNKNOWN = "unknown"


UNSEEN = {
    Start.VALUES: "equal in this run; the construction of the model was not seen, so no other key was tried",
    Start.UNKNOWN: "the run calls the model while it is traced, so its parameters have no values, and the "
    "construction that it is from was not seen",
}


def is_recorded(case: Any) -> bool:
    """True if a case is a call that a run made, False if it is a function that builds a model."""
    return hasattr(case, "start")
