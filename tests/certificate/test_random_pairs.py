"""The checker against random pairs of programs: what differs it does not show, and nearly all that is proved it does.

It does not take operations apart into those of their rows (`scanify.jaxpr.rules.rows`), which few pairs need.
"""

import pytest

from scanify.verify.certificate.write import Proved
from scanify.verify.proof.prove import prove
from tests.certificate.programs import certificate_of
from tests.soundness.pairs import differ, pair, types


def examined(seed: int) -> bool:
    """Whether the pair of a seed is proved and not shown."""
    one = pair(seed)
    try:
        before, after = one.traced()
    except Exception:  # jax refuses some programs
        return False
    cotangents = len(types(one.before)) if one.gradients else 0
    certificate, unwritten = certificate_of(Proved("both", before, after, cotangents, 0))
    assert len(certificate["cases"][0]["checks"]) + len(unwritten) == 1
    if unwritten:
        return prove(before, after, cotangents=cotangents).proved
    assert one.equal or not differ(one, before, after)
    return False


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_what_is_shown_does_not_differ_and_what_is_proved_is_shown(start: int) -> None:
    assert not any(examined(seed) for seed in range(start, start + 10))


@pytest.mark.whole
@pytest.mark.parametrize("start", range(40, 2000, 40))
def test_the_same_of_many_pairs(start: int) -> None:
    assert sum(examined(seed) for seed in range(start, start + 40)) <= 3
