"""A small project made at random: its files, where its loops over layers stand, and which traps were set in it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """A loop over layers in a file, from its first to its last line; `clean`: no trap of the project concerns it."""

    file: str
    line: int
    end: int
    clean: bool = False


@dataclass(frozen=True)
class Project:
    """The files of a project by name, one of them `main.py` with `make`, `call` and perhaps `extra`.

    `base` names its layer, its list and its form of loop. `traps` are classes of traps: their loops are to be left
    alone, or their lists to stay lists. `harmless` are classes of what only looks like one. `eager`: it is to be called
    with arrays that hold values.
    """

    seed: int
    base: str
    files: Mapping[str, str]
    loops: tuple[Loop, ...]
    traps: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    eager: bool = False
