"""`python -m tests.random_stacks --count 5000 --seed 0`: each program with a stack against the same with a loop."""

import argparse
import sys
import time
import traceback
from collections import Counter

import jax

from tests.random_stacks.cases import Case


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    start = time.monotonic()
    with jax.enable_x64(True):
        for seed in range(options.seed, options.seed + options.count):
            if time.monotonic() - start > options.seconds:
                break
            case = Case(seed)
            try:
                case.check()
                found["equal"] += 1
            except AssertionError as error:
                found["wrong"] += 1
                print(f"WRONG {case.name}\n{str(error)[:600]}", flush=True)
            except Exception:
                found["crashed"] += 1
                print(f"CRASHED {case.name}\n{traceback.format_exc(limit=-4)[:1500]}", flush=True)
    print(f"{sum(found.values())} programs, {dict(found)}, {time.monotonic() - start:.0f} s")
    return 1 if found["wrong"] or found["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
