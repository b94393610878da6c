"""Replay a certificate, checking that each of its checks shows two programs to be equal."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scanify.replay.digests import Digests
from scanify.replay.form import FORMAT, Rejected
from scanify.replay.read import Jaxpr, Tables, read_tables
from scanify.replay.run import Program, Where
from scanify.replay.values import Values
from scanify.replay.written import Written, claimed

Steps = dict[Where, set[str]]


@dataclass(frozen=True)
class Claim:
    """One check: two programs with the same inputs, the numbers of cotangents and tangents, and the steps."""

    what: str
    before: int
    after: int
    derived: tuple[int, int]
    signs: bool
    scans: tuple[Mapping[Where, str], Mapping[Where, str]]


@dataclass
class Checker:
    """The programs of one case, which share one set of arrays."""

    tables: Tables
    values: Values = field(default_factory=Values)
    kept: dict[Any, Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.digests = Digests(self.values)

    def programs(self, claim: Claim) -> tuple[Program, Program]:
        """Evaluate both programs."""
        first, second = (
            self._program(number, claim, scans)
            for number, scans in zip((claim.before, claim.after), claim.scans, strict=True)
        )
        return first, second

    def _program(self, number: int, claim: Claim, scans: Mapping[Where, str]) -> Program:
        key = number, claim.derived, claim.signs, tuple(sorted(scans.items()))
        if key not in self.kept:
            self.kept[key] = Program(self.tables, self.values, self.digests, number, claim.derived, claim.signs, scans)
        return self.kept[key]

    def shown(self, claim: Claim) -> tuple[Steps, Steps, str]:
        """Return the steps of both programs and the digest of their outputs. Raises Rejected if these are not equal."""
        first, second = (self.tables.jaxprs[number] for number in (claim.before, claim.after))
        if first.inputs != second.inputs or not all(0 <= each <= len(first.inputs) for each in claim.derived):
            raise Rejected(f"{claim.what}: the programs have other inputs")
        before, after = self.programs(claim)
        if len(before.outputs) != len(after.outputs):
            raise Rejected(f"{claim.what}: the programs have other outputs")
        for at, pair in enumerate(zip(before.outputs, after.outputs, strict=True)):
            if pair[0] != pair[1]:
                raise Rejected(f"{claim.what}: output {at} is not shown to be equal")
        if before.token != after.token:
            raise Rejected(f"{claim.what}: the effects are not shown to be equal")
        if (before.left_out or after.left_out) and (before.shown or after.shown):
            raise Rejected(f"{claim.what}: zeros were left out of sums whose sign may show")
        return before.steps, after.steps, self.digests.of([*before.outputs, before.token])


def replay(text: str) -> list[str]:
    """Return what a certificate proves, one line per check. Raises Rejected if it proves nothing."""
    try:
        given = json.loads(text)
        if not isinstance(given, dict) or given.get("format") != FORMAT:
            raise Rejected(f'this is no certificate: expected the format "{FORMAT}"')
        if seal(given) != given.get("sha256"):
            raise Rejected("the certificate was changed after it was written: its SHA-256 is another")
        return [line for case in given["cases"] for line in _case(case)]
    except Rejected:
        raise
    except Exception as error:  # a file from elsewhere may contain anything
        raise Rejected(f"the certificate is not as it has to be: {type(error).__name__}: {error}") from None


def seal(given: Mapping[str, Any]) -> str:
    """The SHA-256 of everything else in a certificate."""
    rest = {key: value for key, value in given.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _case(case: Mapping[str, Any]) -> list[str]:
    tables = read_tables(case["tables"])
    checker, written, lines = Checker(tables), Written(case["tables"]), []
    for check in case["checks"]:
        claim = claim_of(check, tables.jaxprs)
        before, after, result = checker.shown(claim)
        for found, said in ((before, check["before"]), (after, check["after"])):
            if spelled(found) != said["steps"]:
                raise Rejected(f"{claim.what}: the steps are other ones than are written")
        if claimed(written, check) != check["programs"]:
            raise Rejected(f"{claim.what}: the programs are not as they were written")
        if result != check["result"]:
            raise Rejected(f"{claim.what}: the programs compute something else than is written")
        count = len(tables.jaxprs[claim.before].outputs)
        lines.append(f"{case['case']}: {claim.what}: {count} {'output is' if count == 1 else 'outputs are'} equal")
    if not lines:
        raise Rejected(f"{case['case']}: there is nothing that is shown")
    return lines


def claim_of(check: Mapping[str, Any], jaxprs: tuple[Jaxpr, ...]) -> Claim:
    scans = []
    for side in ("before", "after"):
        program, steps = check[side]["program"], check[side]["steps"]
        if type(program) is not int or not 0 <= program < len(jaxprs):
            raise Rejected(f"there is no program {program}")
        scans.append(
            {
                (int(number), at): rule
                for number, rules in steps.items()
                for rule in ("unroll", "whole")
                for at in rules.get(rule, ())
            }
        )
    before, after = check["before"]["program"], check["after"]["program"]
    derived = int(check["cotangents"]), int(check["tangents"])
    return Claim(str(check["what"]), before, after, derived, check["signs"] is True, (scans[0], scans[1]))


def spelled(steps: Steps) -> dict[str, dict[str, list[int]]]:
    """Encode steps as in a certificate: by jaxpr and rule, the equations that the rule was used on."""
    found: dict[str, dict[str, list[int]]] = {}
    for (number, at), rules in sorted(steps.items()):
        for rule in sorted(rules):
            found.setdefault(str(number), {}).setdefault(rule, []).append(at)
    return found
