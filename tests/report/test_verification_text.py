"""The text of a verification, as it stands on a terminal of a fixed width and in a log."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from scanify.report.verification.text import print_verification, verification_text
from scanify.verify.proof.words import FIRST_DIFFERENCE, show_difference
from scanify.verify.verdict import (
    CaseResult,
    Difference,
    Measurement,
    Operation,
    PolicyResult,
    Status,
    Verdict,
    Verification,
)

PROVED = Verdict(Status.PROVED)
TESTED = Verdict(
    Status.TESTED,
    "the primitive `foo_call` is not understood; values, vjp and jvp agree to 1.1e-15 relative in float64",
)
FAILED = Verdict(
    Status.FAILED,
    "",
    Difference(
        "the loop multiplies by 0.3 and the scan by 0.0",
        Operation("mul (8, 64) float32", "gpt/model.py", 41, 3),
        Operation("mul (8, 64) float32", "gpt/model.py", 146, 3),
    ),
)
NOT_RUN = Verdict(Status.NOT_RUN, "the weights are abstract")
VERSIONS = (("python", "3.11.7"), ("jax", "0.10.2"), ("equinox", "0.13.8"), ("scanify", "0.1.0"))
LOOP = Measurement(1_000_000_000, 10764, 0.5, 0.25, 63.1, 1, "cpu")


def scan(saved: int) -> Measurement:
    return Measurement(saved, 515, 0.1, 0.1, 0.612, 1, "cpu")


GPT = CaseResult(
    "cases.py:gpt",
    PROVED,
    (
        PolicyResult("none", PROVED, PROVED, scan(1_800_000_000)),
        PolicyResult("nested", PROVED, PROVED, scan(36_800_000)),
    ),
    LOOP,
    seconds=(("trace", 1.0), ("total", 12.34)),
    output="step 1\n",
)


def text_of(*cases: CaseResult, width: int = 80) -> str:
    return verification_text(Verification(cases, VERSIONS), width)


def test_a_proof_is_a_table_against_the_loop_and_one_line() -> None:
    assert text_of(GPT) == (
        "cases.py:gpt\n"
        "  remat    outputs   gradients      saved   StableHLO lines   compile\n"
        " ---------------------------------------------------------------------\n"
        "  (loop)                          954 MiB            10,764    63.1 s\n"
        "  none     PROVED    PROVED      1.68 GiB               515    0.61 s\n"
        "  nested   PROVED    PROVED      35.1 MiB               515    0.61 s\n"
        "  saved: kept from the forward to the backward pass; compile: on cpu\n"
        "  parameters PROVED  both versions start from equal parameters for any key\n"
        "\n"
        "python 3.11.7, jax 0.10.2, equinox 0.13.8, scanify 0.1.0; 12.3 s\n"
        "PROVED  1 case, 2 remat policies: equal for all inputs of these shapes and dtypes\n"
    )


def test_without_measurements_there_are_no_columns_for_them() -> None:
    policies = tuple(replace(policy, measured=Measurement()) for policy in GPT.policies)
    text = text_of(replace(GPT, policies=policies, original=Measurement()))
    assert "  remat    outputs   gradients\n" in text
    assert "(loop)" not in text and "saved" not in text


def test_a_figure_that_one_row_lacks_is_a_dash() -> None:
    text = text_of(replace(GPT, original=replace(LOOP, compile_seconds=None)))
    assert re.search(r"\(loop\) +954 MiB +10,764 +-\n", text)


def test_a_failure_shows_the_first_difference_in_both_versions_once() -> None:
    wrong = replace(GPT, policies=tuple(replace(p, outputs=FAILED, gradients=FAILED) for p in GPT.policies))
    text = text_of(wrong)
    assert (
        "  FAILED  outputs and gradients under every policy\n"
        "    first difference: the loop multiplies by 0.3 and the scan by 0.0\n"
        "      before  gpt/model.py:41 layer 3   mul (8, 64) float32\n"
        "      after   gpt/model.py:146 layer 3  mul (8, 64) float32\n"
    ) in text
    assert text.count("first difference") == 1
    assert text.endswith("\nFAILED  1 of 1 case: cases.py:gpt\n")


def test_a_reason_that_tells_the_difference_does_not_tell_it_twice() -> None:
    assert FAILED.difference is not None
    told = FIRST_DIFFERENCE + show_difference(FAILED.difference)
    for reason in (f"values differ by 0.3; {told}", f"values differ by 0.3 ({told})"):
        text = text_of(replace(GPT, policies=(PolicyResult("none", replace(FAILED, reason=reason), PROVED),)))
        assert "  FAILED  outputs under none: values differ by 0.3\n    first difference: the loop multiplies" in text


def test_where_outputs_differ_the_gradients_difference_that_follows_is_not_shown() -> None:
    later = Verdict(Status.FAILED, "vjp differs", replace(FAILED.difference, what="the cotangents differ"))
    both = text_of(replace(GPT, policies=(PolicyResult("none", FAILED, later),)))
    assert "  FAILED  gradients under none: vjp differs\n" in both and "the cotangents differ" not in both
    alone = text_of(replace(GPT, policies=(PolicyResult("none", FAILED, later), PolicyResult("full", PROVED, later))))
    assert "first difference: the cotangents differ" in alone


def test_a_reason_of_several_lines_is_one_paragraph() -> None:
    verdict = Verdict(Status.FAILED, "it cannot be traced:\n\nthe carry has\nanother dtype\n")
    text = text_of(replace(GPT, policies=(PolicyResult("none", verdict, PROVED),)))
    assert ("  FAILED  outputs under none: it cannot be traced:\n      the carry has\n      another dtype\n") in text


def test_an_operation_without_a_place_or_a_missing_one_is_shown_as_far_as_known() -> None:
    difference = Difference("the scan lacks an operation", Operation("sin (3,) float32"), None)
    text = text_of(replace(GPT, policies=(PolicyResult("none", replace(FAILED, difference=difference), PROVED),)))
    assert "      before  -  sin (3,) float32\n" in text and "      after" not in text


def test_what_holds_under_some_policies_names_them() -> None:
    none, nested = GPT.policies
    text = text_of(replace(GPT, policies=(none, replace(nested, outputs=TESTED, gradients=TESTED))))
    assert (
        "  TESTED  outputs and gradients under nested: the primitive `foo_call` is\n"
        "      not understood; values, vjp and jvp agree to 1.1e-15 relative in float64\n"
    ) in text
    assert text.endswith("\nVERIFIED  1 case, 2 remat policies: 3 of 5 verdicts proved, 2 tested numerically\n")


def test_what_holds_for_outputs_here_and_gradients_there_says_both() -> None:
    none, nested = GPT.policies
    policies = (replace(none, gradients=NOT_RUN), replace(nested, outputs=NOT_RUN, gradients=NOT_RUN))
    text = text_of(replace(GPT, policies=policies))
    assert "  NOT RUN  outputs under nested; gradients under every policy: the weights\n" in text
    assert text.endswith("\nNOT VERIFIED  1 of 1 case: cases.py:gpt\n")


def test_a_single_policy_is_named() -> None:
    text = text_of(replace(GPT, policies=(replace(GPT.policies[1], gradients=TESTED),)))
    assert "  TESTED  gradients under nested: " in text


def test_different_parameters_are_said_with_their_reason() -> None:
    verdict = Verdict(Status.FAILED, "model.layers[3].weight differs by 0.25")
    text = text_of(replace(GPT, parameters=verdict))
    assert ("  parameters FAILED  model.layers[3].weight differs by 0.25\n") in text
    assert text.endswith("\nFAILED  1 of 1 case: cases.py:gpt\n")


def test_findings_are_shown_once_and_spoil_the_case() -> None:
    policies = tuple(replace(policy, findings=("remat changes nothing",)) for policy in GPT.policies)
    text = text_of(replace(GPT, policies=policies, findings=("layer 3 gets no gradient",)))
    assert "  finding  layer 3 gets no gradient\n" in text
    assert text.count("remat changes nothing") == 1
    assert "  finding  under every policy: remat changes nothing\n" in text
    assert text.endswith("\nNOT VERIFIED  1 of 1 case: cases.py:gpt\n")


def test_notes_are_shown_and_spoil_nothing() -> None:
    none, nested = GPT.policies
    text = text_of(replace(GPT, policies=(none, replace(nested, notes=("no effect on cpu",)))))
    assert "  note  under nested: no effect on cpu\n" in text
    assert "\nPROVED  " in text


def test_an_error_is_shown_as_it_is_with_what_the_case_printed() -> None:
    error = (
        "cases.py:bad failed with the original model.py:\n  cases.py:6, in bad\n    x[bold] = [/]\nValueError: "
        + "x" * 90
    )
    text = text_of(CaseResult("cases.py:bad", error=error, output="loading\n[red]50%\n"), width=40)
    assert text.startswith(
        "cases.py:bad\n"
        "  could not be verified\n"
        "    cases.py:bad failed with the original model.py:\n"
        "      cases.py:6, in bad\n"
        "        x[bold] = [/]\n"
        f"    ValueError: {'x' * 90}\n"
        "  the case printed:\n"
        "    | loading\n"
        "    | [red]50%\n"
        "\n"
    )
    assert text.endswith("\nNOT VERIFIED  1 of 1 case: cases.py:bad\n")


def test_of_a_long_output_the_last_lines_are_shown() -> None:
    text = text_of(CaseResult("c", error="died", output="".join(f"line {n}\n" for n in range(500))))
    assert "  the case printed (the last 20 of 500 lines):\n    | line 480\n" in text and "    | line 499\n\n" in text


def test_what_the_case_printed_does_not_act_on_the_terminal() -> None:
    text = text_of(CaseResult("c", error="died \x1b[2J", output="\x1b]0;title\x07 \ud800\n"))
    assert "    died \\x1b[2J\n" in text and "    | \\x1b]0;title\\x07 \\ud800\n" in text


def test_output_of_a_good_case_is_not_shown() -> None:
    assert "step 1" not in text_of(GPT)


def test_the_last_line_counts_and_names_what_is_bad() -> None:
    bad, ugly = CaseResult("cases.py:bad", error="died"), replace(GPT, case="cases.py:ugly", parameters=FAILED)
    assert text_of(GPT, bad, ugly).splitlines()[-1] == "FAILED  2 of 3 cases: cases.py:bad, cases.py:ugly"
    assert text_of(GPT, bad).splitlines()[-1] == "NOT VERIFIED  1 of 2 cases: cases.py:bad"
    assert text_of(GPT, GPT).splitlines()[-1].startswith("PROVED  2 cases, 2 remat policies: ")
    assert text_of().splitlines()[-1] == "NOT VERIFIED  there was no case"


def test_what_was_compared_once_is_said_in_words_after_the_policies() -> None:
    wrong = replace(TESTED, reason="")
    text = text_of(replace(GPT, tangents=PROVED, batched=wrong, keys=NOT_RUN, notes=("the loop is jitted",)))
    assert (
        "  parameters PROVED  both versions start from equal parameters for any key\n"
        "  tangents PROVED  the forward derivatives (jvp) are equal\n"
        "  batched TESTED  the outputs under vmap agree numerically\n"
        "  keys NOT RUN  the weights are abstract\n"
        "  note  the loop is jitted\n"
    ) in text
    assert text.endswith("\nNOT VERIFIED  1 of 1 case: cases.py:gpt\n")


@pytest.mark.parametrize("status", Status)
def test_every_check_has_words_for_every_status(status: Status) -> None:
    verdict = Verdict(status)
    text = text_of(replace(GPT, parameters=verdict, tangents=verdict, batched=verdict, keys=verdict, updates=verdict))
    said = re.findall(rf"^  (parameters|tangents|batched|keys|updates) {status.value}  (.+)$", text, re.MULTILINE)
    assert [name for name, _ in said] == ["parameters", "tangents", "batched", "keys", "updates"]
    assert len({words for _, words in said}) == 5


def test_verdicts_that_a_case_has_once_count() -> None:
    assert text_of(replace(GPT, keys=FAILED)).endswith("\nFAILED  1 of 1 case: cases.py:gpt\n")
    tested = text_of(replace(GPT, tangents=PROVED, batched=TESTED))
    assert tested.endswith("\nVERIFIED  1 case, 2 remat policies: 6 of 7 verdicts proved, 1 tested numerically\n")


def test_a_difference_that_outputs_and_tangents_share_is_told_once() -> None:
    policies = (PolicyResult("none", FAILED, FAILED),)
    text = text_of(replace(GPT, policies=policies, tangents=FAILED))
    assert text.count("first difference") == 1
    assert text.index("first difference") < text.index("tangents FAILED")
    assert FAILED.difference is not None
    other = replace(FAILED, difference=replace(FAILED.difference, what="another"))
    assert text_of(replace(GPT, policies=policies, tangents=other)).count("first difference") == 2


def test_a_variant_says_its_arguments_its_layers_and_that_it_was_kept() -> None:
    variant = replace(GPT, variant=(("batch", "4"), ("seq", "16")), layers=12, cached=True)
    assert text_of(variant).startswith("cases.py:gpt  batch=4, seq=16; 12 layers; kept from an earlier run\n  remat ")
    assert text_of(replace(GPT, layers=1)).startswith("cases.py:gpt  1 layer\n")
    long = replace(variant, variant=(("config", "'a long name' " * 6),))
    assert text_of(long).startswith(
        "cases.py:gpt\n"
        "  config='a long name' 'a long name' 'a long name' 'a long name' 'a long\n"
        "      name' 'a long name' ; 12 layers; kept from an earlier run\n"
        "  remat "
    )


def test_the_last_line_counts_variants_and_names_the_first_bad_ones() -> None:
    variants = [replace(GPT, variant=(("batch", str(batch)),)) for batch in range(8)]
    assert text_of(*variants).splitlines()[-1].startswith("PROVED  1 case in 8 variants, 2 remat policies: ")
    assert text_of(*variants[:7], replace(variants[7], keys=FAILED)).splitlines()[-1] == (
        "FAILED  1 of 8 variants: cases.py:gpt (batch=7)"
    )
    bad = text_of(*(replace(variant, keys=FAILED) for variant in variants)).splitlines()[-1]
    assert bad.startswith("FAILED  8 of 8 variants: cases.py:gpt (batch=0), ") and bad.endswith("(batch=4) and 3 more")


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_wider_than_the_page_and_plain_text_is_ascii_without_trailing_spaces(width: int) -> None:
    names = ("as written", "none", "true", "full", "nested", "save_all", "offload")
    policies = tuple(PolicyResult(name, TESTED, FAILED, scan(10**12), ("a finding " * 12,)) for name in names)
    bad = replace(FAILED, reason="because " * 30)
    case = replace(
        GPT, policies=policies, parameters=bad, tangents=bad, batched=TESTED, keys=NOT_RUN, notes=("a note " * 30,),
        variant=(("batch", "4 " * 60),), layers=12, cached=True,
    )  # fmt: skip
    text = text_of(case, replace(case, variant=(), error="it died"), width=width).rpartition("FAILED  2 of 2")[0]
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert text.isascii() and "\x1b" not in text
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_terminal_gets_colours_and_the_same_words() -> None:
    stream = StringIO()
    console = Console(file=stream, width=80, force_terminal=True, color_system="standard", legacy_windows=False)
    print_verification(Verification((GPT,), VERSIONS), console)
    coloured = stream.getvalue()
    assert "\x1b[32mPROVED" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    words = [line.split() for line in plain.splitlines() if "─" not in line]
    assert words == [line.split() for line in text_of(GPT).splitlines() if "---" not in line]
