"""The Markdown of a verification, read back by a parser: what it shows, and that no text of others breaks it."""

import re
from dataclasses import replace
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from scanify.report.verification.markdown import LIMIT, code, prose, verification_markdown
from scanify.report.visible import visible
from scanify.verify.verdict import Measurement, PolicyResult, Status, Verdict, Verification
from tests.report import samples

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# The only HTML there may be.
TAGS = re.compile(r"</?(?:code|details|summary|sub|span|strong)>|<!-- -->")


def tokens(markdown: str) -> list[Token]:
    return [inner for token in PARSER.parse(markdown) for inner in (token, *(token.children or ()))]


def plain(markdown: str) -> str:
    """The text that a browser shows of one line."""
    html = PARSER.renderInline(markdown)
    return unescape(TAGS.sub("", html))


def rows(markdown: str) -> list[list[str]]:
    """The cells of all tables, as text."""
    found: list[list[str]] = []
    for token, cell in zip(PARSER.parse(markdown), PARSER.parse(markdown)[1:], strict=False):
        if token.type == "tr_open":
            found.append([])
        if token.type in ("th_open", "td_open"):
            found[-1].append(plain(cell.content))
    return found


def test_the_first_line_can_stand_alone() -> None:
    of = {name: verification_markdown(each).splitlines()[0] for name, each in samples.verifications().items()}
    assert of["good"] == (
        "**scanify verify: ✅ PROVED** 1 case, 6 remat policies: equal for all inputs of these shapes and dtypes"
    )
    assert of["failed"] == "**scanify verify: ❌ FAILED** 1 of 2 cases: cases.py:gpt\\_training"
    assert of["crashed"].startswith("**scanify verify: ⚠️ NOT VERIFIED** 2 of 2 variants: cases.py:gpt\\_long, ")
    assert of["empty"] == "**scanify verify: ⚠️ NOT VERIFIED** there was no case"


def test_there_is_a_table_a_case_with_verdicts_and_measurements() -> None:
    assert rows(verification_markdown(samples.verifications()["good"]))[:4] == [
        ["remat", "outputs", "gradients", "saved", "temporaries", "StableHLO lines", "compile", "one run"],
        ["(loop)", "", "", "916 MiB", "927 MiB", "10,764", "63.3 s", "37.2 ms"],
        ["none", "PROVED", "PROVED", "1.68 GiB", "1.69 GiB", "515", "0.58 s", "37.2 ms"],
        ["full", "PROVED", "PROVED", "48.1 MiB", "59.5 MiB", "537", "0.69 s", "37.2 ms"],
    ]


def test_without_measurements_there_are_no_columns_for_them() -> None:
    policies = (PolicyResult("none", samples.PROVED, samples.TESTED),)
    case = replace(samples.gpt(), policies=policies, original=Measurement())
    assert rows(verification_markdown(Verification((case,)))) == [
        ["remat", "outputs", "gradients"],
        ["none", "PROVED", "TESTED"],
    ]


def test_the_first_difference_is_told_in_words_with_its_lines_and_once() -> None:
    markdown = verification_markdown(samples.verifications()["failed"])
    assert (
        "- **FAILED** outputs under every policy: values differ by 0.3 relative\n"
        "  - first difference: the loop multiplies by 0.3 and the scan by 0.0\n"
        "  - before <code>gpt/model.py:41 layer 3</code>: <code>mul (8, 64) float32</code>\n"
        "  - after <code>gpt/model.py:146 layer 3</code>: <code>mul (8, 64) float32</code>\n"
        "- **FAILED** gradients under every policy: vjp differs by 0.3 relative\n"
        "- **FAILED** tangents: values differ by 0.3 relative\n"
        "- **NOT RUN** batched: the weights are abstract\n"
        "- **FAILED** keys: the key at gpt/model.py:144 is used by every layer\n"
        "- PROVED parameters\n"
        "- **finding**: layer 3 gets no gradient\n"
        "- **finding** under offload: "
    ) in markdown
    assert markdown.count("first difference") == 1
    assert "- note: the loop runs under <code>jax.jit</code> in the case\n" in markdown


def test_bad_cases_come_first_and_many_good_ones_are_folded() -> None:
    markdown = verification_markdown(samples.verifications()["failed"])
    assert markdown.index("gpt\\_training</code> 12 layers") < markdown.index("<code>cases.py:gpt</code> 12 layers")
    many = verification_markdown(samples.verifications()["variants"])
    assert many.index("### <code>cases.py:huge</code> batch=4; 96 layers") < many.index("<details>")
    assert many.count("<details><summary><code>cases.py:gpt (depth=") == 8
    assert "<summary><code>cases.py:gpt (depth=24, batch=1)</code>: TESTED</summary>" in many


def test_the_diff_is_folded_away_as_it_is_and_so_is_what_a_bad_case_printed() -> None:
    fences = {token.info: token.content for token in tokens(verification_markdown(samples.verifications()["failed"]))}
    assert fences["diff"] == samples.DIFF
    assert fences["text"] == "loading tokens\nstep 1: loss 4.56\n"
    assert "step 1" not in verification_markdown(samples.verifications()["good"])


