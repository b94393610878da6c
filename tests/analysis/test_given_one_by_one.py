"""Layers that a caller gives, declared as a base class, share a body no more where a constructor copies them one by one."""

import pytest
from helpers import decide

from scanify.analysis.plan import Plan

CODE = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Kernel(eqx.Module):
    def __call__(self, x):
        raise NotImplementedError


class Radial(Kernel):
    scale: jax.Array

    def __call__(self, x):
        return jnp.exp(-self.scale * x)


class Linear(Kernel):
    slope: jax.Array

    def __call__(self, x):
        return self.slope * x


class Sum(Kernel):
    kernels: list

    def __init__(self, kernels: list[{kind}]):
        flat = []
        {copy}

    def __call__(self, x):
        return jnp.sum(jnp.stack([kernel(x) for kernel in self.kernels]))
"""
COPIES = {
    "as they are": "self.kernels = list(kernels)",
    "one by one": "for kernel in kernels:\n            flat.append(kernel)\n        self.kernels = flat",
    "those that are there": "self.kernels = [kernel for kernel in kernels if kernel is not None]",
    "sums taken apart": (
        "for kernel in kernels:\n            if type(kernel) is type(self):\n                flat.extend(kernel.kernels)\n"
        "            else:\n                flat.append(kernel)\n        self.kernels = tuple(flat)"
    ),
}
CALLER = "\n\ndef made(n):\n    return Sum([Radial(jnp.ones(())) for _ in range(n)])\n"
OF_AN_HEIR = "\n\nclass Mean(Sum):\n    pass\n" + CALLER.replace("Sum(", "Mean(")


def rules(text: str) -> list[tuple[str, bool]]:
    return [(each.rule, isinstance(each, Plan)) for each in decide(text)]


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_of_a_base_class_nothing_shows_that_three_are_alike(copy):
    for caller in ("", CALLER, OF_AN_HEIR):
        assert rules(CODE.format(copy=copy, kind="Kernel") + caller) in ([], [("SCN215", False)])


def test_of_one_class_they_are_alike():
    assert rules(CODE.format(copy=COPIES["as they are"], kind="Radial")) == [("SCN104", True)]
