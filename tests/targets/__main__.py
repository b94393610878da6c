"""`python -m tests.targets [--write] [--targets lax,haliax]`: what each target makes of each model under each policy.

Prints the tables of docs/targets.md, and writes them there with `--write`. The target haliax needs haliax, its forms with
`ArrayStacked` the release that has it, nnx and linen need Flax.
"""

import argparse
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import jax

from scanify.emit.targets import arrays
from scanify.emit.targets.every import TARGETS
from tests.targets.models import FRAMEWORKS, lacks, models
from tests.targets.prove import POLICIES, Row, case_of, prove, refused

DOCS = Path(__file__).resolve().parents[2] / "docs" / "targets.md"
BEGIN, END = "<!-- begin of the tables -->", "<!-- end of the tables -->"


def rows(target: str) -> dict[tuple[str, str], Row]:
    """What became of each model under each policy."""
    found: dict[tuple[str, str], Row] = {}
    for each in models(target):
        for policy in POLICIES:
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of what haliax uses of jax
                row = refused(each, target, policy, Path(folder) / "look")
                row = row or prove(each, case_of(each), target, policy, None, Path(folder))
            found[each.name, policy] = row
            print(f"{target:8} {each.name:14} {policy:9} {row.stacked:5} {row.word} {row.reason}", file=sys.stderr)
        jax.clear_caches()
    return found


def table(target: str, found: dict[tuple[str, str], Row]) -> list[str]:
    """One target's table, and the reasons of what is not proved."""
    lines = [f"## {target}", "", f"| model | stacked | {' | '.join(POLICIES)} |", f"|---|---|{'---|' * len(POLICIES)}"]
    reasons: dict[str, list[str]] = {}
    for each in models(target):
        mine = [found[each.name, policy] for policy in POLICIES]
        stacked = next((row.stacked for row in mine if row.stacked), "")
        lines.append(f"| {each.name} | {stacked} | {' | '.join(row.word for row in mine)} |")
        for row in mine:
            if row.reason and each.name not in reasons.setdefault(row.reason, []):
                reasons[row.reason].append(each.name)
    return [*lines, "", *(f"- {', '.join(names)}: {reason}." for reason, names in reasons.items()), ""]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.targets", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/targets.md")
    parser.add_argument("--targets", default=",".join(TARGETS))
    asked = parser.parse_args()
    targets = asked.targets.split(",")
    for target in targets:
        if (needed := lacks(target)) is not None:
            print(f"the target {target} needs {needed} (pip install {needed})", file=sys.stderr)
            return 2
    results = {target: rows(target) for target in targets}
    lines = [line for target, found in results.items() for line in table(target, found)]
    proved = sum(row.word == "PROVED" for found in results.values() for row in found.values())
    others = sum(
        row.word not in ("PROVED", "refused", "held back") for found in results.values() for row in found.values()
    )
    total = sum(len(found) for found in results.values())
    names = ["jax", "equinox", *(["marin-haliax"] if "haliax" in targets else [])]
    names += ["marin-levanter"] if arrays.LEVANTER in targets else []
    names += ["flax"] if any(target in FRAMEWORKS for target in targets) else []
    made = ", ".join(f"{name} {version(name)}" for name in names)
    lines.append(f"{proved} of {total} PROVED, {total - proved - others} refused or held back, {others} else; {made}.")
    text = "\n".join(lines)
    print(text)
    if asked.write:
        before, _, rest = DOCS.read_text().partition(BEGIN)
        DOCS.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
