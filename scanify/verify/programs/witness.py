"""Who is told what a comparison sees of each version, to say whether the version alone is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from scanify.verify.cases.build import Built
    from scanify.verify.leaves.correspond import Correspondence
    from scanify.verify.programs.programs import Job


# In place of a digest, where a program cannot be traced.
RAISED = "raised"


class Witness(Protocol):
    """Told in this order; a version is "original" or "rewritten"."""

    def built(self, before: Built, after: Built) -> None:
        """What the case gave for each version."""

    def matched(self, found: Correspondence, avals: Sequence[Any]) -> None:
        """How the leaves of each version come from those that both share, which have these avals."""

    def saw(self, version: str, job: Job, digest: str) -> None:
        """What a program of a version was traced to."""

    def difference(self) -> str | None:
        """What is otherwise where a version is alone, in words; None where nothing is. Ends what is being watched."""
