"""The command line from outside: what comes out on which stream, with which exit code, and which files change."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import scanify
from scanify.cli import run
from scanify.errors import CheckFailed, Exit
from scanify.rules import RULES

BLOCK = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, width, *, key):
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, width, depth, *, key):
        self.layers = [Block(width, key=k) for k in jax.random.split(key, depth)]

"""
MODEL = (
    BLOCK
    + """\
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
)
REFUSED = (
    BLOCK
    + """\
    def __call__(self, x, limit):
        for layer in self.layers:
            x = layer(x)
            if x.sum() > limit:
                break
        return x
"""
)
# A function that walks the layers of a model of another file.
CALLER = """\
from model import Model


def forward(model: Model, x):
    for layer in model.layers:
        x = layer(x)
    return x
"""
LINE = MODEL[: MODEL.index("for layer")].count("\n") + 1


COMMAND = (sys.executable, "-m", "scanify")


def environment() -> dict[str, str]:
    """For child processes: so that they find this scanify, installed or not."""
    return {**os.environ, "PYTHONPATH": str(Path(scanify.__file__).parents[1])}


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Tool:
    """Runs commands in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.folder, self._capture, self._patch = folder, capture, patch
        patch.chdir(folder)

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Result:
        if stdin is not None:
            (self.folder / ".stdin").write_bytes(stdin)
            self._patch.setattr(sys, "stdin", (self.folder / ".stdin").open(encoding="utf-8"))
        self._capture.readouterr()
        code = run(list(arguments))
        if stdin is not None:
            sys.stdin.close()
            (self.folder / ".stdin").unlink()
        return Result(code, *self._capture.readouterr())

    def write(self, name: str, text: str | bytes = MODEL) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("*") if path.is_file()
        }


