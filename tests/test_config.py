"""`[tool.scanify]`: where it is found, what it may hold, and what is said of anything else."""

from pathlib import Path

import pytest

from scanify.configuration.config import Config, load_config, parse_config
from scanify.errors import ScanifyError


def write(folder: Path, table: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "pyproject.toml"
    file.write_text(table)
    return file


class TestFinding:
    def test_the_nearest_file_holds(self, tmp_path: Path) -> None:
        write(tmp_path, '[tool.scanify]\nremat = "full"\n')
        write(tmp_path / "a", '[tool.scanify]\nremat = "nested"\n')
        (tmp_path / "a" / "b").mkdir()
        assert load_config([tmp_path / "a" / "b" / "m.py"]) == Config(tmp_path / "a", remat="nested")
        assert load_config([tmp_path / "c.py"]) == Config(tmp_path, remat="full")

    def test_for_several_paths_it_is_that_of_the_folder_that_holds_them_all(self, tmp_path: Path) -> None:
        write(tmp_path, "")
        write(tmp_path / "a", '[tool.scanify]\nremat = "nested"\n')
        assert load_config([tmp_path / "a" / "m.py", tmp_path / "b" / "m.py"]) == Config(tmp_path)

    def test_a_folder_holds_itself(self, tmp_path: Path) -> None:
        write(tmp_path / "a", '[tool.scanify]\nstack = "call"\n')
        assert load_config([tmp_path / "a"]).stack == "call"

    def test_without_a_file_the_top_of_the_repository_is_the_root(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / "src").mkdir()
        assert load_config([tmp_path / "src" / "m.py"]) == Config(tmp_path)


class TestReading:
    def test_what_another_file_says_holds_where_this_one_says_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "team").mkdir()
        (tmp_path / "team" / "base.toml").write_text(
            "remat = 'dots'\nstack = 'call'\nextend = '../far/pyproject.toml'\n"
        )
        (tmp_path / "far").mkdir()
        write(tmp_path / "far", "[tool.scanify]\nstack = 'init'\ntarget = 'lax'\nexclude = ['old']\n")
        file = write(tmp_path, "[tool.scanify]\nextend = 'team/base.toml'\nremat = 'nested'\n")
        found = Config(tmp_path, remat="nested", stack="call", target="lax", exclude=("old",))
        assert parse_config(file) == found

    @pytest.mark.parametrize(
        ("own", "base", "message"),
        [
            ("'none.toml'", "", r"pyproject\.toml: \[tool\.scanify\] extend: expected a file, got 'none\.toml'"),
            ("3", "", r"pyproject\.toml: \[tool\.scanify\] extend: expected the path of a TOML file, got 3"),
            ("'base.toml'", "extend = 'pyproject.toml'", r"base\.toml: extend: 'pyproject\.toml' leads back to itself"),
            ("'pyproject.toml'", "", r"extend: 'pyproject\.toml' leads back to itself"),
            ("'base.toml'", "stak = 1", r"base\.toml: unknown key 'stak' \(did you mean 'stack'\?\)"),
            ("'base.toml'", "stack = 1", r"base\.toml: stack: expected one of init, call, got 1"),
            ("'base.toml'", "stack = ", r"base\.toml: not valid TOML"),
        ],
    )
    def test_what_is_wrong_with_that_is_said_with_its_file(
        self, tmp_path: Path, own: str, base: str, message: str
    ) -> None:
        (tmp_path / "base.toml").write_text(base)
        with pytest.raises(ScanifyError, match=message):
            parse_config(write(tmp_path, f"[tool.scanify]\nextend = {own}\n"))

    def test_every_key(self, tmp_path: Path) -> None:
        file = write(
            tmp_path,
            '[tool.scanify]\nremat = "auto"\nmemory-budget = "8GiB"\nstack = "init"\nexclude = ["old", "gen/*.py"]\n'
            '[tool.scanify.cases]\ngpt = "cases.py:gpt"\nvit = "cases.py:vit"\n',
        )
        cases = (("gpt", "cases.py:gpt"), ("vit", "cases.py:vit"))
        assert parse_config(file) == Config(tmp_path, "auto", "init", ("old", "gen/*.py"), cases, 8 * 1024**3)

    def test_a_case_may_say_which_file_it_is_for(self, tmp_path: Path) -> None:
        table = "[tool.scanify.cases]\ngpt = {case = 'cases.py:gpt', file = 'model.py'}\nvit = 'cases.py:vit'\n"
        config = parse_config(write(tmp_path, table))
        assert config.cases == (("gpt", "cases.py:gpt"), ("vit", "cases.py:vit"))
        assert config.files == (("gpt", "model.py"),)

    @pytest.mark.parametrize(
        ("written", "policy"), [("false", "none"), ("true", "full"), ('"False"', "none"), ('"save_all"', "save_all")]
    )
    def test_policies_are_written_as_in_python_or_as_in_toml(self, tmp_path: Path, written: str, policy: str) -> None:
        assert parse_config(write(tmp_path, f"[tool.scanify]\nremat = {written}\n")).remat == policy

    @pytest.mark.parametrize("text", ["", "[tool.other]\nremat = 3\n", "[project]\nname = 'x'\n"])
    def test_a_file_without_the_table_sets_nothing(self, tmp_path: Path, text: str) -> None:
        assert parse_config(write(tmp_path, text)) == Config(tmp_path)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "[tool.scanify]\nremta = 1\nzzz = 2\n",
                r"unknown key 'remta' \(did you mean 'remat'\?\), 'zzz'; the known ones are cases, exclude, extend, ignore",
            ),
            ("[tool.scanify]\nremat = 'bold'\n", r"remat: expected one of none, full, nested, .*, got 'bold'"),
            ("[tool.scanify]\nremat = 3\n", r"remat: expected one of .*, got 3"),
            ("[tool.scanify]\nmemory-budget = 'much'\n", r"memory-budget: expected a text .* '8GiB', got 'much'"),
            ("[tool.scanify]\nmemory-budget = 8\n", r"memory-budget: expected a text .*, got 8"),
            (
                "[tool.scanify]\ntarget = 'torch'\n",
                r"target: expected one of scanify, haliax, lax, nnx, linen, got 'torch'",
            ),
            ("[tool.scanify]\nstack = true\n", r"stack: expected one of init, call, got True"),
            ("[tool.scanify]\nexclude = 'old'\n", r"exclude: expected patterns such as .*, got 'old'"),
            ("[tool.scanify]\nexclude = ['']\n", r"exclude: expected patterns"),
            ("[tool.scanify]\ncases = ['c.py:f']\n", r"cases: expected a table of name = 'FILE:FUNCTION', name = "),
            ("[tool.scanify.cases]\ngpt = {case = 'c.py:f', fil = 'm.py'}\n", r"cases: expected a table of name = "),
            ("[tool.scanify.cases]\ngpt = {case = 'c.py:f', file = 3}\n", r"cases: expected a table of name = "),
            (
                "[tool.scanify.cases]\ngpt = 'cases.py'\n",
                r"cases: expected a table of name = 'FILE:FUNCTION', name = ",
            ),
            ("[tool.scanify]\nselect = 'SCN1'\n", r"select: expected rules such as \['SCN101', 'SCN2'\], got 'SCN1'"),
            (
                "[tool.scanify]\nignore = ['SCN10X']\n",
                r"ignore: expected a rule such as .* got 'SCN10X'; did you mean SCN10",
            ),
            ("[tool.scanify]\nper-file-ignores = ['SCN1']\n", r"per-file-ignores: expected a table such as "),
            ("[tool]\nscanify = 3\n", r"\[tool\.scanify\]: expected a table, got 3"),
            ("[tool.scanify\n", r"not valid TOML"),
        ],
    )
    def test_what_is_wrong_is_said_with_file_and_key(self, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises(ScanifyError, match=rf"pyproject\.toml: .*{message}"):
            parse_config(write(tmp_path, text))
