"""The rule catalogue runs: every page is well formed, and every fence of every page does what it says."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from scanify.rules import RULES, Example, Fence, Rule, find_rule, pages_folder, parse_page

ROOT = Path(__file__).resolve().parent.parent
HEADINGS = {
    "1": ("What it finds", "Why", "What to do", "Examples"),
    "2": ("What it means", "Why", "What to do", "Examples"),
    "3": ("What it means", "Why", "What to do"),
    "4": ("What it means", "Why", "What to do"),
}
ROLES = {"before", "after", "left-alone", "refused", "undecided", "remarked", "file"}
OPTIONS = {
    "before": {"stack", "remat", "target", "unsafe", "file"},
    "after": {"file"},
    "left-alone": {"stack", "target"},
    "refused": {"stack", "target", "file"},
    "undecided": {"stack", "target", "file"},
    "remarked": {"file", "line"},
    "file": {"file"},
}


def has_examples(rule: Rule) -> bool:
    """Those on comments (30x), on what is only said of a fix, and on what verification finds have none."""
    return (
        rule.id[3] != "4"
        and not rule.id.startswith("SCN30")
        and rule.id not in ("SCN315", "SCN316", "SCN317", "SCN318", "SCN319", "SCN320")
    )


every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


class TestThePages:
    def test_ids_in_code_and_files_are_the_same_set(self) -> None:
        assert {rule.filename for rule in RULES} == {path.name for path in (ROOT / "rules").iterdir()}

    def test_ids_and_names_are_unique_and_well_formed(self) -> None:
        assert len({rule.id for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
        assert [rule.id for rule in RULES] == sorted(rule.id for rule in RULES)
        for rule in RULES:
            assert re.fullmatch(r"SCN[1-4]\d\d", rule.id)
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)

    @every_rule
    def test_the_title_is_id_and_name(self, rule: Rule) -> None:
        assert rule.page.title == f"{rule.id} {rule.name}"

    @every_rule
    def test_the_summary_is_one_sentence(self, rule: Rule) -> None:
        summary = rule.page.summary
        assert summary.endswith(".")
        assert ". " not in summary
        assert len(summary) <= 120

    @every_rule
    def test_the_headings_are_fixed_and_none_is_empty(self, rule: Rule) -> None:
        expected = HEADINGS[rule.id[3]] + (("Examples",) if rule.id[3] == "3" and rule.page.examples else ())
        assert tuple(heading for heading, _ in rule.page.sections) == expected
        assert all(body for _, body in rule.page.sections)

    @every_rule
    def test_examples_are_sentences_with_fences_of_known_roles(self, rule: Rule) -> None:
        assert bool(rule.page.examples) == has_examples(rule)
        for example in rule.page.examples:
            assert example.title[0].isupper() or example.title[0] == "`"
            assert not example.title.endswith(".")
            assert {fence.role for fence in example.fences} - {"file", "text"}, example.title
            for fence in example.fences:
                if fence.role == "text":
                    continue
                assert fence.role in ROLES, f"{rule.filename}:{fence.line}"
                assert {name for name, _ in fence.options} <= OPTIONS[fence.role], f"{rule.filename}:{fence.line}"
                assert (fence.rule is not None) == (fence.role in ("refused", "undecided", "remarked")), (
                    f"{rule.filename}:{fence.line}"
                )
                ast.parse(fence.code)

    @every_rule
    def test_a_page_shows_its_own_rule(self, rule: Rule) -> None:
        fences = [fence for example in rule.page.examples for fence in example.fences]
        if rule.id[3] == "1":
            assert any(fence.role == "before" for fence in fences)
            assert any(fence.role == "left-alone" for fence in fences)
        elif has_examples(rule):
            assert any(fence.rule == rule.id for fence in fences)
            assert rule.id[3] == "2" or any(fence.role == "left-alone" for fence in fences)

    def test_lines_stay_readable(self) -> None:
        for rule in RULES:
            for number, line in enumerate(rule.page.text.splitlines(), start=1):
                assert len(line) <= 120, f"{rule.filename}:{number}"


class TestReadingPages:
    PAGE = (
        "# SCN101 a-name\n\nOne\nsentence.\n\n## Why\n\nBecause.\n\n### A title\n\n"
        "```python before stack=call\nx = 1\n```\n"
    )

    def test_the_parts_of_a_page(self) -> None:
        page = parse_page(self.PAGE)
        assert (page.title, page.summary) == ("SCN101 a-name", "One sentence.")
        assert page.sections[0][0] == "Why"
        assert page.sections[0][1].startswith("Because.")
        fence = Fence("before", "x = 1\n", 12, None, (("stack", "call"),))
        assert page.examples == (Example("A title", (fence,)),)

    def test_a_refused_fence_names_its_rule(self) -> None:
        fence = parse_page("### T\n```python refused SCN205 stack=init\n```\n").examples[0].fences[0]
        assert (fence.role, fence.rule, fence.option("stack")) == ("refused", "SCN205", "init")
        assert fence.option("unsafe") is None

    def test_a_fence_that_is_never_closed_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="line 2: the fence is never closed"):
            parse_page("# T\n```python before\nx = 1\n")

    def test_headings_inside_a_fence_are_code(self) -> None:
        page = parse_page("# T\n## Why\n```python before\n# comment\n## another\n```\n")
        assert (page.title, len(page.sections)) == ("T", 1)

    def test_two_titles_are_an_error(self) -> None:
        with pytest.raises(ValueError, match="line 2: expected one"):
            parse_page("# A\n# B\n")

    @pytest.mark.parametrize("name", ["SCN205", "scn205", "early-exit", " Early-Exit "])
    def test_rules_are_found_by_id_and_name(self, name: str) -> None:
        assert find_rule(name).id == "SCN205"

    def test_in_a_checkout_the_pages_are_those_of_the_checkout(self) -> None:
        assert pages_folder() == ROOT / "rules"


def examples() -> list[object]:
    """Every example of every page, with an id that reads as the sentence it is; those of remarks have their own test."""
    params: list[object] = []
    for rule in RULES:
        if (ROOT / "rules" / rule.filename).exists() and rule.id[3] != "3":
            params += [pytest.param(each, id=f"{rule.id}: {each.title}") for each in rule.page.examples]
    return params


def run_fence(example: Example, fence: Fence, folder: Path) -> tuple[object, Mapping[Path, str], dict[Path, str]]:
    """Analyse and rewrite one fence together with the example's `file=` fences: analysis, texts after, texts before."""
    from scanify.pipeline import Project, rewrite_sources

    files = {"model.py": fence} | {each.option("file"): each for each in example.fences if each.role == "file"}
    for name, each in files.items():
        assert name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(each.code, encoding="utf-8")
    project = Project.load([folder])
    before = {source.path: source.text for source in project.sources}
    assert len(before) == len(files)
    stack = fence.option("stack")
    target = fence.option("target") or "scanify"
    outcome = rewrite_sources(
        project, stack=stack, remat=fence.option("remat"), accept=lambda plan: True, target=target
    )
    return outcome.analysis, outcome.texts, before


