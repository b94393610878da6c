"""Layers that hold pytrees of the project: what takes them apart, and puts them together with the arrays of all layers."""

import pytest

from scanify.analysis.plan import Plan
from tests.analysis.helpers import PRELUDE, only
from tests.texts import texts

HEAD = PRELUDE.partition("class Block")[0] + "from dataclasses import dataclass, fields\n\n"
NET = """

class Layer(eqx.Module):
    kernel: Kernel

    def __init__(self, width, *, key):
        self.kernel = Kernel(jr.normal(key, (width, width)), 2.0)

    def __call__(self, x):
        return self.kernel.table @ x


class Net(eqx.Module):
    layers: list

    def __init__(self, width, depth, *, key):
        self.layers = [Layer(width, key=k) for k in jr.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
INIT = "    def __init__(self, table, limit):\n        self.table = table\n        self.limit = limit\n\n"
FLATTEN = "    def tree_flatten(self):\n        return (self.table,), self.limit\n\n"
UNFLATTEN = "    @classmethod\n    def tree_unflatten(cls, limit, children):\n        return cls(*children, limit)\n"
KERNEL = f"@jax.tree_util.register_pytree_node_class\nclass Kernel:\n{INIT}{FLATTEN}{UNFLATTEN}"
BESIDE = f"class Kernel:\n{INIT}\njax.tree_util.register_pytree_node(Kernel, lambda k: ((k.table,), k.limit), lambda l, c: Kernel(*c, l))\n"


def said(kernel: str) -> tuple[str, ...]:
    found = only(HEAD + kernel + NET)
    assert isinstance(found, Plan), found
    return texts(found.obligations)


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(f"class Kernel(eqx.Module):\n    table: jax.Array\n    limit: float\n\n{INIT}", id="a module"),
    ],
)  # fmt: skip
def test_what_is_taken_apart_by_its_fields_is_safe(kernel: str) -> None:
    assert said(kernel) == ()


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(KERNEL, id="a class"),
        pytest.param(BESIDE, id="functions beside it"),
        pytest.param(KERNEL.replace("self.table = table", "self.table = jnp.clip(table, -limit, limit)"), id="clipped"),
        pytest.param(KERNEL.replace("cls(*children", "cls(children[0] * 2"), id="doubled then"),
        pytest.param(KERNEL.replace("(self.table,), self.limit", "(self.table,), 2.0"), id="forgotten"),
        pytest.param(KERNEL.replace("class Kernel:", "@dataclass\nclass Kernel:"), id="a dataclass with functions"),
    ],
)  # fmt: skip
def test_functions_that_take_objects_apart_are_for_a_run(kernel: str) -> None:
    assert any(
        "the functions that take objects of `Kernel` apart may forget or compute" in each for each in said(kernel)
    )
