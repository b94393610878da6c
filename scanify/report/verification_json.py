"""A verification as the one JSON object that `scanify verify --format json` prints."""

import math
from dataclasses import fields
from typing import Any

from scanify.verify.codec import to_json
from scanify.verify.verdict import CaseResult, Difference, Measurement, PolicyResult, Verdict, Verification

VERSION = 1


def verification_json(verification: Verification) -> dict[str, Any]:
    """The object, ready for `json.dumps(..., allow_nan=False)`.

    `version` is the version of this format. A case has `error` (null, or why nothing was compared), the verdict of its
    initial parameters, the measurements of the loop (`original`), `seconds` by step, and one entry a policy with the
    verdicts of outputs and gradients, the first `difference` (null where none is known), measurements,
    findings (which make the verification fail) and notes (which do not).
    """
    return {
        "version": VERSION,
        "good": verification.good,
        "versions": dict(verification.versions),
        "cases": [_case(case) for case in verification.cases],
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "case": case.case,
        "good": case.good,
        "error": case.error,
        "parameters": None if case.parameters is None else _verdict(case.parameters),
        "original": _measurement(case.original),
        "policies": [_policy(policy) for policy in case.policies],
        "findings": list(case.findings),
        "seconds": {step: _finite(seconds) for step, seconds in case.seconds},
        "output": case.output,
    }


def _policy(policy: PolicyResult) -> dict[str, Any]:
    return {
        "policy": policy.policy,
        "outputs": _verdict(policy.outputs),
        "gradients": _verdict(policy.gradients),
        "difference": _difference(policy.outputs.difference or policy.gradients.difference),
        "measurements": _measurement(policy.measured),
        "findings": list(policy.findings),
        "notes": list(policy.notes),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": verdict.status.value,
        "reason": verdict.reason,
        "difference": _difference(verdict.difference),
    }


def _difference(difference: Difference | None) -> Any:
    return None if difference is None else to_json(difference)


def _measurement(measurement: Measurement) -> dict[str, Any]:
    return {field.name: _finite(getattr(measurement, field.name)) for field in fields(measurement)}


def _finite(value: Any) -> Any:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
