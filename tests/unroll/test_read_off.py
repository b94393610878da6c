"""Loops that are read off the source, where nothing is kept: what a person would write, and refusals with a reason."""

from pathlib import Path

import pytest

from scanify.emit.unroll.unroll_texts import Unrolled, unroll_texts
from scanify.pipeline import Project
from scanify.unrolling.project import unroll_project

HEAD = """\
import equinox as eqx
import jax
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x, scale=1.0, *, key=None):
        return x + scale * self.linear(x)


class Model(eqx.Module):
    blocks: ArrayStacked[Block]

    def __init__(self, dim, depth, *, key):
        keys = jax.random.split(key, depth)
        self.blocks = ArrayStacked.of([Block(dim, key=k) for k in keys])

    def __call__(self, x, scales, mask=None, key=None):
"""
PLAIN = HEAD.replace("from scanify.nn import ArrayStacked\n", "").replace("ArrayStacked[Block]", "list[Block]")
PLAIN = PLAIN.replace("ArrayStacked.of([Block(dim, key=k) for k in keys])", "[Block(dim, key=k) for k in keys]")
PATH = Path("/nowhere/model.py")


def unrolled(body: str, head: str = HEAD) -> Unrolled:
    lines = "".join(f"        {line}\n" if line else "\n" for line in body.splitlines())
    return unroll_texts({PATH: head + lines})


