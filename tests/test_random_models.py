"""Models made at random, rewritten by the whole tool and run beside their own loops: the same, or no safe fix."""

import contextlib
import functools
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scanify.pipeline import Project, rewrite_sources
from tests.random_models import Model, random_model

COUNT = 80
SEEDS = range(COUNT)


@pytest.fixture(autouse=True, scope="module")
def _caches() -> Iterator[None]:
    yield
    jax.clear_caches()


@dataclass(frozen=True)
class Run:
    """What a model did: its output and gradients, or the exception, and what it left behind."""

    error: str | None
    printed: str
    left: list[Any]
    arrays: list[np.ndarray]


@functools.cache
def rewritten(seed: int) -> str | None:
    """The model of a seed with its safe fixes, None where there are none."""
    model = random_model(seed)
    root = Path("/nowhere")
    project = Project.of_text(model.text.encode(), root / "model.py", root=root)
    outcome = rewrite_sources(project, stack=model.stack, remat="none")  # type: ignore[arg-type]
    return outcome.texts[root / "model.py"] if outcome.applied else None


def run(text: str) -> Run:
    """Build the model of a text, call it, and differentiate it by its parameters and inputs."""
    module = _executed(text)
    log = {"n": 0, "all": [1.0, 2.0, 3.0, 4.0], "rng": np.random.default_rng(0), "counter": iter(range(100))}
    mask, ks = jnp.linspace(0.5, 1.0, 4), jnp.linspace(-0.3, 0.3, 12).reshape(3, 4)
    printed = io.StringIO()
    error: str | None = None
    arrays: list[Any] = []
    with contextlib.redirect_stdout(printed):
        try:
            model = module.Model(key=jax.random.key(7))
            x, s = jnp.linspace(0.1, 0.9, 4), jnp.full(4, 0.2)

            @functools.partial(eqx.filter_grad, has_aux=True)
            def gradient(given: Any) -> Any:
                model, x, s, mask, ks = given
                out = model(x, s, mask, ks, log)
                return jnp.sum(out**2), out

            changes, out = gradient((model, x, s, mask, ks))
            arrays = [out, *changes[1:], *jax.tree.leaves(list(changes[0].layers))]
        except Exception as raised:  # every one is an answer to compare
            error = type(raised).__name__
    left = [module.CALLS, log["n"], log["all"], next(log["counter"]), log["rng"].normal()]
    return Run(error, printed.getvalue(), left, [np.asarray(array) for array in arrays])


def _executed(text: str) -> ModuleType:
    module = ModuleType("random_model")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text, "random_model.py", "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module


def check(model: Model, new: str) -> None:
    """The rewritten model does what the loop did. It may be louder, never more silent."""
    with jax.enable_x64(True):
        loop, scan = run(model.text), run(new)
    assert scan.error == loop.error, new
    assert scan.printed == loop.printed, new
    assert scan.left == loop.left, new
    assert len(scan.arrays) == len(loop.arrays)
    for ours, theirs in zip(scan.arrays, loop.arrays, strict=True):
        assert ours.dtype == theirs.dtype, new
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=new)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_safe_fix_keeps_what_the_loop_does_for_the_model_of_seed(seed: int) -> None:
    new = rewritten(seed)
    if new is not None:
        check(random_model(seed), new)


def test_half_of_the_models_are_rewritten() -> None:
    assert sum(rewritten(seed) is not None for seed in SEEDS) >= COUNT // 2
