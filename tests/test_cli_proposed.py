"""`verify` without a case: one is proposed, named, and used; or it is said why none could be."""

from pathlib import Path

import pytest

from scanify.cli import run
from scanify.errors import Exit

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, dim, depth, *, key):
        self.layers = [Block(dim, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.whole
def test_a_proposed_case_is_named_and_proves_the_rewrite(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text(MODEL)
    code = run(["verify", "model.py", "--remat", "full", "--no-measure"])
    out, err = capsys.readouterr()
    assert code == Exit.OK, (out, err)
    assert "no case was given; using model_case, proposed for Model (`scanify case model.py`" in err
    assert "model_case (proposed for model.py)" in out and "PROVED" in out
    assert [path.name for path in Path().iterdir() if path.suffix == ".py"] == ["model.py"]


def test_where_no_case_can_be_proposed_the_reason_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    text = MODEL.replace(
        "def __init__(self, dim, depth, *, key):", "def __init__(self, dim, depth, tokenizer, *, key):"
    )
    Path("model.py").write_text(text.replace("jax.random.split(key, depth)]", "jax.random.split(key, tokenizer.size)]"))
    assert run(["verify", "model.py"]) == Exit.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "expected a case: give --case FILE:FUNCTION" in err
    assert "None could be proposed for model.py: Model: " in err and "tokenizer" in err


def test_verifying_nothing_needs_no_case(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text("import equinox as eqx\n")
    assert run(["verify", "model.py"]) == Exit.USAGE
    assert "nothing to verify" in capsys.readouterr().err


# What the caller passes is called in the loop, which the source alone does not show to be without effects.
UNSAFE = MODEL.replace("def __call__(self, x):", "def __call__(self, x, act):").replace(
    "x = layer(x)", "x = act(layer(x))"
)


class TestRewrite:
    """`rewrite` of one file without a case."""

    @pytest.mark.whole
    def test_a_proposed_case_proves_an_unsafe_fix(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = UNSAFE.replace("(self, x, act)", "(self, x, act: Callable = jax.nn.relu)")
        Path("model.py").write_text(f"from collections.abc import Callable\n\n{text}")
        code = run(["rewrite", "model.py"])
        err = capsys.readouterr().err
        assert code == Exit.OK and "using model_case, proposed for Model" in err and "PROVED" in err, err
        assert "ArrayStacked" in Path("model.py").read_text()

    @pytest.mark.parametrize(
        ("files", "command"),
        [
            ({}, "scanify case model.py -o cases.py"),
            (
                {"train.py": "from model import Model\n\nif __name__ == '__main__':\n    Model(2, 3, load())\n"},
                'scanify rewrite model.py --run "python train.py"',
            ),
            (
                {"test_model.py": "from model import Model\n\ndef test():\n    Model(2, 3, load())\n"},
                'scanify rewrite model.py --run "pytest test_model.py"',
            ),
        ],
    )
    def test_where_none_is_found_the_command_that_proves_is_said(
        self, files: dict[str, str], command: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = UNSAFE.replace("(self, dim, depth, *, key)", "(self, dim, depth, plan: 'Plan', *, key)")
        for name, content in {"model.py": text, **files}.items():
            Path(name).write_text(content)
        assert run(["rewrite", "model.py"]) == Exit.OK
        err = " ".join(capsys.readouterr().err.split())
        assert f"help: prove it with `{command}`, or write it unverified with --unsafe (--unsafe --diff shows it)" in err, err
        assert "parameter `plan` of Model has no default and type Plan is not known" in err
        assert Path("model.py").read_text() == text

    def test_no_code_runs_unattended_or_without_need(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def never(*_: object, **__: object) -> None:
            raise AssertionError("a case was proposed")

        monkeypatch.setattr("scanify.commands.verifying.proposed.propose", never)
        Path("model.py").write_text(UNSAFE)
        assert run(["rewrite", "model.py", "--no-verify"]) == Exit.OK
        assert run(["rewrite", "model.py", "--exit-non-zero-on-change"]) == Exit.OK
        Path("model.py").write_text(MODEL)
        assert run(["rewrite", "model.py"]) == Exit.OK
