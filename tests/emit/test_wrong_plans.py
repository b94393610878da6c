"""What emission says of a plan, a policy or a target that it cannot write."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.analysis.plan import Kind
from scanify.emit import rewrite_texts
from scanify.errors import CheckFailed, ScanifyError
from tests.emit.small_model import HEAD, body


def test_no_plans_change_nothing() -> None:
    assert rewrite_texts({Path("a.py"): "x = 1\n"}, []) == {}


def test_a_kind_that_this_target_cannot_express_is_an_error(plans_of: Callable[..., list]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    plans = [replace(plan, kind=Kind.SCAN, ys=("outs",)) for plan in plans_of(text)]
    with pytest.raises(CheckFailed, match=r"model.py:11: expected a fold .* got a scan that collects outputs"):
        rewrite_texts({Path("model.py"): text}, plans)


def test_a_plan_that_points_elsewhere_is_an_error(plans_of: Callable[..., list]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nelse:\n    x = 1\nreturn x")
    with pytest.raises(CheckFailed, match=r"model.py:11: expected the plan to point to one `for` statement"):
        rewrite_texts({Path("model.py"): text}, plans_of(text))


@pytest.mark.parametrize(
    ("options", "said"), [({"remat": "some"}, "full, nested"), ({"target": "torch"}, "scanify, haliax, ")]
)
def test_a_policy_or_target_that_does_not_exist_is_the_users_mistake(options: dict[str, str], said: str) -> None:
    with pytest.raises(ScanifyError, match=said):
        rewrite_texts({}, [], **options)
