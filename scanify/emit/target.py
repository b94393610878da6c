"""What an emitter is: a module with these names. The targets are listed one by one, and nothing registers itself.

Modules behind a protocol in an explicit dict are the idea of pre-commit's `all_languages.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scanify.analysis.plan import Plan
from scanify.emit.edits import Edit


@dataclass(frozen=True)
class Context:
    """What an emitter needs beside the plans.

    `texts` are the decoded texts of the files; `names` the local name of the target's class in each file that needs
    it; `remat` the policy as a Python expression, None where none was asked for.
    """

    texts: Mapping[Path, str]
    names: Mapping[Path, str]
    remat: str | None = None


class Target(Protocol):
    """An emitter: turns plans into edits. `MODULE` and `NAME` say what rewritten files import."""

    MODULE: str
    NAME: str

    def files(self, plan: Plan) -> frozenset[Path]:
        """The files in which the plan's edits use the imported name."""
        ...

    def edits(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """The edits of all plans, imports left out."""
        ...
