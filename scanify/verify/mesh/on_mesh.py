"""The cost of a case on each device of a mesh: frozen data, without jax, for the command line and reports."""

from dataclasses import dataclass

from scanify.verify.mesh.axes import Axes

LOOP = "(loop)"
SCAN = "(scan)"


@dataclass(frozen=True)
class Collective:
    """Operations of one kind in which devices exchange arrays: `all-gather`, `all-reduce` and so on.

    `count` is the number in one run of the program, once per iteration of a loop. `bytes` are those of the inputs or
    the outputs on one device, whichever are more.
    """

    kind: str
    count: int
    bytes: int


@dataclass(frozen=True)
class Partitioned:
    """One program of one version, compiled for the mesh. Bytes are per device; None: not measured.

    `program` is constructor, call or gradient, `version` LOOP, SCAN, or the policy of the scan. `unknown_turns`: there
    are collectives in a loop of unknown length; they are counted once.
    """

    program: str
    version: str
    argument_bytes: int | None
    output_bytes: int | None
    temp_bytes: int | None
    collectives: tuple[Collective, ...] = ()
    unknown_turns: bool = False

    @property
    def count(self) -> int:
        return sum(each.count for each in self.collectives)

    @property
    def bytes(self) -> int:
        """Return the bytes that all collectives move."""
        return sum(each.bytes for each in self.collectives)


@dataclass(frozen=True)
class OnMesh:
    """All programs of a case on a mesh with these `axes`. `notes` list missing ones, with reasons."""

    axes: Axes
    programs: tuple[Partitioned, ...] = ()
    notes: tuple[str, ...] = ()
