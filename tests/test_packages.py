"""The comparison of published models, on a model of our own: a wrong stack by hand is found, and the table counts it."""

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict
from tests.packages.all_models import ALL_MODELS
from tests.packages.by_hand import compare_by_hand
from tests.packages.models import MODELS, Model
from tests.packages.nnx_models import NNX_MODELS
from tests.packages.plain_models import PLAIN_MODELS
from tests.packages.row import ARRAY_STACKED, BLOCK_SEQ, REFUSED, Row, share
from tests.packages.tables import as_json, markdown, summary, text

MODEL = Model("own", "our own", "own", "1.0", "tests/test_packages.py", 1)


class Layer(eqx.Module):
    weight: jax.Array
    power: int = eqx.field(static=True)

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.sin(self.weight * x) ** self.power


class Net(eqx.Module):
    layers: list[Layer]

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            x = layer(x)
        return x


def case_of(powers: tuple[int, ...], by_hand: Any) -> Any:
    def case(module: ModuleType) -> tuple[Any, tuple[Any, ...]]:
        return Net([Layer(jnp.array(1.0 + i), power) for i, power in enumerate(powers)]), (jnp.array(0.3),)

    return SimpleNamespace(case=case, by_hand=by_hand)


def right(stack: Any, net: Net, x: jax.Array) -> Any:
    return stack(net.layers).fold(x)


def wrong(stack: Any, net: Net, x: jax.Array) -> Any:
    return stack(net.layers[::-1]).fold(x)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path


def test_equal_layers_are_stacked_in_both_ways_and_proved(source: Path) -> None:
    rows = compare_by_hand(MODEL, source, case_of((2, 2, 2), right))
    assert [row.how for row in rows] == [ARRAY_STACKED, BLOCK_SEQ]
    assert share(rows) == (24, 24)
    assert [row.reasons() for row in rows] == [[], []]


def test_layers_that_array_stacked_refuses_have_a_row_that_says_why(source: Path) -> None:
    (row,) = compare_by_hand(MODEL, source, case_of((2, 2, 2, 3), right))
    assert (row.how, row.layers, share([row])) == (BLOCK_SEQ, "4 layers", (12, 12))
    assert "layers 0 and 3 differ at .power: 2 and 3" in row.notes[0]


def test_layers_stacked_in_the_wrong_order_fail(source: Path) -> None:
    rows = compare_by_hand(MODEL, source, case_of((2, 2), wrong))
    assert {verdict.status for row in rows for what, verdict in row.verdicts() if "outputs" in what} == {Status.FAILED}
    assert share(rows)[0] == 0


PROVED, TESTED = Verdict(Status.PROVED), Verdict(Status.TESTED, "not proved: a | b\nc")
RESULT = CaseResult(
    "case",
    PROVED,
    (PolicyResult("none", PROVED, PROVED), PolicyResult("full", PROVED, TESTED)),
    tangents=TESTED,
    layers=3,
)
ROWS = [Row("own==1.0", "our own", "rewritten", "3 layers", RESULT), Row("lost==1.0", "lost", "not run", error="gone")]


def test_what_was_not_compared_counts_as_not_proved() -> None:
    assert share(ROWS) == (3, 5)
    assert summary(ROWS) == "3 of 5 verdicts PROVED (60.0%), 2 rows"


def test_every_form_of_the_table_says_the_reasons_once() -> None:
    versions = (("jax", "0.0"),)
    plain, table, document = text(ROWS, versions), markdown(ROWS, versions), json.loads(as_json(ROWS, versions))
    assert "    full: gradients, jvp TESTED: not proved: a | b c\n" in plain
    assert "    gone\n" in plain and plain.endswith("2 rows\njax 0.0\n")
    assert "| own==1.0 | our own | rewritten | 3 layers | 3 | 3 PROVED, 1 TESTED |" in table
    assert "| lost==1.0 | lost | not run |  |  | NOT RUN |" in table
    assert (document["proved"], document["verdicts"], len(document["rows"])) == (3, 5, 2)
    assert document["rows"][1]["reasons"] == ["gone"]


def test_a_loop_that_is_left_has_a_row_and_no_verdict() -> None:
    rows = [*ROWS, Row("left==1.0", "left", REFUSED, notes=("SCN208 asks for the number",))]
    assert share(rows) == share(ROWS)
    assert "| left==1.0 | left | left a loop |  |  | refused |" in markdown(rows, ())
    assert "    SCN208 asks for the number\n" in text(rows, ())


@pytest.mark.parametrize(
    "folder, models", [("cases", MODELS), ("nnx_cases", NNX_MODELS), ("plain_cases", PLAIN_MODELS)]
)
def test_every_model_has_a_case_and_every_case_a_model(folder: str, models: tuple[Model, ...]) -> None:
    cases = {path.stem for path in (Path(__file__).parent / "packages" / folder).glob("*.py")} - {"__init__"}
    assert cases == {each.name for each in models}
    assert {each.cases for each in models} == {f"tests.packages.{folder}.{name}" for name in cases}


def test_models_have_names_of_their_own_and_what_they_need_at_one_version() -> None:
    assert len({each.name for each in ALL_MODELS}) == len(ALL_MODELS)
    assert all("==" in need for each in ALL_MODELS for need in each.needs)
