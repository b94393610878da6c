"""The command line's input from outside: what cannot be read, wrong usage, configuration, pages of rules."""

import json

import pytest

from scanify.errors import Exit
from scanify.rules import RULES
from tests.command import MODEL, Tool


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

    @pytest.mark.parametrize(
        "arguments",
        [
            ["check", "--select", "SCN9"],
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
        assert "unknown key 'colour'; the known ones are cases, exclude, extend, ignore, " in err


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
        assert "+        self.layers = ArrayStacked.init(" in out


class TestRules:
    @pytest.mark.parametrize("name", ["SCN205", "early-exit"])
    def test_explain_prints_the_page(self, tool: Tool, name: str) -> None:
        code, out, _ = tool("explain", name)
        assert (code, out) == (Exit.OK, next(rule for rule in RULES if rule.id == "SCN205").page.text)

    def test_rules_as_json(self, tool: Tool) -> None:
        rules = json.loads(tool("rules", "--format", "json").out)
        assert [each["id"] for each in rules] == [rule.id for rule in RULES]
        assert list(rules[0]) == ["id", "name", "summary", "explanation"]
        assert rules[0]["explanation"].startswith("# SCN101 python-layer-loop\n")

    def test_rules_lists_every_rule_with_its_summary(self, tool: Tool) -> None:
        code, out, _ = tool("rules")
        assert code == Exit.OK
        assert [line.split()[:2] for line in out.splitlines()] == [[rule.id, rule.name] for rule in RULES]
        assert all(line.endswith(rule.page.summary) for line, rule in zip(out.splitlines(), RULES, strict=True))
