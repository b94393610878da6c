"""The reports of `check` and `rewrite`: frozen data in, text out."""

import json
from dataclasses import replace
from pathlib import Path

from scanify.analysis.facts import Place, Span
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation
from scanify.analysis.plan import Analysis, Argument, Body, Kind, LayerCall, PerLayer, Plan, Refusal, Skipped
from scanify.analysis.stack import CallStack, InitStack, Wrap
from scanify.pipeline import Outcome
from scanify.report import diff, rewrite_text
from scanify.report.findings import full
from scanify.report.findings import json as check_json
from scanify.report.findings.finding import findings
from scanify.report.sentences import shorten

HERE = Path("/project")
MODEL = HERE / "model.py"


def at(line: int, end_line: int | None = None, path: Path = MODEL) -> Place:
    return Place(path, Span(0, 1, line, end_line or line))


PLAN = Plan(
    place=at(88, 91),
    kind=Kind.FOLD,
    container="self.layers",
    layer="layer",
    carry=("x", "state"),
    body=Body(Span(0, 1, 89, 91), "    "),
    stack=InitStack((Wrap(at(40)),)),
    xs=(PerLayer("key", "keys"),),
    broadcast=("mask",),
    call=LayerCall("__call__", "Block", (Argument("mask"),)),
)
UNSAFE = replace(
    PLAN,
    place=at(120),
    obligations=(Obligation(Shows.LAYERS, f"the layers of {MODEL}:40 have one width", at(40)),),
    carry=("x",),
    xs=(),
)
REFUSAL = Refusal(
    place=at(140, 143),
    rule="SCN205",
    reason="`break` ends the loop early",
    kind=Kind.FOLD,
    container="self.blocks",
    carry=("x",),
    at=at(142),
    remedy="slice the list instead",
)
SKIPPED = Skipped(HERE / "bad.py", "line 3: expected an expression")
ANALYSIS = Analysis(4, (PLAN, UNSAFE, REFUSAL), (SKIPPED,))


class TestCheckAsText:
    def test_says_one_line_a_loop_and_sums_up(self) -> None:
        assert full.render(findings(ANALYSIS, {}, HERE)) == (
            "model.py:88: SCN101 loop over self.layers can be a fold over stacked layers "
            "(carry x and state; per layer keys; shared mask)\n"
            "model.py:120: SCN101 loop over self.layers can be a fold over stacked layers (carry x; shared mask)\n"
            "    unsafe (layers): the layers of model.py:40 have one width\n"
            "model.py:140: SCN205 loop over self.blocks is left as it is: `break` ends the loop early (line 142)\n"
            "    help: slice the list instead\n"
            "bad.py: skipped: line 3: expected an expression\n"
            "3 loops over layers in 4 files: 2 can be rewritten (1 unsafe), 1 left alone; 1 file skipped.\n"
        )

    def test_says_that_there_is_nothing(self) -> None:
        assert full.render(findings(Analysis(1), {}, HERE)) == "No loop over layers in 1 file.\n"

    def test_a_place_that_the_reason_names_is_not_said_twice(self) -> None:
        named = replace(REFUSAL, reason="`break` on line 142 ends it")
        assert "(line 142)" not in full.render(findings(Analysis(1, (named,)), {}, HERE))
        elsewhere = replace(REFUSAL, reason="the list is built twice", at=at(7, path=HERE / "sub" / "build.py"))
        assert "the list is built twice (sub/build.py:7)\n" in full.render(
            findings(Analysis(1, (elsewhere,)), {}, HERE)
        )

    def test_paths_outside_of_the_folder_are_shown_whole(self) -> None:
        assert full.render(findings(Analysis(1, (REFUSAL,)), {}, Path("/other"))).startswith("/project/model.py:140: ")


class TestCheckAsJson:
    def test_is_the_object_other_tools_rely_on(self) -> None:
        document = json.loads(check_json.render(findings(ANALYSIS, {}, HERE)))
        assert list(document) == ["version", "files", "undecided", "skipped", "loops", "readers", "comments", "remarks"]
        assert (document["version"], document["files"]) == (2, 4)
        assert document["skipped"] == [{"path": "bad.py", "reason": "line 3: expected an expression"}]
        assert document["loops"][0] == {
            "path": "model.py",
            "cell": None,
            "line": 88,
            "end_line": 91,
            "rule": "SCN101",
            "status": "rewritable",
            "kind": "fold",
            "fix": "safe",
            "reason": "loop over self.layers can be a fold over stacked layers "
            "(carry x and state; per layer keys; shared mask)",
            "container": "self.layers",
            "carry": ["x", "state"],
            "xs": {"key": 0},
            "broadcast": ["mask"],
            "ys": [],
            "stack": "init",
            "obligations": [],
        }

    def test_an_unsafe_fix_has_obligations_and_a_refusal_has_no_fix(self) -> None:
        _, unsafe, refused = json.loads(check_json.render(findings(ANALYSIS, {}, HERE)))["loops"]
        assert (unsafe["fix"], unsafe["obligations"]) == (
            "unsafe",
            [
                {
                    "kind": "layers",
                    "text": "the layers of model.py:40 have one width",
                    "path": "model.py",
                    "cell": None,
                    "line": 40,
                }
            ],
        )
        assert (refused["status"], refused["fix"], refused["rule"]) == ("refused", None, "SCN205")
        assert (refused["reason"], refused["end_line"]) == ("`break` ends the loop early", 143)


