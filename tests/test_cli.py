"""The command line from outside: what comes out on which stream, with which exit code, and which files change."""

import json
import subprocess

import pytest

import scanify
from scanify.errors import CheckFailed, Exit
from tests.command import BLOCK, CALLER, COMMAND, LINE, MODEL, REFUSED, Tool, environment


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
        assert (document["version"], document["files"], document["skipped"]) == (2, 2, [])

    def test_without_a_path_it_is_the_current_folder(self, tool: Tool) -> None:
        tool.write("sub/model.py")
        assert tool("check") == tool("check", ".") and tool("check").code == 1

    @pytest.mark.parametrize(
        ("options", "code", "shown"),
        [
            (("--select", "SCN1"), 1, ["SCN101"]),
            (("--select", "SCN2,SCN102"), 0, ["SCN205"]),
            (("--ignore", "python-layer-loop"), 0, ["SCN205"]),
            (("--ignore", "SCN"), 0, []),
            (("--select", "SCN101", "--ignore", "SCN1"), 1, ["SCN101"]),
            (("--exit-zero",), 0, ["SCN101", "SCN205"]),
        ],
    )
    def test_rules_are_chosen(self, tool: Tool, options: tuple[str, ...], code: int, shown: list[str]) -> None:
        tool.write("a.py")
        tool.write("b.py", REFUSED)
        result = tool("check", ".", *options)
        assert result.code == code
        assert [word for word in ("SCN101", "SCN205") if word in result.out] == shown

    def test_an_unknown_code_is_an_error(self, tool: Tool) -> None:
        tool.write("a.py")
        result = tool("check", "--select", "SCN191")
        assert result.code == 2 and "--select: expected a rule" in result.err and "did you mean SCN101?" in result.err

    def test_the_configuration_chooses_and_the_command_line_in_its_place(self, tool: Tool) -> None:
        tool.write("pyproject.toml", "[tool.scanify]\nignore = ['SCN205']\nper-file-ignores = {'old/*' = ['SCN101']}\n")
        tool.write("a.py")
        tool.write("old/a.py")
        tool.write("b.py", REFUSED)
        heads = [line.split(":")[0] for line in tool("check", "--format", "concise", "-q").out.splitlines()]
        assert heads == ["a.py"]
        assert "SCN205" in tool("check", "--ignore", "SCN101").out

    def test_quiet_says_nothing_where_nothing_is(self, tool: Tool) -> None:
        tool.write("a.py", "x = 1\n")
        assert tool("check", "-q") == (0, "", "")
        assert tool("check", "-q", "--exit-zero", str(tool.folder / "a.py")).out == ""

    def test_files_are_listed_and_not_read(self, tool: Tool) -> None:
        tool.write("sub/b.py")
        tool.write("a.py", "def f(:\n")
        assert tool("check", "--show-files") == (0, "a.py\nsub/b.py\n", "")

    def test_the_report_goes_to_a_file(self, tool: Tool) -> None:
        tool.write("model.py")
        printed = tool("check", "model.py", "--format", "sarif")
        assert tool("check", "model.py", "--format", "sarif", "--output", "found.sarif") == (printed.code, "", "")
        assert (tool.folder / "found.sarif").read_text() == printed.out
        assert tool("check", "model.py", "--output", "gone/found.txt").code == Exit.USAGE

    def test_statistics(self, tool: Tool) -> None:
        tool.write("a.py")
        result = tool("check", "--statistics")
        assert result.code == 1 and result.out.startswith("1  SCN101  python-layer-loop\n")

    def test_colours_as_the_environment_says(self, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
        tool.write("a.py")
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert "\x1b[" in tool("check").out
        assert "\x1b[" not in tool("check", "--format", "github").out
        monkeypatch.setenv("FORCE_COLOR", "")
        assert "\x1b[" not in tool("check").out

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
        assert (code, out) == (Exit.OK, "")
        assert "for layer in" not in path.read_text()
        assert "from scanify.nn import ArrayStacked" in path.read_text()
        assert err == (
            f"model.py:{LINE}: SCN101 rewrote the loop over self.layers as a fold; the list is built stacked\n"
            "    note: each parameter of the layers becomes one array with a new first axis, so checkpoints saved before do "
            "not load: `scanify convert OLD NEW --stack '*layers' --axis 0` makes new ones (--axis 1 in an ensemble, "
            "--like for Equinox's)\n"
            "1 loop rewritten in 1 file.\n"
        )

    def test_a_hook_is_told_that_a_file_was_changed(self, tool: Tool) -> None:
        tool.write("model.py")
        assert tool("rewrite", "--exit-non-zero-on-change", "model.py").code == Exit.FINDINGS
        assert tool("rewrite", "--exit-non-zero-on-change", "model.py").code == Exit.OK

    def test_what_is_not_chosen_is_not_rewritten(self, tool: Tool) -> None:
        tool.write("pyproject.toml", "[tool.scanify.per-file-ignores]\n'old' = ['SCN1']\n")
        tool.write("old/model.py")
        tool.write("model.py")
        code, _, err = tool("rewrite", ".")
        assert (code, "old/model.py" in err) == (Exit.OK, False)
        assert (tool.folder / "old" / "model.py").read_text() == MODEL != (tool.folder / "model.py").read_text()

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
        assert (code, out) == (Exit.OK, expected)
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
            assert "caller.py:5: SCN101 the loop over model.layers can be rewritten together with model.py" in err
        assert tool("rewrite", "caller.py", "model.py").code == Exit.OK
        assert "model.layers.fold(x)" in caller.read_text()
        assert "ArrayStacked.init(" in model.read_text()

    def test_crlf_a_byte_order_mark_and_another_encoding_stay(self, tool: Tool) -> None:
        crlf = tool.write("crlf.py", MODEL.replace("\n", "\r\n").encode("utf-8-sig"))
        latin = tool.write("latin.py", ("# coding: latin-1\n# é\n" + MODEL).encode("latin-1"))
        assert tool("rewrite", ".").code == Exit.OK
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

        monkeypatch.setattr("scanify.emit.rewrite.rewrite_texts", fail)
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


class TestTheProcess:
    def test_version(self, tool: Tool) -> None:
        assert tool("--version") == (Exit.OK, f"scanify, version {scanify.__version__}\n", "")

    def test_a_defect_gives_a_ready_report(self, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*args: object, **kwargs: object) -> None:
            raise RuntimeError("the moon is in the wrong phase")

        monkeypatch.setattr("scanify.analysis.decided.analyse", fail)
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

        monkeypatch.setattr("scanify.analysis.decided.analyse", interrupt)
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


class TestQuiet:
    """`rewrite` and `unroll` with --quiet: what was done is not told, what went wrong is."""

    def test_nothing_is_said_of_what_is_done(self, tool: Tool) -> None:
        tool.write("model.py")
        before = tool.files()
        assert tool("rewrite", "model.py", "--check", "--quiet") == (Exit.FINDINGS, "", "")
        assert tool("rewrite", "model.py", "-q") == (Exit.OK, "", "")
        assert tool.files() != before
        assert tool("unroll", "model.py", "-q", "--check") == (Exit.FINDINGS, "", "")
        assert tool("unroll", "model.py", "-q") == (Exit.OK, "", "")
        assert tool.files()["model.py"] == before["model.py"]

    @pytest.mark.parametrize("command", ["rewrite", "unroll"])
    def test_a_file_that_cannot_be_read_is_told(self, command: str, tool: Tool) -> None:
        tool.write("broken.py", MODEL + "def f(:\n")
        code, _, err = tool(command, "broken.py", "--quiet")
        assert code == Exit.FINDINGS and "broken.py: skipped: syntax error on line 25: " in err
