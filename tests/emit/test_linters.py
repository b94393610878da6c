"""A rewritten file passes `ruff check` and `ruff format --check` where the original did."""

from pathlib import Path

import pytest

from tests.emit.linted import SELECTED, findings, ruff, store, unformatted
from tests.emit.pairs import fixture_pairs, page_pairs, random_pairs, raw_models

pytest.importorskip("ruff")
SEEDS = range(9_000_000, 9_000_020)
WIDTHS = (88, 100, 120)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """All programs before and after."""
    top = tmp_path_factory.mktemp("programs")
    raw = store(top / "raw", [("", {f"m{seed}.py": text for seed, text in raw_models(SEEDS).items()})])
    ruff("check", "--isolated", "--no-cache", "--select=I", "--fix", ".", folder=raw)
    ruff("format", "--isolated", "--no-cache", ".", folder=raw)
    models = {seed: (raw / f"m{seed}.py").read_text(encoding="utf-8") for seed in SEEDS}
    pairs = [*page_pairs(), *fixture_pairs(), *random_pairs(SEEDS, models)]
    before = store(top / "before", [(name, texts) for name, texts, _ in pairs])
    after = store(top / "after", [(name, texts) for name, _, texts in pairs])
    return before, after


def test_ruff_finds_nothing_in_a_rewritten_file_that_it_did_not_find_before(folders: tuple[Path, Path]) -> None:
    before, after = (findings(folder) for folder in folders)
    assert not after - before, SELECTED


@pytest.mark.parametrize("width", WIDTHS)
def test_a_formatted_file_stays_formatted(folders: tuple[Path, Path], width: int) -> None:
    """At the narrowest width that its lines keep to: a file may be formatted at several."""
    before, after = folders
    narrower = [each for each in WIDTHS if each < width]
    formatted = {str(path.relative_to(before)) for path in before.rglob("*.py")} - unformatted(before, width)
    for each in narrower:
        formatted &= unformatted(before, each)
    assert formatted or width > 100
    assert not formatted & unformatted(after, width)


def test_both_see_a_file_that_is_worse(tmp_path: Path) -> None:
    store(tmp_path / "bad", [("", {"model.py": "import os\n\nx = [1,2]\n"})])
    assert findings(tmp_path / "bad") == {("model.py", "F401"): 1}
    assert unformatted(tmp_path / "bad", 88) == {"model.py"}
