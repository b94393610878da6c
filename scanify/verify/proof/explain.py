"""Find the earliest operation of the original that has no equal in the rewritten program, and why.

Both expression graphs are walked together from the outputs that differ. If two nodes are the same operation the walk
continues with the operands that differ; if they are not (another operation, other parameters, another input, another
constant), this is a cause. The cause that the original program reads first is reported: later ones usually follow from
it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scanify.jaxpr.table import Table
from scanify.verify.proof.wording import Programs, Words
from scanify.verify.verdict import Difference

# The number of pairs after which the walk stops with the causes found so far.
PAIRS = 400_000

# Operations that only move elements: the operation that reads through them is reported.
MOVING = {"reshape", "slice", "transpose", "broadcast", "concat", "rev", "convert_element_type", "out"}

GIVEN = {"input", "fill", "const", "key", "bound", "token", "fresh", "empty"}


@dataclass(frozen=True)
class Cause:
    """Two nodes that differ by themselves, and the nodes that read them (None: an output of the program)."""

    before: int
    after: int
    reader_before: int | None
    reader_after: int | None


def computes(table: Table, node: int) -> bool:
    """True if a node is an operation of the program that computes, neither an input nor a move of elements."""
    return table.op[node] not in MOVING | GIVEN


def by_itself(table: Table, cause: Cause) -> bool:
    """True if the differing operations themselves are reported, and not their readers."""
    return cause.reader_before is not None and computes(table, cause.before) and computes(table, cause.after)


def explain(programs: Programs, before: Sequence[int], after: Sequence[int]) -> Difference | None:
    """Return the first difference between the values of two programs with these outputs; None if all are equal."""
    causes = _causes(programs, before, after)
    if not causes:
        return None
    words = Words(programs)
    table = programs.table
    dropped = None
    if any(table.op[c.before] != "input" or table.op[c.after] != "input" for c in causes):
        dropped = _unread_layer(programs, before, after)
    rank = _ranks(programs)
    last = len(programs.places_before)

    def order(cause: Cause) -> tuple[int, int, int]:
        reader = cause.before if cause.reader_before is None or by_itself(table, cause) else cause.reader_before
        plain = table.op[cause.before] in ("input", "fill", "const", "slice")
        return rank.get(reader, last), 0 if plain else 1, cause.before

    first = min(causes, key=order)
    if dropped is not None:
        layer, leaves = dropped
        return words.unread(layer, leaves, _reader(programs, before, leaves[0]), first.reader_after)
    shown = (first.before, first.after) if by_itself(table, first) else (first.reader_before, first.reader_after)
    return words.difference(first.before, first.after, first.reader_before, *shown)


def _ranks(programs: Programs) -> dict[int, int]:
    """Return the order in which the original program reaches each node, also with its axes in another order."""
    table = programs.table
    ranks: dict[int, int] = {}
    for index, place in enumerate(programs.places_before):
        node = place
        while node not in ranks:
            ranks[node] = index
            if table.op[node] != "transpose":
                break
            node = table.inputs[node][0]
    return ranks


def _causes(programs: Programs, before: Sequence[int], after: Sequence[int]) -> list[Cause]:
    table = programs.table
    causes: list[Cause] = []
    waiting = [Cause(b, a, None, None) for b, a in zip(before, after, strict=True) if b != a]
    seen = {(cause.before, cause.after) for cause in waiting}
    while waiting and len(seen) < PAIRS:
        pair = waiting.pop()
        b, a = pair.before, pair.after
        below = _below(programs, b, a)
        if below is None:
            causes.append(pair)
            below = _alongside(programs, b, a)
        moving = table.op[b] in MOVING
        readers = (pair.reader_before, pair.reader_after) if moving else (b, a)
        for left, right in below:
            if (left, right) not in seen:
                seen.add((left, right))
                waiting.append(Cause(left, right, *readers))
    return causes


def _below(programs: Programs, before: int, after: int) -> list[tuple[int, int]] | None:
    """Return the operands that differ, pairwise; None if the nodes differ by themselves."""
    table = programs.table
    if table.op[before] != table.op[after] or table.params[before] != table.params[after]:
        return None
    left, right = table.inputs[before], table.inputs[after]
    if table.op[before] == "add_any":
        old, new = Counter(left), Counter(right)
        left, right = tuple((old - new).elements()), tuple((new - old).elements())
    if len(left) != len(right) or any(_unlike(table, b, a) for b, a in zip(left, right, strict=True)):
        return None
    return [(b, a) for b, a in zip(left, right, strict=True) if b != a] or None


def _unlike(table: Table, before: int, after: int) -> bool:
    """True if two operands are not versions of one another: of other shapes, or only one a literal."""
    literals = [table.op[node] == "fill" for node in (before, after)]
    return table.shape[before] != table.shape[after] or literals[0] != literals[1]


def _alongside(programs: Programs, before: int, after: int) -> list[tuple[int, int]]:
    """Return pairs to compare below two operations that differ: earlier ones may differ, too.

    A stack of layers with another activation, or with an additional or missing operation, differs in every layer, and
    the first one is reported. Only the same operations in both are compared.
    """
    table = programs.table
    if not (computes(table, before) and computes(table, after)):
        return []
    left, right = table.inputs[before], table.inputs[after]
    pairs = [(b, a) for b, a in zip(left, right, strict=False) if b != a]
    if len(left) == len(right) and all(_alike(table, b, a) for b, a in pairs):
        return pairs
    skipped = [(b, after) for b in left] + [(before, a) for a in right]
    return [(b, a) for b, a in skipped if b != a and _alike(table, b, a)]


def _alike(table: Table, before: int, after: int) -> bool:
    same = table.op[before] == table.op[after] and table.shape[before] == table.shape[after]
    return same and (computes(table, before) or table.op[before] in MOVING)


def _reached(programs: Programs, roots: Sequence[int]) -> set[int]:
    inputs = programs.table.inputs
    found = set(roots)
    waiting = list(found)
    while waiting:
        for below in inputs[waiting.pop()]:
            if below not in found:
                found.add(below)
                waiting.append(below)
    return found


def _leaves(programs: Programs, roots: Sequence[int]) -> dict[int, int]:
    table = programs.table
    found = sorted(node for node in _reached(programs, roots) if table.op[node] == "input")
    return {int(str(table.params[node])): node for node in found}


def _unread_layer(programs: Programs, before: Sequence[int], after: Sequence[int]) -> tuple[int, list[int]] | None:
    """Return the first layer whose inputs only the original program reads, and those inputs."""
    old, new = _leaves(programs, before), _leaves(programs, after)
    read = {programs.layers[index] for index in new}
    for layer in sorted({layer for index in old if (layer := programs.layers[index]) is not None}):
        if layer not in read:
            return layer, [node for index, node in old.items() if programs.layers[index] == layer]
    return None


def _reader(programs: Programs, roots: Sequence[int], leaf: int) -> int:
    """Return the first operation of the original that computes with a leaf."""
    table = programs.table
    through = {leaf}
    for node in sorted(_reached(programs, roots)):
        if not through.isdisjoint(table.inputs[node]):
            if table.op[node] not in MOVING:
                return node
            through.add(node)
    return leaf
