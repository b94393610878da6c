"""How the lines of a program divide among the source loops that they were traced in."""

from __future__ import annotations

import linecache
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jax
import jaxlib

import scanify
from scanify.verify.profile.locations import Frame, Origin
from scanify.verify.profile.source_loops import SourceLoops
from scanify.verify.profile.startup import Share, SourceLoop

Files = Callable[[str], str | None]

# What these do on the way is nobody's loop.
_MACHINERY = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (jax, jaxlib, scanify))
# Loops that make less than this part of a program are counted with what is around them.
_LEAST = 0.01
# The part of the places of a loop that has to agree on how often it runs.
_NOTABLE = 0.1

Chain = tuple[SourceLoop, ...]


@dataclass(eq=False)
class Attribution:
    """Finds the loops around frames. `files` says how a file of the user's is shown, None for one that is not; `entry`
    is the file that calls the case: what runs around that is no part of it.
    """

    files: Files
    entry: str
    _known: dict[str, SourceLoops] = field(default_factory=dict)
    _made: dict[tuple[str, int, str], SourceLoop] = field(default_factory=dict)

    def shares(self, origins: Sequence[Origin]) -> tuple[tuple[Share, ...], int]:
        """The loops with a part in a program, each before those inside of it, and the lines that are in none."""
        total = sum(origin.lines for origin in origins)
        found: dict[Chain, list[Origin]] = {}
        for origin in origins:
            found.setdefault(self.chain(origin), []).append(origin)
        lines: Counter[Chain] = Counter()
        for chain, own in found.items():
            for depth in range(len(chain) + 1):
                lines[chain[:depth]] += sum(origin.lines for origin in own)
        turns = {chain: _turns(chain, found) for chain in lines}
        shown = [chain for chain in lines if chain and lines[chain] >= _LEAST * total and turns[chain] > 1]
        shares = []
        for chain in sorted(shown, key=lambda each: _order(each, lines)):
            above = [chain[:depth] for depth in range(1, len(chain)) if chain[:depth] in shown]
            times = max(1, turns[chain] // turns[above[-1]]) if above else turns[chain]
            if times > 1:
                shares.append(Share(chain[-1], len(above), lines[chain], times))
        return tuple(shares), total - sum(share.lines for share in shares if not share.depth)

    def chain(self, origin: Origin) -> Chain:
        """The loops around an operation, the outermost first; none where all calls share what was traced first."""
        frames = origin.frames
        if origin.shared:
            return ()
        entered = max((at + 1 for at, frame in enumerate(frames) if frame.file == self.entry), default=0)
        return tuple(loop for frame in frames[entered:] for loop in self._around(frame, origin.repeats > 1))

    def _around(self, frame: Frame, again: bool) -> list[SourceLoop]:
        if frame.file.startswith(_MACHINERY):
            return []
        if frame.file not in self._known:
            self._known[frame.file] = SourceLoops("".join(linecache.getlines(frame.file)))
        return [
            self._made.setdefault(
                (frame.file, loop.line, loop.head),
                SourceLoop(self._shown(frame.file), frame.file, loop.line, loop.head),
            )
            for loop in self._known[frame.file].around(frame, again)
        ]

    def _shown(self, file: str) -> str:
        return self.files(file) or file.rpartition(f"site-packages{os.sep}")[2]


def _turns(chain: Chain, found: dict[Chain, list[Origin]]) -> int:
    """How often what is traced right inside of a loop stands in the program: what most of its places say.

    What is traced once a turn has as many lines at its place, and what a turn does twice has twice as many.
    """
    own = found.get(chain) or [one for each, more in found.items() if each[: len(chain)] == chain for one in more]
    counts = Counter(origin.repeats for origin in own if origin.repeats > 1)
    everything = counts.total()
    for count in sorted(counts):
        multiples = sum(number for other, number in counts.items() if other % count == 0)
        if counts[count] >= _NOTABLE * everything and multiples >= everything / 2:
            return count
    return max(counts, key=lambda count: counts[count], default=1)


def _order(chain: Chain, lines: Counter[Chain]) -> list[tuple[int, str, int]]:
    """The largest first, each with its own behind it."""
    return [(-lines[chain[: depth + 1]], loop.file, loop.line) for depth, loop in enumerate(chain)]
