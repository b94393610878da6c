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
