"""The duration of each step of a comparison, in seconds by name."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from scanify.verify.children.telling import tell


@dataclass(eq=False)
class Steps:
    """`spent` holds the steps in the order of their first start; a repeated step adds to its time.

    `under` describes the policy of the next steps, for listeners.
    """

    spent: dict[str, float] = field(default_factory=dict)
    under: str = ""

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        tell(name, self.under)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - start
