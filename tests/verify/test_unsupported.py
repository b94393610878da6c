"""A remat policy that jax itself cannot do for a model fails nothing that nobody asked for."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.configuration.config import REMATS
from scanify.nn import ArrayStacked
from scanify.report.verification.summary import summary
from scanify.verify.compare.compare import compare_case
from scanify.verify.programs.policy import EVERY, is_asked_for
from scanify.verify.verdict import CaseResult, Status, Verification


class Layer(eqx.Module):
    w: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        return jnp.sin(self.w @ x)


class Model(eqx.Module):
    layers: Any

    def __call__(self, x: jax.Array) -> jax.Array:
        if isinstance(self.layers, ArrayStacked):
            return jnp.abs(self.layers.fold(x))
        for layer in self.layers:
            x = layer(x)
        return jnp.abs(x)


def compared(policies: tuple[str | None, ...], requested: str | None = None) -> CaseResult:
    """With complex weights, whose products `dots` cannot save (jax: reduce_precision takes no complex numbers)."""
    keys = jax.random.split(jax.random.key(0), 3)
    layers = [Layer(0.2 * jax.random.normal(key, (3, 3), jnp.complex64)) for key in keys]
    cases = [lambda held=held: (Model(held), (jnp.arange(3) + 0.5j,)) for held in (layers, ArrayStacked.of(layers))]
    return compare_case("c", *cases, policies=policies, requested=requested, abstract=False, measure=False)


def test_complex_weights_do_not_fail_for_a_policy_that_nobody_asked_for() -> None:
    result = compared(REMATS)
    (dots,) = [each for each in result.policies if each.policy == "dots"]
    assert dots.outputs.status is dots.gradients.status is Status.NOT_RUN
    assert "jax cannot do this under dots: TypeError: reduce_precision does not accept" in dots.gradients.reason
    assert result.good and all(each.outputs.status is Status.PROVED for each in result.policies if each is not dots)
    word, rest = summary(Verification((result,)))
    assert word in ("PROVED", "VERIFIED") and "5 remat policies (not dots, which jax cannot do for every case)" in rest


@pytest.mark.parametrize(("policies", "requested"), [(("dots",), None), (("none", "dots"), None), (REMATS, "dots")])
def test_a_policy_that_was_asked_for_fails(policies: tuple[str, ...], requested: str | None) -> None:
    result = compared(policies, requested)
    assert not result.good
    (dots,) = [each for each in result.policies if each.policy == "dots"]
    assert dots.gradients.status is Status.FAILED and not dots.unsupported


def test_what_the_version_cannot_do_as_it_is_written_fails() -> None:
    """Where no policy works there is no limit of jax to blame."""
    from scanify.verify.cases.iterations import Iterations
    from scanify.verify.compare.compare import _Case

    none = Iterations({})
    case = _Case("c", REMATS, None, False, False, None, None, None, False, "decoding", none, none)
    gone = SimpleNamespace(gradient=None, raised="it raised")
    subject = SimpleNamespace(original=SimpleNamespace(gradient=object()))
    assert case.unsupported(subject, "dots", {case.key("dots"): gone, case.key(None): gone}) == ""  # type: ignore[arg-type, dict-item]


def test_policies_are_asked_for_unless_all_of_them_are_looked_at() -> None:
    assert EVERY == REMATS
    assert not is_asked_for("dots", REMATS, None) and not is_asked_for("dots", (*REMATS, None), "nested")
    assert is_asked_for(None, REMATS, None) and is_asked_for("full", REMATS, "full")
    assert is_asked_for("dots", ("dots", "nested"), None)
