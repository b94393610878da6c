"""Count how often a program uses each random key.

A key is used by an operation that draws from it and by one that splits it; `fold_in` makes another key and is not a
use. These are the rules of `jax.debug_key_reuse` (jax/experimental/key_reuse), whose checker sees typed keys only, and
cannot distinguish the rows of an array of keys that are taken by an index. Here keys are nodes of a value table, so raw
keys are seen as well, `keys[0]` is one key however it was taken, and scans are followed iteration by iteration.

The same split made again is one use: it gives the same keys, whose uses are counted separately.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.reading.calls import children, opened
from scanify.jaxpr.rules.move import row
from scanify.jaxpr.table import Place, Table
from scanify.verify.programs.reading import read
from scanify.verify.proof.key_paths import Path, path_of

# Primitives that draw from a key, with the number of leading operands that together are the key. Those that take typed
# keys also take arrays of them.
DRAWS = {"random_bits": 1, "random_gamma": 1, "rng_bit_generator": 1, "threefry2x32": 2}
SPLIT = "random_split"

# An array of more keys than this counts as one key.
ROWS = 4096

# How a key was made, or the nodes of one that is not understood.
Key = Path | tuple[int, ...]


@dataclass(eq=False)
class Uses:
    """The uses of one key: its splits, and the number of draws. `places` are all of these, in order, and `node` is the
    key."""

    node: int = 0
    splits: set[Hashable] = field(default_factory=set)
    draws: int = 0
    places: list[Place] = field(default_factory=list)

    @property
    def times(self) -> int:
        return self.draws + len(self.splits)


@dataclass(frozen=True, eq=False)
class KeyUses:
    """The uses of each key of a program. `hidden` are operations with uses inside, such as unbounded loops."""

    uses: dict[Key, Uses]
    hidden: dict[Hashable, int]

    @property
    def doubtful(self) -> Key | None:
        """Return a used key that equals another used one for some inputs, as `keys[i]` may be `keys[0]`."""
        odd = [key for key in self.uses if not (isinstance(key, Path) and key.known)]
        return next((key for key in odd for other in self.uses if other != key and _may_be(key, other)), None)


def _may_be(key: Key, other: Key) -> bool:
    return not (isinstance(key, Path) and isinstance(other, Path)) or key.may_be(other)


def find_key_uses(table: Table, program: Any) -> KeyUses:
    """Return the key uses of a `ClosedJaxpr`; uses of two programs in one table can be compared."""
    reader = _Reader(table)
    read(reader, program)
    return KeyUses(reader.uses, reader.hidden)


def uses_keys(jaxpr: Any, seen: set[int] | None = None) -> bool:
    """True if an operation of a jaxpr, or of one inside it, uses a key."""
    seen = set() if seen is None else seen
    inner, _ = opened(jaxpr)
    if id(inner) in seen:
        return False
    seen.add(id(inner))
    return any(
        equation.primitive.name in DRAWS
        or equation.primitive.name == SPLIT
        or any(uses_keys(child, seen) for child in children(equation))
        for equation in inner.eqns
    )


class _Reader(Numbering):
    """Counts the uses of keys while it numbers."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.uses: dict[Key, Uses] = {}
        self.hidden: dict[Hashable, int] = {}
        self.counting = True

    def equation(self, equation: Any, inputs: list[int]) -> list[int]:
        name = equation.primitive.name
        if self.counting and name == "cond" and self.table.value(inputs[0]) is None:
            return self._branches(equation, inputs)
        if self.counting and (name in DRAWS or name == SPLIT):
            operands = inputs[: DRAWS.get(name, 1)]
            for nodes in self._rows(operands[0]) if name.startswith("random_") else [tuple(operands)]:
                self._use(nodes, equation)
        return super().equation(equation, inputs)

    def apply(self, equation: Any, key: Hashable, inputs: Any) -> list[int]:
        self._hide(equation, (equation.primitive.name, key, tuple(inputs)))
        return super().apply(equation, key, inputs)

    def unknown(self, equation: Any, inputs: Any, why: str) -> list[int]:
        self._hide(equation, object())
        return super().unknown(equation, inputs, why)

    def jaxpr_key(self, jaxpr: Any) -> Hashable:
        """Do not count inside: `apply` counts it as a whole, since placeholders are not the actual keys."""
        counting, self.counting = self.counting, False
        try:
            return super().jaxpr_key(jaxpr)
        finally:
            self.counting = counting

    def _hide(self, equation: Any, what: Hashable) -> None:
        if self.counting and any(uses_keys(child) for child in children(equation)):
            self.hidden[what] = self.hidden.get(what, 0) + 1

    def _use(self, nodes: tuple[int, ...], equation: Any) -> None:
        path = path_of(self.table, nodes[0]) if len(nodes) == 1 else None
        found = self.uses.setdefault(nodes if path is None else path, Uses(nodes[0]))
        if equation.primitive.name == SPLIT:
            split = tuple(equation.params["shape"])
            if split in found.splits:
                return
            found.splits.add(split)
        else:
            found.draws += 1
        found.places.append(Place(equation, self.calls, self.iterations))

    def _rows(self, operand: int) -> Iterator[tuple[int]]:
        """Yield the keys of an array of typed keys, one by one."""
        shape = self.table.shape[operand]
        if prod(shape) > ROWS:
            yield (operand,)
            return
        for at in itertools.product(*map(range, shape)):
            node = operand
            for index in at:
                node = row(self.table, node, index)
            yield (node,)

    def _branches(self, equation: Any, inputs: list[int]) -> list[int]:
        """Count a choice, of which one branch runs: a key is used as often as in the branch that uses it most."""
        before, after = self.uses, []
        for branch in equation.params["branches"]:
            self.uses = {}
            self.run(*opened(branch), inputs[1:])
            after.append(self.uses)
        self.uses, self.counting = before, False
        try:
            outputs = super().equation(equation, inputs)
        finally:
            self.counting = True
        for key in dict.fromkeys(itertools.chain.from_iterable(after)):
            most = max((branch[key] for branch in after if key in branch), key=lambda uses: uses.times)
            found = self.uses.setdefault(key, Uses(most.node))
            found.splits |= most.splits
            found.draws += most.draws
            found.places += most.places
        return outputs
