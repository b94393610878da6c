"""`make reroll-models`: models that nobody here wrote, rerolled; two tables, of what they cost and of whether they are right.

Those of `tests/packages`, and models of what Flax, Haiku, jraph, Equinox and other packages come with, with `min_layers=3`.
The first table is of the values and the gradient, compiled as one program: the model's own, and the rerolled. The second is
of the model rerolled and transformed: whether the prover shows the program to compute what the model's own does, and
whether both, evaluated equation by equation, give the same bits. (Compiled whole, XLA may round either in another way.)
"""

import argparse
import sys
import time
from collections.abc import Sequence

import jax

from tests.benchmarks.reroll_models import cost, ways
from tests.benchmarks.reroll_models.models import BUILDERS


def table(columns: Sequence[str], rows: Sequence[tuple[str, list[str]]]) -> str:
    lines = [("model", list(columns)), ("---", ["---"] * len(columns)), *rows]
    return "\n".join(f"| {name} | {' | '.join(cells)} |" for name, cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reroll_models", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names (default: all)")
    given = parser.parse_args()
    costs: list[tuple[str, list[str]]] = []
    right: list[tuple[str, list[str]]] = []
    failed, seconds = False, ""
    for name, build in BUILDERS.items():
        if given.names and not any(part in name for part in given.names):
            continue
        try:
            f, args = cost.built(build)
            costs.append((name, cost.cells(f, args)))
            if costs[-1][1][1] != "nothing":
                right.append((name, ways.cells(f, args)))
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:150]!r}"
            costs.append((name, [said, *[""] * (len(cost.COLUMNS) - 1)]))
            failed = True
        seconds = f"{time.process_time():.0f} s of CPU time"
        # As it goes, so that a run that is stopped leaves what it has found.
        print(seconds, costs[-1], *right[-1:], sep="\n  ", file=sys.stderr, flush=True)
    print(f"{jax.devices()[0].platform}, jax {jax.__version__}, {seconds}\n")
    print(table(cost.COLUMNS, costs), table(ways.COLUMNS, right), sep="\n\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
