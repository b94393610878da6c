"""Certificates: serialised proofs that `scanify verify --replay` can check without the model.

The programs go into neutral tables. The scans to unroll or keep are searched here, since the checker does no search;
the steps are those that it then takes. Proofs that it cannot show are not written, which is reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.reading.canonical import Alike, NotUnderstood
from scanify.replay.check import Checker, Claim, spelled
from scanify.replay.form import Rejected
from scanify.replay.read import Tables, read_tables
from scanify.replay.run import Where
from scanify.replay.written import Written, claimed
from scanify.verify.certificate.neutral import Neutral
from scanify.verify.objects.same import same_code_and_names

# A scan of more equations in all its iterations is kept whole.
UNROLLED = 200_000
Scans = dict[Where, str]


@dataclass(frozen=True)
class Proved:
    """Two programs that were proved equal, their description, and how many inputs are cotangents and tangents."""

    what: str
    before: ClosedJaxpr
    after: ClosedJaxpr
    cotangents: int
    tangents: int


@dataclass
class Certificate:
    """The proofs of one case. `unwritten` has the reason for each proof that is not in the certificate."""

    case: str
    proofs: list[Proved] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)

    def add(self, proof: Proved) -> None:
        if all((each.before, each.after) != (proof.before, proof.after) for each in self.proofs):
            self.proofs.append(proof)

    def write(self, folder: Path) -> None:
        """Write the case into a folder with other cases in their own files."""
        name = f"{len(list(folder.iterdir())):06}.json"
        (folder / name).write_text(json.dumps(self.written(), separators=(",", ":")), encoding="utf-8")

    def written(self) -> dict[str, Any]:
        """Return the case in the form of a certificate."""
        neutral, programs = Neutral(Alike(same_code_and_names)), []
        for proof in self.proofs:
            try:
                programs.append((proof, neutral.jaxpr(proof.before), neutral.jaxpr(proof.after)))
            except NotUnderstood as why:
                self.unwritten.append(f"{proof.what}: {why} has no written form")
        things = [table.things for table in (neutral.avals, neutral.constants, neutral.params, neutral.jaxprs)]
        tables = dict(zip(("avals", "constants", "params", "jaxprs"), things, strict=True))
        read = read_tables(json.loads(json.dumps(tables)))
        checker, checks, digest = Checker(read), [], Written(tables)
        for proof, before, after in programs:
            try:
                found = _check(checker, proof, before, after)
                checks.append({**found, "programs": claimed(digest, found)})
            except Rejected as why:
                self.unwritten.append(str(why))
        return {"case": self.case, "checks": checks, "unwritten": self.unwritten, "tables": tables}


def _check(checker: Checker, proof: Proved, before: int, after: int) -> dict[str, Any]:
    failed: Rejected | None = None
    for claim in _claims(checker, proof, before, after):
        try:
            first, second, result = checker.shown(claim)
        except Rejected as why:
            failed = failed or why
            continue
        return {
            "what": proof.what,
            "before": {"program": before, "steps": spelled(first)},
            "after": {"program": after, "steps": spelled(second)},
            "cotangents": proof.cotangents,
            "tangents": proof.tangents,
            "signs": claim.signs,
            "result": result,
        }
    assert failed is not None
    raise failed


def _claims(checker: Checker, proof: Proved, before: int, after: int) -> Iterator[Claim]:
    """Yield candidate claims: with the scans of both programs kept, then with all of them unrolled."""
    derived = proof.cotangents, proof.tangents
    scans = [_scans(checker.tables, number) for number in (before, after)]
    for signs in (False, True):
        whole = Claim(proof.what, before, after, derived, signs, ({}, {}))
        bodies = [program.scanned for program in checker.programs(whole)] if all(scans) else [{}, {}]
        shared = set(bodies[0].values()) & set(bodies[1].values())
        for kept in (shared, set()) if shared else (set(),):
            chosen = [
                {at: "whole" if long or body.get(at) in kept else "unroll" for at, long in each.items()}
                for each, body in zip(scans, bodies, strict=True)
            ]
            yield Claim(proof.what, before, after, derived, signs, (chosen[0], chosen[1]))


def _scans(tables: Tables, program: int) -> dict[Where, bool]:
    """Return every scan in a program, and whether it is too long to be unrolled."""
    found: dict[Where, bool] = {}
    costs: dict[int, int] = {}

    def cost(number: int) -> int:
        if number in costs:
            return costs[number]
        total = 0
        for at, equation in enumerate(tables.jaxprs[number].equations):
            inside = sum(cost(each) for each in equation.inner)
            if equation.name == "scan" and "body" in equation.params:
                found[number, at] = equation.params["length"] * inside > UNROLLED
                inside *= 1 if found[number, at] else equation.params["length"]
            total += 1 + inside
        costs[number] = total
        return total

    cost(program)
    return found
