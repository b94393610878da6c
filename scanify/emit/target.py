"""What an emitter is: a module with these names. The targets are listed one by one, and nothing registers itself.

Modules behind a protocol in an explicit dict are the idea of pre-commit's `all_languages.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scanify.analysis.plan import Plan
from scanify.emit.edits import Edit
from scanify.emit.text.house_style import HouseStyle


@dataclass(frozen=True)
class Context:
    """What an emitter needs beside the plans.

    `texts` are the decoded texts of the files; `names` the local names of the target's classes in each file that needs
    them; `houses` how each file is laid out; `remat` the policy as a Python expression, None where none was asked for.
    """

    texts: Mapping[Path, str]
    names: Mapping[Path, Mapping[str, str]]
    houses: Mapping[Path, HouseStyle]
    remat: str | None = None


class Target(Protocol):
    """An emitter: turns plans into edits. `MODULE` is what rewritten files import from."""

    MODULE: str

    def needed(self, plan: Plan) -> frozenset[tuple[Path, str]]:
        """The files in which the plan's edits use a class of the module, with its name."""
        ...

    def edits(self, plans: Sequence[Plan], context: Context) -> list[Edit]:
        """The edits of all plans, imports left out."""
        ...
