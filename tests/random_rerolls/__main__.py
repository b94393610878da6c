"""`python -m tests.random_rerolls --count 5000 --seed 0`: programs in which layers repeat or nearly do, rerolled.

Each rolled program is evaluated equation by equation and must give the bits of the original, whether it is proved or
not; of every fourth the gradients are compared too. It counts what was planted and not found, and what is not proved.
"""

import argparse
import sys
import time
import traceback
from collections import Counter

import jax

from tests.random_rerolls.case import Case

EVERY = 200  # programs, after which what jax has kept of them is forgotten


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_rerolls", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--verbose", action="store_true", help="show what is missed")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    start, seed = time.monotonic(), options.seed
    while seed < options.seed + options.count and time.monotonic() - start < options.seconds:
        try:
            outcome = Case(seed).outcome(gradients=seed % 4 == 0)
        except Exception:
            print(f"CRASHED {seed}\n{traceback.format_exc(limit=-6)[:3000]}", flush=True)
            found["crashed"] += 1
            seed += 1
            continue
        found["programs"] += 1
        found["near repetitions"] += outcome.near
        found["rolled"] += bool(outcome.found)
        found["wrong"] += bool(outcome.wrong)
        found["not proved"] += bool(outcome.doubt)
        found["planted"] += len(outcome.planted)
        found["missed"] += outcome.missed
        if outcome.wrong:
            print(f"WRONG {seed}: {outcome.wrong} (proved: {not outcome.doubt})", flush=True)
        if outcome.doubt:
            print(f"NOT PROVED {seed}: {outcome.doubt[:300]}", flush=True)
        if options.verbose and outcome.missed:
            print(f"MISSED {seed}: planted {outcome.planted}, found {outcome.found}", flush=True)
        seed += 1
        if found["programs"] % EVERY == 0:
            jax.clear_caches()
    print(f"{dict(found)}, {time.monotonic() - start:.0f} s; to go on: --seed {seed}")
    return 1 if found["wrong"] or found["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