@pytest.fixture
def tool(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    (tmp_path / ".git").mkdir()  # so that no configuration above is found
    return Tool(tmp_path, capfd, monkeypatch)


class TestCheck:
    def test_a_loop_that_can_be_rewritten_is_a_finding(self, tool: Tool) -> None:
        tool.write("model.py")
        code, out, err = tool("check", "model.py")
        assert code == Exit.FINDINGS
        assert out.startswith(
            f"model.py:{LINE}: SCN101 loop over self.layers can be a fold over stacked layers (carry x)\n"
        )
        assert out.endswith("1 loop over layers in 1 file: 1 can be rewritten.\n")
        assert err == ""

    def test_a_refused_loop_is_shown_and_does_not_fail(self, tool: Tool) -> None:
        tool.write("model.py", REFUSED)
        code, out, _ = tool("check", "model.py")
        assert code == Exit.OK
        assert f"model.py:{LINE}: SCN205 loop over self.layers is left as it is: " in out

    def test_changes_nothing(self, tool: Tool) -> None:
        tool.write("model.py")
        before = tool.files()
        tool("check", ".")
        assert tool.files() == before

    def test_json_goes_to_standard_output_alone(self, tool: Tool) -> None:
        tool.write("a.py")
        tool.write("b/c.py", REFUSED)
        code, out, err = tool("check", "--format", "json", ".")
        document = json.loads(out)
        assert (code, err) == (Exit.FINDINGS, "")
        assert [(each["path"], each["line"], each["status"]) for each in document["loops"]] == [
            ("a.py", LINE, "rewritable"),
            ("b/c.py", LINE, "refused"),
        ]
        assert (document["version"], document["files"], document["skipped"]) == (1, 2, [])

    def test_standard_input_is_read_under_the_name_given(self, tool: Tool) -> None:
        code, out, _ = tool("check", "-", stdin=MODEL.encode())
        assert (code, out.split(":")[0]) == (Exit.FINDINGS, "stdin.py")
        code, out, _ = tool("check", "-", "--stdin-filename", "src/m.py", stdin=MODEL.encode())
        assert (code, out.split(":")[0]) == (Exit.FINDINGS, "src/m.py")

    def test_with_a_list_built_in_another_file(self, tool: Tool) -> None:
        tool.write("pkg/__init__.py", "")
        tool.write("pkg/blocks.py", BLOCK.split("class Model")[0])
        tool.write(
            "pkg/model.py",
            "from .blocks import Block\nimport equinox as eqx\nimport jax\n" + MODEL[MODEL.index("class Model") :],
        )
        code, out, _ = tool("check", "pkg/model.py")
        assert (code, "1 can be rewritten." in out) == (Exit.FINDINGS, True)

    def test_the_same_from_inside_of_the_package(self, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
        tool.write("pkg/__init__.py", "")
        tool.write("pkg/blocks.py", BLOCK.split("class Model")[0])
        tool.write("pkg/sub/__init__.py", "")
        text = "from ..blocks import Block\nimport equinox as eqx\nimport jax\n" + MODEL[MODEL.index("class Model") :]
        tool.write("pkg/sub/model.py", text)
        monkeypatch.chdir(tool.folder / "pkg" / "sub")
        code, out, _ = tool("check", "model.py")
        assert (code, out.split(":")[0]) == (Exit.FINDINGS, "model.py")


class TestRewrite:
    def test_writes_the_file_and_says_what_it_did(self, tool: Tool) -> None:
        path = tool.write("model.py")
        code, out, err = tool("rewrite", "model.py")
        assert (code, out) == (Exit.FINDINGS, "")
        assert "for layer in" not in path.read_text()
        assert "from scanify.nn import ArrayStacked" in path.read_text()
        assert err == (
            f"model.py:{LINE}: SCN101 rewrote the loop over self.layers as a fold; the list is built stacked\n"
            "1 loop rewritten in 1 file.\n"
        )

    def test_a_second_run_changes_nothing(self, tool: Tool) -> None:
        path = tool.write("model.py")
        tool("rewrite", "model.py")
        once = path.read_bytes()
        code, _, err = tool("rewrite", "model.py")
        assert (code, path.read_bytes()) == (Exit.OK, once)
        assert err == "Nothing to rewrite in 1 file.\n"

    @pytest.mark.parametrize("options", [("--diff",), ("--check",), ("--diff", "--check")], ids=" ".join)
    def test_looking_writes_nothing(self, tool: Tool, options: tuple[str, ...]) -> None:
        tool.write("model.py")
        before = tool.files()
        code, out, err = tool("rewrite", "model.py", *options)
        assert (code, tool.files()) == (Exit.FINDINGS, before)
        assert "1 loop would be rewritten in 1 file.\n" in err
        assert out.startswith("--- model.py\n+++ model.py\n@@ ") if "--diff" in options else out == ""

    def test_the_diff_is_what_a_rewrite_does(self, tool: Tool) -> None:
        path = tool.write("model.py")
        diff = tool("rewrite", "model.py", "--diff", "--remat", "nested").out
        subprocess.run(["git", "apply", "-p0", "-"], input=diff.encode(), check=True, cwd=tool.folder)
        by_diff = path.read_bytes()
        path.write_bytes(MODEL.encode())
        tool("rewrite", "model.py", "--remat", "nested")
        assert path.read_bytes() == by_diff
        assert b'"nested"' in by_diff

    def test_nothing_to_do_is_0_and_refusals_are_told(self, tool: Tool) -> None:
        path = tool.write("model.py", REFUSED)
        code, _, err = tool("rewrite", "model.py")
        assert (code, path.read_text()) == (Exit.OK, REFUSED)
        assert f"model.py:{LINE}: SCN205 " in err
        assert err.endswith("Nothing to rewrite in 1 file; 1 loop left alone.\n")

    def test_standard_input_is_rewritten_to_standard_output(self, tool: Tool) -> None:
        path = tool.write("model.py")
        tool("rewrite", "model.py")
        expected = path.read_text()
        path.unlink()
        code, out, err = tool("rewrite", "-", stdin=MODEL.encode())
        assert (code, out) == (Exit.FINDINGS, expected)
        assert err.endswith("1 loop rewritten in 1 file.\n")
        assert tool.files() == {}

    @pytest.mark.parametrize("text", [b"x = 1\r\n", b"def f(:\n", b"", b"s = '\xe9'\n"])
    def test_standard_input_that_does_not_change_is_passed_on(self, tool: Tool, text: bytes) -> None:
        (tool.folder / "in").write_bytes(text)
        with (tool.folder / "in").open("rb") as stdin:
            done = subprocess.run([*COMMAND, "rewrite", "-"], stdin=stdin, capture_output=True, env=environment())
        assert done.stdout == text

    def test_only_files_that_are_named_change(self, tool: Tool) -> None:
        model = tool.write("model.py")
        caller = tool.write("caller.py", CALLER)
        before = tool.files()
        for arguments in (["caller.py"], ["-", "--stdin-filename", "caller.py"]):
            code, _, err = tool("rewrite", *arguments, stdin=CALLER.encode())
            assert (code, tool.files()) == (Exit.OK, before)
            assert "caller.py:5: SCN201 loop over model.layers is left as it is: the list is built in `model.py`" in err
        assert tool("rewrite", "caller.py", "model.py").code == Exit.FINDINGS
        assert "model.layers.fold(x)" in caller.read_text()
        assert "ArrayStacked.of(" in model.read_text()

    def test_crlf_a_byte_order_mark_and_another_encoding_stay(self, tool: Tool) -> None:
        crlf = tool.write("crlf.py", MODEL.replace("\n", "\r\n").encode("utf-8-sig"))
        latin = tool.write("latin.py", ("# coding: latin-1\n# é\n" + MODEL).encode("latin-1"))
        assert tool("rewrite", ".").code == Exit.FINDINGS
        assert crlf.read_bytes().startswith(b"\xef\xbb\xbfimport")
        assert b"ArrayStacked" in crlf.read_bytes()
        assert crlf.read_bytes().count(b"\r\n") == crlf.read_bytes().count(b"\n")
        assert latin.read_bytes().startswith(b"# coding: latin-1\n# \xe9\n")
        assert b"ArrayStacked" in latin.read_bytes()

    def test_a_read_only_file_is_an_error_and_no_file_changes(self, tool: Tool) -> None:
        tool.write("a.py")
        tool.write("b.py").chmod(0o444)
        before = tool.files()
        code, out, err = tool("rewrite", ".")
        assert (code, out, tool.files()) == (Exit.USAGE, "", before)
        assert err.startswith("scanify: b.py: is read-only; no file was changed.")

    def test_a_failed_check_is_an_internal_error_and_no_file_changes(
        self, tool: Tool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: object, **kwargs: object) -> None:
            raise CheckFailed("model.py: a comment was lost")

        monkeypatch.setattr("scanify.emit.rewrite_texts", fail)
        tool.write("model.py")
        before = tool.files()
        code, out, err = tool("rewrite", "model.py")
        assert (code, out, tool.files()) == (Exit.INTERNAL, "", before)
        assert "model.py: a comment was lost" in err
        assert "please report it" in err

    def test_case_and_no_verify_contradict_each_other(self, tool: Tool) -> None:
        tool.write("model.py")
        code, _, err = tool("rewrite", "model.py", "--case", "c.py:f", "--no-verify")
        assert (code, "contradict" in err) == (Exit.USAGE, True)


class TestBadInput:
    @pytest.mark.parametrize("command", ["check", "rewrite"])
    @pytest.mark.parametrize(
        ("content", "message", "code"),
        [
            pytest.param("def f(:\n", "m.py: skipped: syntax error on line 1: ", Exit.FINDINGS, id="a syntax error"),
            pytest.param(
                "for x in y\n  pass\n", "m.py: skipped: syntax error on line 1: ", Exit.FINDINGS, id="a loop with one"
            ),
            pytest.param(
                b"\ns = '\xe9'\n", "m.py: skipped: line 2 is not utf-8; save it as", Exit.FINDINGS, id="not UTF-8"
            ),
            pytest.param(
                b"# coding: x\n", "m.py: skipped: has a coding line that", Exit.FINDINGS, id="an unknown coding"
            ),
            pytest.param("", "in 1 file.", Exit.OK, id="an empty file"),
            pytest.param(b"x = 1\r\n", "in 1 file.", Exit.OK, id="CRLF"),
            pytest.param(b"# coding: latin-1\ns = '\xe9'\n", "in 1 file.", Exit.OK, id="latin-1 with a coding line"),
        ],
    )
    def test_one_file(self, tool: Tool, command: str, content: str | bytes, message: str, code: Exit) -> None:
        tool.write("m.py", content)
        before = tool.files()
        result = tool(command, "m.py")
        assert result.code == code
        assert message in result.out + result.err
        assert "Traceback" not in result.err
        assert tool.files() == before

    def test_what_cannot_be_read_does_not_keep_the_rest(self, tool: Tool) -> None:
        bad, good = tool.write("a.py", "def f(:\n"), tool.write("b.py")
        code, _, err = tool("rewrite", ".")
        assert code == Exit.FINDINGS
        assert bad.read_text() == "def f(:\n"
        assert "ArrayStacked" in good.read_text()
        assert "a.py: skipped: syntax error" in err
        assert err.endswith("1 loop rewritten in 1 file; 1 file skipped.\n")

    @pytest.mark.parametrize("command", ["check", "rewrite"])
    def test_a_missing_path_stops_everything(self, tool: Tool, command: str) -> None:
        tool.write("model.py")
        before = tool.files()
        code, out, err = tool(command, "model.py", "gone.py")
        assert (code, out, tool.files()) == (Exit.USAGE, "", before)
        assert err == "scanify: expected files or folders that exist, got gone.py\n"

    @pytest.mark.parametrize("command", ["check", "rewrite"])
    def test_a_folder_without_python_is_told(self, tool: Tool, command: str) -> None:
        (tool.folder / "docs").mkdir()
        code, _, err = tool(command, "docs")
        assert (code, err.split("\n")[0]) == (Exit.OK, "scanify: no Python files under docs")

    def test_a_notebook_is_refused(self, tool: Tool) -> None:
        tool.write("n.ipynb", "{}")
        for arguments in (["check", "n.ipynb"], ["check", "-", "--stdin-filename", "n.ipynb"]):
            code, _, err = tool(*arguments)
            assert (code, "notebooks are not supported yet" in err) == (Exit.USAGE, True)

    @pytest.mark.parametrize(
        "arguments",
        [
            ["check"],
            ["frobnicate"],
            ["check", "--format", "xml", "."],
            ["rewrite", ".", "--remat", "bold"],
            ["check", "-", "model.py"],
            ["check", ".", "--stdin-filename", "m.py"],
            ["explain", "SCN999"],
            ["verify", "nowhere.py", "--case", "c.py:f"],
            ["verify", ".", "--case", "c.py:f"],
            ["verify", "-", "--case", "c.py:f"],
            ["verify", "--before", "model.py", "--after", "model.py"],
            ["verify", "model.py", "--case", "nowhere.py:f"],
            ["verify", "model.py", "--case", "gpt"],
            ["verify", "model.py", "--case", "model.py:f", "--memory-limit", "much"],
            ["verify", "model.py", "--case", "model.py:f", "--time-limit", "-1"],
            ["rewrite", "-", "--case", "model.py:f"],
        ],
        ids=" ".join,
    )
    def test_wrong_usage_is_2_with_a_message(self, tool: Tool, arguments: list[str]) -> None:
        tool.write("model.py")
        before = tool.files()
        code, out, err = tool(*arguments, stdin=MODEL.encode())
        assert (code, out, tool.files()) == (Exit.USAGE, "", before)
        assert err.strip()
        assert "Traceback" not in err

    def test_a_wrong_configuration_is_2(self, tool: Tool) -> None:
        tool.write("model.py")
        tool.write("pyproject.toml", "[tool.scanify]\ncolour = 1\n")
        code, out, err = tool("check", "model.py")
        assert (code, out) == (Exit.USAGE, "")
        assert "unknown key 'colour'; the known ones are cases, exclude, memory-budget, remat, stack" in err


class TestConfiguration:
    def test_what_it_says_holds_unless_the_command_line_says_otherwise(self, tool: Tool) -> None:
        tool.write("model.py")
        tool.write("old/model.py")
        tool.write("pyproject.toml", '[tool.scanify]\nremat = "full"\nstack = "call"\nexclude = ["old"]\n')
        out = tool("rewrite", ".", "--diff").out
        assert '"full"' in out
        assert "+        x = ArrayStacked.of(self.layers" in out
        assert "old/model.py" not in out
        out = tool("rewrite", ".", "--diff", "--remat", "nested", "--stack", "init").out
        assert '"nested"' in out
        assert "+        self.layers = ArrayStacked.of(" in out


class TestRules:
    @pytest.mark.parametrize("name", ["SCN205", "early-exit"])
    def test_explain_prints_the_page(self, tool: Tool, name: str) -> None:
        code, out, _ = tool("explain", name)
        assert (code, out) == (Exit.OK, next(rule for rule in RULES if rule.id == "SCN205").page.text)

    def test_rules_lists_every_rule_with_its_summary(self, tool: Tool) -> None:
        code, out, _ = tool("rules")
        assert code == Exit.OK
        assert [line.split()[:2] for line in out.splitlines()] == [[rule.id, rule.name] for rule in RULES]
        assert all(line.endswith(rule.page.summary) for line, rule in zip(out.splitlines(), RULES, strict=True))


class TestTheProcess:
    def test_version(self, tool: Tool) -> None:
        assert tool("--version") == (Exit.OK, f"scanify, version {scanify.__version__}\n", "")

    def test_a_defect_gives_a_ready_report(self, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*args: object, **kwargs: object) -> None:
            raise RuntimeError("the moon is in the wrong phase")

        monkeypatch.setattr("scanify.analysis.analyse", fail)
        tool.write("model.py")
        before = tool.files()
        code, out, err = tool("rewrite", "model.py", "--unsafe")
        assert (code, out, tool.files()) == (Exit.INTERNAL, "", before)
        for part in (
            "no file was changed",
            "RuntimeError: the moon",
            "`scanify rewrite model.py --unsafe`",
            "Traceback",
            "Python 3.",
        ):
            assert part in err

    def test_an_interrupt_is_130(self, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*args: object, **kwargs: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("scanify.analysis.analyse", interrupt)
        tool.write("model.py")
        before = tool.files()
        code, _, err = tool("rewrite", "model.py")
        assert (code, tool.files()) == (Exit.INTERRUPTED, before)
        assert "interrupted" in err

    def test_the_module_runs_as_the_command(self, tool: Tool) -> None:
        tool.write("model.py")
        command = [*COMMAND, "check", "model.py"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout.startswith("model.py:")
