"""`python -m tests.benchmarks.runtime`: measure, and write the figures to a folder."""

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

import jax

from tests.benchmarks.runtime.block import ON_ACCELERATOR, SIZES, batch, layers
from tests.benchmarks.runtime.contenders import POLICIES, contenders
from tests.benchmarks.runtime.measure import Figures, compiled, interleaved_steps
from tests.benchmarks.runtime.plots import plot
from tests.benchmarks.runtime.tables import markdown, write_json


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.runtime", description=__doc__)
    parser.add_argument("--layers", default="4,12,24,48,61,96", help="numbers of layers, with commas between")
    parser.add_argument(
        "--sizes", default=",".join(one.name for one in SIZES), help="which is heavy; gpt2 for an accelerator"
    )
    parser.add_argument("--policies", default=",".join(POLICIES))
    parser.add_argument(
        "--unroll", default="", help="of ours also scans with so many layers in a step, with commas between"
    )
    parser.add_argument("--loop-up-to", type=int, default=48, help="above this, the loop is left out")
    parser.add_argument("--rounds", type=int, default=5, help="the fewest interleaved steps that a median is taken of")
    parser.add_argument("--seconds", type=float, default=20, help="more rounds are run until this time has passed")
    parser.add_argument("--no-steps", action="store_true", help="compile, and run nothing: a busy machine will do")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    return parser.parse_args()


def main() -> None:
    given = arguments()
    device = jax.devices()[0]
    machine = {
        "device": f"{device.device_kind} ({device.platform})",
        "python": f"Python {platform.python_version()}",
        **{name: f"{name} {version(name)}" for name in ("jax", "equinox")},
    }
    rows: list[Figures] = []
    given.out.mkdir(parents=True, exist_ok=True)
    for sizes in (one for one in (*SIZES, *ON_ACCELERATOR) if one.name in given.sizes.split(",")):
        x = batch(sizes)
        for count in (int(one) for one in given.layers.split(",")):
            runs = []
            unrolls = tuple(int(one) for one in given.unroll.split(",") if one)
            ways = contenders(
                layers(sizes, count), tuple(given.policies.split(",")), count <= given.loop_up_to, unrolls
            )
            for contender in ways:
                figures, executable = compiled(contender, sizes.name, count, x)
                runs.append((figures, executable, contender.parameters))
                done = f"{sizes.name} {count}: {figures.contender} {figures.policy}"
                print(f"{done} compiled in {figures.compile:.1f} s", flush=True)
            if not given.no_steps:
                interleaved_steps(runs, x, given.rounds, given.seconds)
            rows += [figures for figures, _, _ in runs]
            write_json(rows, machine, given.out / "runtime.json")
            (given.out / "runtime.md").write_text(markdown(rows, machine))
    plot(rows, given.out)
    print(f"\n{markdown(rows, machine)}\nwritten to {given.out}")


if __name__ == "__main__":
    main()
