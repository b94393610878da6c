"""Configurations and options that are wrong."""

from tests.bad_inputs.bad_input import BadInput
from tests.command import MODEL


def settings(what: str, text: str | bytes, says: str, run: str = "scanify check") -> BadInput:
    return BadInput(what, run, 2, says, {"model.py": MODEL, "pyproject.toml": text})


SETTINGS = [
    settings("TOML that is none", "[tool.scanify\n", "pyproject.toml"),
    settings("TOML that is no UTF-8", b"[tool.scanify]\n# \xe9\n", "pyproject.toml"),
    settings("a key that there is none of", "[tool.scanify]\nremta = 'full'\n", "remat"),
    settings("a number for a word", "[tool.scanify]\nremat = 3\n", "remat"),
    settings("a word for a list", "[tool.scanify]\nexclude = 'a'\n", "exclude"),
    settings("a list of numbers", "[tool.scanify]\nselect = [101]\n", "select"),
    settings("a policy that there is none of", "[tool.scanify]\nremat = 'some'\n", "nested"),
    settings("a rule that there is none of", "[tool.scanify]\nignore = ['SCN999']\n", "SCN999"),
    settings("cases that are a list", "[tool.scanify]\ncases = ['a']\n", "cases"),
    settings(
        "a case without a function", "[tool.scanify.cases]\na = 'cases.py'\n", "cases.py", "scanify verify model.py"
    ),
    settings("a table that is a number", "[tool]\nscanify = 3\n", "scanify"),
    settings("an extended file that is not there", "[tool.scanify]\nextend = 'base.toml'\n", "base.toml"),
    settings("a file that extends itself", "[tool.scanify]\nextend = 'pyproject.toml'\n", "extend"),
    settings("a memory budget of no unit", "[tool.scanify]\nmemory-budget = 'lots'\n", "memory-budget"),
    BadInput(
        "pyproject.toml is a folder", "scanify check", (1, 2), "loop|pyproject.toml", before="mkdir pyproject.toml"
    ),
    BadInput("an option that there is none of", "scanify check --colour", 2, "--colour"),
    BadInput("a command that there is none of", "scanify chekc", 2, "chekc"),
    BadInput("no command", "scanify", (0, 2), "Usage"),
    BadInput("a format that there is none of", "scanify check --format xml", 2, "sarif"),
    BadInput("a code that there is none of", "scanify check --select SCN9", 2, "SCN9"),
    BadInput("a rule that there is none of, to explain", "scanify explain SCN999", 2, "SCN999"),
    BadInput("a target that there is none of", "scanify rewrite model.py --target torch", 2, "haliax"),
    BadInput("auto without a budget", "scanify rewrite model.py --remat auto", 2, "(?i)case|budget"),
    BadInput("one version of two", "scanify verify --before model.py --case cases.py:f", 2, "--after"),
    BadInput(
        "a revision that there is none of",
        "scanify verify --against v9 --case cases.py:f",
        2,
        "v9",
        {"model.py": MODEL, "cases.py": "def f(module):\n    pass\n"},
        before="rmdir .git; git init -q .; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    ),
    BadInput("a certificate that is none", "scanify verify --replay model.py", (2, 3), "(?i)certificate|json"),
]
