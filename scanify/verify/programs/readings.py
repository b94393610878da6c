"""Programs as they are read into one table, where an original is read once for all that it is compared with."""

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
    """The inputs that derivatives are computed from: in reverse mode `cotangents`, in forward mode `tangents`.

    `exact`: the sign of a zero counts among them, too.
    """

    cotangents: range = range(0)
    tangents: range = range(0)
    exact: bool = False


@dataclass(frozen=True, eq=False)
class Reading:
    """A program, the nodes of its outputs, and what in it was not understood."""

    program: Any
    numbering: Numbering
    outputs: tuple[int, ...]
    notes: tuple[str, ...]


@dataclass(eq=False)
class Readings:
    """One table for an original and all that it is compared with, and what was read of the original.

    The same expression has the same number in all of them, which is what makes a proof, and what is not understood
    has a number of its own each time that it is read. So only originals are kept: read anew, a program is not proved
    equal to itself where it draws from a generator of the device, and must not be.
    """

    table: Table = field(default_factory=lambda: Table(Alike(same_code_and_names)))
    _kept: dict[Hashable, Reading] = field(default_factory=dict)

    def original(self, program: Any, whole: frozenset[Any] | None, derived: Derived) -> Reading:
        """As `read`, once for the same program."""
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
