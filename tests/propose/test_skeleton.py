"""What is printed where no case can be proposed: the constructor's call, for its author to fill in."""

import ast

import pytest

from scanify.propose.skeleton import skeleton


@pytest.mark.parametrize(
    ("head", "call"),
    [
        ("def __init__(self, width, depth=3, *, key, bias=True): ...", "module.A(width=..., key=jax.random.key(0))"),
        ("def __init__(self, *, rng): ...", "module.A(rng=jax.random.key(0))"),
        ("width: int", "module.A(...)"),
    ],
)
def test_it_names_what_the_constructor_needs(head: str, call: str) -> None:
    found = skeleton(f"class B:\n    def __init__(self, other): ...\n\nclass A:\n    {head}\n", "A")
    assert call in found and "def a(module):" in found
    ast.parse(found)


def test_of_a_text_that_this_python_cannot_read_it_names_nothing() -> None:
    assert "module.A(...)" in skeleton("class A(:", "A")
