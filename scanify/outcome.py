"""What a rewrite would do, before anything is written."""

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
    """Why cases do not show a loop, in words that follow "can be rewritten, but", and what to do.

    `finding` is false if nothing is left to be done, as for layers that are not alike.
    """

    why: str
    help: str
    finding: bool = True


@dataclass(frozen=True)
class Outcome:
    """What a rewrite would do: nothing is written yet. `held` are the plans that are unsafe and were not applied,
    `beyond` those that were not because they change other files than those named, with these files.

    `before` and `texts` hold every file read, as it is and as it would be; `changes` the bytes `(before, after)` of
    those that change. `policies` are those of stacks that were there already. `beyond_cases` are those of `held` whose
    loops a case runs, and of which no case shows everything. `short` says of plans among
    the held why the cases run too few iterations of their loops.
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
