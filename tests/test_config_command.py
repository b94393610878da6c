"""`scanify config`: what is in force and where it comes from, and the schema for editors."""

import json
import tomllib

import pytest
from jsonschema import Draft202012Validator

from scanify.configuration.config import KEYS
from scanify.configuration.config_schema import KEY_SCHEMAS, schema
from scanify.errors import ScanifyError
from tests.command import Tool
from tests.test_config import parse_config, write

FULL = """\
[tool.scanify]
extend = "base.toml"
remat = "nested"
exclude = ["old", "src/*"]

[tool.scanify.cases]
gpt = {case = "cases.py:gpt", file = "model.py"}
"""


def test_each_value_has_its_file(tool: Tool) -> None:
    tool.write("pyproject.toml", FULL)
    tool.write("base.toml", 'target = "lax"\n')
    code, out, _ = tool("config")
    rows = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert code == 0 and out.startswith(f"project: {tool.folder}\n")
    assert sorted(rows) == sorted(KEYS)
    assert rows["remat"].split() == ["remat", '"nested"', "pyproject.toml"]
    assert rows["target"].split() == ["target", '"lax"', "base.toml"]
    assert rows["select"].split() == ["select", '["ALL"]', "default"]
    assert '["old", "src/*"]' in rows["exclude"] and rows["stack"].endswith("default")
    assert '{"gpt" = {"case" = "cases.py:gpt", "file" = "model.py"}}' in rows["cases"]


def test_as_json(tool: Tool) -> None:
    file = tool.write("pyproject.toml", "[tool.scanify]\nstack = 'call'\n")
    tool.write("sub/m.py", "")
    settings = json.loads(tool("config", "sub", "--format", "json").out)["settings"]
    assert settings["stack"] == {"value": "call", "from": str(file)}
    assert settings["target"] == {"value": "scanify", "from": None}


def test_without_a_file_all_are_defaults(tool: Tool) -> None:
    lines = tool("config").out.splitlines()[1:]
    assert len(lines) == len(KEYS) - 1 and all(line.endswith("  default") for line in lines)


def test_a_wrong_setting_is_2(tool: Tool) -> None:
    tool.write("pyproject.toml", "[tool.scanify]\nstack = 'cal'\n")
    code, out, err = tool("config")
    assert (code, out) == (2, "") and "stack: expected one of init, call, got 'cal'" in err


class TestSchema:
    def test_it_is_printed_and_has_every_key(self, tool: Tool) -> None:
        printed = json.loads(tool("config", "--schema").out)
        Draft202012Validator.check_schema(printed)
        assert printed == schema() and tuple(printed["properties"]) == KEYS == tuple(sorted(KEY_SCHEMAS))

    @pytest.mark.parametrize(
        ("table", "good"),
        [
            ("remat = 'dots'\nstack = 'call'\ntarget = 'lax'\n", True),
            ("remat = false\n", True),
            ("remat = 'auto'\nmemory-budget = '8GiB'\n", True),
            ("select = ['SCN1', 'scn205', 'python-layer-loop', 'ALL']\nignore = []\n", True),
            ("per-file-ignores = {'old/*' = ['SCN']}\nexclude = ['a']\n", True),
            ("cases = {a = 'c.py:f', b = {case = 'c.py:f', file = 'm.py'}}\n", True),
            ("remat = 'dot'\n", False),
            ("stak = 'init'\n", False),
            ("exclude = 'old'\n", False),
            ("exclude = ['']\n", False),
            ("select = 'SCN1'\n", False),
            ("memory-budget = 8\n", False),
            ("cases = {a = 'c.py'}\n", False),
            ("cases = {a = {file = 'm.py'}}\n", False),
            ("cases = {a = {case = 'c.py:f', fil = 'm.py'}}\n", False),
            ("per-file-ignores = ['SCN1']\n", False),
            ("extend = 3\n", False),
        ],
    )
    def test_it_says_what_the_reader_says(self, tool: Tool, table: str, good: bool) -> None:
        assert Draft202012Validator(schema()).is_valid(tomllib.loads(table)) == good
        file = write(tool.folder, f"[tool.scanify]\n{table}")
        if good:
            parse_config(file)
        else:
            with pytest.raises(ScanifyError):
                parse_config(file)
