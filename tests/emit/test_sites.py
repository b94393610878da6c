"""What becomes of the place where a list is built, text for text."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.stack import InitStack, Wrap
from scanify.emit import rewrite_texts
from tests.emit.small_model import HEAD, body

# What stands after `self.layers = `, and what becomes of it, without and with a policy.
SITES = {
    "[Block(k) for k in keys]": (
        "of([Block(k) for k in keys])",
        'of([Block(k) for k in keys], gradient_checkpointing="full")',
    ),
    "Block(0), Block(1)": ("of((Block(0), Block(1)))", 'of((Block(0), Block(1)), gradient_checkpointing="full")'),
    "(Block(0), Block(1))": ("of((Block(0), Block(1)))", 'of((Block(0), Block(1)), gradient_checkpointing="full")'),
    "Block(0),": ("of((Block(0),))", 'of((Block(0),), gradient_checkpointing="full")'),
    "*keys, Block(0)": ("of((*keys, Block(0)))", 'of((*keys, Block(0)), gradient_checkpointing="full")'),
    "(Block(k) for k in keys)": (
        "of((Block(k) for k in keys))",
        'of((Block(k) for k in keys), gradient_checkpointing="full")',
    ),
    "tuple(Block(k) for k in keys)": (
        "of([Block(k) for k in keys])",
        'of([Block(k) for k in keys], gradient_checkpointing="full")',
    ),
    "tuple(Block(k) for k in keys)[1:]": (
        "of(tuple(Block(k) for k in keys)[1:])",
        'of(tuple(Block(k) for k in keys)[1:], gradient_checkpointing="full")',
    ),
    "[  # some\n  Block(k)  # one\n  for k in keys\n]": (
        "of([  # some\n  Block(k)  # one\n  for k in keys\n])",
        'of([  # some\n  Block(k)  # one\n  for k in keys\n], gradient_checkpointing="full")',
    ),
    "make() if keys else [Block(0)]": (
        "of(make() if keys else [Block(0)])",
        'of(make() if keys else [Block(0)], gradient_checkpointing="full")',
    ),
}


WIDE = f"\n\nf({'x' * 117})\n"  # a file that has such lines may get more of them


@pytest.mark.parametrize("built", SITES)
def test_the_list_is_wrapped_where_it_is_built(built: str, rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x") + WIDE
    text = HEAD.replace("[Block(k) for k in keys]", built) + loop
    plain, policy = SITES[built]
    loop = body("x = self.layers.fold(x)\nreturn x") + WIDE
    head = HEAD.replace("[Block(k) for k in keys]", "ArrayStacked.")
    assert rewrite(text) == head.replace("ArrayStacked.\n", f"ArrayStacked.{plain}\n") + loop
    assert rewrite(text, remat="full") == head.replace("ArrayStacked.\n", f"ArrayStacked.{policy}\n") + loop


def test_a_line_that_gets_too_long_is_broken_as_black_would(rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    folded = body("x = self.layers.fold(x)\nreturn x")
    new = rewrite(HEAD + loop, remat="nested")
    broken = """\
        self.layers = ArrayStacked.of(
            [Block(k) for k in keys], gradient_checkpointing="nested"
        )
"""
    assert new == HEAD.replace("        self.layers = [Block(k) for k in keys]\n", broken) + folded
    new = rewrite(HEAD.replace("in keys]", "in keys[1:] if k is not None]  # all") + loop, remat="nested")
    broken = """\
        self.layers = ArrayStacked.of(
            [Block(k) for k in keys[1:] if k is not None],
            gradient_checkpointing="nested",
        )  # all
"""
    assert new == HEAD.replace("        self.layers = [Block(k) for k in keys]\n", broken) + folded


def test_a_long_stack_in_the_call_is_broken_before_the_last_parentheses(rewrite: Callable[..., str]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x, mask)\nreturn x")
    assert rewrite(text, stack="call", remat="nested") == HEAD + body(
        """
        x = ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold_via(
            Block.__call__, in_axes=(None,)
        )(x, mask)
        return x
        """
    )


def test_a_long_stack_and_long_arguments_are_both_broken(rewrite: Callable[..., str]) -> None:
    arguments = "x, self.attention_mask_of_all_the_queries, self.positions_of_all_the_tokens_of_queries"
    lines = arguments.replace(", ", ",\n    ")
    loop = f"for layer in self.layers:\n    x = layer({lines})\nreturn x"
    assert rewrite(HEAD + body(loop), stack="call", remat="nested") == HEAD + body(
        """
        x = ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold_via(
            Block.__call__, in_axes=(None, None)
        )(
            x,
            self.attention_mask_of_all_the_queries,
            self.positions_of_all_the_tokens_of_queries,
        )
        return x
        """
    )


def test_a_list_that_touches_a_keyword(plans_of: Callable[..., list]) -> None:
    path = Path("make.py")
    make = "from blocks import Block\nfrom scanify.nn import ArrayStacked\n\ndef make():\n    return[Block(1)]\n"
    model = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    start = make.index("[Block")
    site = Wrap(Place(path, Span(start, start + len("[Block(1)]"), 5, 5)))
    plans = [replace(plan, stack=InitStack((site,))) for plan in plans_of(model)]
    new = rewrite_texts({path: make, Path("model.py"): model}, plans)
    assert new[path] == make.replace("return[Block(1)]", "return ArrayStacked.of([Block(1)])")
    assert new[Path("model.py")] == HEAD + body("x = self.layers.fold(x)\nreturn x")


@pytest.mark.parametrize("end", ["", "\n", "\n\n    # below\n"])
def test_an_append_loop_is_followed_by_the_stack(rewrite: Callable[..., str], end: str) -> None:
    append = (
        "self.layers = []\n        for k in keys:\n            self.layers.append(Block(k))  # each\n            # deep"
    )
    text = HEAD.replace("self.layers = [Block(k) for k in keys]", append) + body(
        "for layer in self.layers:\n    x = layer(x)\nreturn x"
    )
    stacked = append + '\n        self.layers = ArrayStacked.of(self.layers, gradient_checkpointing="dots")'
    expected = HEAD.replace("self.layers = [Block(k) for k in keys]", stacked) + body(
        "x = self.layers.fold(x)\nreturn x"
    )
    assert rewrite(text.removesuffix("\n") + end, remat="dots") == expected.removesuffix("\n") + end


def test_an_append_loop_at_the_end_of_a_file(rewrite: Callable[..., str]) -> None:
    text = (
        "from scanify.nn import ArrayStacked\nclass Model:\n    def __call__(self, x):\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
        "    def __init__(self):\n        self.layers = []\n        for k in 'abc':\n"
        "            self.layers.append(Block(k))"
    )
    assert rewrite(text).endswith("layers.append(Block(k))\n        self.layers = ArrayStacked.of(layers)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("list[Block]", "ArrayStacked[Block]"),
        ("list", "ArrayStacked"),
        ("'list[Block]'", "'ArrayStacked[Block]'"),
        ('"list[Block]"', '"ArrayStacked[Block]"'),
    ],
)
def test_annotations_follow(rewrite: Callable[..., str], old: str, new: str) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    text = HEAD.replace("class Model:\n", f"class Model:\n    layers: {old}\n") + loop
    assert f"class Model:\n    layers: {new}\n" in rewrite(text)
