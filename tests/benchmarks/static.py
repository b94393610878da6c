"""What `scanify check` costs on whole projects: CPU seconds, against parsers and other tools on the same files.

    python -m tests.benchmarks.static [FOLDER]     without a folder: the packages of `make corpus`, downloaded
    python -m tests.benchmarks.static --projects   the first table only

The first table has one row a project: `check` without a cache, and a second `check` with one, in multiples of
`ast.parse` of the same files. In the second table each tool runs once over all projects, without a cache. Every
measurement is one process, and its start counts but in the columns "no start". Also: one file of a megabyte, and a script of 2,000 lines.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scanify.source.discover import Selection, walk
from tests.corpus.labels import read_labels
from tests.corpus.packages import source_folder

LIMIT = 900
# A process between, so that time and memory are those of one command alone.
PROBE = """
import resource, subprocess, sys
try:
    done = subprocess.run(
        sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=float(sys.argv[1])
    )
    code = 99 if b"Traceback" in done.stderr else done.returncode
except subprocess.TimeoutExpired:
    code = 98
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
PARSE = """
import gc, sys, warnings
gc.disable(); warnings.simplefilter("ignore")
{prepare}
for path in open(sys.argv[1], encoding="utf-8").read().splitlines():
    try:
        {parse}
    except Exception:
        pass
"""
AST = PARSE.format(prepare="import ast", parse="ast.parse(open(path, 'rb').read())")
LIBCST = PARSE.format(prepare="import libcst", parse="libcst.parse_module(open(path, 'rb').read())")
CHECK = """
import gc, os, sys
gc.set_threshold(200_000, 50, 50)  # as the command does
from scanify.cli import run
options, roots = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
codes = []
for root in roots:
    os.chdir(root)
    codes.append(run(["check", "--no-gitignore", *options, "."]))
    gc.collect()  # a command ends with its project: what it held is no memory of the next one
sys.exit(max(codes))
"""
BLOCK = """\
class Block{0}(eqx.Module):
    norm: eqx.nn.LayerNorm
    linear: eqx.nn.Linear

    def __init__(self, width, key):
        self.norm = eqx.nn.LayerNorm(width)
        self.linear = eqx.nn.Linear(width, width, key=key)

    def __call__(self, x, scale=1.0):
        hidden = jax.vmap(self.norm)(x)
        for step in range(2):
            hidden = hidden + scale * jax.vmap(self.linear)(hidden) / (step + 1)
        return x + hidden


class Model{0}(eqx.Module):
    layers: list

    def __init__(self, width, depth, key):
        self.layers = [Block{0}(width, k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


"""


@dataclass(frozen=True)
class Cost:
    """User and system seconds of a process and its children, and the most memory of one of them in megabytes."""

    seconds: float
    megabytes: float


def cost(command: Sequence[str | Path], folder: Path, **variables: str) -> Cost | None:
    """One run of a command; None where it does not run, or not within LIMIT seconds."""
    environment = {**os.environ, "CI": "1", **variables}
    arguments = [sys.executable, "-c", PROBE, str(LIMIT), *map(str, command)]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    code, seconds, megabytes = done.stdout.split()
    return Cost(float(seconds), float(megabytes)) if int(code) in (0, 1) else None


