"""Describe a rolled program: the source lines of its repetitions, and the cost of their scans."""

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jaxlib

from scanify import nn
from scanify.rolling.find.choose import Roll
from scanify.rolling.find.program import Operation, Program
from scanify.rolling.find.slices import Slices
from scanify.rolling.scans.plan import Plan, Scan
from scanify.verify.proof.prove import Proof

# Files of jax, of this package and of installed packages.
_FOREIGN = tuple(f"{Path(path).parent}{os.sep}" for path in (jax.__file__, jaxlib.__file__, nn.__path__[0]))


Files = Callable[[str], str | None]


def files(name: str) -> str | None:
    """Return the name to show for a user's file, relative to the current directory; None for any other file."""
    if name.startswith("<") or name.startswith(_FOREIGN) or f"{os.sep}site-packages{os.sep}" in name:
        return None
    inside = os.path.relpath(name)
    return name if inside.startswith("..") else inside


def explained(name: str, plan: Plan, traced: float, rolled: float) -> str:
    """Describe the scans of a program, in one or two lines each. `traced` and `rolled` are seconds."""
    found = list(plan.all_scans())
    left = [
        f"  {_where(plan.program, roll)}: {roll.wired.count} x {roll.wired.period} equations are left as they are:\n"
        "    their scan would compile more slowly (min_layers=3 rolls them all the same)"
        for roll in plan.left
    ]
    if not found:
        return "\n".join([f"{name}: nothing repeats whose scan would compile faster", *left])
    lines = [f"{name}: {_times(len(found), 'scan')}", *left]
    copied = 0
    for around, program, scan in found:
        wired = scan.roll.wired
        inside = f", inside of {', '.join(around)}" if around else ""
        lines.append(f"  {_where(program, scan.roll)}: {wired.count} x {wired.period} equations{inside}")
        carried = sum(_bytes(slot.aval) for slot in scan.body.slots)
        stacked = sum(wired.count * _bytes(aval) for aval in _stacked(program, scan))
        copied += 0 if around else stacked
        kept = sum(wired.count * _bytes(_aval(program, scan, place)) for place in scan.body.kept)
        parts = [f"carries {_size(carried)}"]
        parts += [f"stacks {_size(stacked)}"] if stacked else []
        parts += [f"keeps {_size(kept)} of results"] if kept else []
        lines.append(f"    {', '.join(parts)}")
    if copied:
        lines.append(f"  To stack is to copy: {_size(copied)} in each step, and in a gradient as much again.")
    lines.append(
        f"  Tracing took {traced:.1f} s, as it goes through every layer; to find and prove the scans {rolled:.1f} s.\n"
        "  `scanify rewrite` makes the source a scan, which leaves both out, and the copies too."
    )
    return "\n".join(lines)


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _stacked(program: Program, scan: Scan) -> list[Any]:
    """Return the avals of stacked arrays, excluding constants and rows that are already adjacent."""
    columns = [column for column in scan.body.columns if not isinstance(column, Slices)]
    arrays = [[atom for atom in column if isinstance(atom, int)] for column in columns]
    return [program.avals[atoms[0]] for atoms in arrays if atoms]


def _aval(program: Program, scan: Scan, place: tuple[int, int]) -> Any:
    return program.avals[program.operations[scan.roll.wired.start + place[0]].outputs[place[1]]]


def _bytes(aval: Any) -> int:
    return math.prod(aval.shape) * int(getattr(aval.dtype, "itemsize", 8)) if hasattr(aval, "shape") else 0


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:.3g} GB"


def _where(program: Program, roll: Roll) -> str:
    """Return the line from which all operations of a repetition are called, which is in the loop's body."""
    wired = roll.wired
    start = wired.start + wired.period
    place = line(program.operations[start : start + wired.period])
    return "repeated equations" if place is None else f"{place[0]}:{place[1]}"


def line(operations: Sequence[Operation], files: Files = files) -> tuple[str, int] | None:
    """Return the innermost user line common to all operations; `files` returns the names of user files."""
    common: list[tuple[str, int]] | None = None
    for operation in operations:
        traceback = getattr(operation.equation.source_info, "traceback", None)
        if traceback is None:
            continue
        frames = [
            (shown, int(frame.line_num))
            for frame in reversed(traceback.frames)
            if (shown := files(frame.file_name)) is not None
        ]
        if not frames:  # within a library only
            continue
        common = frames if common is None else common
        shared = 0
        while shared < min(len(common), len(frames)) and common[shared] == frames[shared]:
            shared += 1
        common = common[:shared]
    return common[-1] if common else None


def doubt(proof: Proof) -> str:
    """Explain why a rolled program is not proved equal to the original."""
    found = proof.difference
    if found is None:
        return f"not proved equal: {'; '.join(proof.not_understood) or 'nothing is known of why'}"
    operation = found.before or found.after
    place = "" if operation is None or operation.file is None else f" ({operation.file}:{operation.line})"
    text = "" if operation is None else f", at `{operation.text}`{place}"
    return f"not proved equal: it {found.what}{text}"
