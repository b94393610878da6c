"""Annotations of what becomes a stack, and lists that fill a field."""

from collections.abc import Callable

import pytest

from scanify.emit.loops.annotations import element_of, stacked
from tests.emit.small_model import HEAD, STACKED, body

ANNOTATIONS = {
    "list[Block]": "Stack[Block]",
    "List[Block]": "Stack[Block]",
    "'list[Block]'": "'Stack[Block]'",
    "typing.Sequence[Block]": "Stack[Block]",
    "tuple[Block, ...]": "Stack[Block]",
    "Optional[list[Block]]": "Optional[Stack[Block]]",
    "list[Block] | None": "Stack[Block] | None",
    'Annotated[list["Block"], "all"]': 'Annotated[Stack["Block"], "all"]',
    "list": "Stack",
    "list[tuple[Block, Block]]": "Stack",
    "list[Callable]": "Stack",
    "eqx.nn.Sequential": "Stack",
}


def stack_of(element: str | None) -> str:
    return "Stack" if element is None else f"Stack[{element}]"


@pytest.mark.parametrize("old", ANNOTATIONS)
def test_the_list_in_an_annotation_becomes_a_stack(old: str) -> None:
    assert stacked(old, stack_of, element_of(old)) == ANNOTATIONS[old]


LOOP = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
FOLDED = body("x = self.layers.fold(x)\nreturn x")
FILL = "self.layers = [Block(k) for k in keys]"

FILLS = {
    "self.layers = []\n        for k in keys:\n            self.layers.append(Block(k))": (
        "layers = []\n        for k in keys:\n            layers.append(Block(k))\n"
        "        self.layers = ArrayStacked.of(layers)"
    ),
    "layers = self.layers = []\n        for k in keys:\n            self.layers.append(Block(k))": (
        "layers = self.layers = []\n        for k in keys:\n            self.layers.append(Block(k))\n"
        "        self.layers = ArrayStacked.of(self.layers)"
    ),
    "self.layers = []\n        self.tell()\n        for k in keys:\n            self.layers.append(Block(k))": (
        "self.layers = []\n        self.tell()\n        for k in keys:\n            self.layers.append(Block(k))\n"
        "        self.layers = ArrayStacked.of(self.layers)"
    ),
}


@pytest.mark.parametrize("fill", FILLS)
def test_a_field_that_is_filled_is_set_once(fill: str, rewrite: Callable[..., str]) -> None:
    assert rewrite(HEAD.replace(FILL, fill) + LOOP) == HEAD.replace(FILL, FILLS[fill]) + FOLDED


def test_a_local_annotation_beside_the_list_is_adjusted(rewrite: Callable[..., str]) -> None:
    before = HEAD.replace(FILL, "self.layers: list[Block] = [Block(k) for k in keys]") + LOOP
    assert "self.layers: ArrayStacked[Block] = " in rewrite(before)
    assert rewrite(HEAD + LOOP) == STACKED + FOLDED
