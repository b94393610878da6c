"""The labels: what a reader says of each loop in published packages."""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("labels.jsonl")
ELIGIBLE = ("fold", "scan", "map", "group")


@dataclass(frozen=True)
class Label:
    """One loop: where it is, what kind it is, and the capabilities that a tool needs for it.

    `label` is one of "fold", "scan", "map", "group" (worth rewriting), "ineligible" (nothing to gain, or nothing equal)
    and "not-layers". `path` is relative to the unpacked package, `lines` are those that the loop may be reported at.
    """

    package: str
    version: str
    path: str
    lines: range
    label: str
    needs: tuple[str, ...]
    reason: str

    @property
    def place(self) -> str:
        return f"{self.package} {self.path}:{self.lines.start}"

    @property
    def eligible(self) -> bool:
        return self.label in ELIGIBLE


def read_labels(file: Path = FILE) -> list[Label]:
    """All labels of a file, one JSON object a line. Raises ValueError where a line is none."""
    found = []
    for number, text in enumerate(file.read_text().splitlines(), start=1):
        try:
            one = json.loads(text)
            found.append(
                Label(
                    one["package"],
                    one["version_or_commit"],
                    one["path"],
                    range(one["line"], one["line"] + 1),
                    one["label"],
                    tuple(one["needs"]),
                    one["reason"],
                )
            )
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"{file}:{number}: not a label: {error!r}") from None
    return found
