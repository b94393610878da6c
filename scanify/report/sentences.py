"""Sentences about loops, shared by all formats."""

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from scanify.analysis.facts import Place
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Kind, Plan, Refusal
from scanify.analysis.readers import Reader, readers_in_words
from scanify.analysis.stack import CallStack

_FORMS = {
    Kind.FOLD: "can be a fold over stacked layers",
    Kind.SCAN: "can be a scan over stacked layers",
    Kind.MAP: "can be a map over stacked layers",
    Kind.GROUP: "can be a fold over groups of equal layers",
}
DISCHARGE = "verify it with --case FILE:FUNCTION, or write it unverified with --unsafe (--unsafe --diff shows it)"
UNREACHED = (
    "no case reaches this loop; give one that does, or write it unverified with --unsafe (--unsafe --diff shows it)"
)
_SUM = "can be a sum over stacked layers"


def shown(path: Path, folder: Path) -> str:
    """Return `path` for display: relative to `folder` if it is below it."""
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)


def where(place: Place, folder: Path) -> str:
    """Return a place for display: `model.py:12`, or `model.ipynb:cell 3:12` in a notebook."""
    return f"{shown(place.path, folder)}:{place.line}"


def shorten(text: str, folder: Path) -> str:
    """Make paths below `folder` in `text` relative to it."""
    if folder == folder.parent:  # the root: every absolute path lies below it
        return text
    return re.sub(rf"(?<![\w.{re.escape(os.sep)}-]){re.escape(str(folder) + os.sep)}", "", text)


def unshown(plans: Iterable[Plan], folder: Path) -> str:
    """The first obligation that no case covers, shortened, and the number of others; "" if there is none."""
    said = list(dict.fromkeys(each.text for plan in plans for each in plan.beyond_cases()))
    more = f" and {len(said) - 1} more" if len(said) > 1 else ""
    return f"{shorten(said[0], folder).partition(': ')[0]}{more}" if said else ""


class Once:
    """Describes code that reads the parameters once, at the first loop it affects; later loops refer to that loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: dict[tuple[Reader, ...], list[Place]] = {}

    def of(self, plan: Plan) -> tuple[list[Obligation], list[str]]:
        """Return the obligations and notes of a plan, including the reason if its list is not stacked in `__init__`."""
        reason = plan.stack.reason if isinstance(plan.stack, CallStack) and plan.stack.at is None else ""
        notes, places, short = [*([reason] if reason else []), *plan.notes], "", ""
        if plan.readers:
            loops = self.said.setdefault(plan.readers, [])
            loops.append(plan.place)
            places = readers_in_words(plan.readers)
            short = places if len(loops) == 1 else f"the code that {where(loops[0], self.folder)} names"

        def said(text: str) -> str:
            return shorten(text.replace(places, short) if places else text, self.folder)

        return [replace(each, text=said(each.text)) for each in plan.obligations], list(map(said, notes))


def accept(kinds: Iterable[str]) -> str:
    """Tell how to accept the kinds of obligations that no case covers."""
    return f"no case shows that: `{' '.join(f'--accept {kind}' for kind in kinds)}` takes it unverified"


def plural(count: int, noun: str) -> str:
    """`1 loop`, `2 loops`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(items: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def found(plan: Plan) -> str:
    """Describe a loop that can be rewritten: `loop over self.layers can be a fold over stacked layers (...)`."""
    parts = []
    if plan.carry:
        parts.append(f"carry {listed(plan.carry)}")
    if plan.xs:
        parts.append(f"per layer {listed(x.source for x in plan.xs)}")
    if plan.broadcast:
        parts.append(f"shared {listed(plan.broadcast)}")
    if plan.ys:
        parts.append(f"collected {listed(plan.ys)}")
    detail = f" ({'; '.join(parts)})" if parts else ""
    form = _SUM if plan.kind is Kind.MAP and plan.carry else _FORMS[plan.kind]
    return f"loop over {plan.container} {form}{detail}"


def refused(refusal: Refusal, folder: Path) -> str:
    """Describe a refused or undecided loop: the reason, and its place if it is not in the loop."""
    reason = shorten(refusal.reason, folder)
    at = refusal.at
    if at is not None:
        place, line = where(at, folder), at.named
        said = place in reason or (at.path == refusal.place.path and line in reason)
        if not said:
            reason += f" ({line if at.path == refusal.place.path else place})"
    return f"loop over {refusal.container} is {'undecided' if refusal.open else 'left as it is'}: {reason}"
