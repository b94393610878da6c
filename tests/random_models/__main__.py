"""`python -m tests.random_models --count 5000 --seed 0`: models made at random, each held against its own loop."""

import argparse
import functools
import multiprocessing
import sys
import time
from collections.abc import Iterator

import jax

from scanify.emit.targets.every import SCANIFY, TARGETS
from tests.random_models.check import Checked, check
from tests.random_models.tally import Tally, failure, text

_KEEP = 400  # compiled programs are forgotten after so many models
_STRIDE = 1_000_000  # between the models of one --seed and those of the next


def checked(seeds: range, workers: int, target: str) -> Iterator[Checked]:
    if workers == 1:
        for count, seed in enumerate(seeds, 1):
            yield check(seed, target)
            if count % _KEEP == 0:
                jax.clear_caches()
        return
    # A forked process would share the threads of jax.
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=_KEEP) as pool:
        yield from pool.imap_unordered(functools.partial(check, target=target), seeds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_models", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="the number of models")
    parser.add_argument("--seed", type=int, default=0, help="which models")
    parser.add_argument("--from", type=int, default=0, dest="start", help="the first model, to run a slice")
    parser.add_argument("--workers", type=int, default=1, help="the number of processes")
    parser.add_argument("--verbose", action="store_true", help="reasons of refusals, and what is louder than its loop")
    parser.add_argument("--target", choices=TARGETS, default=SCANIFY, help="what the loops become")
    asked = parser.parse_args()
    begun = time.perf_counter()
    first = asked.seed * _STRIDE + asked.start
    tally = Tally(fails_loudly=asked.target != SCANIFY)
    for one in checked(range(first, first + asked.count), asked.workers, asked.target):
        tally.add(one)
        if one in (*tally.wrong[-1:], *tally.crashes[-1:]):
            print(failure(one), end="\n\n", flush=True)
    print(text(tally))
    print(f"seconds                       {time.perf_counter() - begun:.0f}")
    if asked.verbose:
        print(*(f"{count:5}  {reason}" for reason, count in tally.reasons.most_common(40)), sep="\n")
        print(*(f"louder: seed {one.seed}: {(one.crash or '').splitlines()[-1]}" for one in tally.louder), sep="\n")
    return 1 if tally.wrong or tally.crashes else 0


if __name__ == "__main__":
    sys.exit(main())
