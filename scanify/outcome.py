"""The result of a rewrite, before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place
from scanify.analysis.plan import Analysis, Plan, Refusal

if TYPE_CHECKING:
    from scanify.emit.policies import NewPolicy


@dataclass(frozen=True)
class HeldBack:
    """The reason why cases do not show a loop, phrased to follow "can be rewritten, but", and what to do.

    `finding` is false if the user need not do anything, for example if the layers are not alike.
    """

    why: str
    help: str
    finding: bool = True


@dataclass(frozen=True)
class Outcome:
    """The result of a rewrite; nothing is written yet.

    `held` are the unsafe plans that were not applied, `beyond` the plans not applied because they change files that
    were not named, with these files. `before` and `texts` hold every file read, with its old and new text; `changes`
    the bytes `(before, after)` of changed files. `policies` are new policies of existing stacks. `beyond_cases` are the
    plans in `held` whose loops a case runs, but with obligations that no case can show. `short` holds the reasons why
    cases do not show loops, for example too few iterations.
    """

    analysis: Analysis
    applied: tuple[Plan, ...] = ()
    held: tuple[Plan, ...] = ()
    beyond: tuple[tuple[Plan, tuple[Path, ...]], ...] = ()
    before: Mapping[Path, str] = field(default_factory=dict)
    texts: Mapping[Path, str] = field(default_factory=dict)
    changes: Mapping[Path, tuple[bytes, bytes]] = field(default_factory=dict)
    policies: "tuple[NewPolicy, ...]" = ()
    beyond_cases: tuple[Plan, ...] = ()
    short: Mapping[Place, HeldBack] = field(default_factory=dict)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        return tuple(loop for loop in self.analysis.loops if isinstance(loop, Refusal))