def tools(files: Sequence[Path], listed: Path, copies: Sequence[Path]) -> dict[str, list[str | Path]]:
    """The commands, by what they are called in the table. pyupgrade changes what it is given: copies."""
    python = sys.executable
    return {
        "ast.parse": [python, "-c", AST, listed],
        "libcst.parse_module": [python, "-c", LIBCST, listed],
        "pyupgrade": [python, "-m", "pyupgrade", "--py311-plus", "--exit-zero-even-if-changed", *copies],
        "fixit, one rule": [python, "-m", "fixit", "--rules", "fixit.rules:UseFstring", "lint", *files],
        "ruff": [python, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--quiet", *files],
    }


def projects(folder: Path | None) -> list[Path]:
    if folder is not None:
        return [folder.resolve()]
    packages = dict.fromkeys((one.package, one.version) for one in read_labels())
    return [source_folder(*each, Path("build/corpus")).resolve() for each in packages]


def check(roots: Sequence[Path], *options: str, **variables: str) -> Cost | None:
    """One process that checks some projects, one after the other."""
    command = [sys.executable, "-c", CHECK, *options, "--", *roots]
    return cost(command, roots[0], **variables)


@dataclass(frozen=True)
class Starts:
    """The seconds that `ast.parse` and `check` take for a project without files."""

    parse: float
    check: float


def starts(folder: Path) -> Starts:
    """Measure both in an empty folder."""
    empty = folder / "empty"
    empty.mkdir()
    (empty / "pyproject.toml").touch()
    (folder / "none.txt").touch()
    found = cost([sys.executable, "-c", AST, folder / "none.txt"], folder), check([empty], "--no-cache")
    assert found[0] is not None and found[1] is not None
    return Starts(found[0].seconds, found[1].seconds)


def project_row(root: Path, folder: Path, start: Starts) -> str:
    """Return the costs of one project: `ast.parse`, `check` without a cache, and `check` with one that is filled."""
    files = list(walk(root, Selection(root, gitignore=False)))
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    listed = folder / "files.txt"
    listed.write_text("\n".join(map(str, files)))
    parse = cost([sys.executable, "-c", AST, listed], folder)
    assert parse is not None
    kept = str(folder / f"cache-{root.name}")
    cold = check([root], "--no-cache")
    check([root], SCANIFY_CACHE_DIR=kept)
    warm = check([root], SCANIFY_CACHE_DIR=kept)
    ratios = "".join(in_parses(each, parse, start) for each in (cold, warm))
    return f"{root.name:32}{lines:8,}{parse.seconds:9.2f}{ratios}{cold.megabytes if cold else 0:8.0f} MB"


def in_parses(found: Cost | None, parse: Cost, start: Starts) -> str:
    """Return seconds, in multiples of `ast.parse`, and in such multiples without the starts of both."""
    if found is None:
        return f"{'fails':>28}"
    own = max(0.0, found.seconds - start.check) / max(0.001, parse.seconds - start.parse)
    return f"{found.seconds:9.2f}{found.seconds / parse.seconds:8.1f} x{own:7.1f} x"


def row(name: str, found: Cost | None, base: float) -> str:
    if found is None:
        return f"{name:34}  does not run here, or not within {LIMIT} s"
    return f"{name:34}{found.seconds:9.2f}{found.seconds / base:9.1f} x{found.megabytes:10.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.static", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="the project to check")
    parser.add_argument("--projects", action="store_true", help="print the table of projects only")
    given = parser.parse_args()
    roots = projects(given.folder)
    files = [path for root in roots for path in walk(root, Selection(root, gitignore=False))]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start = starts(folder)
        print(f"CPU s; the starts alone: ast.parse {start.parse:.2f}, check {start.check:.2f}")
        shares = f"{'ratio':>10}{'no start':>9}"
        print(f"{'':32}{'lines':>8}{'parse':>9}{'check':>9}{shares}{'again':>9}{shares}{'memory':>11}")
        for root in roots:
            print(project_row(root, folder, start), flush=True)
        if given.projects:
            return
        print()
        listed = folder / "files.txt"
        listed.write_text("\n".join(map(str, files)))
        copies = [folder / "copies" / f"{number}.py" for number in range(len(files))]
        copies[0].parent.mkdir()
        for path, copied in zip(files, copies, strict=True):
            shutil.copyfile(path, copied)
        print(f"{len(files):,} files, {lines:,} lines, {len(roots)} projects\n")
        print(f"{'':34}{'CPU s':>9}{'ratio':>11}{'memory':>13}")
        base = 1.0
        for tool, command in tools(files, listed, copies).items():
            found = cost(command, folder)
            base = found.seconds if tool == "ast.parse" and found is not None else base
            print(row(tool, found, base), flush=True)
        print(row("scanify check", check(roots, "--no-cache"), base), flush=True)
        for title in ("scanify check, keeping", "scanify check, kept"):
            print(row(title, check(roots, SCANIFY_CACHE_DIR=str(folder / "cache")), base), flush=True)
        for title, size in (("a script of 2,000 lines", 2_000 * 40), ("one file of a megabyte", 1 << 20)):
            print(single(title, size, folder / str(size)), flush=True)


def single(title: str, size: int, folder: Path) -> str:
    """The cost of one long file of models, above that of an empty one."""
    folder.mkdir()
    text = "import equinox as eqx\nimport jax\n\n\n"
    number = 0
    while len(text) < size:
        text += BLOCK.format(number)
        number += 1
    (folder / "long.py").write_text(text)
    (folder / "listed.txt").write_text(str(folder / "long.py"))
    base = cost([sys.executable, "-c", AST, folder / "listed.txt"], folder)
    return row(title, check([folder], "--no-cache"), base.seconds if base is not None else 1.0)


if __name__ == "__main__":
    main()
