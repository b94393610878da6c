"""`python -m tests.packages.profiles`: which part of a published model's programs its loop over layers makes.

Each model is profiled as it is and with some of its layers taken away: the lines that the profile gives to the loop must
shrink by what the lowered program shrinks by. Exits with 1 where they do not.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.packages.all_models import model
from tests.packages.install import install, needed, source
from tests.packages.models import Model

ROOT = Path(__file__).resolve().parents[2]
# The models, and how many layers are taken away: of E1 three, as each third one is another.
FEWER = {"e1": 3, "jaxonlayers_encoder": 1, "megalodon": 1}
# jax writes the numbers in a program (`stablehlo.constant`) at the place of the whole program, not of the loop: they and
# some zeros of a gradient are what a loop makes and a profile does not give to it. Never does it give too much.
LEAST = 0.85


@dataclass(frozen=True)
class Found:
    """One program: its lines, those of the loop, and how often it turns; and of both what layers less take away."""

    program: str
    lines: int
    loop: str
    share: int
    turns: int
    turns_less: int
    lines_less: int
    share_less: int

    def agrees(self, fewer: int) -> bool:
        return self.turns_less == fewer and 0 < LEAST * self.lines_less <= self.share_less <= self.lines_less


def profiles(which: Model, files: Path, fewer: int) -> Iterator[Found]:
    """The call and the gradient of a model whose package can be imported."""
    from scanify.verify.profile.profiled import profiled_case

    module = importlib.import_module(which.module)
    case = importlib.import_module(which.cases).case

    def profile(build: Callable[[], Any]) -> dict[str, Any]:
        shown = lambda name: name.removeprefix(f"{files}{os.sep}") if name.startswith(str(files)) else None  # noqa: E731
        startup = profiled_case(which.name, build, build, files=shown, measure=False).startup
        assert startup is not None
        return {program.name: program for program in startup.programs}

    whole, less = profile(lambda: case(module)), profile(lambda: without(case(module), fewer))
    for name in ("call", "gradient"):
        share, other = (
            next(each for each in programs[name].shares if (each.loop.file, each.loop.line) == (which.file, which.line))
            for programs in (whole, less)
        )
        lines = whole[name].lines
        yield Found(
            name,
            lines,
            f"{share.loop.file}:{share.loop.line}",
            share.lines,
            share.turns,
            share.turns - other.turns,
            lines - less[name].lines,
            share.lines - other.lines,
        )


def without(built: tuple[Any, ...], fewer: int) -> tuple[Any, ...]:
    """The case with as many layers less."""
    import equinox as eqx

    first, *rest = built

    def layers(held: Any) -> Any:
        return held.layers if hasattr(held, "layers") else held.model.layers

    return (eqx.tree_at(layers, first, layers(first)[:-fewer]), *rest)


def of_package(which: Model, fewer: int, out: Path) -> list[Found]:
    """What a process of its own answers, whose path has the package and what it needs."""
    install(which, out)
    places = [ROOT, source(which, out), needed(which, out)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.packages.profiles", "--one", which.name, "--out", str(out)]
        done = subprocess.run(command, env=env, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return [Found(**each) for each in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.packages.profiles", description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "packages")
    given = parser.parse_args()
    if given.one is not None:
        found = list(profiles(model(given.one), source(model(given.one), given.out), FEWER[given.one]))
        print(json.dumps([asdict(each) for each in found]))
        return 0
    good = True
    print(
        "package               program    lines  loop                                      of it  part  turns  with fewer turns"
    )
    for name, fewer in FEWER.items():
        which = model(name)
        for each in of_package(which, fewer, given.out):
            good = good and each.agrees(fewer)
            print(
                f"{which.requirement:20}  {each.program:8}  {each.lines:6,}  {each.loop:40}  {each.share:5,}  "
                f"{each.share / each.lines:4.0%}  {each.turns:5}  {each.share_less:,} of {each.lines_less:,} "
                f"lines for {each.turns_less}{'' if each.agrees(fewer) else ': DIFFERS'}"
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
