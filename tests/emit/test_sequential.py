"""What becomes of the constructor of a `Sequential`, text for text."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.plan import Body, Holds, Kind, Plan
from scanify.analysis.stack import Annotation, Called, InitStack
from scanify.emit import rewrite_texts
from scanify.errors import CheckFailed

PATH = Path("model.py")
HEAD = """\
import equinox as eqx
from scanify.nn import ArrayStacked, BlockSeq


class Model(eqx.Module):
    layers: eqx.nn.Sequential | None

    def __init__(self, keys):
        """


def place(text: str, part: str, after: int = 0) -> Place:
    start = text.index(part, after)
    line = text.count("\n", 0, start) + 1
    return Place(PATH, Span(start, start + len(part), line, line + part.count("\n")))


def plan(text: str, argument: str, holds: Holds = Holds.ARRAY_STACKED) -> Plan:
    """The plan for the one `Sequential` of a text that is given `argument`."""
    made = text.index("def __init__")
    called = place(text, "eqx.nn.Sequential", made)
    given = place(text, argument, called.span.end)
    annotation = Annotation(place(text, "eqx.nn.Sequential"), None)
    return Plan(
        place=called,
        kind=Kind.FOLD,
        container="eqx.nn.Sequential(...)",
        layer="",
        carry=(),
        body=Body(called.span, "", "", inline=True),
        stack=InitStack((Called(called, given),), (annotation,)),
        rule="SCN103",
        holds=holds,
    )


def rewritten(statement: str, argument: str, **given: object) -> str:
    text = HEAD + statement
    holds = given.pop("holds", Holds.ARRAY_STACKED)
    assert isinstance(holds, Holds)
    new = rewrite_texts({PATH: text}, [plan(text, argument, holds)], **given)[PATH]
    head = HEAD.replace("layers: eqx.nn.Sequential", f"layers: {holds.value}")
    assert new.startswith(head)
    return new.removeprefix(head)


# name: (the statement, the argument, what becomes of it, options)
FORMS: dict[str, tuple[str, str, str, dict[str, object]]] = {
    "a comprehension": (
        "self.layers = eqx.nn.Sequential([Block(k) for k in keys])\n",
        "[Block(k) for k in keys]",
        "self.layers = ArrayStacked.of([Block(k) for k in keys])\n",
        {},
    ),
    "layers that are looked at": (
        "self.layers = eqx.nn.Sequential(keys)\n",
        "keys",
        "self.layers = BlockSeq.of(keys)\n",
        {"holds": Holds.BLOCK_SEQ},
    ),
    "a policy stands behind the argument": (
        "self.layers = eqx.nn.Sequential(layers=keys)  # as before\n",
        "keys",
        (
            "self.layers = ArrayStacked.of(\n"
            '            layers=keys, gradient_checkpointing="nested"\n        )  # as before\n'
        ),
        {"remat": "nested"},
    ),
    "a bare generator gets parentheses where something follows it": (
        "self.layers = eqx.nn.Sequential(Block(k) for k in keys)\n",
        "Block(k) for k in keys",
        (
            "self.layers = ArrayStacked.of(\n"
            "            (Block(k) for k in keys), gradient_checkpointing=False\n        )\n"
        ),
        {"remat": "False"},
    ),
    "a bare generator alone gets none": (
        "self.layers = eqx.nn.Sequential(Block(k) for k in keys)\n",
        "Block(k) for k in keys",
        "self.layers = ArrayStacked.of(Block(k) for k in keys)\n",
        {},
    ),
    "lines, a comment and a trailing comma stay": (
        "self.layers = eqx.nn.Sequential(\n            # many\n            [Block(k) for k in keys],\n        )\n",
        "[Block(k) for k in keys]",
        (
            "self.layers = ArrayStacked.of(\n            # many\n            [Block(k) for k in keys],\n"
            "            gradient_checkpointing=True,\n        )\n"
        ),
        {"remat": "True"},
    ),
}


@pytest.mark.parametrize(("statement", "argument", "expected", "options"), FORMS.values(), ids=FORMS)
def test_forms(statement: str, argument: str, expected: str, options: dict[str, object]) -> None:
    assert rewritten(statement, argument, **options) == expected


def test_the_import_is_added_once_for_both_containers() -> None:
    text = (HEAD + "self.layers = eqx.nn.Sequential(keys)\n").replace(
        "from scanify.nn import ArrayStacked, BlockSeq\n", ""
    )
    second = text + "        self.more = eqx.nn.Sequential(more)\n"
    at = second.index("self.more")
    called, given = place(second, "eqx.nn.Sequential", at), place(second, "more", second.index("(", at))
    other = Plan(
        called,
        Kind.GROUP,
        "more",
        "",
        (),
        Body(called.span, "", ""),
        InitStack((Called(called, given),)),
        rule="SCN103",
        holds=Holds.BLOCK_SEQ,
    )
    new = rewrite_texts({PATH: second}, [plan(second, "keys"), other])[PATH]
    assert new.count("from scanify.nn import ArrayStacked, BlockSeq\n") == 1
    assert "self.layers = ArrayStacked.of(keys)\n        self.more = BlockSeq.of(more)\n" in new


def test_a_second_run_that_finds_it_again_fails() -> None:
    def again(texts: object) -> Sequence[Plan]:
        return [plan(HEAD + "self.layers = eqx.nn.Sequential(keys)\n", "keys")]

    with pytest.raises(CheckFailed, match="a second run changes nothing"):
        rewritten("self.layers = eqx.nn.Sequential(keys)\n", "keys", reanalyse=again)