LOOPS = {
    "fold": (
        """\
x = self.blocks.fold(x)
return x
""",
        """\
for block in self.blocks:
    x = block(x)
return x
""",
    ),
    "a fold that is returned": (
        """\
return self.blocks.fold(x)
""",
        """\
for block in self.blocks:
    x = block(x)
return x
""",
    ),
    "a carry that begins as something else": (
        """\
y = self.blocks.fold(x * 2)
return y + x
""",
        """\
y = x * 2
for block in self.blocks:
    y = block(y)
return y + x
""",
    ),
    "what is per layer and what is shared": (
        """\
x = self.blocks.fold_via(Block.__call__, in_axes=((0,), {"key": None}))(x, scales, key=key)
return x
""",
        """\
for block, scale in zip(self.blocks, scales):
    x = block(x, scale, key=key)
return x
""",
    ),
    "what is shared is computed once": (
        """\
x = self.blocks.fold_via(Block.__call__)(x, scales.sum())
return x
""",
        """\
shared = scales.sum()
for block in self.blocks:
    x = block(x, shared)
return x
""",
    ),
    "an argument that is the first carry": (
        """\
x = self.blocks.fold_via(Block.__call__)(x, x)
return x
""",
        """\
shared = x
for block in self.blocks:
    x = block(x, shared)
return x
""",
    ),
    "a function": (
        """\
def apply_block(block, x, scale):
    # one of them
    h = block(x)
    return x + scale * h

x = self.blocks.fold_via(apply_block, in_axes=(0,))(x, scales)
return x
""",
        """\
for block, scale in zip(self.blocks, scales):
    # one of them
    h = block(x)
    x = x + scale * h
return x
""",
    ),
    "a function that ends early, with an index": (
        """\
def apply_block(block, carry, i):
    x, n = carry
    if i == 1:
        return x, n
    x = block(x)
    n = n + 1
    return x, n

x, n = self.blocks.fold_via(apply_block, in_axes=(0,))((x, 0), range(len(self.blocks)))
return x, n
""",
        """\
x, n = (x, 0)
for i, block in enumerate(self.blocks):
    if i == 1:
        continue
    x = block(x)
    n = n + 1
return x, n
""",
    ),
    "a function whose names mean something else outside stays one": (
        """\
h = x

def apply_block(block, x):
    h = block(x)
    return x + h

x = self.blocks.fold_via(apply_block)(x)
return x + h
""",
        """\
h = x

def apply_block(block, x):
    h = block(x)
    return x + h

for block in self.blocks:
    x = apply_block(block, x)
return x + h
""",
    ),
    "a function that is used twice stays one": (
        """\
def twice(block, x):
    return block(block(x))

x = self.blocks.fold_via(twice)(x)
x = self.blocks.fold_via(twice)(x)
return x
""",
        """\
def twice(block, x):
    return block(block(x))

for block in self.blocks:
    x = twice(block, x)
for block in self.blocks:
    x = twice(block, x)
return x
""",
    ),
    "what is collected": (
        """\
def apply_block(block, x):
    x = block(x)
    return x, x.sum()

sums = []
x, collected = self.blocks.collect_via(apply_block)(x)
sums.extend(collected)
return x, sums
""",
        """\
sums = []
for block in self.blocks:
    x = block(x)
    sums.append(x.sum())
return x, sums
""",
    ),
    "independent layers": (
        """\
return self.blocks.map_via(Block.__call__, in_axes=(None, 0))(x, scales)
""",
        """\
return [block(x, scale) for block, scale in zip(self.blocks, scales)]
""",
    ),
    "layers stacked in the call": (
        """\
x = ArrayStacked.of(self.blocks, gradient_checkpointing="nested").fold(x)
return x
""",
        """\
for block in self.blocks:
    x = block(x)
return x
""",
    ),
    "from the last layer": (
        """\
x = self.blocks.fold_via(Block.__call__, reverse=True)(x)
return x
""",
        """\
for block in reversed(self.blocks):
    x = block(x)
return x
""",
    ),
    "some of the layers": (
        """\
x = self.blocks.take(range(1, 3)).fold(x)
return x
""",
        """\
for i in range(1, 3):
    block = self.blocks[i]
    x = block(x)
return x
""",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_is_what_a_person_writes(name: str) -> None:
    body, expected = LOOPS[name]
    found = unrolled(body)
    lines = "".join(f"        {line}\n" if line else "\n" for line in expected.splitlines())
    assert found.left == ()
    assert found.texts[PATH] == PLAIN + lines


REFUSED = {
    "x = jax.nn.relu(self.blocks.fold(x))\nreturn x": "larger expression",
    "x, ys = self.blocks.scan_via(Block.pair)(x)\nreturn x": "`scan_via` has no loop",
    "x = self.blocks.fold_via(Block.__call__, reverse=back)(x)\nreturn x": "may go through the layers in reverse",
    "x = self.blocks.fold_via(Block.__call__, in_axes=(0,), reverse=True)(x, scales)\nreturn x": "more than its layers",
    "x = self.blocks.fold_via(Block.__call__, in_axes=AXES)(x, scales)\nreturn x": "`in_axes` are not axes",
    "x = self.blocks.fold_via(Block.__call__, in_axes=(1,))(x, scales)\nreturn x": "`in_axes` are not axes",
    "x = self.blocks.fold(*x)\nreturn x": "spelled out",
    "y = self.blocks.fold_via(Block.__call__)(x, y)\nreturn y": "something else in its arguments",
    "x = self.blocks.fold_via(chosen())(x)\nreturn x": "what it applies is not known",
    "return self.blocks.with_layer(0, x)": "`.with_layer` is of stacks",
    "return self.blocks.stacked.linear": "`.stacked` is of stacks",
    "return isinstance(x, ArrayStacked)": "named for something else",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_has_no_loop_stays_with_its_stack(body: str) -> None:
    found = unrolled(body)
    assert found.texts == {} and REFUSED[body] in found.left[0].why


def test_one_use_keeps_the_stack_and_all_its_scans() -> None:
    found = unrolled("x = self.blocks.fold(x)\nreturn x, self.blocks.stacked")
    assert found.texts == {}
    assert [each.line for each in found.left] == [24, 25]


def test_another_file_that_takes_a_layer_out_keeps_the_stack() -> None:
    other = Path("/nowhere/surgery.py")
    text = "def cut(model):\n    return model.blocks.stacked\n"
    body = HEAD + "        return self.blocks.fold(x)\n"
    assert unroll_texts({PATH: body, other: text}).texts == {}
    assert unroll_texts({PATH: body, other: text.replace(".stacked", "[0]")}).texts.keys() == {PATH}


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ("ArrayStacked.init(depth, Block)(dim, key=keys)", "[Block(dim, key=k) for k in keys]"),
        ("ArrayStacked.init(depth, Block, in_axes='keys')(dim, key=keys)", "[Block(dim, key=k) for k in keys]"),
        ("ArrayStacked.of(Block(dim, key=k) for k in keys)", "[Block(dim, key=k) for k in keys]"),
        ("ArrayStacked.of(map(make, keys))", "list(map(make, keys))"),
        ("ArrayStacked.of(make(keys), gradient_checkpointing=False)", "make(keys)"),
        ("ArrayStacked.of(first + last)", "first + last"),
    ],
)
def test_the_list_that_a_stack_is_built_of(stack: str, expected: str) -> None:
    built = HEAD.replace("ArrayStacked.of([Block(dim, key=k) for k in keys])", stack)
    found = unrolled("return self.blocks.fold(x)", built)
    assert f"        self.blocks = {expected}\n" in found.texts[PATH]


def project(body: str) -> Project:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return Project.of_text((HEAD + lines).encode(), PATH, root=PATH.parent)


def test_a_loop_whose_rewrite_gives_the_scan_back_is_safe() -> None:
    found = unroll_project(project("x = self.blocks.fold(x)\nreturn x"))
    assert (found.obligations, found.held) == ((), {}) and found.texts


def test_a_loop_whose_rewrite_gives_another_scan_is_held_back() -> None:
    body = project("x = self.blocks.fold_via(Block.__call__)(x, x)\nreturn x")
    found = unroll_project(body)
    assert found.obligations and found.held and not found.texts
    assert unroll_project(body, unsafe=True).texts == found.held
