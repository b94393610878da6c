"""Split the lines of a program by the source loops in which they were traced."""

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

# Loops inside these are not attributed.
_MACHINERY = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (jax, jaxlib, scanify))
# Loops with a smaller share of a program are counted with the enclosing code.
_LEAST = 0.01
# The share of a loop's places that must agree on its number of iterations.
_NOTABLE = 0.1

Chain = tuple[SourceLoop, ...]


@dataclass(eq=False)
class Attribution:
    """Finds the loops around frames. `files` returns the displayed name of a user's file, None for others; `entry` is
    the file that calls the case: frames around it are not part of it."""

    files: Files
    entry: str
    _known: dict[str, SourceLoops] = field(default_factory=dict)
    _made: dict[tuple[str, int, str], SourceLoop] = field(default_factory=dict)

    def shares(self, origins: Sequence[Origin]) -> tuple[tuple[Share, ...], int]:
        """Return the loops with a share of a program, each before its inner ones, and the lines outside of loops."""
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
        """Return the loops around an operation, outermost first; none if all calls share the first trace."""
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
    """Return how often code directly in a loop occurs in the program, according to most of its places.

    Code that is traced once per iteration has as many lines at its place, and twice as many if it runs twice.
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
    """Order the largest first, each followed by its inner ones."""
    return [(-lines[chain[: depth + 1]], loop.file, loop.line) for depth, loop in enumerate(chain)]
