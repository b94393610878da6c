"""Locations of lowered programs, read from their text."""

import jax
import jax.numpy as jnp

from scanify.verify.profile.locations import Frame, origins

TEXT = """\
#loc = loc(unknown)
#loc1 = loc("/a/model.py":3:4 to :9)
#loc2 = loc("/a/train.py":8:0)
#loc3 = loc("Block.__call__"(#loc1))
#loc4 = loc("main"(#loc2))
module @jit_f {
  func.func public @main(%arg0: tensor<4xf32> loc("x")) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32> loc(#loc6)
    %1 = stablehlo.while(%it = %0) : tensor<4xf32>
    cond {
    } loc(#loc7)
    return %1 : tensor<4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc5 = loc(callsite(#loc3 at #loc4))
#loc6 = loc("jit(f)/add"(#loc5))
#loc7 = loc(fused<"x">[#loc1, #loc2])
"""
INNER, OUTER = Frame("/a/model.py", 3, 4), Frame("/a/train.py", 8, 0)


def test_the_frames_of_a_line_are_those_around_it_the_outermost_first():
    found = [(origin.frames, origin.lines) for origin in origins(TEXT)]
    assert ((OUTER, INNER), 3) in found  # with the two lines behind it, which have no location of their own
    assert ((INNER,), 1) in found
    assert sum(lines for _, lines in found) == TEXT.count("\n") - 8


def test_a_lowered_program_has_the_lines_that_it_has_without_locations():
    def inner(x):
        return jnp.sin(x) + jax.lax.scan(lambda c, _: (c * 2, None), x, length=3)[0]

    lowered = jax.jit(lambda x: inner(inner(x))).lower(jnp.ones(4))
    found = origins(lowered.as_text(debug_info=True))
    assert sum(origin.lines for origin in found) == lowered.as_text().count("\n")
    lines = {frame.line for origin in found for frame in origin.frames if frame.file == __file__}
    first = inner.__code__.co_firstlineno
    assert {first + 1, first + 3} <= lines
