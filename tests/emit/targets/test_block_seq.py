"""A `BlockSeq` of haliax becomes a `Stacked` where all that is done with it is what both do in the same way."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from scanify.analysis.plan import Refusal
from scanify.errors import Exit
from scanify.pipeline import Outcome, Project, rewrite_sources
from tests.command import Tool
from tests.texts import texts

MODEL = """\
import equinox as eqx
import haliax as hax
import haliax.nn as hnn
import jax
from haliax.nn import BlockSeq

Embed, Mlp = hax.Axis("embed", 3), hax.Axis("mlp", 4)


class Block(eqx.Module):
    up: hnn.Linear
    down: hnn.Linear

    @staticmethod
    def init(embed, mlp, *, key):
        first, second = jax.random.split(key)
        return Block(hnn.Linear.init(embed, mlp, key=first), hnn.Linear.init(mlp, embed, key=second))

    def __call__(self, x, shift):
        return x + self.down(hax.tanh(self.up(x) + shift))

    def told(self, x):
        x = self(x, 0.5)
        return x, hax.sum(x)


class Model(eqx.Module):
    embed: hax.Axis = eqx.field(static=True)
    blocks: BlockSeq[Block]

    @staticmethod
    def init(layers, *, key):
        keys = jax.random.split(key, layers.size)
        blocks = BlockSeq.init(layers, Block, gradient_checkpointing=True)(Embed, Mlp, key=keys)
        return Model(Embed, blocks)

    def __call__(self, x):
        x = self.blocks.fold(hax.named(x, self.embed), 0.5)
        x, sums = self.blocks.scan_via(Block.told)(x)
        return x.array, sums.array
"""
CASE = """\
import haliax as hax
import jax


def small(module):
    return module.Model.init(hax.Axis("layers", 4), key=jax.random.key(0)), (jax.numpy.ones(3),)
