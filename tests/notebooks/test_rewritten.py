"""Notebooks are rewritten in the cells that have to change, and nowhere else."""

import json

import jax.numpy as jnp
import pytest

from scanify.errors import Exit
from tests.command import Tool
from tests.notebooks.notebook import (
    BLOCK,
    IMPORTS,
    MODEL,
    RUN,
    code,
    dumped,
    notebook,
    ran,
    sources,
    text,
    without_sources,
)

CELLS = [text(), code(IMPORTS), code(BLOCK), text("ünïcode\n"), code(MODEL), code(""), code(RUN)]


def rewritten(tool: Tool, data: bytes, *arguments: str) -> bytes:
    path = tool.write("model.ipynb", data)
    code, _, err = tool("rewrite", *arguments, "model.ipynb")
    assert code == Exit.OK, err
    return path.read_bytes()


def changed(before: bytes, after: bytes) -> list[int]:
    """The numbers of the cells whose sources differ; nothing else of the two may."""
    assert without_sources(before) == without_sources(after)
    pairs = zip(sources(before), sources(after), strict=True)
    return [number for number, (old, new) in enumerate(pairs, start=1) if old != new]


@pytest.mark.whole
def test_the_cells_compute_what_they_computed(tool: Tool) -> None:
    before = dumped(notebook(CELLS))
    after = rewritten(tool, before)
    assert changed(before, after) == [2, 5]
    assert sources(after)[1] == f"{IMPORTS}\nfrom scanify.nn import ArrayStacked"
    assert "x = self.layers.fold(x)\n        return x" in sources(after)[4]
    assert "ArrayStacked" in str(type(ran(after)["Model"](4, 3, key=ran(after)["jax"].random.key(0)).layers))
    assert jnp.array_equal(ran(before)["y"], ran(after)["y"])


def test_a_second_run_changes_nothing(tool: Tool) -> None:
    after = rewritten(tool, dumped(notebook(CELLS)))
    assert tool("rewrite", "model.ipynb").code == Exit.OK
    assert (tool.folder / "model.ipynb").read_bytes() == after


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({}, id="as Jupyter writes it"),
        pytest.param({"indent": 2, "ensure_ascii": True}, id="ASCII with escapes"),
        pytest.param({"indent": None, "separators": (",", ":")}, id="on one line"),
        pytest.param({"indent": "\t", "sort_keys": True}, id="tabs and sorted keys"),
    ],
)
def test_bytes_outside_of_the_changed_sources_stay(tool: Tool, how: dict[str, object]) -> None:
    cells = [code("s = 'é 😀 \\u00e9'", metadata={"é": [1.0, 1e5]}), *CELLS]
    before = dumped(notebook(cells), **how)
    after = rewritten(tool, before)
    document = json.loads(before)
    for number in changed(before, after):
        document["cells"][number - 1]["source"] = sources(after)[number - 1].splitlines(True)
    assert after == dumped(document, **how)


def test_what_no_writer_would_write_stays(tool: Tool) -> None:
    def odd(data: bytes) -> bytes:
        data = data.replace(b'"nbformat": 4', b'"nbformat" :\t4').replace(b"# A *model*", b"\\u0023 A \\/model\\/")
        return data.replace(b'"execution_count": 3', b'"execution_count": 3, "execution_count":\r\n3')

    before = dumped(notebook([*CELLS, code("1", outputs=[{"data": {"text/plain": ["1e400"]}, "n": 1e-9}])]))
    assert odd(before) != before
    assert rewritten(tool, odd(before)) == odd(rewritten(tool, before))


def test_a_line_that_stays_in_a_changed_cell_is_spelled_as_it_was(tool: Tool) -> None:
    marked = MODEL.replace("class Model", "NAME = 'é'\nTAB = 'a\\tb'\nclass Model")
    before = dumped(notebook([code(IMPORTS), code(BLOCK), code(marked)])).replace("é".encode(), b"\\u00e9")
    before = before.replace(b"return x", b"return\\u0020x")
    after = rewritten(tool, before)
    assert b"'\\u00e9'" in after
    assert after.count(b"return\\u0020x") == before.count(b"return\\u0020x") == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("whole", [False, True])
def test_form_and_line_ends_of_a_cell_stay(tool: Tool, end: str, whole: bool) -> None:
    def cell(source: str) -> dict[str, object]:
        source = source.replace("\n", end)
        return code(source) | ({"source": source} if whole else {})

    before = dumped(notebook([code(IMPORTS), code(BLOCK), cell(MODEL), code(RUN)]))
    after = rewritten(tool, before)
    source = json.loads(after)["cells"][2]["source"]
    assert isinstance(source, str) == whole
    joined = "".join(source)
    assert "fold" in joined
    assert joined.count("\n") == joined.count(end)
    assert "\r" not in "".join(sources(after)[:2])
    if not whole:
        assert source == joined.splitlines(True)
    assert jnp.array_equal(ran(before)["y"], ran(after)["y"])


def test_a_byte_order_mark_and_a_missing_line_end_stay(tool: Tool) -> None:
    before = b"\xef\xbb\xbf" + dumped(notebook(CELLS)).rstrip(b"\n")
    after = rewritten(tool, before)
    assert after.startswith(b"\xef\xbb\xbf{")
    assert after.endswith(b"}")


