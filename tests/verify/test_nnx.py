"""Models of Flax NNX in cases: PROVED where the scan is the loop, FAILED where state is lost, no verdict on shared streams."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.verify.compare.compare import compare_case
from scanify.verify.verdict import CaseResult, Status
from tests.emit.targets.models import rewritten
from tests.emit.targets.nnx_models import model

nnx: Any = pytest.importorskip("flax.nnx", reason="flax is not installed")
if not hasattr(nnx, "List"):
    pytest.skip("flax is older than 0.12", allow_module_level=True)

TEXT = model("statistics")


def case(text: str) -> Callable[[], Any]:
    def build() -> Any:
        module = ModuleType("nnx_model_under_test")
        sys.modules[module.__name__] = module
        exec(compile(text, "nnx_model_under_test.py", "exec"), module.__dict__)
        return module.Model(2, rngs=nnx.Rngs(0)), (jnp.linspace(-1, 1, 8).reshape(2, 4),)

    return build


def compared(before: str, after: str) -> CaseResult:
    return compare_case(
        "nnx", case(before), case(after), policies=(None,), requested=None, abstract=False, measure=False
    )


def scanned(text: str, folder: Path) -> str:
    after, outcome = rewritten(text, folder, "nnx", remat="full")
    assert outcome.applied
    return after


def test_the_scan_is_the_loop_with_its_state(tmp_path: Path) -> None:
    result = compared(TEXT, scanned(TEXT, tmp_path))
    (policy,) = result.policies
    assert policy.outputs is not None and policy.outputs.status is Status.PROVED
    assert policy.gradients is not None and policy.gradients.status is Status.PROVED
    assert result.parameters is not None and result.parameters.status is Status.PROVED


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("pass", "nnx.update(layer, nnx.from_flat_state(new))"), ("values[0]", "values[number]")],
    ids=["lost", "of another layer"],
)
def test_state_that_is_lost_is_found_out(wrong: str, right: str, tmp_path: Path) -> None:
    after = scanned(TEXT, tmp_path)
    assert right in after
    (policy,) = compared(TEXT, after.replace(right, wrong)).policies
    assert policy.outputs is not None and policy.outputs.status is Status.FAILED


def test_streams_that_layers_share_are_no_leaves_of_their_own(tmp_path: Path) -> None:
    text = TEXT.replace("self.linear = ", "self.rngs = rngs\n        self.linear = ")
    with pytest.raises(ScanifyError, match=r"one RngCount at \[0\]\.layers\[0\].* and at \[0\]\.layers\[1\]"):
        compared(text, scanned(text, tmp_path))
