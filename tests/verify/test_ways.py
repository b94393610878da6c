"""What is tested along branches and trips that values choose is said to be tested along those alone."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.verify.compare.ways import ways_not_taken
from scanify.verify.verdict import Status
from tests.verify.functions import outputs

W, X = jnp.linspace(0.5, 1.5, 4), jnp.arange(4.0) + 0.25


def branch(w: Any, x: Any) -> Any:
    return jax.lax.cond(jnp.sum(x) > 1e9, lambda: x, lambda: w * x)


def loop(w: Any, x: Any) -> Any:
    return jax.lax.while_loop(lambda y: jnp.sum(y) < 9, lambda y: y + w, x)


WAYS = {
    "of 1 condition only": branch,
    "of 1 loop of unknown length only": loop,
    "of 2 conditions and 1 loop of unknown length only": lambda w, x: branch(w, x) + jax.jit(branch)(w, loop(w, x)),
    "": lambda w, x: jax.lax.fori_loop(0, 3, lambda i, y: y * w, jnp.where(x > 1, x, w)),
}


@pytest.mark.parametrize("says", WAYS)
def test_branches_and_loops_that_values_choose_are_counted(says: str) -> None:
    found = ways_not_taken(jax.make_jaxpr(WAYS[says])(W, X), jax.make_jaxpr(jnp.multiply)(W, X))
    assert (says in found) if says else not found


def test_what_is_tested_says_so() -> None:
    verdict = outputs(branch, lambda w, x: jax.lax.cond(jnp.sum(x) > 2e9, lambda: x, lambda: w * x), W, X)
    assert verdict.status is Status.TESTED and verdict.reason.endswith(
        "of 1 condition only what these values take is compared"
    )


def guarded(what: str, limit: float) -> Any:
    return lambda w, x: eqx.error_if(w * x, jnp.any(x > limit), what)


def inside(w: Any, x: Any) -> Any:
    return jax.lax.scan(lambda c, _: (guarded("too large", 1e30)(w, c), None), x, None, length=2)[0]


@pytest.mark.parametrize("before", [guarded("too large", 1e30), inside], ids=["a check", "a check in a scan"])
def test_a_check_that_is_lost_is_not_tested_by_values_that_pass_it(before: Any) -> None:
    verdict = outputs(before, lambda w, x: w * x if before is not inside else w * (w * x), W, X)
    assert verdict.status is Status.NOT_RUN
    assert "the original checks 'too large' when it runs, and the rewritten version does not" in verdict.reason
    assert outputs(guarded("too large", 1e30), guarded("too large", 1e31), W, X).status is Status.TESTED
    assert outputs(before, before, W, X).status is Status.PROVED
