"""Proposals for whole files: the fixtures, names that clash, and what a verification takes."""

from pathlib import Path

import pytest

from scanify.analysis.plan import Plan
from scanify.errors import ScanifyError
from scanify.pipeline import Project, rewrite_sources
from scanify.propose.propose import Proposals, distinct, propose, written
from scanify.propose.request import Proposed
from scanify.propose.write import render
from scanify.verify.run import verify
from scanify.verify.verdict import Status

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def proposed(path: Path) -> tuple[Project, Proposals]:
    project = Project.load([path])
    plans = [loop for loop in project.analyse().loops if isinstance(loop, Plan)]
    source = project.sources[0]
    return project, propose(source.path, source.text, plans)


@pytest.mark.parametrize(
    ("path", "cls", "arguments"),
    [
        ("gpt/before.py", "GPT", "tokens int (length,) and a key"),
        pytest.param(
            "vit/before.py", "VisionTransformer", "image float (channels, size, size)", marks=pytest.mark.whole
        ),
        pytest.param(
            "encoder/before/encoder/model.py",
            "Encoder",
            "tokens int (length,), padding bool (length,) and a key",
            marks=pytest.mark.whole,
        ),
    ],
)
def test_a_fixture_gets_a_case(path: str, cls: str, arguments: str) -> None:
    _, found = proposed(FIXTURES / path)
    assert [case.cls for case in found.cases] == [cls] and found.declined == ()
    assert f'"""module.{cls} on {arguments}."""' in found.cases[0].text


def test_a_case_is_proved_as_it_is() -> None:
    project, found = proposed(FIXTURES / "film" / "before.py")
    outcome = rewrite_sources(project, accept=lambda plan: True)
    with written(found) as cases:
        done = verify(
            outcome.changes, cases, policies=("full",), requested=None, measure=False, target=project.sources[0].path
        )
    assert not cases[0].path.exists()
    assert [result.error for result in done.cases] == [None]
    for result in done.cases:
        assert result.policies and all(each.outputs.status is Status.PROVED for each in result.policies)


def test_two_classes_of_one_name_get_two() -> None:
    first = Proposed("GPT", "gpt", "def gpt(module):\n    return 1\n\n\ngpt.sweep = [{}]\n")
    second = distinct(Proposed("Gpt", "gpt", first.text), [first])
    assert second.function == "gpt_2"
    assert second.text == "def gpt_2(module):\n    return 1\n\n\ngpt_2.sweep = [{}]\n"
    compile(render([first, second], "model.py"), "cases.py", "exec")


def test_only_the_imports_that_are_used() -> None:
    text = render([Proposed("A", "a", "def a(module):\n    return jax.nn.gelu, ()\n", ("from b import B",))], "m.py")
    assert "import jax\n\nfrom b import B\n\n\ndef a" in text
    assert "equinox" not in text and "jnp" not in text


def test_what_is_no_python_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ScanifyError, match=r"expected Python that .* can run: line 1"):
        propose(tmp_path / "m.py", "class", [], classes=["A"])
