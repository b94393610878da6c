"""Digests of arrays that do not depend on the order in which arrays were numbered."""

import hashlib
from collections.abc import Sequence

from scanify.jaxpr.primitives import COMMUTE
from scanify.replay.terms import Term
from scanify.replay.values import Values


class Digests:
    """Digests of the arrays and atoms of one `Values`."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._arrays: dict[int, str] = {}
        self._atoms: dict[int, str] = {}

    def of(self, numbers: Sequence[int], more: Sequence[str] = ()) -> str:
        """Return the digest of several arrays and additional texts."""
        for number in numbers:
            self._array(number)
        return _hashed([*more, *(self._arrays[number] for number in numbers)])

    def _array(self, number: int) -> None:
        waiting = [number]
        while waiting:
            at = waiting[-1]
            if at in self._arrays:
                waiting.pop()
                continue
            value = self._values[at]
            below = [each for _, term in value.pieces for each in self._below(term) if each not in self._arrays]
            if below:
                waiting += below
                continue
            pieces = [f"{box}{self._term(term)}" for box, term in value.pieces]
            self._arrays[at] = _hashed([f"{value.dtype}{value.shape}", *sorted(pieces)])
            waiting.pop()

    def _below(self, term: Term) -> list[int]:
        if term[0] == "at":
            return [] if term[1] in self._atoms else list(self._values.atoms[term[1]].operands)
        if term[0] in ("is", "cast"):
            return [] if term[0] == "is" else self._below(term[2])
        found = [each for inner in term[-1] for each in self._below(inner)]
        return [*found, term[1]] if term[0] == "choose" else found

    def _term(self, term: Term) -> str:
        kind = term[0]
        if kind == "at":
            return f"{self._atom(term[1])}@{term[2:]}"
        if kind == "is":
            return str(term[1].hex())
        if kind == "cast":
            return f"cast {term[1]} {self._term(term[2])}"
        inner = [self._term(each) for each in term[-1]]
        if kind == "choose":
            return f"choose {self._arrays[term[1]]} {inner}"
        return f"{kind} {sorted(inner)}"

    def _atom(self, number: int) -> str:
        if number not in self._atoms:
            atom = self._values.atoms[number]
            given = [self._arrays[each] for each in atom.operands]
            if atom.op.removeprefix("lax ") in COMMUTE:
                given.sort()
            own = f"{atom.op} {atom.params} {atom.output} {atom.dtype}{atom.shape}"
            self._atoms[number] = _hashed([own, *given])
        return self._atoms[number]


def _hashed(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
