"""`scanify rewrite --remat` on stacks that are there already."""

from pathlib import Path

import pytest

from scanify.emit.policies import with_policy
from scanify.errors import Exit, ScanifyError
from tests.command import MODEL, Tool

PATH = Path("/nowhere/model.py")
HEAD = "from scanify.nn import ArrayStacked, BlockSeq\n\n\n"


def changed(line: str, remat: str) -> str:
    texts, _ = with_policy({PATH: f"{HEAD}{line}\n"}, remat)
    return texts.get(PATH, HEAD + line + "\n").removeprefix(HEAD).removesuffix("\n")


@pytest.mark.parametrize(
    ("before", "remat", "after"),
    [
        ("b = ArrayStacked.of(x)", "dots", 'b = ArrayStacked.of(x, gradient_checkpointing="dots")'),
        ("b = BlockSeq.of([f(k) for k in x])", "nested", 'b = BlockSeq.of([f(k) for k in x], gradient_checkpointing="nested")'),
        ("b = ArrayStacked.of(f(k) for k in x)", "offload", 'b = ArrayStacked.of((f(k) for k in x), gradient_checkpointing="offload")'),
        ("b = ArrayStacked.of((x))", "dots", 'b = ArrayStacked.of((x), gradient_checkpointing="dots")'),
        ("b = ArrayStacked.init(3, B)(key=k)", "dots", 'b = ArrayStacked.init(3, B, gradient_checkpointing="dots")(key=k)'),
        ("b = ArrayStacked.init(3, B, 'nested')(key=k)", "dots", "b = ArrayStacked.init(3, B, \"dots\")(key=k)"),
        ("b = ArrayStacked.of(x, gradient_checkpointing=False)", "full", 'b = ArrayStacked.of(x, gradient_checkpointing="full")'),
        ('b = ArrayStacked.of(x, gradient_checkpointing="dots")', "False", "b = ArrayStacked.of(x, gradient_checkpointing=False)"),
        ("y = ArrayStacked.of(x).fold(y)", "nested", 'y = ArrayStacked.of(x, gradient_checkpointing="nested").fold(y)'),
    ],
)  # fmt: skip
def test_the_stack_gets_the_policy(before: str, remat: str, after: str) -> None:
    assert changed(before, remat) == after


@pytest.mark.parametrize(
    ("line", "remat"),
    [
        ("b = ArrayStacked.of(x)", "full"),
        ("b = ArrayStacked.of(x, gradient_checkpointing=True)", "full"),
        ('b = ArrayStacked.of(x, gradient_checkpointing="save_all")', "False"),
        ("b = ArrayStacked.of(x, gradient_checkpointing=config.remat)", "dots"),
        ("b = other.of(x)", "dots"),
    ],
)
def test_what_has_the_policy_or_computes_it_stays(line: str, remat: str) -> None:
    assert changed(line, remat) == line


def test_a_policy_that_is_computed_is_told_of() -> None:
    _, found = with_policy({PATH: f"{HEAD}b = ArrayStacked.of(x, gradient_checkpointing=config.remat)\n"}, "dots")
    assert [(each.old, each.why) for each in found] == [("config.remat", "it is computed")]


def test_a_policy_that_does_not_exist() -> None:
    with pytest.raises(ScanifyError, match="expected a checkpoint policy"):
        with_policy({PATH: HEAD}, "most")


CASE = """\
import jax


def small(module):
    return module.Model(2, 3, key=jax.random.key(0)), (jax.numpy.ones(2),)
"""


def test_the_command_changes_what_is_written(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", ".")
    done = tool("rewrite", "--remat", "dots", ".")
    assert done.code == Exit.OK and 'the policy "dots", not True\n' in done.err
    assert 'gradient_checkpointing="dots"' in path.read_text()
    assert tool("rewrite", "--remat", "dots", ".").err.startswith("Nothing to rewrite in 1 file")
    assert tool("unroll", ".").code == Exit.OK and path.read_text() == MODEL


def test_a_policy_of_the_configuration_is_for_new_stacks(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", ".")
    scan = path.read_text()
    tool.write("pyproject.toml", '[tool.scanify]\nremat = "dots"\n')
    tool("rewrite", ".")
    assert path.read_text() == scan


def test_a_policy_of_a_stack_that_nobody_rewrote_is_no_rewrite(tool: Tool) -> None:
    stack = MODEL.replace("import jax\n", "import jax\nfrom scanify.nn import ArrayStacked\n", 1)
    stack = stack.replace("[Block(", "ArrayStacked.of([Block(").replace("depth)]", "depth)])")
    stack = stack.replace(
        "        for layer in self.layers:\n            x = layer(x)\n", "        x = self.layers.scan(x)\n"
    )
    path = tool.write("model.py", stack)
    tool("rewrite", "--remat", "dots", ".")
    changed = path.read_text()
    assert 'gradient_checkpointing="dots"' in changed
    assert "`scan` has no loop" in tool("unroll", ".").err and path.read_text() == changed


@pytest.mark.whole
def test_the_new_policy_is_verified_against_the_loop(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool.write("cases.py", CASE)
    tool("rewrite", "model.py")
    done = tool("rewrite", "--remat", "nested", "--case", "cases.py:small", "model.py")
    assert done.code == Exit.OK, done.err
    assert "(loop)" in done.err and "NOT VERIFIED" not in done.err
    assert 'gradient_checkpointing="nested"' in path.read_text()


def test_loops_are_verified_against_their_scans(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool.write("cases.py", CASE)
    tool("rewrite", "model.py")
    scan = path.read_text()
    path.write_text(scan.replace("fold(x)", "fold_via(Block.__call__)(x * 2)"))
    done = tool("unroll", "--case", "cases.py:small", "model.py")
    assert done.code == Exit.OK, done.err
    assert "PROVED" in done.err and "NOT VERIFIED" not in done.err and "x = x * 2" in path.read_text()