def test_an_error_is_shown_as_it_is() -> None:
    shown = [token.content for token in tokens(verification_markdown(samples.verifications()["crashed"]))]
    assert f"{samples.crashed().error}\n" in shown


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters() | st.sampled_from("`*_[]()<>|~#@$:!&\\-+= \n1.a"), max_size=30))
def test_any_text_is_shown_as_it_is_and_makes_nothing(text: str) -> None:
    shown = " ".join(visible(text).split())
    for markdown, expected in ((code(text), shown), (prose(text.replace("`", "'")), shown.replace("`", "'"))):
        assert plain(markdown) == expected
        assert rows(f"| a | b |\n| --- | --- |\n| {markdown} | end |") == [["a", "b"], [expected, "end"]]
        made = {token.type for token in tokens(f"- x {markdown}")}
        assert made <= {
            "bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "text_special", "html_inline",
            "paragraph_close", "list_item_close", "bullet_list_close",
        }  # fmt: skip
        assert TAGS.sub("", "".join(t.content for t in tokens(f"- x {markdown}") if t.type == "html_inline")) == ""


def test_backticks_in_a_sentence_quote_code() -> None:
    assert prose("the primitive `foo_call` is new") == "the primitive <code>foo\\_call</code> is new"


@pytest.mark.parametrize(
    "text", ["see @jax", "fixes #12", "http://evil.example", "www.evil.example", "$x^2$", ":tada:"]
)
def test_nothing_mentions_refers_or_links_on_github(text: str) -> None:
    assert not re.search(r"@\w|#\d|://\w|www\.\w|\$(?!</span>)|:\w+:", prose(text))
    assert plain(prose(text)) == text


def test_hostile_texts_break_no_table_and_leave_no_box_open() -> None:
    markdown = verification_markdown(samples.hostile())
    assert len(rows(markdown)) == 3 and {len(row) for row in rows(markdown)} == {7}
    made = tokens(markdown)
    assert {t.type for t in made} & {"link_open", "image", "s_open", "em_open", "heading_open", "hr"} <= {
        "heading_open"
    }
    html = "".join(t.content for t in made if t.type.startswith("html"))
    assert TAGS.sub("", html).strip() == re.sub(r"<[^>]*>", "", TAGS.sub("", html)).strip()
    assert html.count("<details>") == html.count("</details>") > 0
    markdown.encode("utf-8")


def test_a_document_that_is_too_long_is_cut_with_a_word_on_what_was() -> None:
    good = samples.gpt()
    long = Verification((replace(good, case="c" * 5_000),) * 3, samples.VERSIONS, "+ a line\n" * 20_000)
    markdown = verification_markdown(long)
    assert LIMIT - 3_000 < len(markdown) <= LIMIT
    left = re.search(r"\*([\d,]+) of 20,000 lines are left out here\.\*\n\n</details>", markdown)
    assert left is not None
    assert markdown.count("+ a line") == 20_000 - int(left[1].replace(",", ""))


def test_cases_that_do_not_fit_are_counted_and_bad_ones_are_kept() -> None:
    bad = [replace(samples.failed(), case=f"cases.py:bad{number}") for number in range(3)]
    good = [replace(samples.gpt(), case=f"cases.py:good{number}") for number in range(300)]
    markdown = verification_markdown(Verification((*good, *bad), samples.VERSIONS, samples.DIFF))
    assert len(markdown) <= LIMIT
    left = re.search(r"\*(\d+) of 303 cases are left out here: the comment would be too long\.\*", markdown)
    assert left is not None
    assert markdown.count("<summary><code>cases.py:good") == 300 - int(left[1])
    assert all(f"### <code>cases.py:bad{number}</code>" in markdown for number in range(3))
    assert markdown.endswith("</sub>\n")


def test_one_long_line_does_not_fit() -> None:
    markdown = verification_markdown(Verification((samples.gpt(),), (), "x" * 100_000))
    assert "*The change that was verified: left out here, the comment would be too long.*\n" in markdown
    assert len(markdown) <= LIMIT


def test_long_texts_that_do_not_fit_are_counted() -> None:
    cases = [replace(samples.failed(), case=f"c{number}", output="x" * 30_000) for number in range(5)]
    markdown = verification_markdown(Verification(tuple(cases)))
    assert markdown.count("<summary>What c") == 1
    assert "*What c1 printed and 3 more: left out here, the comment would be too long.*\n" in markdown


def test_a_name_in_a_summary_is_html_and_no_markdown() -> None:
    case = replace(samples.failed(), case="cases.py:a_b*<c>")
    html = "".join(t.content for t in tokens(verification_markdown(Verification((case,)))) if t.type == "html_block")
    assert "<summary>What cases.py:a_b*&lt;c&gt; printed</summary>" in html


@pytest.mark.parametrize("length", [2_000, 60_000, 500_000])
def test_long_reasons_findings_and_errors_are_cut(length: int) -> None:
    text = "because " * (length // 8)
    verdict = Verdict(Status.FAILED, text)
    case = replace(samples.failed(), findings=(text,), tangents=verdict, variant=(("why", text),))
    markdown = verification_markdown(Verification((case, replace(samples.crashed(), error=text))))
    assert len(markdown) <= LIMIT
    assert "more characters)" in markdown
    assert "cases.py:gpt\\_long" in markdown
