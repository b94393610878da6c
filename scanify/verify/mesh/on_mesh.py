"""What a case takes on each device of a mesh: frozen data, without jax, for the command line and reports."""

from dataclasses import dataclass

from scanify.verify.mesh.axes import Axes

LOOP = "(loop)"
SCAN = "(scan)"


@dataclass(frozen=True)
class Collective:
    """Operations of one kind in which devices exchange arrays: `all-gather`, `all-reduce` and so on.

    `count` is how often one run of the program does them, those of a loop once for each turn. `bytes` are those of what
    goes in or comes out of them on one device, whichever is more.
    """

    kind: str
    count: int
    bytes: int


@dataclass(frozen=True)
class Partitioned:
    """One program of one version, compiled for the mesh. Bytes are those of one device; None: not measured.

    `program` is constructor, call or gradient, `version` LOOP, SCAN, or the policy of the scan. `unknown_turns`: there
    are collectives in a loop that does not say how often it turns; they are counted once.
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
        """What all collectives move."""
        return sum(each.bytes for each in self.collectives)


@dataclass(frozen=True)
class OnMesh:
    """All programs of a case on a mesh with these `axes`. `notes` say which there are not, and why."""

    axes: Axes
    programs: tuple[Partitioned, ...] = ()
    notes: tuple[str, ...] = ()