class TestRewriteSummary:
    OUTCOME = Outcome(
        Analysis(2, (PLAN, UNSAFE, REFUSAL), (SKIPPED,)),
        applied=(PLAN,),
        held=(UNSAFE,),
        changes={MODEL: (b"a", b"b")},
    )

    def test_says_what_was_rewritten_what_was_held_back_and_what_was_left(self) -> None:
        assert rewrite_text.render(self.OUTCOME, HERE, written=True) == (
            "model.py:88: SCN101 rewrote the loop over self.layers as a fold; the list is built stacked\n"
            "model.py:120: SCN101 the loop over self.layers can be rewritten, but the fix is unsafe\n"
            "    unsafe (layers): the layers of model.py:40 have one width\n"
            "    help: verify it with --case FILE:FUNCTION, or write it unverified with --unsafe (--unsafe --diff shows it)\n"
            "model.py:140: SCN205 loop over self.blocks is left as it is: `break` ends the loop early (line 142)\n"
            "    help: slice the list instead\n"
            "bad.py: skipped: line 3: expected an expression\n"
            "1 loop rewritten in 1 file; 1 loop held back; 1 loop left alone; 1 file skipped.\n"
        )

    def test_where_nothing_is_written_it_says_would(self) -> None:
        text = rewrite_text.render(self.OUTCOME, HERE, written=False)
        assert text.startswith("model.py:88: SCN101 would rewrite the loop")
        assert "1 loop would be rewritten in 1 file; " in text

    def test_an_unsafe_fix_that_was_applied_says_what_is_still_open_unless_verified(self) -> None:
        outcome = Outcome(Analysis(1, (UNSAFE,)), applied=(UNSAFE,), changes={MODEL: (b"a", b"b")})
        open_question = "    unsafe (layers): the layers of model.py:40 have one width\n"
        assert open_question in rewrite_text.render(outcome, HERE, written=True)
        assert open_question not in rewrite_text.render(outcome, HERE, written=True, verified=True)

    def test_names_the_other_files_that_change_and_the_reason_to_stack_in_the_call(self) -> None:
        far = replace(PLAN, stack=InitStack((Wrap(at(4, path=HERE / "build.py")),)))
        outcome = Outcome(Analysis(1, (far,)), applied=(far,), changes={MODEL: (b"a", b"b")})
        assert "the list is built stacked, in build.py\n" in rewrite_text.render(outcome, HERE, written=True)
        call = replace(PLAN, stack=CallStack("the list comes from the caller"))
        outcome = Outcome(Analysis(1, (call,)), applied=(call,), changes={MODEL: (b"a", b"b")})
        text = rewrite_text.render(outcome, HERE, written=True)
        assert "the list is stacked inside the call\n    note: the list comes from the caller\n" in text

    def test_nothing_to_rewrite(self) -> None:
        assert rewrite_text.render(Outcome(Analysis(3)), HERE, written=True) == "Nothing to rewrite in 3 files.\n"


class TestShortening:
    def test_only_whole_paths_below_the_folder_become_relative(self) -> None:
        text = "`/project/a.py` and /project/b.py:3, not /old/project/c.py, /projects/d.py or x/project/e"
        assert shorten(text, HERE) == "`a.py` and b.py:3, not /old/project/c.py, /projects/d.py or x/project/e"

    def test_at_the_root_nothing_does(self) -> None:
        assert shorten("/project/a.py", Path("/")) == "/project/a.py"


class TestDiff:
    def test_is_a_unified_diff_of_the_files_that_differ(self) -> None:
        before = {MODEL: "a\nb\nc\n", HERE / "same.py": "x\n"}
        after = {MODEL: "a\nB\nc\n", HERE / "same.py": "x\n"}
        expected = "--- model.py\n+++ model.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
        assert diff.render(before, after, HERE) == expected

    def test_marks_a_missing_line_end_and_keeps_form_feeds_and_crlf(self) -> None:
        text = diff.render({MODEL: "a\x0cb\r\nold"}, {MODEL: "a\x0cb\r\nnew"}, HERE)
        assert " a\x0cb\r\n" in text
        assert text.endswith("-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n")

    def test_equal_texts_give_nothing(self) -> None:
        assert diff.render({MODEL: "a\n"}, {MODEL: "a\n"}, HERE) == ""
