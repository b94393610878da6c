"""A verification of a model of 48 layers against compiling the gradient of its loop once, in one run.

The whole command is timed, with the start of Python and the import of jax in it, under all policies; the loop's figure
is the compilation by XLA alone, of a program that is traced and lowered already.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODEL, CASES, CASE = ROOT / "fixtures" / "gpt" / "before.py", ROOT / "fixtures" / "gpt" / "cases.py", "gpt_48"


def loop_seconds() -> tuple[float, float]:
    """Seconds to trace and lower the gradient of the loop with respect to model and inputs, and seconds to compile it."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from tests.fixture_helpers import fixture, thunk, write

    each = fixture("gpt")
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        model, args, kwargs = thunk(write(each.before, Path(folder)), each.target, CASES, CASE)()
        arrays, static = eqx.partition((model, args, kwargs), eqx.is_inexact_array)

        def loss(arrays: object) -> jax.Array:
            model, args, kwargs = eqx.combine(arrays, static)
            return jnp.sum(model(*args, **kwargs) ** 2)

        start = time.perf_counter()
        lowered = jax.jit(jax.grad(loss)).lower(arrays)
        between = time.perf_counter()
        lowered.compile()
        return between - start, time.perf_counter() - between


def command_seconds(remats: list[str], options: list[str]) -> float:
    """Seconds that `scanify verify` takes, from its start to its end."""
    command = [sys.executable, "-m", "scanify", "verify", str(MODEL), "--case", f"{CASES}:{CASE}", "--no-measure"]
    command += [word for remat in remats for word in ("--remat", remat)] + options
    start = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"the verification ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="of how many verifications the slowest is taken")
    given = parser.parse_args()
    options = ["--no-cache"] if _has_cache() else []
    every = max(command_seconds([], options) for _ in range(given.times))
    one = max(command_seconds(["nested"], options) for _ in range(given.times))
    lower, compile = loop_seconds()
    print(f"{'gradient of the loop, traced and lowered':42}{lower:8.1f} s")
    print(f"{'gradient of the loop, compiled':42}{compile:8.1f} s")
    for what, seconds in (("scanify verify, one policy", one), ("scanify verify, every policy", every)):
        print(f"{what:42}{seconds:8.1f} s  {seconds / compile:.2f} of the compilation")
    if every >= compile:
        sys.exit("a verification takes longer than compiling the gradient of the loop once")


def _has_cache() -> bool:
    from scanify.commands.verify import command

    return any("--no-cache" in (*each.opts, *each.secondary_opts) for each in command.params)


if __name__ == "__main__":
    main()
