"""What lies in the folder of a page from the start, beside the model and its cases."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from scanify.cli import run


def _for_rewrite(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "model.py").write_bytes((folder / "model.py").read_bytes())


def _for_verify(folder: Path) -> None:
    """A loop and its scan, and a repository that has the loop, as its working tree has: which file is meant is said."""
    _for_ci(folder)
    (folder / "model.py").write_bytes((folder / "loop.py").read_bytes())
    named = '[tool.scanify.cases]\ngpt = { case = "cases.py:gpt", file = "model.py" }\n'
    (folder / "pyproject.toml").write_text(named)


def _for_ci(folder: Path) -> None:
    """A loop and its scan, and a repository whose working tree has the scan."""
    model = folder / "model.py"
    loop = model.read_bytes()
    (folder / ".git").rmdir()
    git = ["git", "-c", "user.name=Me", "-c", "user.email=me@example.com"]
    for words in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "The loop"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    assert run(["rewrite", str(model)]) == 0
    (folder / "loop.py").write_bytes(loop)
    (folder / "scan.py").write_bytes(model.read_bytes())


def _for_unroll(folder: Path) -> None:
    assert run(["rewrite", str(folder / "model.py")]) == 0


def _for_checkpoints(folder: Path) -> None:
    """Three layers of two arrays each, as safetensors are written: the length of a header, the header, the arrays."""
    arrays = {f"model.blocks.{layer}.{name}": [4] for layer in range(3) for name in ("weight", "bias")}
    header = {
        name: {"dtype": "F32", "shape": shape, "data_offsets": [16 * at, 16 * at + 16]}
        for at, (name, shape) in enumerate(arrays.items())
    }
    text = json.dumps(header).encode()
    (folder / "old.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(16 * len(arrays)))


GIVEN: dict[str, Callable[[Path], None]] = {
    "rewrite.md": _for_rewrite,
    "unroll.md": _for_unroll,
    "verify.md": _for_verify,
    "ci.md": _for_ci,
    "checkpoints.md": _for_checkpoints,
}
