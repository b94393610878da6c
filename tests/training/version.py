"""The versions that are trained: the GPT of `fixtures/` as it is written, and as `scanify rewrite` makes it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import optax

from scanify.optim import per_layer, weight_decay_mask
from scanify.pipeline import Project, rewrite_sources
from scanify.source.discover import Selection
from tests.fixture_helpers import fixture, load, write

Optimizer = Callable[[Any], Any]
DECAY = 0.1
RATES = {"adamw": 1e-3, "lamb": 1e-2}


def of_the_list(parameters: Any) -> Any:
    """Weights decay, and biases and scales do not, which people tell by the rank."""
    return jax.tree.map(lambda leaf: leaf.ndim > 1, parameters)


@dataclass(frozen=True)
class Version:
    """`remat` is the policy that the loop is rewritten with, None for the loop itself."""

    name: str
    remat: str | None
    optimizer: str = "adamw"

    @property
    def reference(self) -> str:
        """The loop that this one must train as."""
        return next(each.name for each in VERSIONS if each.remat is None and each.optimizer == self.optimizer)

    def transformation(self) -> Any:
        """The optimiser: as one writes it for a list, or for stacks as docs/how-to/optimisers.md says."""
        mask = of_the_list if self.remat is None else weight_decay_mask
        made = getattr(optax, self.optimizer)(RATES[self.optimizer], weight_decay=DECAY, mask=mask)
        return per_layer(made) if self.optimizer == "lamb" and self.remat is not None else made

    def module(self, folder: Path) -> Any:
        gpt = fixture("gpt")
        write(gpt.before, folder)
        if self.remat is not None:
            outcome = rewrite_sources(
                Project.load([folder], selection=Selection(folder)), stack="init", remat=self.remat
            )
            assert outcome.changes, "the loop is not rewritten"
            for path, (_, after) in outcome.changes.items():
                path.write_bytes(after)
        return load("model", folder)


VERSIONS = (
    Version("loop", None),
    Version("scan, no remat", "none"),
    Version("scan, dots", "dots"),
    Version("scan, full", "full"),
    Version("scan, nested", "nested"),
    Version("loop, LAMB", None, "lamb"),
    Version("scan, nested, `per_layer` of LAMB", "nested", "lamb"),
)
