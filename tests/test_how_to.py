"""The code on the pages of docs/how-to runs, each page as one program."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent / "docs" / "how-to").glob("*.md"))
OPTAX = {"optimisers", "checkpoints"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in OPTAX], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optax", reason="the page trains with optax")
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert code
    exec(compile("\n".join(code), str(page), "exec"), {"__name__": "page"})
