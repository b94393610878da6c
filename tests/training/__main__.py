"""`make train`: a small language model on real text, trained as a loop over its blocks and as scans, side by side.

Prints a table and, with `--plot FILE`, draws the losses over time. `--x64` computes in float64, where what rounding does
to the loss over the steps is too small to see, so that what is left would be another computation.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tests.training.report import plot, table
from tests.training.run import Size, run
from tests.training.version import VERSIONS


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.training", description=__doc__)
    for name, default in (("steps", 500), ("layers", 12), ("width", 64), ("heads", 4), ("length", 64), ("batch", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--x64", action="store_true", help="in float64")
    parser.add_argument("--only", help="versions, with semicolons between; the loops are always among them")
    parser.add_argument("--plot", type=Path)
    options = vars(parser.parse_args(given))
    file, only = options.pop("plot"), options.pop("only")
    size = Size(**options)
    runs = {}
    for version in VERSIONS:
        if only is None or version.remat is None or version.name in only.split(";"):
            runs[version.name] = run(version.name, size)
            print(f"{version.name}: trained", flush=True)
    print(f"\n{table(runs, size)}")
    if file is not None:
        plot(runs, file)


if __name__ == "__main__":
    main()
