"""Check that the rewritten version uses each random key as often as the original, and none twice unless it does.

If a dropout rate is zero, or random values are not read, a reused key changes no value.
"""

from __future__ import annotations

from collections.abc import Mapping

from scanify.jaxpr.table import Table
from scanify.verify.compare.judge import Once, Subject
from scanify.verify.programs.reading import or_none
from scanify.verify.programs.trace import Traced
from scanify.verify.proof.key_uses import Key, KeyUses, Uses, find_key_uses, uses_keys
from scanify.verify.proof.wording import Programs, Words
from scanify.verify.proof.words import show_operation
from scanify.verify.verdict import Difference, Operation, Status, Verdict

_NONE = Uses()


def keys(subject: Subject, traced: Traced) -> Once:
    """PROVED if the original uses each key of the rewritten version as often, by the same uses.

    The keys are compared as expressions of the inputs. A key that both versions use twice is a note: the rewrite did
    not cause it. TESTED if two keys of the rewritten version may be the same for some inputs.
    """
    programs = subject.original.forward, traced.forward
    if not any(uses_keys(program.jaxpr) for program in programs):
        return Once(None, "no random key is used")
    table = Table()
    with subject.steps.step("keys"):
        found = or_none(lambda: [find_key_uses(table, program) for program in programs])
    if found is None:
        return Once(None, "the use of random keys is not known: the traced programs could not be read")
    before, after = found
    show = _Show(subject, table)
    worse = {key: uses for key, uses in after.uses.items() if uses.times > max(1, _times(before, key))}
    if worse:
        return Once(_reused(show, before, worse), "")
    note = show.reuse_in_both({key: uses for key, uses in after.uses.items() if uses.times > 1})
    if before.hidden != after.hidden:
        return Once(None, "the use of random keys inside of loops of unknown length is not known")
    new = [key for key, uses in after.uses.items() if not _within(uses, before.uses.get(key, _NONE))]
    if new:
        key = show.key(after.uses[new[0]])
        what = f"the rewritten version uses a key that the original does not use in the same way, {key}"
        return Once(Verdict(Status.TESTED, f"{what}; it uses none twice that the original does not"), note)
    often = "both versions use each random key equally often, and some more than once" if note else ""
    return Once(_doubt(show, after) or Verdict(Status.PROVED, often), note)


def _doubt(show: _Show, after: KeyUses) -> Verdict | None:
    """Return TESTED if it depends on the inputs whether two keys of the rewritten version are one."""
    key = after.doubtful
    if key is None:
        return None
    uses = after.uses[key]
    which = f"{show.key(uses)} may be another key, as the values are ({show.operations(uses)})"
    same = "both versions use the same keys, each as often"
    return Verdict(Status.TESTED, f"{same}; that none is used more than once is not shown: {which}")


def _times(program: KeyUses, key: Key) -> int:
    return program.uses.get(key, _NONE).times


def _within(uses: Uses, others: Uses) -> bool:
    return uses.splits <= others.splits and uses.draws <= others.draws


def _reused(show: _Show, before: KeyUses, worse: Mapping[Key, Uses]) -> Verdict:
    key, uses = next(iter(worse.items()))
    original = _times(before, key)
    than = f"{original} times" if original > 1 else "once" if original else "not at all"
    more = f"; {len(worse)} keys are reused" if len(worse) > 1 else ""
    often = f"{uses.times} times in the rewritten version, in the original {than}"
    what = f"the random key {show.key(uses)} is used {often}"
    reason = f"{what}: {show.operations(uses)}{more}"
    return Verdict(Status.FAILED, reason, Difference(what, None, show.operation(uses, -1)))


class _Show:
    """Describes keys and their uses in words."""

    def __init__(self, subject: Subject, table: Table) -> None:
        found = subject.both.found
        self.words = Words(Programs(table, {}, {}, found.names, found.layers, subject.files))

    def key(self, uses: Uses) -> str:
        return self.words.what(uses.node)

    def operation(self, uses: Uses, at: int) -> Operation:
        return self.words.at(uses.places[at])

    def operations(self, uses: Uses) -> str:
        """List the operations that use a key, each once, with its number of times."""
        shown = [show_operation(self.words.at(place)) for place in uses.places]
        each = [
            f"{text} ({shown.count(text)} times)" if shown.count(text) > 1 else text for text in dict.fromkeys(shown)
        ]
        return ", ".join(each[:4])

    def reuse_in_both(self, reused: Mapping[Key, Uses]) -> str:
        if not reused:
            return ""
        uses = next(iter(reused.values()))
        more = f", and {len(reused) - 1} more keys are" if len(reused) > 1 else ""
        where = f"{uses.times} times in both versions ({self.operations(uses)})"
        return f"the random key {self.key(uses)} is used {where}{more}"
