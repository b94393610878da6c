"""What reports say of a mesh: the figures of both versions, and in words where the scan takes more."""

from dataclasses import replace

from scanify.report.verification.markdown import verification_markdown
from scanify.report.verification.on_mesh import mesh_remarks
from scanify.report.verification.text import verification_text
from scanify.verify.mesh.on_mesh import Collective, OnMesh, Partitioned
from tests.report import samples

AXES = (("data", 8),)


def said(loop: Partitioned, scan: Partitioned) -> tuple[str, ...]:
    return mesh_remarks(OnMesh(AXES, (loop, scan)))


def program(version: str, *collectives: Collective, temporary: int | None = 100) -> Partitioned:
    return Partitioned("call", version, 1_000, 10, temporary, collectives)


def test_every_format_has_the_table() -> None:
    verification = samples.verifications()["on a mesh"]
    for text in (verification_text(verification), verification_markdown(verification)):
        assert "on 8 virtual devices (data=2, model=4)" in text
        assert "12 all-gather" in text and "1.09 MiB" in text
    lines = verification_text(verification).splitlines()
    assert "  call none              977 KiB           -   12 all-gather   1.09 MiB" in lines
    assert " " * 47 + "24 all-reduce" in lines
    table = lines[lines.index("  on 8 virtual devices (data=2, model=4)") :]
    assert max(map(len, table[: table.index("")])) <= 80


def test_more_bytes_are_told_with_the_kind_that_brings_them() -> None:
    reduced = Collective("all-reduce", 3, 300)
    [sentence] = said(program("(loop)", reduced), program("none", Collective("all-gather", 3, 3_000), reduced))
    assert sentence == (
        "the call of none moves 3.22 KiB between devices, the loop 300 B (11 times as much): more in all-gather"
    )


def test_more_collectives_of_as_many_bytes_are_told() -> None:
    loop, scan = (program(name, Collective("all-reduce", n, 300)) for name, n in (("(loop)", 1), ("none", 7)))
    [sentence] = said(loop, scan)
    assert sentence.startswith("the call of none moves 300 B in 7 collectives, the loop 300 B in 1: XLA joins")


def test_more_memory_is_told() -> None:
    [sentence] = said(program("(loop)"), program("none", temporary=900))
    assert sentence == (
        "the call of none needs 1.86 KiB of arguments and temporaries on a device, the loop 1.07 KiB (1.73 times as "
        "much)"
    )


def test_nothing_is_said_of_what_takes_no_more() -> None:
    one = program("(loop)", Collective("all-reduce", 3, 300))
    assert said(one, replace(one, version="none")) == ()
    assert said(replace(one, temp_bytes=None), replace(one, version="none")) == ()
    assert mesh_remarks(None) == ()


def test_what_is_not_known_is_told() -> None:
    found = samples.on_mesh()
    assert mesh_remarks(found)[-2:] == (
        "call of none: a loop does not say how often it turns; its collectives are counted once",
        "no gradient of none: ValueError: no rule",
    )
