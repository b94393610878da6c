"""The losses of both versions of a case, step by step: frozen data, without jax, for the command line and reports."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """The losses at one step, before its update. `relative`: their difference relative to the original's loss.

    `ulp`: the number of representable values between them; None for infinite losses of different signs, or NaN.
    """

    before: float
    after: float
    equal: bool
    ulp: int | None = None
    relative: float = 0.0


@dataclass(frozen=True)
class Losses:
    """The steps of one training. `optimizer` and `loss` describe the optimiser and the minimised loss.

    `digits` is the number of decimal digits that distinguish any two losses of their dtype.
    """

    optimizer: str
    loss: str
    digits: int
    steps: tuple[Step, ...]
