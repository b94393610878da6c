"""The JSON of a verification: a contract with other tools."""

import json
from dataclasses import replace

from scanify.report.verification.json import verification_json
from scanify.verify.verdict import (
    CaseResult,
    Difference,
    LoopRun,
    Measurement,
    Operation,
    PolicyResult,
    SeenLayers,
    Status,
    Verdict,
    Verification,
)

PROVED = Verdict(Status.PROVED)
DIFFERENCE = Difference("0.3 against 0.0", Operation("mul (8,) float32", "model.py", 41, 3), None)
FAILED = Verdict(Status.FAILED, "values differ", DIFFERENCE)
DIFFERENCE_JSON = {
    "what": "0.3 against 0.0",
    "before": {"text": "mul (8,) float32", "file": "model.py", "line": 41, "layer": 3},
    "after": None,
}
VERSIONS = (("python", "3.11.7"), ("jax", "0.10.2"), ("equinox", "0.13.8"), ("scanify", "0.1.0"))
CASE = CaseResult(
    "cases.py:gpt",
    PROVED,
    (
        PolicyResult(
            "nested", PROVED, FAILED, Measurement(512, 100, 0.5, 0.25, 2.0, 4096, "cpu"), ("f",), ("n",), False
        ),
    ),
    Measurement(1024),
    ("g",),
    (("trace", 1.5), ("total", 2.5)),
    output="hello\n",
    variant=(("batch", "4"),),
    layers=12,
    tangents=PROVED,
    batched=FAILED,
    notes=("m",),
    cached=True,
    loops=(LoopRun("m.py", 4, "for layer in self.layers", 12, layers=SeenLayers("self.layers", 12, 1, "12 x A")),),
)


def test_every_field_of_the_contract_is_there() -> None:
    given = json.loads(json.dumps(verification_json(Verification((CASE,), VERSIONS, "--- m.py\n")), allow_nan=False))
    assert (given.pop("not_shown"), given.pop("held_back")) == ("", "")
    assert given == {
        "version": 1,
        "good": False,
        "versions": {"python": "3.11.7", "jax": "0.10.2", "equinox": "0.13.8", "scanify": "0.1.0"},
        "cases": [
            {
                "case": "cases.py:gpt",
                "variant": {"batch": "4"},
                "layers": 12,
                "loops": [
                    {
                        "file": "m.py",
                        "line": 4,
                        "head": "for layer in self.layers",
                        "iterations": 12,
                        "layers": {"name": "self.layers", "count": 12, "kinds": 1, "text": "12 x A"},
                    }
                ],
                "depth": None,
                "good": False,
                "cached": True,
                "proviso": "",
                "error": None,
                "parameters": {"status": "PROVED", "reason": "", "difference": None},
                "tangents": {"status": "PROVED", "reason": "", "difference": None},
                "batched": {"status": "FAILED", "reason": "values differ", "difference": DIFFERENCE_JSON},
                "keys": None,
                "updates": None,
                "training": None,
                "losses": None,
                "on_mesh": None,
                "original": {
                    "saved_bytes": 1024,
                    "stablehlo_lines": None,
                    "trace_seconds": None,
                    "lower_seconds": None,
                    "compile_seconds": None,
                    "temp_bytes": None,
                    "backend": None,
                    "argument_bytes": None,
                    "output_bytes": None,
                    "host_bytes": None,
                    "flops": None,
                    "moved_bytes": None,
                    "step_seconds": None,
                    "call_seconds": None,
                },
                "policies": [
                    {
                        "policy": "nested",
                        "outputs": {"status": "PROVED", "reason": "", "difference": None},
                        "gradients": {"status": "FAILED", "reason": "values differ", "difference": DIFFERENCE_JSON},
                        "difference": DIFFERENCE_JSON,
                        "changed": False,
                        "measurements": {
                            "saved_bytes": 512,
                            "stablehlo_lines": 100,
                            "trace_seconds": 0.5,
                            "lower_seconds": 0.25,
                            "compile_seconds": 2.0,
                            "temp_bytes": 4096,
                            "backend": "cpu",
                            "argument_bytes": None,
                            "output_bytes": None,
                            "host_bytes": None,
                            "flops": None,
                            "moved_bytes": None,
                            "step_seconds": None,
                            "call_seconds": None,
                        },
                        "findings": ["f"],
                        "notes": ["n"],
                    }
                ],
                "findings": ["g"],
                "notes": ["m"],
                "seconds": {"trace": 1.5, "total": 2.5},
                "output": "hello\n",
            }
        ],
        "diff": "--- m.py\n",
        "advice": None,
    }


def test_the_difference_of_the_outputs_comes_before_that_of_the_gradients() -> None:
    other = replace(FAILED, difference=replace(DIFFERENCE, what="first"))
    case = replace(CASE, policies=(replace(CASE.policies[0], outputs=other),))
    assert verification_json(Verification((case,)))["cases"][0]["policies"][0]["difference"]["what"] == "first"


def test_a_case_that_could_not_run_has_its_error_and_no_verdicts() -> None:
    given = verification_json(Verification((CaseResult("c", error="it died"),)))["cases"][0]
    assert (given["error"], given["parameters"], given["policies"], given["good"]) == ("it died", None, [], False)


def test_an_infinite_figure_is_null() -> None:
    case = replace(CASE, original=Measurement(compile_seconds=float("inf")))
    given = verification_json(Verification((case,)))["cases"][0]
    assert given["original"]["compile_seconds"] is None


def test_a_good_verification_says_so() -> None:
    case = replace(CASE, policies=(PolicyResult("none", PROVED, PROVED),), findings=(), batched=None)
    given = verification_json(Verification((case,)))
    assert given["good"] is True and given["cases"][0]["good"] is True
