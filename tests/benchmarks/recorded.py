"""`python -m tests.benchmarks.recorded`: CPU seconds of a program up to a call, watched as by `--run` and plain.

Both run in one process, several times in turn; the ratio is that of the least seconds of each. The first run, which
imports and compiles what later ones find, counts for neither.
"""

import sys
import tempfile
import time
from pathlib import Path

from scanify.verify.profile import hooks
from scanify.verify.recorded.functions import Function
from scanify.verify.recorded.watch import Ended, Watcher

PROGRAM = """
import re
import json

import equinox as eqx
import jax
import jax.numpy as jnp


class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [eqx.nn.Linear(16, 16, key=k) for k in jax.random.split(key, 6)]

    def __call__(self, x):
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return x


def tokens(text):
    return [word.lower() for word in re.findall("[a-z]+", text)]


def read():
    return sum(len(tokens(json.loads(json.dumps({"text": f"line {n} of a text"}))["text"])) for n in range(LINES))


def main():
    read()
    net = Net(jax.random.key(0))
    jax.clear_caches()
    eqx.filter_jit(net)(jnp.ones(16))


main()
"""
TURNS, LINES = 5, 60_000


def seconds(path: Path, *, watched: bool) -> float:
    """CPU seconds of one run until the call of `Net`; the end of a plain run is that of tracing the call."""
    code = compile(path.read_text(), str(path), "exec")
    space = {"__name__": "__main__", "LINES": LINES}
    watcher = Watcher(frozenset([Function(str(path), "Net.__call__")]), lambda name: name == str(path))
    start = time.process_time()
    if not watched:
        exec(code, space)
        return time.process_time() - start
    try:
        with watcher.watching():
            exec(code, space)
    except Ended:
        pass
    assert watcher.calls, "the call was not recorded"
    return time.process_time() - start


def main() -> int:
    if "--settrace" in sys.argv:  # as on Python 3.11, which has no sys.monitoring
        hooks._MONITORS = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "program.py"
        stopped = PROGRAM.replace(
            "    def __call__(self, x):\n", "    def __call__(self, x):\n        raise KeyError(0)\n"
        )
        plain = Path(folder).resolve() / "plain.py"
        path.write_text(PROGRAM)
        plain.write_text(stopped.replace("\nmain()\n", "\ntry:\n    main()\nexcept KeyError:\n    pass\n"))
        taken: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(TURNS + 1):
            for watched in (True, False):
                took = seconds(path if watched else plain, watched=watched)
                if turn:
                    taken[watched].append(took)
    ratio = min(taken[True]) / min(taken[False])
    print(f"plain   {min(taken[False]):.2f} CPU s until the call")
    print(f"watched {min(taken[True]):.2f} CPU s until the call, {ratio:.2f} times as many")
    return 0


if __name__ == "__main__":
    sys.exit(main())
