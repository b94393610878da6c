"""First answers while somebody types: parsed and found from what an earlier text left, as they are found without it."""

import ast
import random
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls, an extra of scanify")

from scanify.analysis.index.parse import Problem, parse
from scanify.server.analyses import Memory
from scanify.server.documents import Document, changed, split
from scanify.server.jobs import Answer, Open, Quick
from scanify.server.reparse import reparsed
from tests.command import MODEL

ROOT = Path(__file__).resolve().parents[2]
# Lines that a keystroke or a paste may leave, many of which mean something only with the lines around them.
LINES = (
    "", " ", "x = 1", "x = 1; y = 2", "x = (", ")", '"""', "else:", "    pass", "@eqx.filter_jit", "if x:", "x = 1 \\",
    "+ 1", "# a comment", "def f(x):", "    return x", "try:", "except ValueError:", "'''a", "b'''", "\f", "async", "é = 'ü'",
    "for layer in layers: x = layer(x)", "class A:", "    layers: list", "[", "]", "return", "x = 1;", "match x:",
)  # fmt: skip


def dumped(tree: ast.Module | Problem) -> object:
    return tree if isinstance(tree, Problem) else ast.dump(tree, include_attributes=True)


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_made_of_an_earlier_one_is_that_of_the_text(seed: int) -> None:
    rng = random.Random(seed)
    text = (
        '"""A file."""\n'
        + MODEL
        + "\n\nif MODEL: pass\nelse:\n    y = 1\nz = 1; w = 2\n\n@eqx.filter_jit\ndef g(x): ...\n"
    )
    earlier: tuple[str, ast.Module] | None = None
    kept = 0
    for _ in range(150):
        rows = text.split("\n")
        at = rng.randrange(len(rows))
        match rng.randrange(4):
            case 0:
                rows.insert(at, rng.choice(LINES))
            case 1 if len(rows) > 20:
                del rows[at : at + rng.choice((1, 1, 2))]
            case 2:
                rows[at] = rng.choice(LINES)
            case _:
                rows[at] += rng.choice((" ", "  # x", ";", " + x", ")", "\\", '"', " 1"))
        typed = "\n".join(rows)
        found = reparsed(typed, earlier)
        assert dumped(found) == dumped(parse(typed)), typed
        if not isinstance(found, Problem):
            kept += earlier is not None and bool({*map(id, found.body)} & {*map(id, earlier[1].body)})
            earlier, text = (typed, found), typed
    assert kept > 20, "trees are made of earlier ones at all"


def answer(memory: Memory, folder: Path, path: Path, text: str, before: str) -> Answer:
    first, last, _ = changed(split(before), split(text))
    found = memory.run(Quick(folder, Open(path, text), (max(first, 1), max(last, first + 1))))
    assert isinstance(found, Answer)
    return found


def test_what_was_typed_and_taken_out_again_leaves_nothing_behind(tmp_path: Path) -> None:
    """Beside the loop, in its own file and in one that it imports: uses that are gone are no uses."""
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    uses = "\n\ndef odd(model: Model):\n    model.layers.append(None)\n"
    memory = Memory()
    user = tmp_path / "uses.py"
    loop = (
        "from model import Model\n\n\ndef run(model: Model, x):\n    for layer in model.layers:\n        x = layer(x)\n"
    )
    texts = [loop, loop + uses, loop + " ", loop + uses + " ", loop + "  "]
    for before, text in zip(texts[-1:] + texts, texts, strict=False):
        assert answer(memory, tmp_path, user, text, "") == answer(Memory(), tmp_path, user, text, ""), (before, text)
    rules = []
    for text in (MODEL, MODEL + uses, MODEL + "\n", MODEL + uses + "\n"):
        found = answer(memory, tmp_path, path, text, "")
        assert found == answer(Memory(), tmp_path, path, text, "")
        rules.append([each.rule for each in found.findings[path]])
    assert rules[0] == rules[2] != rules[1] == rules[3]


def test_of_a_text_that_was_analysed_all_is_known_again() -> None:
    document = Document(Path("model.py"), Path(), "file:///model.py", "a\n", 1)
    document.answered("a\n", ())
    seen = document.seen
    document.edited("b\n", 2)
    document.answered_partly("b\n", (1, 1), ())
    document.edited("a\n", 3)
    assert document.findings is seen
