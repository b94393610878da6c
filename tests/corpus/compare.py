"""What `scanify check --format json` says of labelled loops."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.corpus.labels import Label


@dataclass(frozen=True)
class Answer:
    """A label, and the loop that was listed at its place: None where none was."""

    label: Label
    loop: dict[str, Any] | None

    @property
    def rewritable(self) -> bool:
        return self.loop is not None and self.loop["status"] == "rewritable"

    @property
    def right_kind(self) -> bool:
        return self.loop is not None and self.loop["kind"] == self.label.label

    @property
    def agrees(self) -> bool:
        """Eligible loops are rewritten, as what they are; the others are not."""
        return self.rewritable and self.right_kind if self.label.eligible else not self.rewritable


@dataclass(frozen=True)
class Checked:
    """The loops listed in one package, and the files that were skipped, with the reasons."""

    loops: tuple[dict[str, Any], ...]
    skipped: tuple[dict[str, Any], ...]


def check(folder: Path) -> Checked:
    """`scanify check` on a package, in a process of its own as a user has it. Raises RuntimeError where it fails."""
    command = [sys.executable, "-m", "scanify", "check", "--format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"scanify check failed on {folder.name} with exit {done.returncode}: {done.stderr[-2000:]}")
    found = json.loads(done.stdout)
    return Checked(tuple(found["loops"]), tuple(found["skipped"]))


def answers(labels: Sequence[Label], checked: Checked) -> list[Answer]:
    """For each label of a package the loop at its place; a rewritable one before a refused one."""
    found = []
    for label in labels:
        here = [one for one in checked.loops if Path(one["path"]) == Path(label.path) and one["line"] in label.lines]
        here.sort(key=lambda one: one["status"] != "rewritable")
        found.append(Answer(label, here[0] if here else None))
    return found
