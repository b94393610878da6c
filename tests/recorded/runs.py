"""Programs that call a small model, run with both versions in this process."""

import textwrap
from pathlib import Path

from scanify.errors import ScanifyError
from scanify.pipeline import Project, rewrite_sources
from scanify.verify.cases.case import command_case
from scanify.verify.children.child import run_case
from scanify.verify.request import Change, Request
from scanify.verify.values.arrays import show_aval
from scanify.verify.verdict import CaseResult

MODEL = """
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, width, *, key):
        self.linear = eqx.nn.Linear(width, width, key=key)
        self.dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x, key=None):
        return x + self.dropout(jax.nn.gelu(self.linear(x)), key=key, inference=key is None)


class Net(eqx.Module):
    layers: list[Block]

    def __init__(self, width, depth, *, key):
        self.layers = [Block(width, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x, key=None):
        keys = [None] * len(self.layers) if key is None else jax.random.split(key, len(self.layers))
        for layer, k in zip(self.layers, keys):
            x = layer(x, k)
        return x


def forward(net: Net, x):
    for layer in net.layers:
        x = layer(x)
    return x


def centred(net: Net, x):
    for layer in net.layers:
        x = layer(x)
        x = x - jax.lax.pmean(x, "batch")
    return x
"""
PROGRAM = """
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from model import Block, Net, centred, forward
net = Net(4, 3, key=jax.random.key(0))
x = jnp.ones(4)
"""


def run(
    folder: Path, program: str, comparer: str = "tests.recorded.runs:described", edit: tuple[str, str] | None = None
) -> tuple[CaseResult, ...]:
    """Run a program that goes on after `PROGRAM`, with what a rewrite of both gives; `edit` changes that."""
    return run_case(request(folder, program, comparer, edit))


def request(folder: Path, program: str, comparer: str, edit: tuple[str, str] | None = None) -> Request:
    """Return what the child process of such a run is asked."""
    (folder / "model.py").write_text(MODEL)
    (folder / "program.py").write_text(PROGRAM + textwrap.dedent(program))
    files = [folder / "model.py", folder / "program.py"]
    outcome = rewrite_sources(Project.load(files), accept=lambda plan: True, undecided=lambda place: True)
    changed = dict(outcome.changes)
    if edit is not None:
        old, new = (text.encode() for text in edit)
        (path,) = (path for path, (_, after) in changed.items() if old in after)
        before, after = changed[path]
        changed[path] = before, after.replace(old, new)
    return Request(
        case=command_case("python program.py", folder),
        target=folder / "model.py",
        changes=tuple(Change(path, *texts) for path, texts in changed.items()),
        policies=(None,),
        requested=None,
        abstract=False,
        measure=False,
        directory=folder,
        comparer=comparer,
    )


def described(name, before, after, **options):  # type: ignore[no-untyped-def]
    """A comparer that traces nothing: the notes are the avals of the arguments, and whether both gave the same."""
    import jax
    import numpy as np

    from scanify.verify.values.arrays import plain

    first, second = (build()[2] for build in (before, after))
    leaves = [jax.tree.leaves(each) for each in (first, second)]
    if len(leaves[0]) != len(leaves[1]):
        raise ScanifyError("the arguments differ in structure")
    same = all(np.array_equal(plain(a), plain(b)) for a, b in zip(*leaves, strict=True) if hasattr(a, "shape"))
    avals = (f"{key} {show_aval(leaf)}" for key, leaf in first.items() if hasattr(leaf, "shape"))
    return CaseResult(name, notes=(*avals, f"start {before.start().value}", f"same {same}"))
