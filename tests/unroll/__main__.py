"""`python -m tests.unroll`: how many models made at random are what they were, rewritten and unrolled.

With `--run N` every Nth loop that is read off the source and differs from the model's is run beside it.
"""

import argparse
import os
import sys

from tests.unroll.there_and_back import There, tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", type=int, default=10, metavar="N")
    given = parser.parse_args()
    os.environ.pop("CI", None)
    os.environ.pop("SCANIFY_CACHE_DIR", None)
    found, every = tally(range(given.seed, given.seed + given.count), given.count // 10)
    print(found, flush=True)
    other = [there for there in every if there.read not in (there.model.text, there.scan)][:: given.run]
    wrong = [f"seed {there.seed}: {said}" for there in other if (said := run_beside(there)) is not None]
    print(f"{len(other)} of the other loops run beside the model: {len(wrong)} differ")
    print("".join(f"{each}\n" for each in wrong), end="")
    return 1 if wrong or found.failures else 0


def run_beside(there: There) -> str | None:
    """How the loop that was read off the source differs from the model's own, None where it does not."""
    import jax

    from tests.random_models.check import differs
    from tests.random_models.run import run

    with jax.enable_x64(True):
        own, other = (run(text, keyed=there.model.keyed, how="traced") for text in (there.model.text, there.read))
    return differs(own, other)


if __name__ == "__main__":
    sys.exit(main())
