"""The models of `fixtures/` rewritten to other targets are proved, what is wrong is not, and the table of the docs holds."""

import re
from pathlib import Path

import pytest

from scanify.emit.targets import arrays
from tests.fixture_helpers import Fixture, read, replaced, write
from tests.targets.__main__ import DOCS
from tests.targets.models import FRAMEWORKS, MODELS, lacks, models
from tests.targets.prove import POLICIES, case_of, compared, prove, refused, rewritten, word

BY_NAME = {each.name: each for each in MODELS}
SAMPLE = {"lax moe nested", "lax hidden_states full", "nnx resnet full", "nnx drop_path none"}
GRID = [
    pytest.param(target, each, policy, id=name, marks=[] if name in SAMPLE else pytest.mark.whole)
    for target in ("lax", *FRAMEWORKS)
    for each in models(target)
    for policy in POLICIES
    for name in [f"{target} {each.name} {policy}"]
]


@pytest.mark.parametrize(("target", "each", "policy"), GRID)
def test_a_rewrite_is_proved_or_refused(target: str, each: Fixture, policy: str, tmp_path: Path) -> None:
    if (needed := lacks(target)) is not None:
        pytest.skip(f"{needed} is not installed")
    row = prove(each, case_of(each), target, policy, None, tmp_path)
    assert row.word == told(target)[each.name][POLICIES.index(policy)]
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


WRONG_OF_NNX = {
    "nothing is written back": ("nnx.update(layer, nnx.from_flat_state(new))", "pass"),
    "the state of the first for all": ("rows[number][at] = values[number]", "rows[number][at] = values[0]"),
    "layers in another order": ("layers = list(layers)", "layers = list(layers)[::-1]"),
    "what was there before": ("later = nnx.split(layer)", "later = parts[0][0], jax.tree.unflatten(tree, leaves)"),
    "a layer that is not applied": ("after, output = apply(layer, carry, *values)", "after, output = carry, None"),
}


@pytest.mark.parametrize("name", [pytest.param(each, marks=pytest.mark.whole) for each in WRONG_OF_NNX])
def test_a_wrong_rewrite_to_nnx_is_told(name: str, tmp_path: Path) -> None:
    if (needed := lacks("nnx")) is not None:
        pytest.skip(f"{needed} is not installed")
    each = next(one for one in models("nnx") if one.name == "resnet")
    outcome = rewritten(each, "nnx", "full", None, tmp_path / "original")
    texts = replaced({each.target: next(iter(outcome.texts.values()))}, each.target, WRONG_OF_NNX[name])
    found, _ = word(compared(each, case_of(each), "full", write(texts, tmp_path / "rewritten"), tmp_path / "original"))
    assert found == "FAILED"


def told(target: str) -> dict[str, list[str]]:
    """What the table of the docs says of each model, policy by policy."""
    section = re.search(rf"^## {re.escape(target)}\n(.*?)(?=^## |\Z)", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/targets.md has no table for {target}: python -m tests.targets --write"
    rows = [line.strip("| ").split(" | ") for line in section[1].splitlines() if line.startswith("| ")]
    return {row[0]: row[2:] for row in rows[1:]}


@pytest.mark.parametrize("target", ["lax", "haliax", arrays.LEVANTER, *FRAMEWORKS])
def test_the_table_says_what_is_refused(target: str, tmp_path: Path) -> None:
    found = {each.name: refused(each, target, "dots", tmp_path / each.name) is not None for each in models(target)}
    assert found == {name: words[POLICIES.index("dots")] != "PROVED" for name, words in told(target).items()}
