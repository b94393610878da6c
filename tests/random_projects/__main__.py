"""`python -m tests.random_projects --count 5000 --seed 0`: projects made at random, each rewritten and held against itself."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence

from tests.random_projects.check import Asked, Checked, check
from tests.random_projects.compose import random_project
from tests.random_projects.tally import Tally, failure, plain_text, text
from tests.random_projects.traps import HARMLESS, TRAPS

_KEEP = 400  # compiled programs are forgotten after so many projects
_STRIDE = 1_000_000  # between the projects of one --seed and those of the next


def checked(asked: Sequence[Asked], jobs: int) -> Iterator[Checked]:
    if jobs == 1:
        for count, each in enumerate(asked, 1):
            yield check(each)
            if count % _KEEP == 0 and "jax" in sys.modules:
                sys.modules["jax"].clear_caches()
        return
    # A forked process would share the threads of jax.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=_KEEP) as pool:
        yield from pool.imap_unordered(check, asked, chunksize=8)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_projects", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="the number of projects")
    parser.add_argument("--seed", type=int, default=0, help="which projects")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the first project, to run a slice")
    parser.add_argument("--only-class", metavar="NAME", help="projects with a trap of this class alone")
    parser.add_argument("--jobs", type=int, default=1, help="the number of processes")
    parser.add_argument("--static", action="store_true", help="analyse and rewrite, and run nothing")
    parser.add_argument(
        "--verbose", action="store_true", help="every bad project whole, and why loops are not rewritten"
    )
    parser.add_argument("--show", type=int, metavar="N", help="print the project of a number, and what is said of it")
    parser.add_argument("--classes", action="store_true", help="list the classes of traps")
    parser.add_argument("--genuine", action="store_true", help="hold every way to set a trap against a naive rewrite")
    asked = parser.parse_args()
    if asked.classes:
        print(
            *(f"{trap.name:<36}{trap.expect.value:<24}{len(trap.variants):>3} ways" for trap in (*TRAPS, *HARMLESS)),
            sep="\n",
        )
        return 0
    if asked.genuine:
        return _genuine(asked.only_class)
    if asked.show is not None:
        return _show(Asked(asked.show, asked.only_class, asked.static))
    begun = time.perf_counter()
    first = asked.seed * _STRIDE + asked.start
    tally = Tally()
    for one in checked(
        [Asked(seed, asked.only_class, asked.static) for seed in range(first, first + asked.count)], asked.jobs
    ):
        tally.add(one)
        if one in tally.bad[-1:]:
            print(
                failure(one) if asked.verbose else failure(one).partition("\n")[0],
                end="\n\n" if asked.verbose else "\n",
                flush=True,
            )
    print(text(tally))
    if asked.verbose:
        print(plain_text(tally))
    print(f"seconds                     {time.perf_counter() - begun:.0f}")
    return 0 if tally.good else 1


def _genuine(only: str | None) -> int:
    from tests.random_projects.genuine import fault

    traps = [trap for trap in (*TRAPS, *HARMLESS) if only in (None, trap.name)]
    faults = [(trap.name, number, fault(trap, each)) for trap in traps for number, each in enumerate(trap.variants)]
    print(*(f"{name}, way {number}: {text}" for name, number, text in faults if text), sep="\n")
    print(f"{len(faults)} ways to set {len(traps)} traps, {sum(text is not None for _, _, text in faults)} at fault")
    return int(any(text for _, _, text in faults))


def _show(asked: Asked) -> int:
    project = random_project(asked.seed, asked.only)
    print(f"{project.base}; traps: {project.traps}; harmless: {project.harmless}; loops: {project.loops}")
    one = check(asked)
    print(failure(one))
    print(
        *(f"{said.value}: {reason}" for said, reason in zip(one.rewriting.said, one.rewriting.reasons, strict=True)),
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
