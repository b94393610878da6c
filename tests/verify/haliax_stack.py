"""haliax's `ArrayStacked` under the one name that rewritten models use of ours: `ArrayStacked.of(layers)`."""

from collections.abc import Iterable
from typing import Any

from tests.nn.side_by_side import theirs


class ArrayStacked:
    """Gives stacks of haliax; nothing is ever made of this class itself."""

    @staticmethod
    def of(layers: Iterable[Any], *, gradient_checkpointing: Any = True) -> Any:
        return theirs(list(layers), gradient_checkpointing)