@pytest.mark.parametrize("example", examples())
def test_every_example_does_what_it_says(example: Example, tmp_path: Path) -> None:
    from scanify.analysis.plan import Plan, Refusal

    for index, fence in enumerate(example.fences):
        if fence.role in ("text", "file", "after"):
            continue
        where = f"the fence on line {fence.line}"
        folder = tmp_path / str(index)
        folder.mkdir()
        analysis, after, before = run_fence(example, fence, folder)
        assert not analysis.skipped, where
        model = folder / "model.py"
        if fence.role == "left-alone":
            assert analysis.loops == (), where
            assert after == before, where
        elif fence.role in ("refused", "undecided"):
            assert [type(loop) for loop in analysis.loops] == [Refusal], (where, analysis.loops)
            assert [loop.open for loop in analysis.loops] == [fence.role == "undecided"], (where, analysis.loops)
            assert [loop.rule for loop in analysis.loops] == [fence.rule], (where, analysis.loops)
            assert analysis.loops[0].reason, where
            assert after == before, where
        else:
            assert analysis.loops, where
            assert [loop for loop in analysis.loops if isinstance(loop, Refusal)] == [], where
            plans = [loop for loop in analysis.loops if isinstance(loop, Plan)]
            assert any(not plan.safe for plan in plans) == (fence.option("unsafe") is not None), (where, plans)
            expected = dict(before)
            for each in expected_after(example, index):
                expected[folder / (each.option("file") or model.name)] = each.code
            assert expected != before, f"{where}: the `after` is the `before`"
            for path in before:
                assert after[path] == expected[path], (where, path.name)


def expected_after(example: Example, index: int) -> list[Fence]:
    """The `after` fences that follow the `before` at `index`, up to the next fence of another role."""
    found = []
    for fence in example.fences[index + 1 :]:
        if fence.role != "after":
            break
        found.append(fence)
    assert found, f"the `before` on line {example.fences[index].line} has no `after`"
    return found
