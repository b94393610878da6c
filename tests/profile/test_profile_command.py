"""`scanify profile` from outside, and its reports, of one run of a child process and of samples."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit
from scanify.report.profile.html import profile_html
from scanify.report.profile.json import profile_json
from scanify.report.profile.profile import Profile
from scanify.report.profile.text import profile_text
from scanify.verify.profile.startup import Program, Share, SourceLoop, Startup
from scanify.verify.verdict import CaseResult
from tests.command import BLOCK

MODEL = f"""\
{BLOCK}    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
CASES = """\
import jax
import jax.numpy as jnp


def four(module):
    return module.Model(4, 4, key=jax.random.key(0)), (jnp.ones(4),)


def broken(module):
    raise ValueError("no model today")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "cases.py").write_text(CASES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_model_is_profiled_as_it_is_and_as_it_would_be(folder, capsys):
    assert run(["profile", "model.py", "--case", "cases.py:four", "--format", "json"]) == Exit.OK
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    programs = {program["name"]: program for program in case["programs"]}
    assert list(programs) == ["constructor", "call", "gradient"]
    line = MODEL.splitlines().index("        for layer in self.layers:") + 1
    (loop,) = [each for each in programs["gradient"]["loops"] if each["line"] == line]
    assert (loop["file"], loop["turns"], loop["depth"]) == ("model.py", 4, 0)
    assert loop["advice"] == "SCN101: scanify rewrite makes a scan of it"
    assert [program["name"] for program in case["rewritten"]] == list(programs)
    assert (folder / "model.py").read_text() == MODEL


def test_a_case_that_fails_is_said(folder, capsys):
    assert run(["profile", "model.py", "--case", "cases.py:broken"]) == Exit.VERIFICATION
    assert "no model today" in capsys.readouterr().out


@pytest.mark.parametrize("budget", ["20000", "seconds=3", "lines=", "lines=-1", "lines=many"])
def test_a_budget_is_in_lines(folder, capsys, budget):
    assert run(["profile", "model.py", "--case", "cases.py:four", "--budget", budget]) == Exit.USAGE
    assert "such as --budget lines=20000" in capsys.readouterr().err


LOOP = SourceLoop("model.py", "/p/model.py", 12, "for layer in self.layers")
INNER = SourceLoop("model.py", "/p/model.py", 40, "for t in (q, k, v)")
GRADIENT = Program("gradient", 1_000, 1.25, 0.5, 12.0, 3 << 20, (Share(LOOP, 0, 900, 12), Share(INNER, 1, 90, 3)), 100)
STARTUP = Startup(
    (Program("call", 400, 0.5, 0.25, 4.0, None), GRADIENT), (Program("gradient", 200, 1, 1, 1.0),), ("x",)
)
SAID = {("/p/model.py", 12): "SCN101: scanify rewrite makes a scan of it"}


def sample(budget: int | None = None) -> Profile:
    return Profile(
        (CaseResult("cases.py:four", startup=STARTUP),), SAID, {("/p/model.py", 12)}, (("jax", "0.12"),), budget
    )


def test_what_is_over_the_budget_names_its_loop():
    assert list(sample(1_000).over()) == []
    (said,) = sample(999).over()
    assert said == (
        "cases.py:four: the gradient has 1,000 StableHLO lines, more than the budget of 999; 90 % of them come from "
        "the loop at model.py:12"
    )


def test_a_loop_that_a_rewrite_scans_is_named_before_the_loop_around_it():
    inner = Profile((CaseResult("cases.py:four", startup=STARTUP),), SAID, {("/p/model.py", 40)}, (), 999)
    assert next(iter(inner.over())).endswith("9 % of them come from the loop at model.py:40")
    assert [inner.saves(share) for share in GRADIENT.shares] == [None, 60]
    assert any(
        line.split()[:4] == ["900", "90", "%", "12"] and "-" in line for line in profile_text(inner, 120).splitlines()
    )


def test_the_budget_decides_about_the_exit_code(folder, monkeypatch, capsys):
    monkeypatch.setattr("scanify.commands.profile._profile", lambda given, run, budget, *, compiles: sample(budget))
    for lines, code in ((1_000, Exit.OK), (999, Exit.FINDINGS)):
        assert run(["profile", "model.py", "--case", "cases.py:four", "--budget", f"lines={lines}"]) == code
    assert "over budget" in capsys.readouterr().out


def test_the_text_says_where_lines_come_from():
    said = profile_text(sample(), 120).splitlines()
    assert any(
        line.split() == ["900", "90", "%", "12", "825", "model.py:12:", "for", "layer", "in", "self.layers"]
        for line in said
    )
    assert any("SCN101: scanify rewrite makes a scan of it" in line for line in said)
    assert any(line.split()[:2] == ["gradient", "1,000"] and "200" in line for line in said)
    assert any("call: no loop of the source makes a notable part of it" in line for line in said)


def test_the_object_has_what_the_text_has():
    (case,) = json.loads(json.dumps(profile_json(sample(999)), allow_nan=False))["cases"]
    call, gradient = case["programs"]
    assert (call["lines"], gradient["temp_bytes"], gradient["outside"]) == (400, 3 << 20, 100)
    assert [loop["saves"] for loop in gradient["loops"]] == [825, None]
    assert case["notes"] == ["x"]


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_the_page_has_a_bar_for_each_outer_loop():
    page = Texts()
    page.feed(profile_html(sample()))
    assert page.tags.count("rect") == 2  # the loop, and what is in none
    assert "for layer in self.layers" in page.texts
    assert "script" not in page.tags


def test_the_page_is_written_where_it_is_asked_for(folder, monkeypatch):
    monkeypatch.setattr("scanify.commands.profile._profile", lambda given, run, budget, *, compiles: sample(budget))
    assert run(["profile", "model.py", "--case", "cases.py:four", "--format", "html", "--output", "p.html"]) == Exit.OK
    assert Path("p.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
