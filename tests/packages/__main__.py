"""`python -m tests.packages`: install, rewrite or stack, verify, and print the table; `--fixtures` for the fixtures.

Exits with 1 where a verdict is FAILED or less than 90% are PROVED.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scanify.verify.children.codec import from_json
from scanify.verify.run import versions
from scanify.verify.verdict import Status
from tests.packages.all_models import ALL_MODELS
from tests.packages.install import NotInstalled, install, needed, source
from tests.packages.models import Model
from tests.packages.row import Row, share
from tests.packages.tables import as_json, markdown, text

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 1800
LEAST = 0.9


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which models: {', '.join(each.name for each in ALL_MODELS)}")
    parser.add_argument("--fixtures", action="store_true", help="the models of fixtures/ instead")
    parser.add_argument("--by-hand", action="store_true", help="stack by hand even where the loop is rewritten")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "packages")
    return parser.parse_args()


def package_rows(model: Model, out: Path, *, by_hand: bool) -> list[Row]:
    """What a process of its own answers, whose path has the package and what it needs."""
    try:
        install(model, out)
    except NotInstalled as error:
        return [Row(model.requirement, model.title, "not run", error=str(error))]
    places = [ROOT, source(model, out), needed(model, out)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.json")
        command = [sys.executable, "-m", "tests.packages.worker", model.name, str(out), str(file)]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
        try:
            done = subprocess.run(
                [*command, *(["--by-hand"] if by_hand else [])],
                capture_output=True,
                text=True,
                env=env,
                cwd=folder,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [Row(model.requirement, model.title, "not run", error=f"took more than {SECONDS} s")]
        sys.stderr.write(done.stderr)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return [Row(model.requirement, model.title, "not run", error=said[-1])]
        return [from_json(Row, row) for row in json.loads(file.read_text())]


def _found(given: argparse.Namespace, out: Path) -> Iterator[list[Row]]:
    if given.fixtures:
        from tests.packages.fixtures import fixture_rows

        yield from ([row] for row in fixture_rows(given.names))
        return
    for model in ALL_MODELS:
        if not given.names or model.name in given.names:
            yield package_rows(model, out, by_hand=given.by_hand)


def main() -> None:
    given = arguments()
    out = given.out.resolve()
    unknown = sorted(set(given.names) - {each.name for each in ALL_MODELS})
    if unknown and not given.fixtures:
        sys.exit(f"no model is called {unknown[0]}; there are {', '.join(each.name for each in ALL_MODELS)}")
    rows: list[Row] = []
    name = "fixtures" if given.fixtures else "packages"
    out.mkdir(parents=True, exist_ok=True)
    for found in _found(given, out):
        rows += found
        print(f"{found[-1].package}: {found[-1].model} done", file=sys.stderr, flush=True)
        # After each model: a run of half an hour that is stopped leaves what it has found.
        (out / f"{name}.json").write_text(as_json(rows, versions()))
        (out / f"{name}.md").write_text(markdown(rows, versions()))
    print(text(rows, versions()), end="")
    print(f"written to {out / name}.json and .md")
    proved, all_of_them = share(rows)
    if any(row.counts()[Status.FAILED] for row in rows) or proved < LEAST * all_of_them:
        sys.exit(1)


if __name__ == "__main__":
    main()
