"""The models of `fixtures/` rewritten to other targets are proved, what is wrong is not, and the table of the docs holds."""

import re
from pathlib import Path

import pytest

from tests.fixture_helpers import Fixture, read, replaced, write
from tests.targets.__main__ import DOCS
from tests.targets.prove import MODELS, POLICIES, case_of, compared, prove, refused, rewritten, word

BY_NAME = {each.name: each for each in MODELS}
SAMPLE = {("moe", "nested"), ("hidden_states", "full")}
GRID = [
    pytest.param(
        each, policy, id=f"{each.name} {policy}", marks=[] if (each.name, policy) in SAMPLE else pytest.mark.whole
    )
    for each in MODELS
    for policy in POLICIES
]


@pytest.mark.parametrize(("each", "policy"), GRID)
def test_a_rewrite_to_lax_is_proved_or_refused(each: Fixture, policy: str, tmp_path: Path) -> None:
    row = prove(each, case_of(each), "lax", policy, None, tmp_path)
    assert row.word == told("lax")[each.name][POLICIES.index(policy)]
    assert row.word == "PROVED" or row.reason


MUTANTS = {
    "one key for all layers": (
        "block, k = eqx.combine(layer, static)",
        "block, _ = eqx.combine(layer, static); k = keys[0]",
    ),
    "keys in another order": ("per_layer(keys, ", "per_layer(keys[::-1], "),
    "the carry of before": ("return x, None", "return x * 1.5, None"),
    "the first layer for all": ("x = block(x, key=k)", "x = jax.tree.map(lambda a: a[0], self.blocks)(x, key=k)"),
    "no layer": ("x, _ = jax.lax.scan(", "x, _ = x, jax.lax.scan("),
    "layers in another order": ("            x, layers\n", "            x, jax.tree.map(lambda a: a[::-1], layers)\n"),
}


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.whole) for each in MUTANTS])
def test_a_wrong_rewrite_to_lax_is_told(name: str, tmp_path: Path) -> None:
    each = BY_NAME["gpt"]
    outcome = rewritten(each, "lax", "full", "init", tmp_path / "original")
    text = next(iter(outcome.texts.values()))
    text = text.replace(
        "apply_block, prevent_cse=False), x, layers)",
        "apply_block, prevent_cse=False),\n            x, layers\n        )",
    )
    texts = replaced({each.target: text}, each.target, MUTANTS[name])
    after = write(texts, tmp_path / "rewritten")
    assert read(after) == texts
    found, _ = word(compared(each, case_of(each), "full", after, tmp_path / "original"))
    assert found == "FAILED"


def told(target: str) -> dict[str, list[str]]:
    """What the table of the docs says of each model, policy by policy."""
    section = re.search(rf"^## {target}\n(.*?)(?=^## |\Z)", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/targets.md has no table for {target}: python -m tests.targets --write"
    rows = [line.strip("| ").split(" | ") for line in section[1].splitlines() if line.startswith("| ")]
    return {row[0]: row[2:] for row in rows[1:]}


@pytest.mark.parametrize("target", ["lax", "haliax"])
def test_the_table_says_what_is_refused(target: str, tmp_path: Path) -> None:
    found = {each.name: refused(each, target, "dots", tmp_path / each.name) is not None for each in MODELS}
    assert found == {name: words[POLICIES.index("dots")] != "PROVED" for name, words in told(target).items()}
