"""Each check catches a wrong change that no other check catches."""

from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest

from scanify.emit import rewrite_texts
from scanify.emit.checks import CHECKS, Change, second_run_changes_nothing
from scanify.emit.edits import Edit
from scanify.emit.target import Context
from scanify.emit.targets import array_stacked
from scanify.errors import CheckFailed, Exit

PATH = Path("model.py")
TEXT = """\
import equinox as eqx
from blocks import Block


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, keys):
        self.layers = [Block(k) for k in keys]

    def __call__(self, x):
        for layer in self.layers:  # every layer
            h = x
            x = layer(h)
        return x  # done
"""
RIGHT = "x = self.layers.fold(x)  # every layer"


def change(new: str, old: str = "for layer", end: str = "layer(h)", before: str = TEXT, planned: bool = True) -> Change:
    """A change of `before` from the start of `old` to the end of `end`, planned there or nowhere."""
    start, stop = before.index(old), before.index(end) + len(end)
    edit = Edit(PATH, start, stop, new)
    return Change(PATH, before, before[:start] + new + before[stop:], (edit,), ((start, stop),) if planned else ())


MUTANTS = {
    "still_parses, libcst": change("x = = 1  # every layer"),
    "still_parses, compile": change("x = self.layers.fold(x, a=1, a=2)  # every layer"),
    "only_planned_spans_differ, an edit elsewhere": change(RIGHT, planned=False),
    "only_planned_spans_differ, text that no edit speaks of": Change(
        PATH, TEXT, TEXT.replace("(k) for", "(1) for"), (), ((0, len(TEXT)),)
    ),
    "comments_kept, one lost": change("x = self.layers.fold(x)"),
    "comments_kept, one twice": change(f"# every layer\n        {RIGHT}"),
    "no_name_becomes_unbound, a temporary": change(RIGHT, before=TEXT.replace("return x", "return h")),
    "no_name_becomes_unbound, a missing import": change("x = ArrayStacked.of(self.layers).fold(x)  # every layer"),
    "newline_style_kept": change("x = 1\n        " + RIGHT, before=TEXT.replace("\n", "\r\n")),
}


def caught_by(wrong: Change) -> list[str]:
    found = []
    for check in CHECKS:
        try:
            check(wrong)
        except (CheckFailed, cst.ParserSyntaxError, SyntaxError) as error:
            if isinstance(error, CheckFailed):
                found.append(check.__name__)
    return found


def test_a_right_change_passes_every_check() -> None:
    assert caught_by(change(RIGHT)) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_change_is_caught_by_its_own_check_alone(name: str) -> None:
    assert caught_by(MUTANTS[name]) == [name.partition(",")[0]]


def test_every_check_has_a_mutant() -> None:
    assert {check.__name__ for check in CHECKS} == {name.partition(",")[0] for name in MUTANTS}


def test_the_message_says_where_what_and_that_nothing_was_written() -> None:
    with pytest.raises(CheckFailed) as caught:
        CHECKS[2](change("x = self.layers.fold(x)"))
    assert str(caught.value) == (
        "model.py:12: the rewrite failed the check `comments kept`: expected the comments as they were, "
        "'# every layer' 1 times, got '# every layer' 0 times; nothing was written; "
        "this is a defect of scanify, please report it with the file"
    )
    assert caught.value.exit_code == Exit.INTERNAL


def test_a_plan_for_what_was_just_written_is_caught(plans_of: Callable[..., list]) -> None:
    wrong = change("for layer in self.layers: x = layer(x)  # every layer")
    assert caught_by(wrong) == []
    with pytest.raises(CheckFailed, match=r"model.py:12: .* `a second run changes nothing`"):
        second_run_changes_nothing([wrong], plans_of(wrong.after))


def test_a_plan_for_a_loop_that_was_not_rewritten_is_none_of_its_business(plans_of: Callable[..., list]) -> None:
    text = (
        TEXT
        + "\n    def other(self, y):\n        for layer in self.layers:\n            y = layer(y)\n        return y\n"
    )
    done = change(RIGHT, before=text)
    left = plans_of(done.after, carry="y", stack="call")
    assert len(left) == 1
    second_run_changes_nothing([done], left)


def test_a_list_that_would_be_wrapped_twice_is_caught(plans_of: Callable[..., list]) -> None:
    plans = plans_of(TEXT.replace("            h = x\n", "").replace("(h)", "(x)"))
    text = TEXT.replace("            h = x\n", "").replace("(h)", "(x)")
    calls = []

    def again(texts: dict[Path, str]) -> list:
        calls.append(texts[PATH])
        unsound = texts[PATH].replace("x = self.layers.fold(x)", "for layer in self.layers: pass")
        return plans_of(unsound)

    with pytest.raises(CheckFailed, match="a second run changes nothing"):
        rewrite_texts({PATH: text}, plans, reanalyse=again)
    assert "ArrayStacked.of([" in calls[0]


def test_a_failed_check_stops_the_whole_rewrite(plans_of: Callable[..., list], monkeypatch: pytest.MonkeyPatch) -> None:
    real = array_stacked.edits

    def wrong(plans: list, context: Context) -> list[Edit]:
        return [*real(plans, context), Edit(PATH, 0, 0, "import os\n")]

    monkeypatch.setattr(array_stacked, "edits", wrong)
    with pytest.raises(CheckFailed, match="only planned spans differ"):
        rewrite_texts({PATH: TEXT}, plans_of(TEXT))


def test_names_that_a_star_import_may_bind_are_not_called_unbound() -> None:
    text = TEXT.replace("from blocks import Block", "from blocks import *")
    assert (
        caught_by(change("x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, m)  # every layer", before=text))
        == []
    )
    lost = change(RIGHT, before=text.replace("return x", "return h"))
    assert caught_by(lost) == ["no_name_becomes_unbound"]


def test_syntax_that_the_running_python_refuses_is_checked_by_libcst() -> None:
    newer = TEXT + "\n\nreturn 1\n"  # stands for syntax of a later version: libcst parses it, compile() does not
    with pytest.raises(SyntaxError):
        compile(newer, "m", "exec")
    assert caught_by(change(RIGHT, before=newer)) == []
    assert caught_by(change(RIGHT, before=newer.replace("return x", "return h"))) == ["no_name_becomes_unbound"]
    assert caught_by(change("x = ArrayStacked.of(1)  # every layer", before=newer)) == ["no_name_becomes_unbound"]
