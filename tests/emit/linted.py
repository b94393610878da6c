"""What ruff says of folders of programs: one run for all of them."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

SELECTED = "E4,E7,E9,F,B,I,UP"


def ruff(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "ruff", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


def store(folder: Path, programs: Iterable[tuple[str, Mapping[str, str]]]) -> Path:
    """Write each program to a folder of its own name."""
    for name, texts in programs:
        for file, text in texts.items():
            path = folder / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder


def findings(folder: Path) -> Counter[tuple[str, str]]:
    """How often each rule is broken in each file."""
    out = ruff("check", "--isolated", "--no-cache", f"--select={SELECTED}", "--output-format=json", ".", folder=folder)
    return Counter((str(Path(one["filename"]).relative_to(folder)), one["code"]) for one in json.loads(out))


def unformatted(folder: Path, width: int) -> set[str]:
    """The files that `ruff format` would change at a line length."""
    formatted = folder.parent / f"{folder.name}-{width}"
    files = {path.relative_to(folder): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    store(formatted, [("", {str(path): text for path, text in files.items()})])
    ruff("format", "--isolated", "--no-cache", f"--line-length={width}", ".", folder=formatted)
    return {str(path) for path, text in files.items() if (formatted / path).read_text(encoding="utf-8") != text}
