"""Find the layers that a program applies, and those that it scans over.

A scan is over layers if one of its equations reads a parameter of another element of a list in each iteration, sliced
as xs or by its index. A layer is applied if the outputs depend on one of its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.reading.scan import read_scan
from scanify.jaxpr.table import Table
from scanify.verify.compare.judge import Subject
from scanify.verify.leaves.layer_names import Layer, layer_of, walked
from scanify.verify.programs.reading import or_none, read


@dataclass(frozen=True)
class Layers:
    """The layers that a program applies, and those that it scans over."""

    applied: frozenset[Layer]
    scanned: frozenset[Layer]


def find_layers(subject: Subject, program: ClosedJaxpr) -> Layers | None:
    """Return the layers of a program of the leaves of the original; None if it cannot be read."""
    found, inputs = subject.both.found, set(subject.both.inputs)
    layers = [layer_of(name, index) for name, index in zip(found.names, found.layers, strict=True)]
    names = [None if index in inputs else name for index, name in enumerate(found.names)]
    return or_none(lambda: _find(program, names, layers))


def scans_more(subject: Subject, programs: Sequence[ClosedJaxpr]) -> bool:
    """True if one of the programs scans over layers that the original does not scan over."""
    before = find_layers(subject, subject.original.forward)
    found = (find_layers(subject, program) for program in programs)
    return before is not None and any(each is not None and each.scanned - before.scanned for each in found)


def missing_layers(before: Layers, after: Layers) -> str | None:
    """Describe the layers that only the original applies; None if there are no such layers."""
    missing = sorted(before.applied - after.applied)
    if not missing:
        return None
    lists = {layer.list for layer in missing}
    total = sum(layer.list in lists for layer in before.applied)
    scanned = sum(layer.list in lists for layer in after.scanned)
    more = f" and {len(missing) - 1} more layers are" if len(missing) > 1 else " is"
    return (
        f"{missing[0]}{more} never applied in the rewritten version: it scans over {scanned} of the {total} layers "
        "that the original applies"
    )


def _find(program: ClosedJaxpr, names: Sequence[str | None], layers: Sequence[Layer | None]) -> Layers:
    reader = _Reader(names, layers)
    outputs = read(reader, program)
    table = reader.table
    seen = {*outputs, reader.token}
    waiting = list(seen)
    while waiting:
        below = set(table.inputs[waiting.pop()]) - seen
        seen |= below
        waiting += below
    applied = {layer for node in seen if (layer := reader.layer(node)) is not None}
    return Layers(frozenset(applied), frozenset(reader.scanned()))


class _Reader(Numbering):
    """Records the parameters that each equation inside a scan reads.

    `names` and `layers` are None for inputs that are not parameters of the model.
    """

    def __init__(self, names: Sequence[str | None], layers: Sequence[Layer | None]) -> None:
        super().__init__(Table())
        self.names = names
        self.layers = layers
        self.reads: defaultdict[tuple[int, ...], set[str]] = defaultdict(set)
        self.single: set[Layer] = set()

    def layer(self, node: int) -> Layer | None:
        """Return the layer of a node that is a parameter."""
        index = self.index(node)
        return None if index is None else self.layers[index]

    def name(self, node: int) -> str | None:
        """Return the key path of a node that is a parameter."""
        index = self.index(node)
        return None if index is None else self.names[index]

    def index(self, node: int) -> int | None:
        """Return the input number of a node."""
        index = self.table.params[node] if self.table.op[node] == "input" else None
        return index if isinstance(index, int) else None

    def equation(self, equation: Any, inputs: list[int]) -> list[int]:
        if self.iterations:
            for position, node in enumerate(inputs):
                name = self.name(node)
                if name is not None:
                    self.reads[*map(id, self.calls), id(equation), position].add(name)
                layer = self.layer(node)
                if layer is not None and all(_length(call) == 1 for call in self.calls):
                    self.single.add(layer)
        return super().equation(equation, inputs)

    def scanned(self) -> set[Layer]:
        return self.single.union(*map(walked, {frozenset(names) for names in self.reads.values()}))


def _length(equation: Any) -> int:
    scan = read_scan(equation.params) if equation.primitive.name == "scan" else None
    return 1 if scan is None else scan.length
