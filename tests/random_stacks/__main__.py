"""`python -m tests.random_stacks --count 5000 --seed 0`: each program with a stack against the same with a loop.

A run that ends early says with which seed to go on.
"""

import argparse
import os
import sys
import time
import traceback
from collections import Counter

# Eight devices, and programs that are compiled once and run once.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax

from tests.random_stacks.cases import Case
from tests.random_stacks.transformations import COMPILED

EVERY = 500  # programs, after which what jax has kept of them is forgotten
SHOWN = 50  # programs, after which a line says how far it is


def outcome(case: Case) -> str:
    """What becomes of a program; what is not as it should be is printed."""
    try:
        case.check()
    except AssertionError as error:
        print(f"WRONG {case.name}\n{str(error)[:600]}", flush=True)
        return "wrong"
    except Exception as error:
        found = traceback.format_exc(limit=-4)[:1500]
        try:
            case.loop_can()
        except Exception as other:
            print(f"RAISED BY BOTH {case.name}\n{str(error)[:200]}\n{str(other)[:200]}", flush=True)
            return "raised by both"
        print(f"CRASHED {case.name}\n{found}", flush=True)
        return "crashed"
    return "equal"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_stacks", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--compiled", action="store_true", help="only programs under what must be compiled")
    options = parser.parse_args()
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    start, seed = time.monotonic(), options.seed
    with jax.enable_x64(True):
        while seed < options.seed + options.count and time.monotonic() - start < options.seconds:
            case = Case(seed)
            if options.compiled and case.transformation not in COMPILED:
                seed += 1
                continue
            found[outcome(case)] += 1
            kinds[case.transformation + (" with a state" if case.states is not None else "")] += 1
            seed += 1
            if sum(found.values()) % EVERY == 0:
                jax.clear_caches()
            if sum(found.values()) % SHOWN == 0:
                print(f"{time.monotonic() - start:.0f} s, to go on: --seed {seed}; {dict(found)}", flush=True)
    print(f"{sum(found.values())} programs, {dict(found)}, {time.monotonic() - start:.0f} s; to go on: --seed {seed}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())))
    return 1 if found["wrong"] or found["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