class TestWhereTheImportGoes:
    def test_below_a_cell_that_sets_things_up(self, tool: Tool) -> None:
        before = dumped(
            notebook([code("!pip install equinox\nprint('ready')"), code(IMPORTS), code(BLOCK), code(MODEL)])
        )
        assert changed(before, rewritten(tool, before)) == [2, 4]

    def test_to_the_last_of_the_cells_of_imports(self, tool: Tool) -> None:
        first, *rest = IMPORTS.split("\n")
        before = dumped(notebook([code(first), text(), code("\n".join(rest)), code(BLOCK), code(MODEL)]))
        after = rewritten(tool, before)
        assert [number for number, source in enumerate(sources(after), start=1) if "scanify.nn" in source] in ([1], [3])
        assert len(changed(before, after)) == 2

    def test_into_a_cell_that_holds_everything(self, tool: Tool) -> None:
        before = dumped(notebook([text(), code(f"{IMPORTS}\n\n\n{BLOCK}\n\n{MODEL}"), code(RUN)]))
        after = rewritten(tool, before)
        assert changed(before, after) == [2]
        assert jnp.array_equal(ran(before)["y"], ran(after)["y"])


@pytest.mark.parametrize(
    "source", ["import itertools", "import itertools\n", "\nimport itertools\n\n", "import itertools\n\nn = 1"]
)
def test_an_import_without_a_use_goes(tool: Tool, source: str) -> None:
    folded = MODEL.replace(
        "        for layer in self.layers:\n            x = layer(x)\n        return x",
        "        for layer in itertools.chain(self.layers, self.layers):\n            x = layer(x)\n        return x",
    )
    assert folded != MODEL
    before = dumped(notebook([code(IMPORTS), code(source), text(), code(BLOCK), code(folded), code(RUN)]))
    after = rewritten(tool, before, "--unsafe")
    assert changed(before, after) == [1, 2, 5]
    assert sources(after)[1].strip() == source.replace("import itertools", "").strip()
    assert (json.loads(after)["cells"][1]["source"] == []) == (sources(after)[1] == "")


def test_a_loop_and_its_list_in_two_cells(tool: Tool) -> None:
    holder = MODEL[: MODEL.index("    def __call__")].rstrip()
    walked = "def forward(model: Model, x):\n    for layer in model.layers:\n        x = layer(x)\n    return x"
    run = "y = forward(Model(4, 5, key=jax.random.key(0)), jnp.arange(4.0))"
    before = dumped(notebook([code(IMPORTS), code(BLOCK), code(holder), text(), code(walked), code(run)]))
    after = rewritten(tool, before, "--unsafe")
    assert changed(before, after) == [1, 3, 5]
    assert jnp.array_equal(ran(before)["y"], ran(after)["y"])


def test_the_diff_shows_cells(tool: Tool) -> None:
    tool.write("model.ipynb", dumped(notebook([*CELLS[:4], code(f"%%time\n{MODEL}")])))
    result = tool("rewrite", "--diff", "model.ipynb")
    assert result.code == Exit.FINDINGS
    assert "\n--- model.ipynb:cell 5\n+++ model.ipynb:cell 5\n@@ -1,11 +1," in result.out
    assert "@@\n %%time\n class Model(eqx.Module):\n-    layers: list[Block]\n" in result.out
    assert "-            x = layer(x)\n+        x = self.layers.fold(x)\n         return x\n" in result.out
    assert "#<" not in result.out


def test_standard_input(tool: Tool) -> None:
    before = dumped(notebook(CELLS))
    after = rewritten(tool, before)
    result = tool("rewrite", "-", "--stdin-filename", "other.ipynb", stdin=before)
    assert (result.code, result.out.encode()) == (Exit.OK, after)


def test_other_files_are_rewritten_beside(tool: Tool) -> None:
    tool.write("model.py")
    tool.write("model.ipynb", dumped(notebook(CELLS)))
    assert "2 loops rewritten in 2 files" in tool("rewrite", ".").err


def test_no_case_verifies_a_notebook(tool: Tool) -> None:
    tool.write("model.ipynb", dumped(notebook(CELLS)))
    tool.write("cases.py", "def case(module): ...")
    named = ["--case", "cases.py:case"]
    for arguments in (["verify", "model.ipynb", *named], ["rewrite", "model.ipynb", *named], ["case", "model.ipynb"]):
        code, _, err = tool(*arguments)
        assert (code, "a notebook cannot be imported" in err) == (Exit.USAGE, True)


def test_cases_of_the_configuration_do_not_keep_a_notebook_from_its_safe_fixes(tool: Tool) -> None:
    tool.write("model.ipynb", dumped(notebook(CELLS)))
    tool.write("cases.py", "def case(module): ...")
    tool.write("pyproject.toml", "[tool.scanify.cases]\ncase = 'cases.py:case'\n")
    result = tool("rewrite", ".")
    assert result.code == Exit.OK
    assert result.err.startswith("scanify: model.ipynb is not verified, as no case can import a notebook\n")
    assert result.err.endswith("1 loop rewritten in 1 file.\n")
