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
from scanify.verify.versions.loaded import Version, VersionLoader

HEAD = """
import re
import json

import equinox as eqx
import jax
import jax.numpy as jnp

jax.clear_caches()


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, width, key):
        keys = jax.random.split(key, 3)
        self.norm = eqx.nn.LayerNorm(width)
        self.attention = eqx.nn.MultiheadAttention(4, width, key=keys[0])
        self.up = eqx.nn.Linear(width, 4 * width, key=keys[1])
        self.down = eqx.nn.Linear(4 * width, width, key=keys[2])

    def __call__(self, x):
        y = jax.vmap(self.norm)(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.down)(jax.nn.gelu(jax.vmap(self.up)(x)))


class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Block(32, k) for k in jax.random.split(key, 6)]

    def __call__(self, x):
        STOP
        for layer in self.layers:
            x = layer(x)
        return x


net = Net(jax.random.key(0))
x = jnp.ones((8, 32))
"""
PROGRAMS = {
    "calls of functions": """
def tokens(text):
    return [word.lower() for word in re.findall("[a-z]+", text)]


sum(len(tokens(json.loads(json.dumps({"text": f"line {n} of a text"}))["text"])) for n in range(60_000))
""",
    "a gradient under jit": """
encoder = [Block(32, k) for k in jax.random.split(jax.random.key(1), 6)]


def loss(encoder, net, x):
    for block in encoder:
        x = block(x)
    return jnp.sum(x)


x = x + eqx.filter_jit(eqx.filter_value_and_grad(loss))(encoder, net, x)[0]
""",
}
END = """
try:
    eqx.filter_jit(net)(x)
except KeyError:
    pass
"""
TURNS = 5


def seconds(path: Path, *, watched: bool) -> float:
    """CPU seconds of one run until the call of `Net`."""
    version = Version.of("original", {path: path.read_bytes()}, [])
    loader = VersionLoader("__main__", str(path), version)
    space = {"__name__": "__main__"}
    watcher = Watcher(frozenset([Function(str(path), "Net.__call__")]), lambda name: name == str(path))
    start = time.process_time()
    if not watched:
        exec(loader.get_code("__main__"), space)
        return time.process_time() - start
    try:
        with watcher.watching(version):
            exec(loader.get_code("__main__"), space)
    except Ended:
        pass
    assert watcher.calls, "the call was not recorded"
    return time.process_time() - start


def main() -> int:
    if "--inserted" in sys.argv:  # as on Python 3.11, which has no sys.monitoring
        hooks._MONITORS = False
    with tempfile.TemporaryDirectory() as folder:
        for name, program in PROGRAMS.items():
            measure(name, HEAD + program + END, Path(folder).resolve())
    return 0


def measure(name: str, program: str, folder: Path) -> None:
    """Run a program, watched and plain, and print both; the plain one raises where the watched one is ended."""
    files = {True: folder / "watched.py", False: folder / "plain.py"}
    for watched, path in files.items():
        path.write_text(program.replace("STOP", "pass" if watched else "raise KeyError(0)"))
    taken: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(TURNS + 1):
        for watched, path in files.items():
            took = seconds(path, watched=watched)
            if turn:
                taken[watched].append(took)
    plain, watched = min(taken[False]), min(taken[True])
    print(f"{name}: plain {plain:.2f}, watched {watched:.2f} CPU s until the call, {watched / plain:.2f} times as many")


if __name__ == "__main__":
    sys.exit(main())
