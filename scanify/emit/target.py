"""What an emitter is: a module with these names. The targets are listed one by one, and nothing registers itself.

Modules behind a protocol in an explicit dict are the idea of pre-commit's `all_languages.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scanify.analysis.plan import Framework, Plan
from scanify.emit.edits import Edit
from scanify.emit.names.imports import Import
from scanify.emit.text.house_style import HouseStyle


@dataclass(frozen=True)
class Context:
    """What an emitter needs beside the plans.

    `texts` are the decoded texts of the files; `names` the local names of the target's imports and helpers in each file
    that needs them; `houses` how each file is laid out; `remat` the policy as a Python expression, None where none was
    asked for.
    """

    texts: Mapping[Path, str]
    names: Mapping[Path, Mapping[str, str]]
    houses: Mapping[Path, HouseStyle]
    remat: str | None = None


@dataclass(frozen=True)
class Helper:
    """A function that a target writes into the files that call it: its text, laid out with four spaces.

    The names of the target's imports and of its other helpers stand in the text as the target calls them.
    """

    text: str


class Target(Protocol):
    """An emitter: turns plans into edits. `HELPERS` are the functions that its edits may call, by name, `FRAMEWORK` is
    what the layers must be modules of.

    `POLICY_AT_RUN_TIME` says that the remat policy is asked for when the program is traced, so that a verification can
    compare one text under all of them; elsewhere the text is verified as it is written.
    """

    @property
    def FRAMEWORK(self) -> Framework: ...
    @property
    def HELPERS(self) -> Mapping[str, Helper]: ...
    @property
    def POLICY_AT_RUN_TIME(self) -> bool: ...

    def refusal(self, plan: Plan, remat: str | None) -> str | None:
        """Why the target cannot express the loop under a policy, as a Python expression; None where it can."""
        ...

    def unstackable(self, plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
        """Why the list cannot be built stacked, though the loop can be rewritten; None where it can.

        `plans` are all that are to be rewritten, `texts` the files of the project.
        """
        ...

    def needed(self, plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
        """What the plan's edits, and the helpers that they call, import in which file under a policy."""
        ...

    def edits(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """The edits of all plans, imports and helpers left out."""
        ...

    def elsewhere(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """The edits outside of the loops and of the places where their lists are built and annotated."""
        ...
