"""What a comparison says that it is doing, in words, and to nobody where nobody listens."""

from scanify.verify.children.telling import listening, tell
from scanify.verify.measure.steps import Steps


def test_steps_are_told_in_words_with_the_policy_they_are_for() -> None:
    told: list[str] = []
    steps = Steps()
    with listening(told.append):
        with steps.step("trace"):
            pass
        steps.under = " under nested"
        with steps.step("prove"):
            tell("a step without words of its own")
    with steps.step("measure"):
        pass
    assert told == ["tracing", "proving under nested", "a step without words of its own"]
    assert list(steps.spent) == ["trace", "prove", "measure"]
