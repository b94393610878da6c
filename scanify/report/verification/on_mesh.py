"""The cost of both versions on a mesh of devices: the rows of a table, and sentences on scans that cost more."""

from scanify.verify.children.limits import human_bytes
from scanify.verify.mesh.axes import device_count
from scanify.verify.mesh.on_mesh import LOOP, OnMesh, Partitioned

HEADINGS = ("program", "version", "arguments", "temporary", "collectives", "moved")
NUMBERS = ("arguments", "temporary", "moved")
LEGEND = "memory of one device; moved: bytes that go in or come out there; what is in a loop counts once a turn"
# Smaller differences come from partitioning, such as a scalar or a loop counter.
_CLEARLY = 1.05


def heading(found: OnMesh) -> str:
    """`on 8 virtual devices (data=2, model=4)`."""
    axes = ", ".join(f"{name}={size}" for name, size in found.axes)
    return f"on {device_count(found.axes)} virtual devices ({axes})"


def rows(found: OnMesh) -> list[tuple[str, ...]]:
    """Return one row per program and version, with the columns of `HEADINGS`."""
    return [
        (
            each.program,
            each.version,
            _size(each.argument_bytes),
            _size(each.temp_bytes),
            ", ".join(f"{one.count:,} {one.kind}" for one in each.collectives) or "none",
            human_bytes(each.bytes),
        )
        for each in found.programs
    ]


def mesh_remarks(found: OnMesh | None) -> tuple[str, ...]:
    """Describe where a scan costs clearly more than the loop, and figures that are unknown."""
    if found is None:
        return ()
    loops = {each.program: each for each in found.programs if each.version == LOOP}
    scans = [each for each in found.programs if each.version != LOOP and each.program in loops]
    said = [sentence for each in scans for sentence in _more(loops[each.program], each)]
    unknown = [
        f"{each.program} of {each.version}: a loop does not say how often it turns; its collectives are counted once"
        for each in found.programs
        if each.unknown_turns
    ]
    return (*said, *unknown, *found.notes)


def _more(loop: Partitioned, scan: Partitioned) -> list[str]:
    said = []
    head = f"the {scan.program} of {scan.version}"
    if scan.bytes > _CLEARLY * loop.bytes:
        before = {each.kind: each.bytes for each in loop.collectives}
        kinds = [each.kind for each in scan.collectives if each.bytes > _CLEARLY * before.get(each.kind, 0)]
        said.append(
            f"{head} moves {human_bytes(scan.bytes)} between devices, the loop {human_bytes(loop.bytes)}"
            f"{_times(scan.bytes, loop.bytes)}: more in {', '.join(kinds)}"
        )
    elif scan.count > _CLEARLY * loop.count:
        said.append(
            f"{head} moves {human_bytes(scan.bytes)} in {scan.count:,} collectives, the loop {human_bytes(loop.bytes)} "
            f"in {loop.count:,}: XLA joins those of several layers, but not those of several turns of a scan"
        )
    ours, theirs = _needed(scan), _needed(loop)
    if ours is not None and theirs is not None and ours > _CLEARLY * theirs:
        said.append(
            f"{head} needs {human_bytes(ours)} of arguments and temporaries on a device, the loop "
            f"{human_bytes(theirs)}{_times(ours, theirs)}"
        )
    return said


def _needed(program: Partitioned) -> int | None:
    if program.argument_bytes is None or program.temp_bytes is None:
        return None
    return program.argument_bytes + program.temp_bytes


def _times(ours: int, theirs: int) -> str:
    return f" ({ours / theirs:.3g} times as much)" if theirs else ""


def _size(value: int | None) -> str:
    return "-" if value is None else human_bytes(value)