"""
BUILT = "blocks = BlockSeq.init(layers, Block, gradient_checkpointing=True)(Embed, Mlp, key=keys)"
RETURNED = "return Model(Embed, blocks)"
FOLDED = "self.blocks.fold(hax.named(x, self.embed), 0.5)"


def rewritten(text: str, folder: Path, target: str = "haliax", remat: str | None = None) -> tuple[str, Outcome]:
    path = folder / "model.py"
    path.write_text(text)
    outcome = rewrite_sources(Project.load([path]), target=target, remat=remat, accept=lambda plan: True)
    return outcome.texts.get(path, text), outcome


def test_the_name_of_the_class_changes_and_nothing_else(tmp_path: Path) -> None:
    after, outcome = rewritten(MODEL, tmp_path)
    (plan,) = outcome.applied
    assert (plan.rule, plan.container) == ("SCN107", "self.blocks")
    assert [each.split(" ")[0] for each in texts(plan.obligations)] == ["nothing", "`Block.init`", "what"]
    assert texts(plan.elsewhere) == texts(plan.obligations)[:1]
    assert after == MODEL.replace("BlockSeq", "Stacked")
    assert rewritten(after, tmp_path)[1].analysis.loops == ()


FORMS = {
    "assigned": (
        "    @staticmethod\n    def init(layers, *, key):",
        "    def __init__(self, layers, *, key):",
        RETURNED,
        "self.embed = Embed",
        "blocks = Block",
        "self.blocks = Block",
    ),
    "behind a field of a base class": (
        "class Model(eqx.Module):\n    embed: hax.Axis = eqx.field(static=True)",
        "class Base(eqx.Module):\n    embed: hax.Axis = eqx.field(static=True)\n\n\nclass Model(Base):",
    ),
    "behind a constant of the class": ("    blocks: BlockSeq", "    kind: ClassVar[str] = 'gpt'\n    blocks: BlockSeq"),
    "by keyword": (RETURNED, "return Model(Embed, blocks=blocks)"),
    "at once": (BUILT, "", RETURNED, f"return Model(Embed, {BUILT.removeprefix('blocks = ')})"),
    "by an attribute": ("BlockSeq.init", "hnn.BlockSeq.init"),
    "by another name": ("BlockSeq", "Sequence", "import Sequence", "import BlockSeq as Sequence"),
}


@pytest.mark.parametrize("name", FORMS)
def test_ways_to_keep_it(name: str, tmp_path: Path) -> None:
    text = MODEL
    for old, new in zip(FORMS[name][::2], FORMS[name][1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    after, outcome = rewritten(text, tmp_path)
    assert [plan.rule for plan in outcome.applied] == ["SCN107"]
    assert "BlockSeq" not in after and "Stacked.init(layers, Block, gradient_checkpointing=True)" in after


REFUSED = {
    "its layers": (FOLDED, "self.blocks.blocks[0](x, 0.5)", "`self.blocks.blocks` is not what it is of a Stacked"),
    "a map": (FOLDED, "self.blocks.vmap_via(Block.told)(x)", "`self.blocks.vmap_via` is not what it is of a Stacked"),
    "all of it": (FOLDED, "apply(self.blocks, x)", "`self.blocks` is used as a whole, and not folded or scanned"),
    "given whole": (
        FOLDED,
        "self.blocks.fold_via(Block.__call__)(x, mask)",
        "of a BlockSeq hands what it is given beside the carry to every layer whole, and that of a Stacked takes",
    ),
    "applied elsewhere": (
        FOLDED,
        "apply(self.blocks.fold_via(Block.__call__), x)",
        "what `self.blocks.fold_via` gives is not called where it stands",
    ),
    "a text": (
        "blocks: BlockSeq[Block]",
        'blocks: "BlockSeq[Block]"',
        "the field that keeps it is annotated with a text",
    ),
    "two fields": (
        "blocks: BlockSeq[Block]",
        "blocks: BlockSeq[Block]\n    more: BlockSeq",
        "does not declare one field for it",
    ),
    "two that are built": (BUILT, f"{BUILT}\n        more = {BUILT.removeprefix('blocks = ')}", "one field for it"),
    "a field of a base class": (
        "class Model(eqx.Module):\n    embed: hax.Axis = eqx.field(static=True)\n    blocks: BlockSeq[Block]",
        "class Base(eqx.Module):\n    embed: hax.Axis\n    blocks: BlockSeq[Block]\n\n\nclass Model(Base):\n    more: int = 0",
        "does not declare one field for it",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_stack_does_otherwise_is_refused(name: str, tmp_path: Path) -> None:
    old, new, said = REFUSED[name]
    text = MODEL.replace(old, new)
    after, outcome = rewritten(text, tmp_path)
    loop = outcome.analysis.loops[0]
    assert isinstance(loop, Refusal) and loop.rule == "SCN214"
    assert said in loop.reason
    assert after == text


def test_a_use_in_another_file_is_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "other.py").write_text("def first(model):\n    return model.blocks.blocks[0]\n")
    (loop,) = rewritten(MODEL, tmp_path)[1].analysis.loops
    assert isinstance(loop, Refusal) and loop.at is not None
    assert (loop.at.path.name, loop.at.span.line) == ("other.py", 2)


@pytest.mark.parametrize("target", ["scanify", "lax", "nnx", "linen"])
def test_other_targets_say_nothing_of_it(target: str, tmp_path: Path) -> None:
    assert rewritten(MODEL, tmp_path, target)[1].analysis.loops == ()


def test_it_keeps_its_own_policy(tmp_path: Path) -> None:
    (loop,) = rewritten(MODEL, tmp_path, remat="full")[1].analysis.loops
    assert isinstance(loop, Refusal) and loop.rule == "SCN217"
    assert "a BlockSeq has its policy where it is built" in loop.reason


@pytest.mark.parametrize("comment", ["# scanify: ignore", "# scanify: ignore[SCN107]"])
def test_a_comment_silences_it(comment: str, tmp_path: Path) -> None:
    text = MODEL.replace(BUILT, f"{BUILT}  {comment}")
    assert rewritten(text, tmp_path)[1].analysis.loops == ()
    assert bool(rewritten(text.replace("107", "101"), tmp_path)[1].analysis.loops) is ("107" in comment)


def test_a_class_of_ones_own_by_that_name_is_none(tmp_path: Path) -> None:
    own = MODEL.replace("from haliax.nn import BlockSeq", "from mine import BlockSeq")
    assert rewritten(own, tmp_path)[1].analysis.loops == ()


@pytest.mark.skipif(find_spec("haliax") is None, reason="haliax is not installed")
@pytest.mark.whole
def test_a_case_proves_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool(tmp_path, capsys, monkeypatch)
    tool.write("model.py", MODEL)
    tool.write("cases.py", CASE)
    done = tool("rewrite", "model.py", "--target", "haliax", "--case", "cases.py:small", "--accept", "elsewhere")
    assert done.code == Exit.OK, done.err
    assert "as written   PROVED    PROVED" in done.err
    assert tool.files()["model.py"].decode() == MODEL.replace("BlockSeq", "Stacked")


@pytest.mark.whole
@pytest.mark.skipif(find_spec("haliax") is None, reason="haliax is not installed")
def test_what_is_refused_would_be_another_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mask with an entry for each layer goes to all layers whole: by name alone the fix would be wrong."""
    tool = Tool(tmp_path, capsys, monkeypatch)
    text = MODEL.replace(FOLDED, "self.blocks.fold_via(whole)(hax.named(x, self.embed), jax.numpy.arange(4.0))")
    text += "\n\ndef whole(block, x, mask):\n    return block(x, mask.sum())\n"
    tool.write("before.py", text)
    tool.write("after.py", text.replace("BlockSeq", "Stacked"))
    tool.write("cases.py", CASE)
    done = tool("verify", "--before", "before.py", "--after", "after.py", "--case", "cases.py:small", "--no-measure")
    assert done.code == Exit.VERIFICATION, done.out
    assert isinstance(rewritten(text, tmp_path)[1].analysis.loops[0], Refusal)
