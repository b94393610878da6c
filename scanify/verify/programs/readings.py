"""Programs read into one table; an original is read once for all of its comparisons."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.reading.canonical import Alike
from scanify.jaxpr.table import Table
from scanify.verify.objects.same import same_code_and_names


@dataclass(frozen=True)
class Derived:
    """The inputs for derivatives: in reverse mode `cotangents`, in forward mode `tangents`.

    `exact`: the sign of a zero matters among them, too.
    """

    cotangents: range = range(0)
    tangents: range = range(0)
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Reading:
    """A program, the nodes of its outputs, and the parts that were not understood."""

    program: Any
    numbering: Numbering
    outputs: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(eq=False)
class Readings:
    """One table for an original and all programs compared with it, and the reading of the original.

    The same expression has the same number in all of them, which makes a proof, and anything not understood has a new
    number on each reading. So only originals are cached: read again, a program is not proved equal to itself if it
    draws from a generator of the device, and must not be.
    """

    table: Table = field(default_factory=lambda: Table(Alike(same_code_and_names)))
    _kept: dict[Hashable, Reading] = field(default_factory=dict)

    def original(self, program: Any, whole: frozenset[Any] | None, derived: Derived) -> Reading:
        """Read like `read`, once for the same program."""
        key = (id(program), whole, derived)
        if key not in self._kept:
            self._kept[key] = self.read(program, whole, derived)
        return self._kept[key]

    def read(self, program: Any, whole: frozenset[Any] | None, derived: Derived) -> Reading:
        """Number a `ClosedJaxpr`; `whole` are the scans that are one node each, None for all (`Numbering`)."""
        table = self.table
        numbering = Numbering(
            table, whole, cotangents=derived.cotangents, tangents=derived.tangents, exact=derived.exact
        )
        leaves = [
            table.node("input", index, (), tuple(aval.shape), aval.dtype) for index, aval in enumerate(program.in_avals)
        ]
        table.notes = {}
        outputs = numbering.run(program.jaxpr, program.consts, leaves)
        return Reading(program, numbering, tuple(outputs), tuple(table.notes))
