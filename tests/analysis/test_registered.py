"""Layers that hold pytrees of the project: what takes them apart, and puts them together with the arrays of all layers."""

import pytest

from scanify.analysis.plan import Plan
from tests.analysis.helpers import PRELUDE, only

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
MADE = "it computes when it is made"
TOGETHER = "it computes when it is put together"


def said(kernel: str) -> tuple[str, ...]:
    found = only(HEAD + kernel + NET)
    assert isinstance(found, Plan), found
    return tuple(each.partition(": ")[2] for each in found.obligations)


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(KERNEL, id="a class"),
        pytest.param(KERNEL.replace("return cls(*children, limit)", "made = object.__new__(cls)\n        made.table, = children\n        made.limit = limit\n        return made"), id="without its constructor"),
        pytest.param(KERNEL.replace("(self.table,), self.limit", "tuple(vars(self).values()), None"), id="all that it has"),
        pytest.param(BESIDE, id="functions beside it"),
        pytest.param("@jax.tree_util.register_dataclass\n@dataclass\nclass Kernel:\n    table: jax.Array\n    limit: float\n", id="by its fields"),
        pytest.param(f"class Kernel(eqx.Module):\n    table: jax.Array\n    limit: float\n\n{INIT}", id="a module"),
    ],
)  # fmt: skip
def test_what_is_put_together_as_it_was_is_safe(kernel: str) -> None:
    assert said(kernel) == ()


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        pytest.param(KERNEL.replace("self.table = table", "self.table = jnp.clip(table, -limit, limit)"), MADE, id="clipped"),
        pytest.param(KERNEL.replace("        self.table = table\n", "        if table is not None:\n            table = table / 2\n        self.table = table\n"), MADE, id="halved"),
        pytest.param(KERNEL.replace("cls(*children", "cls(jnp.clip(children[0], 0, 1)"), TOGETHER, id="clipped then"),
        pytest.param(KERNEL.replace("cls(*children", "cls(children[0] * 2"), TOGETHER, id="doubled then"),
        pytest.param("class Root:\n" + FLATTEN + UNFLATTEN + "\n\n" + KERNEL.replace("Kernel:", "Kernel(Root):").replace("self.table,), self.limit", "self.table,), 2.0"), "`limit` is no part of what it is taken apart into", id="its own, not its base's"),
        pytest.param(KERNEL.replace("(self.table,), self.limit", "(self.table,), 2.0"), "`limit` is no part of what it is taken apart into", id="forgotten"),
        pytest.param(KERNEL + "\n    def sharper(self):\n        self.scale = 2.0\n        return self\n", "`scale` is no part of what it is taken apart into", id="set later"),
        pytest.param(BESIDE.replace("k.limit)", "None)"), "`limit` is no part of what it is taken apart into", id="forgotten beside"),
        pytest.param(BESIDE.replace("lambda l, c: Kernel(*c, l)", "rebuild"), "the source does not show how it is taken apart and put together", id="not shown"),
    ],
)  # fmt: skip
def test_what_it_forgets_or_computes_is_said(kernel: str, why: str) -> None:
    assert said(kernel) == (why,)
