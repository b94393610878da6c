"""Observers of the programs that a comparison traces for each version, to check that the version alone is the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from scanify.verify.cases.build import Built
    from scanify.verify.leaves.correspond import Correspondence
    from scanify.verify.programs.programs import Job


# Replaces the digest of a program that cannot be traced.
RAISED = "raised"


class Witness(Protocol):
    """Methods are called in this order; a version is "original" or "rewritten"."""

    def built(self, before: Built, after: Built) -> None:
        """Receive the results of the case for each version."""

    def matched(self, found: Correspondence, avals: Sequence[Any]) -> None:
        """Receive how the leaves of each version derive from the shared ones, which have these avals."""

    def saw(self, version: str, job: Job, digest: str) -> None:
        """Receive the digest of a traced program of a version."""

    def difference(self) -> str | None:
        """Describe how a version differs when run alone; None if it does not. Ends the observation."""
