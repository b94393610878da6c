"""A notebook that was rewritten works in the real JupyterLab, opened and run in headless Chromium."""

import contextlib
import importlib.util
import io
from pathlib import Path

import pytest

from scanify.cli import run
from tests.notebooks.in_jupyterlab import browser, run_all
from tests.notebooks.notebook import BLOCK, IMPORTS, MODEL, RUN, code, dumped, notebook, sources, text

NEEDS = ("jupyterlab", "ipykernel", "websocket")
MISSING = [name for name in NEEDS if importlib.util.find_spec(name) is None]
SHOW = "import hashlib\nprint(y.shape, hashlib.sha256(y.tobytes()).hexdigest())"

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(browser() is None, reason="there is no Chromium here"),
]


def test_a_rewritten_notebook_runs_and_shows_what_it_showed(tmp_path: Path) -> None:
    cells = [text(), code(f"%precision 3\n{IMPORTS}"), code(f"%%time\n{BLOCK}"), code(MODEL), code(f"{RUN}\n{SHOW}")]
    path = tmp_path / "model.ipynb"
    path.write_bytes(
        dumped(notebook([{**each, **({"execution_count": None} if "outputs" in each else {})} for each in cells]))
    )
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(line for cell in (IMPORTS, BLOCK, MODEL, RUN, SHOW) for line in cell.split("\n")), {})
    assert run(["rewrite", "--no-verify", str(path)]) == 0
    assert "ArrayStacked" in "".join(sources(path.read_bytes()))
    shown = run_all(path, tmp_path / "page.png")
    assert shown["prompts"] == ["[1]:", "[2]:", "[3]:", "[4]:"]
    assert shown["dialogs"] == []
    assert shown["outputs"][-1] == printed.getvalue().strip()
    assert "CPU times" in shown["outputs"][0] and not any("Error" in each for each in shown["outputs"])
    assert any("fold" in each for each in shown["cells"])
    assert (tmp_path / "page.png").stat().st_size > 10_000
