"""A folder in which the blocks of one page are run, one after another."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scanify.cli import run
from tests.pages.blocks import Block
from tests.pages.given import GIVEN

ROOT = Path(__file__).resolve().parents[2]
GPT = ROOT / "fixtures" / "gpt"
# Where pages are run on another version, what they show is held against what comes out but for numbers.
SHOWN_WITH = "0.12"
_SECONDS = re.compile(r"\b\d[\d.,]* (s|ms|min|h)\b")
_RELEASES = re.compile(r"\b(python|jax|equinox|scanify) \d[\w.]*")
_WIDE = re.compile(r"[ -]{3,}|  +")


class Differs(AssertionError):
    """What a block shows is not what came out."""


class Place:
    """The folder holds the GPT of `fixtures/` as `model.py`, and cases of it, smaller than those of `fixtures/`."""

    def __init__(self, folder: Path, page: str = "") -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.printed = ""
        self._write("model.py", (GPT / "before.py").read_text(encoding="utf-8"))
        self._write("cases.py", (GPT / "cases.py").read_text(encoding="utf-8") + "\n\ngpt = gpt_small\n")
        (folder / ".git").mkdir()
        if page in GIVEN:
            GIVEN[page](folder)

    def do(self, block: Block) -> str | None:
        """Run one block. The text that it should have is given for a block of commands with their outputs."""
        if block.not_run or (block.needs and find_spec(block.needs) is None):
            self.printed = ""
            return None
        if block.title:
            self._write(block.title, block.text)
        match block.language:
            case "console":
                return self._session(block)
            case "sh":
                self._alternatives(block)
            case "text":
                if not agree(block.text, self.printed):
                    raise Differs(f"the block above prints\n{self.printed}")
                return None
            case "python" if not block.title:
                self._python(block)
            case "toml":
                self._settings(block)
            case "json":
                json.loads(block.text)
            case "python" | "yaml" if block.title:
                pass  # it was written
            case _:
                raise Differs(f"nothing is known of blocks of `{block.language}`; say <!-- not run: WHY --> above it")
        return None

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _python(self, block: Block) -> None:
        code = compile("\n" * (block.line - 1) + block.text, "<page>", "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, self.names)
        self.printed = out.getvalue()

    def _session(self, block: Block) -> str:
        """The block with what its commands print now; a part that agrees with that stays as it is."""
        text = ""
        for part in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
            head, _, shown = part.partition("\n")
            if not head.startswith("$ "):
                continue
            out = self._command(head.removeprefix("$ "))
            text += f"{head}\n" + (shown if agree(shown, out) else out)
        return text

    def _alternatives(self, block: Block) -> None:
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and _kept(path)}
        for line in block.text.splitlines():
            if line.partition("#")[0].strip():
                out = self._command(line)
                if "[exit code " in out:
                    raise Differs(f"{line}\n{out}")
                for path, data in before.items():
                    path.write_bytes(data)

    def _settings(self, block: Block) -> None:
        read = tomllib.loads(block.text)
        if "tool" in read:
            self._write("pyproject.toml", block.text)
            out = self._command("scanify config")
            if "[exit code " in out:
                raise Differs(out)
            if not block.title:
                (self.folder / "pyproject.toml").unlink()

    def _command(self, line: str) -> str:
        """What a command prints. It may have found something; that it fails is what an output must say."""
        if not re.match(r"scanify [^|><&;$]*$", line.partition("#")[0].replace('"$GITHUB_STEP_SUMMARY"', "")):
            return self._shell(line)
        words = shlex.split(line, comments=True)
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
            code = run(words[1:])
        return _ended(out.getvalue(), code)

    def _shell(self, line: str) -> str:
        python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}; scanify() {{ python -m scanify "$@"; }}\n'
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(self.folder / ".summary")}
        done = subprocess.run(
            ["bash", "-c", python + line],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self.folder,
            env=variables,
            check=False,
        )
        return _ended(done.stdout, done.returncode if "scanify" in line or done.returncode != 1 else -1)


def _ended(out: str, code: int) -> str:
    return out if code in (0, 1) else f"{out}[exit code {code}]\n"


def _kept(path: Path) -> bool:
    return not {".git", ".scanify_cache"} & set(path.parts)


def agree(shown: str, printed: str) -> bool:
    """Whether an output is as it is shown, but for times, releases and the widths of columns."""
    parts = [re.escape(_plain(part)) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), _plain(printed)) is not None


def _plain(text: str) -> str:
    text = _RELEASES.sub(r"\1 N", _SECONDS.sub(r"N \1", text))
    if not version("jax").startswith(SHOWN_WITH):
        text = re.sub(r"\d[\d.,]*( [KMG]?i?B\b)?", "N", text)
    return "".join(_WIDE.sub(" ", line).strip() + "\n" for line in text.splitlines())
