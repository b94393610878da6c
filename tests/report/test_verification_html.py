"""The page of a verification, parsed again: what stands where, that it is closed in itself, and that nothing leaks into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanify.report.verification.html import verification_html
from scanify.report.verification.markup import Markup, join, tag
from scanify.report.visible import visible
from scanify.verify.verdict import CaseResult, Difference, Operation, Status, Verdict, Verification
from tests.report import samples

VOID = {"meta", "wbr", "rect", "line", "path"}
ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2", "h3", "p", "span",
    "strong", "code", "pre", "ul", "li", "dl", "div", "dt", "dd", "details", "summary", "table", "caption", "thead",
    "tbody", "tr", "th", "td", "a", "figure", "figcaption", "svg", "desc", "text", *VOID,
}  # fmt: skip


@dataclass
class Node:
    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    inside: list[Node | str] = field(default_factory=list)

    def all(self, name: str, /, **attributes: str) -> list[Node]:
        wanted = {key.rstrip("_"): value for key, value in attributes.items()}
        return [node for node in self.walk() if node.name == name and wanted.items() <= node.attributes.items()]

    def walk(self) -> Iterator[Node]:
        yield self
        for child in self.inside:
            if isinstance(child, Node):
                yield from child.walk()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.inside)


class Reader(HTMLParser):
    """Builds the tree, and demands that every element is closed where it should be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        node = Node(tag, dict(attrs))
        self.open[-1].inside.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.open[-1].inside.append(Node(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


def read(page: str) -> Node:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def page_of(*cases: CaseResult, diff: str = "") -> Node:
    return read(verification_html(Verification(cases, samples.VERSIONS, diff)))


def cells(table: Node) -> list[list[str]]:
    return [[c.text for c in row.inside if isinstance(c, Node)] for row in table.all("tr")]


PAGES = {name: verification_html(each) for name, each in samples.verifications().items()}


@pytest.mark.parametrize("name", PAGES)
class TestEveryPage:
    def test_is_well_formed_and_of_known_elements(self, name: str) -> None:
        assert {node.name for node in read(PAGES[name]).walk()} - {""} <= ELEMENTS

    def test_needs_nothing_else_and_runs_nothing(self, name: str) -> None:
        for node in read(PAGES[name]).walk():
            assert not {key for key in node.attributes if key.startswith("on")} - {"onopen"}
            assert not {"src", "srcset", "data", "action", "style", "xlink:href"} & node.attributes.keys()
            assert str(node.attributes.get("href", "#")).startswith("#")
        (style,) = read(PAGES[name]).all("style")
        assert not re.search(r"url\(|@import|expression|</", style.text)

    def test_may_not_load_or_run_anything_either(self, name: str) -> None:
        (policy,) = read(PAGES[name]).all("meta", **{"http-equiv": "Content-Security-Policy"})
        assert policy.attributes["content"] == "default-src 'none'; style-src 'unsafe-inline'"

    def test_says_its_language_width_and_schemes(self, name: str) -> None:
        page = read(PAGES[name])
        assert PAGES[name].startswith("<!DOCTYPE html>\n") and page.all("html", lang="en")
        assert page.all("meta", name="viewport", content="width=device-width, initial-scale=1")
        assert page.all("meta", name="color-scheme", content="light dark")

    def test_names_are_unique_and_what_is_referred_to_is_there(self, name: str) -> None:
        page = read(PAGES[name])
        names = [str(node.attributes["id"]) for node in page.walk() if "id" in node.attributes]
        assert len(names) == len(set(names))
        labels = [str(node.attributes.get("aria-labelledby", "")).split() for node in page.walk()]
        links = [[str(link.attributes["href"]).removeprefix("#")] for link in page.all("a")]
        assert {each for some in (*labels, *links) for each in some} <= set(names)

    def test_has_one_first_heading_and_skips_no_level(self, name: str) -> None:
        levels = [int(node.name[1]) for node in read(PAGES[name]).walk() if re.fullmatch("h[1-6]", node.name)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))

    def test_tables_have_captions_and_heads_with_a_scope(self, name: str) -> None:
        for table in read(PAGES[name]).all("table"):
            assert table.all("caption")[0].text
            assert {head.attributes.get("scope") for head in table.all("th")} <= {"col", "row", "rowgroup"}

    def test_plots_say_in_words_what_they_show(self, name: str) -> None:
        page = read(PAGES[name])
        for plot in page.all("svg"):
            assert plot.attributes["role"] == "img"
            title, desc = plot.inside[:2]
            assert isinstance(title, Node) and isinstance(desc, Node)
            assert (title.name, desc.name) == ("title", "desc") and title.text and desc.text
            ids = f"{title.attributes['id']} {desc.attributes['id']}"
            assert plot.attributes["aria-labelledby"] == ids
        assert bool(page.all("svg")) == (name not in ("crashed", "empty"))

    def test_rows_of_the_verdicts_are_as_wide_as_its_head(self, name: str) -> None:
        for table in read(PAGES[name]).all("table", class_="verdicts"):
            for body in table.all("tbody"):
                area = sum(
                    int(cell.attributes.get("rowspan") or 1) * int(cell.attributes.get("colspan") or 1)
                    for cell in (*body.all("th"), *body.all("td"))
                )
                assert area == 11 * len(body.all("tr"))


def test_the_headline_is_the_verdict() -> None:
    for name, head in {
        "good": "✓ PROVED", "failed": "✗ FAILED", "crashed": "! NOT VERIFIED", "empty": "! NOT VERIFIED",
    }.items():  # fmt: skip
        (heading,) = read(PAGES[name]).all("h1")
        assert heading.text == head
    assert read(PAGES["good"]).all("header", class_="good") and read(PAGES["failed"]).all("header", class_="bad")


def test_the_verdicts_are_a_row_a_policy_with_words_and_symbols() -> None:
    (table,) = page_of(samples.failed()).all("table", class_="verdicts")
    head, first, *_, last = cells(table)
    assert head == [
        "case", "remat", "outputs", "gradients", "parameters", "tangents", "batched", "keys", "updates",
        "training", "depth",
    ]  # fmt: skip
    assert first == [
        "cases.py:gpt_training12 layers", "none", "✗ FAILED", "✗ FAILED", "✓ PROVED", "✗ FAILED", "– NOT RUN",
        "✗ FAILED", "–not compared", "–not compared", "–not compared",
    ]  # fmt: skip
    assert last == ["offloadno effect", "✗ FAILED", "✗ FAILED"]
    assert table.text.count("no effect") == 1


def test_a_status_has_a_colour_of_its_own() -> None:
    kinds = set()
    for status in Status:
        page = page_of(replace(samples.gpt(), parameters=Verdict(status, "why")))
        (badge,) = [b for b in page.all("table", class_="verdicts")[0].all("span") if status.value in b.text][:1]
        kinds.add(badge.attributes["class"])
    assert kinds == {"badge proved", "badge tested", "badge failed", "badge not-run"}


def test_what_is_wrong_comes_first() -> None:
    page = page_of(samples.gpt(), samples.failed())
    assert [heading.text for heading in page.all("h2")][1:3] == ["cases.py:gpt_training", "cases.py:gpt"]
    assert cells(page.all("table", class_="verdicts")[0])[1][0].startswith("cases.py:gpt_training")


def test_of_many_cases_those_that_are_good_are_in_short() -> None:
    page = read(PAGES["variants"])
    rows = cells(page.all("table", class_="verdicts")[0])[1:]
    assert len(rows) == 1 + 7 + 6 and rows[0][0].startswith("cases.py:huge")
    assert [row[1] for row in rows[1:4]] == ["all 6", "all 6", "none"]
    assert len(page.all("section", class_="folded")) == 8 and not read(PAGES["failed"]).all("section", class_="folded")
    other = [*samples.variants()[:4], replace(samples.failed(), policies=samples.failed().policies[:1])]
    assert cells(page_of(*other).all("table", class_="verdicts")[0])[1][1] == "none"


def test_what_does_not_apply_is_a_dash_that_is_said() -> None:
    (table,) = page_of(replace(samples.gpt(), keys=None)).all("table", class_="verdicts")
    assert cells(table)[1][-1] == "–not compared"


def test_the_first_difference_is_shown_with_its_lines() -> None:
    (table,) = [box.all("table")[0] for box in page_of(samples.failed()).all("div", class_="wide difference")]
    assert table.all("caption")[0].text == "First difference: the loop multiplies by 0.3 and the scan by 0.0"
    assert cells(table)[1:] == [
        ["before", "gpt/model.py:41 layer 3", "mul (8, 64) float32"],
        ["after", "gpt/model.py:146 layer 3", "mul (8, 64) float32"],
    ]


def test_findings_notes_errors_and_output_are_there() -> None:
    text = page_of(samples.failed(), samples.crashed()).text
    for said in (
        "layer 3 gets no gradient",
        "under offload: the rewritten source was to use remat 'offload'",
        "the loop runs under jax.jit in the case",
        "under offload: nothing is moved to the host on cpu",
        str(samples.crashed().error),
        "loading tokens\nstep 1: loss 4.56",
        "prove0.40 s",
    ):
        assert said in text


def test_each_figure_is_a_plot_against_the_loop() -> None:
    plots = page_of(samples.gpt()).all("figure")
    assert [plot.all("figcaption")[0].text for plot in plots] == [
        "Seconds to compile", "StableHLO lines", "Temporaries of the gradient", "Saved between forward and backward",
    ]  # fmt: skip
    assert all(len(plot.all("rect")) == 7 and len(plot.all("rect", class_="loop")) == 1 for plot in plots)
    assert plots[0].all("desc")[0].text.startswith("(loop): 63.3 s; none: 0.58 s; full: 0.69 s")


def test_variants_that_differ_in_layers_are_lines_over_them() -> None:
    page = read(PAGES["variants"])
    sections = [s for s in page.all("section") if str(s.attributes["aria-labelledby"]).startswith("layers-")]
    assert [section.all("p")[0].text for section in sections] == ["batch=1", "batch=8"]
    desc = sections[0].all("desc")[0].text
    assert desc.startswith(
        "Over layers. (loop): 21.7 s at 4, 63.3 s at 12, 126 s at 24, 251 s at 48; none: 0.58 s at 4"
    )
    assert not [s for s in read(PAGES["good"]).all("section") if "layers" in str(s.attributes["aria-labelledby"])]


def test_the_diff_has_its_lines_by_kind() -> None:
    page = read(PAGES["good"])
    (diff,) = page.all("pre", class_="diff")
    lines = [span.attributes["class"] for span in diff.all("code")[0].inside if isinstance(span, Node)]
    assert (lines.count("added"), lines.count("removed"), lines.count("hunk")) == (3, 3, 2)
    hidden = "".join(span.text for span in diff.all("span", class_="hidden"))
    assert hidden == "added: removed: added: removed: removed: added: "


def test_a_very_long_diff_is_cut_with_a_word() -> None:
    diff = "--- a\n+++ a\n@@ -0,0 +1,9000 @@\n" + "+x\n" * 9_000
    page = page_of(samples.gpt(), diff=diff)
    assert "4,003 more lines are not shown." in page.text and "+9000 −0" in page.text


def test_every_hostile_text_is_there_as_text_and_only_as_text() -> None:
    page = read(PAGES["hostile"])
    shown = visible(samples.HOSTILE)
    quoted = re.sub(r"`([^`]+)`", r"\1", shown.strip())
    assert page.text.count(shown) > 5 and page.text.count(quoted) > 5
    assert "<script" not in PAGES["hostile"] and "<b>" not in PAGES["hostile"]
    PAGES["hostile"].encode("utf-8")


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec=None) | st.sampled_from("<>&\"'`\n/"), min_size=1))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    verdict = Verdict(Status.FAILED, text.replace("`", ""), Difference(text, Operation(text, text)))
    case = replace(samples.gpt(), case=text, tangents=verdict, variant=((text, text),), error=None)
    page = read(verification_html(Verification((case,), ((text, text),), text)))
    assert {node.name for node in page.walk()} - {""} <= ELEMENTS
    assert page.all("h2", id="case-1")[0].text == visible(text)


class TestTag:
    def test_text_and_attributes_are_escaped_and_markup_is_not(self) -> None:
        made = tag("p", "a < b", tag("b", "&"), title='"<', class_="x", aria_label=None, open=True)
        assert made == '<p title="&quot;&lt;" class="x" open>a &lt; b<b>&amp;</b></p>'

    def test_parts_are_escaped_where_they_are_no_markup(self) -> None:
        assert join(["<", Markup("<br>")], "|") == "&lt;|<br>"
