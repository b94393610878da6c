"""The checker against random pairs of programs: what is proved it shows, and what differs it does not."""

import pytest

from scanify.verify.certificate.write import Proved
from scanify.verify.proof.prove import prove
from tests.certificate.programs import certificate_of
from tests.soundness.pairs import differ, pair, types


def examined(seed: int) -> None:
    one = pair(seed)
    try:
        before, after = one.traced()
    except Exception:  # jax refuses some programs
        return
    cotangents = len(types(one.before)) if one.gradients else 0
    certificate, unwritten = certificate_of(Proved("both", before, after, cotangents, 0))
    assert len(certificate["cases"][0]["checks"]) + len(unwritten) == 1
    if unwritten:
        assert not prove(before, after, cotangents=cotangents).proved, unwritten
    elif not one.equal:
        assert not differ(one, before, after)


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_what_is_shown_does_not_differ_and_what_is_proved_is_shown(start: int) -> None:
    for seed in range(start, start + 10):
        examined(seed)


@pytest.mark.whole
@pytest.mark.parametrize("start", range(40, 2000, 40))
def test_the_same_of_many_pairs(start: int) -> None:
    for seed in range(start, start + 40):
        examined(seed)
