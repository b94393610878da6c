"""Digests of programs as written, independent of the numbering in the tables."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


class Written:
    """Digests of the jaxprs in the tables of a case."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._tables = tables
        self._known: dict[int, str] = {}

    def __call__(self, number: int) -> str:
        """Return the digest of a jaxpr, whose avals, constants, parameters and jaxprs count by content."""
        if number not in self._known:
            inputs, equations, outputs = self._tables["jaxprs"][number]
            spelled = [[self._avals(inputs), [self._equation(each) for each in equations], self._operands(outputs)]]
            self._known[number] = hashlib.sha256(json.dumps(spelled, sort_keys=True).encode()).hexdigest()
        return self._known[number]

    def _equation(self, equation: list[Any]) -> list[Any]:
        name, params, operands, outputs, *effects = equation
        return [
            name,
            self._params(self._tables["params"][params]),
            self._operands(operands),
            self._avals(outputs),
            effects,
        ]

    def _avals(self, numbers: list[int]) -> list[Any]:
        return [self._tables["avals"][each] for each in numbers]

    def _operands(self, numbers: list[int]) -> list[Any]:
        return [each if each >= 0 else self._constant(self._tables["constants"][-1 - each]) for each in numbers]

    def _constant(self, constant: list[Any]) -> list[Any]:
        aval, *held = constant
        return [self._tables["avals"][aval], *held]

    def _params(self, spelled: Any) -> Any:
        if isinstance(spelled, dict):
            if set(spelled) == {"jaxpr"}:
                return {"jaxpr": self(spelled["jaxpr"])}
            return {key: self._params(each) for key, each in spelled.items()}
        return [self._params(each) for each in spelled] if isinstance(spelled, list) else spelled


def claimed(written: Written, check: Mapping[str, Any]) -> str:
    """Return the digest of a check's claim: its programs, and which of their inputs are cotangents or tangents."""
    programs = [written(check[side]["program"]) for side in ("before", "after")]
    said = [check[name] for name in ("what", "cotangents", "tangents", "signs")]
    return hashlib.sha256(json.dumps([programs, said]).encode()).hexdigest()
