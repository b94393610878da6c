"""What is published: the fields of the project, the changelog's form, and the files of the wheel."""

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import scanify

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_each_python_since_the_oldest_is_named() -> None:
    oldest = int(PROJECT["requires-python"].removeprefix(">=3."))
    named = [int(match[1]) for line in PROJECT["classifiers"] if (match := re.search(r"Python :: 3\.(\d+)$", line))]
    assert named == list(range(oldest, 14))


def test_the_version_is_that_of_the_package() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", scanify.__version__)


def test_the_changelog_has_the_usual_form() -> None:
    versions = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    sections = set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE))
    assert sections <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.whole
def test_the_wheel_works_outside_of_the_checkout(tmp_path: Path) -> None:
    """`make wheel` does this on each Python, with jax, too."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"scanify/py.typed", "scanify/_pages/SCN101-python-layer-loop.md"} <= set(names)
    assert not [name for name in names if not name.startswith(("scanify/", "scanify_jax-"))]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    (tmp_path / "here" / ".git").mkdir(parents=True)
    model = tmp_path / "here" / "model.py"
    model.write_bytes((ROOT / "fixtures" / "gpt" / "before.py").read_bytes())
    for words, says in ((["rewrite", "model.py"], "1 loop rewritten"), (["explain", "SCN101"], "SCN101"), (["--version"], scanify.__version__)):  # fmt: skip
        done = subprocess.run(
            [tmp_path / "venv" / "bin" / "scanify", *words],
            cwd=model.parent,
            capture_output=True,
            text=True,
            check=True,
        )
        assert says in done.stdout + done.stderr
    assert "ArrayStacked" in model.read_text()
