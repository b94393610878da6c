"""The collectives that one run of a program does, read from its text."""

import pytest

from scanify.verify.mesh.hlo import Exchanged, exchanged
from scanify.verify.mesh.on_mesh import Collective

SUM = """\
%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %add = f32[] add(%x, %y)
}
"""


def program(*lines: str, more: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return f"HloModule jit_f, entry_computation_layout={{(f32[4]{{0}})->f32[4]{{0}}}}\n\n{SUM}\n{more}\nENTRY %main (p: f32[4]) -> f32[4] {{\n{body}\n}}\n"


def moved(*lines: str, more: str = "") -> dict[str, tuple[int, int]]:
    return {each.kind: (each.count, each.bytes) for each in exchanged(program(*lines, more=more)).collectives}


def body(name: str, *lines: str) -> str:
    inner = "\n".join(f"  {line}" for line in lines)
    return f"%{name} (a: (s32[], f32[4])) -> (s32[], f32[4]) {{\n{inner}\n}}\n"


REDUCE = "%r = f32[4]{0} all-reduce(%p), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%sum"
TURNS = 'backend_config={"known_trip_count":{"n":"6"},"known_init_step":{"init":"0","step":"1"}}'


def test_without_any() -> None:
    assert exchanged(program("ROOT %p = f32[4]{0} parameter(0)")) == Exchanged(())


@pytest.mark.parametrize(
    ("line", "kind", "size"),
    [
        (REDUCE, "all-reduce", 16),
        ("%g = f32[8,4]{1,0} all-gather(%p), dimensions={0}", "all-gather", 128),
        ("%s = f32[2]{0} reduce-scatter(%p), dimensions={0}, to_apply=%sum", "reduce-scatter", 16),
        ("%c = f32[4]{0} collective-permute(%p), source_target_pairs={{0,1}}", "collective-permute", 16),
        ("ROOT %a = f32[4]{0} all-to-all(%p), dimensions={0}", "all-to-all", 16),
        ("%t = (f32[4]{0}, bf16[3,2]{1,0}, pred[5]{0}) all-reduce(%p, %q, %s), to_apply=%sum", "all-reduce", 33),
        ("%g = (f32[4]{0}, f32[8,4]{1,0}) all-gather-start(%p), dimensions={0}", "all-gather", 128),
        ("%r = f32[4]{0} all-reduce-start(%p), to_apply=%sum", "all-reduce", 16),
    ],
)
def test_each_kind_is_counted_with_what_goes_in_or_comes_out(line: str, kind: str, size: int) -> None:
    assert moved("%p = f32[4]{0} parameter(0)", line) == {kind: (1, size)}


def test_the_end_of_one_is_no_other() -> None:
    lines = (
        "%p = f32[4]{0} parameter(0)",
        "%g = (f32[4]{0}, f32[8]{0}) all-gather-start(%p), dimensions={0}",
        "ROOT %d = f32[8]{0} all-gather-done(%g)",
    )
    assert moved(*lines) == {"all-gather": (1, 32)}


def test_those_of_a_loop_are_done_once_for_each_turn() -> None:
    more = body("turn", "%p = f32[4]{0} parameter(0)", REDUCE) + body("go", "ROOT %t = pred[] constant(true)")
    loop = f"%w = (s32[], f32[4]{{0}}) while(%i), condition=%go, body=%turn, {TURNS}"
    assert moved(loop, more=more) == {"all-reduce": (6, 96)}


def test_a_loop_in_a_loop() -> None:
    inner = f"%w = (s32[], f32[4]{{0}}) while(%i), condition=%go, body=%turn, {TURNS}"
    more = (
        body("turn", "%p = f32[4]{0} parameter(0)", REDUCE)
        + body("go", "ROOT %t = pred[] constant(true)")
        + body("outer", inner, "%p = f32[4]{0} parameter(0)", REDUCE)
    )
    assert moved(inner.replace("body=%turn", "body=%outer"), more=more) == {"all-reduce": (42, 672)}


def test_a_loop_that_does_not_say_how_often_it_turns_is_told() -> None:
    more = body("turn", "%p = f32[4]{0} parameter(0)", REDUCE) + body("go", "ROOT %t = pred[] constant(true)")
    text = program("%w = (s32[], f32[4]{0}) while(%i), condition=%go, body=%turn", more=more)
    assert exchanged(text) == Exchanged((Collective("all-reduce", 1, 16),), unknown_turns=True)


def test_such_a_loop_without_collectives_is_none() -> None:
    more = body("turn", "%p = f32[4]{0} parameter(0)") + body("go", "ROOT %t = pred[] constant(true)")
    loop = "%w = (s32[], f32[4]{0}) while(%i), condition=%go, body=%turn"
    assert exchanged(program(loop, more=more)) == Exchanged(())


@pytest.mark.parametrize(
    "how", ["branch_computations={%small, %large}", "true_computation=%small, false_computation=%large"]
)
def test_of_branches_the_one_that_moves_most(how: str) -> None:
    more = body("small", "%p = f32[4]{0} parameter(0)", REDUCE) + body(
        "large", "%p = f32[4]{0} parameter(0)", "%g = f32[8,4]{1,0} all-gather(%p), dimensions={0}"
    )
    assert moved(f"%c = f32[4]{{0}} conditional(%k, %p, %p), {how}", more=more) == {"all-gather": (1, 128)}


def test_those_of_what_is_called() -> None:
    more = body("inner", "%p = f32[4]{0} parameter(0)", REDUCE)
    call = "%c = f32[4]{0} call(%p), to_apply=%inner"
    assert moved(call, call.replace("%c", "%d"), more=more) == {"all-reduce": (2, 32)}
