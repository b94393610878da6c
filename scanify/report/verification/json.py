"""A verification as the JSON object that `scanify verify --format json` prints."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from scanify.report.verification.remarks import own_notes
from scanify.verify.children.codec import to_json
from scanify.verify.training.losses import Losses
from scanify.verify.verdict import CaseResult, Difference, LoopRun, Measurement, PolicyResult, Verdict, Verification

VERSION = 1
# The JSON Schema (2020-12) of the object. It describes every field that this release writes.
SCHEMA_FILE = Path(__file__).resolve().parents[1] / "schema.json"


def verification_json(verification: Verification) -> dict[str, Any]:
    """Return an object for `json.dumps(..., allow_nan=False)`; `SCHEMA_FILE` documents every field.

    `version` is the version of this format; it increases if a field is removed or changes its meaning. A case has
    `error` (null, or why nothing was compared), the verdicts that apply to all policies at once (null if not
    applicable), the measurements of the loop (`original`), the `losses` of both versions in training, their cost on a
    mesh of devices (`on_mesh`), `seconds` by step, and one entry per policy with the verdicts on outputs and gradients,
    the first `difference` (null if unknown), measurements, findings (which make the verification fail) and notes
    (which do not).
    """
    return {
        "version": VERSION,
        "good": verification.good,
        "not_shown": verification.not_shown,
        "held_back": verification.held_back,
        "versions": dict(verification.versions),
        "cases": [_case(case) for case in verification.cases],
        "diff": verification.diff,
        "advice": None if verification.advice is None else [to_json(each) for each in verification.advice],
    }


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        "case": case.case,
        "variant": dict(case.variant),
        "layers": case.layers,
        "loops": [_loop(run) for run in case.loops],
        "depth": _optional(case.depth),
        "good": case.good,
        "cached": case.cached,
        "proviso": case.proviso,
        "error": case.error,
        "parameters": _optional(case.parameters),
        "tangents": _optional(case.tangents),
        "batched": _optional(case.batched),
        "keys": _optional(case.keys),
        "updates": _optional(case.updates),
        "training": _optional(case.training),
        "losses": None if case.losses is None else _losses(case.losses),
        "on_mesh": None if case.on_mesh is None else to_json(case.on_mesh),
        "original": _measurement(case.original),
        "policies": [_policy(policy) for policy in case.policies],
        "findings": list(case.findings),
        "notes": list(own_notes(case)),
        "seconds": {step: _finite(seconds) for step, seconds in case.seconds},
        "output": case.output,
    }


def _policy(policy: PolicyResult) -> dict[str, Any]:
    return {
        "policy": policy.policy,
        "outputs": _verdict(policy.outputs),
        "gradients": _verdict(policy.gradients),
        "difference": _difference(policy.outputs.difference or policy.gradients.difference),
        "changed": policy.changed,
        "measurements": _measurement(policy.measured),
        "findings": list(policy.findings),
        "notes": list(policy.notes),
    }


def _optional(verdict: Verdict | None) -> Any:
    return None if verdict is None else _verdict(verdict)


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


def _losses(losses: Losses) -> dict[str, Any]:
    steps = [{name: _finite(value) for name, value in to_json(step).items()} for step in losses.steps]
    return {"optimizer": losses.optimizer, "loss": losses.loss, "steps": steps}


def _finite(value: Any) -> Any:
    """Replace infinities and NaN by None, since JSON has neither."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _loop(run: LoopRun) -> dict[str, Any]:
    layers = None if run.layers is None else to_json(run.layers)
    return {"file": run.file, "line": run.line, "head": run.head, "iterations": run.iterations, "layers": layers}
