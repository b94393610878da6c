"""What is found in notebooks and where, which files are notebooks, and what is said of those that are not."""

import json
import re

import pytest

from scanify.errors import Exit
from tests.command import REFUSED, Tool
from tests.notebooks.notebook import BLOCK, IMPORTS, LINE, MODEL, PYTHON, code, dumped, notebook, text

CELLS = [text(), code(IMPORTS), text(), code(BLOCK), code(f"# The model\n\n{MODEL}\n")]


class TestPlaces:
    def test_the_number_counts_all_cells_and_the_line_starts_anew(self, tool: Tool) -> None:
        tool.write("model.ipynb", dumped(notebook(CELLS)))
        place = f"model.ipynb:cell 5:{LINE + 2}"
        assert tool("check", ".").out.startswith(f"{place}: SCN101 loop over self.layers can be a fold")
        assert tool("rewrite", "--check", ".").err.startswith(f"{place}: SCN101 would rewrite the loop")

    def test_in_json(self, tool: Tool) -> None:
        tool.write("model.ipynb", dumped(notebook(CELLS)))
        (loop,) = json.loads(tool("check", "--format", "json", ".").out)["loops"]
        found = {name: loop[name] for name in ("path", "cell", "line", "end_line")}
        assert found == {"path": "model.ipynb", "cell": 5, "line": LINE + 2, "end_line": LINE + 3}

    def test_in_a_reason(self, tool: Tool) -> None:
        tool.write("model.ipynb", dumped(notebook([code(REFUSED[: REFUSED.index("class Model")]), text()])))
        tool.write("model.ipynb", dumped(notebook([code(IMPORTS), text(), code(REFUSED.partition("jax\n\n\n")[2])])))
        out = tool("check", ".").out
        assert "model.ipynb:cell 3:18: SCN205" in out
        assert "(cell 3:21)" in out

    def test_of_a_notebook_that_looks_at_leaves(self, tool: Tool) -> None:
        tool.write("model.py")
        tool.write(
            "look.ipynb",
            dumped(
                notebook(
                    [
                        text(),
                        code("import jax\nfrom model import Model"),
                        code("def norms(model: Model):\n    return [leaf.ndim for leaf in jax.tree.leaves(model)]"),
                    ]
                )
            ),
        )
        assert "look.ipynb:cell 3:2 reads" in tool("check", "model.py").out

    def test_of_one_that_cannot_be_read(self, tool: Tool) -> None:
        tool.write("model.py")
        tool.write("look.ipynb", dumped(notebook([text(), code("import jax\njax.tree.map(f, (")])))
        assert re.search(r"look\.ipynb:cell 2:\d reads what cannot be seen", tool("check", "model.py").out)


class TestWhatIsRead:
    def test_folders_without_checkpoints_and_what_is_left_out(self, tool: Tool) -> None:
        data = dumped(notebook(CELLS))
        names = ("a.ipynb", "b/c.ipynb", ".ipynb_checkpoints/a-checkpoint.ipynb", "ignored.ipynb", "old/d.ipynb")
        for name in names:
            tool.write(name, data)
        tool.write(".gitignore", "ignored.ipynb\n")
        tool.write("pyproject.toml", "[tool.scanify]\nexclude = ['old']\n")
        loops = json.loads(tool("check", "--format", "json", ".").out)["loops"]
        assert [loop["path"] for loop in loops] == ["a.ipynb", "b/c.ipynb"]

    def test_a_class_of_a_module_beside(self, tool: Tool) -> None:
        tool.write("blocks.py", f"{IMPORTS}\n\n\n{BLOCK}")
        tool.write("n/model.ipynb", dumped(notebook([code(f"{IMPORTS}\nfrom blocks import Block"), code(MODEL)])))
        assert "n/model.ipynb:cell 2:8: SCN101" in tool("check", "n").out

    def test_a_class_that_a_later_cell_defines_anew_is_not_known(self, tool: Tool) -> None:
        tool.write("m.ipynb", dumped(notebook([*CELLS, code(BLOCK.replace("x + ", "2 * x + "))])))
        result = tool("rewrite", "m.ipynb")
        assert (result.code, "rewrote" in result.err) == (Exit.OK, False), result.err
        assert "unsafe" in result.err or "is left as it is" in result.err

    @pytest.mark.parametrize(
        ("cell", "found"),
        [
            pytest.param(code(MODEL, metadata={"vscode": {"languageId": "python"}}), 1, id="Python"),
            pytest.param(code(MODEL, metadata={"vscode": {"languageId": "sql"}}), 0, id="another language"),
            pytest.param({**text(MODEL), "cell_type": "raw"}, 0, id="raw text"),
            pytest.param(code(["%%writefile model.py\n", MODEL]), 0, id="a file"),
        ],
    )
    def test_cells_of_python_alone(self, tool: Tool, cell: dict[str, object], found: int) -> None:
        tool.write("m.ipynb", dumped(notebook([code(IMPORTS), code(BLOCK), cell])))
        assert len(json.loads(tool("check", "--format", "json", ".").out)["loops"]) == found


