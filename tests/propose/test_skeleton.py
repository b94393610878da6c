"""What is written where no case can be proposed: the constructor and the call, for their author to fill in."""

import ast

import pytest

from scanify.propose.skeleton import skeleton
from scanify.propose.write import render

CALL = "def __call__(self, x, scale: float = 1.0): ..."


@pytest.mark.parametrize(
    ("head", "call"),
    [
        (
            "def __init__(self, width: int, depth=3, *, key, bias=True): ...",
            "module.A(\n        width=...,  # int\n        key=jax.random.key(0),\n        # by default: depth=3, bias=True\n    )",
        ),
        ("def __init__(self, *, rng): ...", "module.A(\n        rng=jax.random.key(0),\n    )"),
        ("width: int\n    bias: bool = True", "module.A(\n        width=...,  # int\n    )"),
        ("def other(self): ...", "module.A(\n        ...,\n    )"),
        (f"width: '{'x' * 70}'", "module.A(\n        width=...,\n    )"),
    ],
)
def test_it_names_what_the_constructor_needs(head: str, call: str) -> None:
    found = skeleton(f"class B:\n    def __init__(self, other): ...\n\nclass A:\n    {head}\n    {CALL}\n", "A")
    assert (found.cls, found.function) == ("A", "a") and call in found.text and "def a(module):" in found.text
    assert "args = (\n        ...,  # x\n    )\n    return model, args\n" in found.text
    ast.parse(found.text)


def test_of_a_class_that_inherits_fields_it_names_none() -> None:
    assert "module.A(\n        ...,\n    )" in skeleton("class A(Base):\n    width: int\n", "A").text
    assert "width=..." in skeleton("class A(eqx.Module):\n    width: int\n", "A").text


def test_it_names_what_the_call_needs() -> None:
    text = "class A:\n    def __call__(self, x: 'Float[Array, \"n\"]', y=1, *, key, train: bool, mask=None): ...\n"
    found = skeleton(text, "A").text
    assert "        ...,  # x: 'Float[Array, \"n\"]'\n" in found
    assert 'kwargs = {\n        "key": jax.random.key(1),\n        "train": ...,  # bool\n    }' in found
    assert found.endswith("return model, args, kwargs\n")


def test_as_a_file_it_imports_what_it_names() -> None:
    written = render([], "model.py", [skeleton("class A:\n    def __init__(self, key): ...\n", "A")])
    assert "\nimport jax\nimport jax.numpy as jnp\n" in written and "`...` in a, put" in written
    compile(written, "cases.py", "exec")


def test_of_a_text_that_this_python_cannot_read_it_names_nothing() -> None:
    assert "module.A(\n        ...,\n    )" in skeleton("class A(:", "A").text
