"""The protocol of emitters: a module with these names. Targets are listed explicitly; nothing registers itself.

Modules behind a protocol in an explicit dict follow pre-commit's `all_languages.py`.
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
    """The input of an emitter besides the plans.

    `texts` are the decoded texts of the files; `names` the local names of the target's imports and helpers in each file
    that needs them; `houses` the style of each file; `remat` the policy as a Python expression, None for the default.
    """

    texts: Mapping[Path, str]
    names: Mapping[Path, Mapping[str, str]]
    houses: Mapping[Path, HouseStyle]
    remat: str | None = None


@dataclass(frozen=True)
class Helper:
    """The text of a function that a target writes into the files that call it, indented by four spaces.

    In the text, the target's imports and other helpers have their original names.
    """

    text: str


class Target(Protocol):
    """An emitter: its functions convert plans to edits.

    `HELPERS` are the functions that its edits may call, by name, and `FRAMEWORK` is the framework of the layers.
    `POLICY_AT_RUN_TIME` is true if the remat policy is read when the program is traced, so that a verification can
    compare one text under all policies; otherwise the text is verified as written.
    """

    @property
    def FRAMEWORK(self) -> Framework: ...
    @property
    def HELPERS(self) -> Mapping[str, Helper]: ...
    @property
    def POLICY_AT_RUN_TIME(self) -> bool: ...

    def refusal(self, plan: Plan, remat: str | None) -> str | None:
        """Return why the target cannot express the loop under a policy, a Python expression; None if it can."""
        ...

    def unstackable(self, plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
        """Return why the list cannot be built stacked, although the loop can be rewritten; None if it can.

        `plans` are all plans to carry out, `texts` the files of the project.
        """
        ...

    def needed(self, plan: Plan, remat: str | None) -> frozenset[tuple[Path, Import]]:
        """Return the imports that the plan's edits and their helpers need, with their files, under a policy."""
        ...

    def edits(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """Return the edits of all plans, without imports and helpers."""
        ...

    def elsewhere(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """Return the edits outside of the loops and of the places where their lists are built and annotated."""
        ...