class TestWhatIsSkipped:
    @pytest.mark.parametrize("command", ["check", "rewrite"])
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            pytest.param(b"", "is no notebook: it is no JSON object", id="nothing"),
            pytest.param(b"{}", "is no notebook: it does not say its format", id="no notebook"),
            pytest.param(b"[]", "is no notebook: it is no JSON object", id="a list"),
            pytest.param(b'{"nbformat": 4}', "is no notebook: it has no list of cells", id="no cells"),
            pytest.param(b'{"nbformat": 4,\n"cells": [}', "is not valid JSON, on line 2", id="no JSON"),
            pytest.param(dumped(notebook(CELLS))[:-9], "is not valid JSON, on line ", id="cut off"),
            pytest.param(dumped(notebook(CELLS)) + b"x", "is not valid JSON, on line ", id="something behind it"),
            pytest.param(
                b'{"cells": [{"cell_type": "code", "source": 3}], "nbformat": 4}', "`source` of cell 1", id="a number"
            ),
            pytest.param(b'{"cells": [3], "nbformat": 4}', "cell 1 does not say its type", id="no cell"),
            pytest.param(
                json.dumps({"worksheets": [], "nbformat": 3}).encode(),
                "is in format 3 of notebooks, of which only 4 is read; `jupyter nbconvert",
                id="an old format",
            ),
            pytest.param(dumped({**notebook(CELLS), "nbformat": 5}), "is in format 5", id="a new format"),
            pytest.param(dumped(notebook(CELLS)).replace(b"model", b"\xe9"), "line 7 is not utf-8", id="not UTF-8"),
            pytest.param(b"[" * 100_000, "is no notebook", id="many brackets"),
            pytest.param(b'{"a":' * 100_000, "is nested too deeply", id="many braces"),
            pytest.param(
                dumped(notebook([text(), code(IMPORTS), code("x = 1\ndef f(:")])),
                "syntax error on line 2 of cell 3",
                id="a syntax error",
            ),
            pytest.param(dumped(notebook([code("#<cell 3>")])), "cell 1 holds a comment such as", id="our comment"),
        ],
    )
    def test_a_broken_one_is_with_a_sentence(self, tool: Tool, command: str, data: bytes, reason: str) -> None:
        path = tool.write("m.ipynb", data)
        tool.write("good.py")
        code, out, err = tool(command, ".")
        assert code == Exit.FINDINGS
        assert re.search(rf"^m\.ipynb: skipped: .*{re.escape(reason)}", out + err, re.MULTILINE)
        assert "good.py:22: SCN101" in out + err
        assert path.read_bytes() == data

    @pytest.mark.parametrize(
        "metadata",
        [
            {"kernelspec": {"name": "ir", "language": "R"}},
            {"language_info": {"name": "R"}, "kernelspec": {"name": "python3", "language": "python"}},
        ],
    )
    def test_another_language_is_no_failure(self, tool: Tool, metadata: dict[str, object]) -> None:
        tool.write("r.ipynb", dumped(notebook([code("x <- 1")], metadata)))
        code_, out, _ = tool("check", ".")
        assert (code_, out.split("\n")[0]) == (Exit.OK, "r.ipynb: skipped: its cells are R, not Python")

    @pytest.mark.parametrize("metadata", [{}, PYTHON, {"kernelspec": {"name": "my-environment"}}])
    def test_a_kernel_of_python_need_not_say_so(self, tool: Tool, metadata: dict[str, object]) -> None:
        tool.write("m.ipynb", dumped(notebook(CELLS, metadata)))
        assert tool("check", ".").code == Exit.FINDINGS


def test_statements_that_go_on_in_another_cell_are_left(tool: Tool) -> None:
    head, _, rest = MODEL.partition("    def __call__")
    tool.write("m.ipynb", dumped(notebook([code(IMPORTS), code(BLOCK), code(head), code(f"    def __call__{rest}")])))
    result = tool("rewrite", "--unsafe", "m.ipynb")
    assert result.code == Exit.OK
    assert "SCN212" in result.err and "goes on in cell 4" in result.err
