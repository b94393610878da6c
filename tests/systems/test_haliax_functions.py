"""`haliax.fold`, `scan` and `map` over a named axis: each proved equal to the Python loop that it stands for."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scanify
from tests.systems.haliax_remats import every_spelling, policy
from tests.systems.transformed import is_left_alone

hax: Any = pytest.importorskip("haliax", reason="haliax is not installed")
# Of its releases that run on Python 3.11, what they use of jax is going to be taken away.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Time, Features = hax.Axis("time", 6), hax.Axis("features", 3)
DATA = jnp.asarray(np.random.default_rng(0).normal(size=(6, 3)))


def statistics(state: Any, x: Any) -> Any:
    """The running mean and the extremes, with names for what may be kept."""
    count, mean, least, most = state
    count = count + 1
    delta = hax.tree_checkpoint_name(x - mean, "y")
    mean = mean + hax.tree_checkpoint_name(delta / count, "z")
    return count, mean, hax.minimum(least, x), hax.maximum(most, x)


START = (jnp.zeros(()), jnp.zeros(3), jnp.full(3, jnp.inf), jnp.full(3, -jnp.inf))


def named(state: Any) -> Any:
    """The state that a run begins with: an input, as all of it has a derivative in a scan, and may have none before."""
    return state[0], *(hax.named(each, Features) for each in state[1:])


def rows(data: Any) -> list[Any]:
    return [hax.named(row, Features) for row in data]


def plain(tree: Any) -> Any:
    return jax.tree.map(lambda each: each.array if isinstance(each, hax.NamedArray) else each, tree, is_leaf=_is_named)


def _is_named(each: Any) -> bool:
    return isinstance(each, hax.NamedArray)


def folded(data: Any, state: Any, remat: Any = False) -> Any:
    return plain(hax.fold(statistics, Time, remat=remat)(named(state), hax.named(data, (Time, Features))))


def looped_fold(data: Any, state: Any) -> Any:
    state = named(state)
    for row in rows(data):
        state = statistics(state, row)
    return plain(state)


def scanned(data: Any, state: Any, remat: Any = False) -> Any:
    def step(state: Any, x: Any) -> Any:
        state = statistics(state, x)
        return state, state[1]

    state, means = hax.scan(step, Time, remat=remat)(named(state), hax.named(data, (Time, Features)))
    assert means.axes == (Time, Features)
    return plain((state, means))


def looped_scan(data: Any, state: Any) -> Any:
    state, means = named(state), []
    for row in rows(data):
        state = statistics(state, row)
        means.append(state[1])
    return plain((state, hax.stack(Time, means)))


def mapped(data: Any, state: Any, remat: Any = False) -> Any:
    return plain(hax.map(_one, Time, remat=remat)(hax.named(data, (Time, Features))))


def _one(x: Any) -> Any:
    return hax.sin(hax.tree_checkpoint_name(x * 2, "y")) + 1


def looped_map(data: Any, state: Any) -> Any:
    return plain(hax.stack(Time, [_one(row) for row in rows(data)]))


def proved(loop: Any, scan: Any) -> None:
    answer = scanify.prove_equal(loop, scan, DATA, START)
    assert answer, (answer.verdict, answer.reason)


@pytest.mark.parametrize(
    ("loop", "scan"), [(looped_fold, folded), (looped_scan, scanned), (looped_map, mapped)], ids=["fold", "scan", "map"]
)
def test_it_is_the_loop(loop: Any, scan: Any) -> None:
    proved(loop, scan)


@every_spelling
def test_so_it_is_under_every_policy(spelling: str) -> None:
    proved(looped_scan, lambda data, state: scanned(data, state, policy(spelling)))


@pytest.mark.parametrize("scan", [folded, scanned, mapped])
def test_one_that_leaves_out_an_element_is_found_out(scan: Any) -> None:
    loop = {folded: looped_fold, scanned: looped_scan, mapped: looped_map}[scan]
    wrong = scanify.prove_equal(loop, lambda data, state: scan(data.at[-1].set(0.0), state), DATA, START, up_to=0)
    assert wrong.verdict.name == "FAILED", wrong


def test_nothing_is_said_of_this_file(tmp_path: Path) -> None:
    assert is_left_alone(__file__, tmp_path)
