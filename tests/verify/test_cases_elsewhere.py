"""A case that takes its model from elsewhere, or constructors that read their random key otherwise."""

from pathlib import Path

import pytest

from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.child import run_case
from scanify.verify.verdict import CaseResult, Status
from tests.verify.in_turn import proved, request

MODEL = """
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

FIXED = jax.random.key(5)


class Model(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = MADE

    def __call__(self, x):
        return jnp.tanh(x * self.w)
"""
CASES = """
import jax
import jax.numpy as jnp
TOP

def case(module):
    return MADE, (jnp.arange(3.0),)
"""
NORMAL = "jax.random.normal(key, (3,))"
GIVEN = "module.Model(jax.random.key(0))"


def model(made: str = NORMAL, more: str = "") -> str:
    return MODEL.replace("MADE", made) + more


def compared(folder: Path, one: str, two: str, made: str = GIVEN, top: str = "", **more: str) -> CaseResult:
    texts = {"one": one, "two": two, "cases": CASES.replace("MADE", made).replace("TOP", top), **more}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    asked = request(folder)
    assert asked.case == CaseSpec(folder / "cases.py", "case", "cases.py:case")
    (result,) = run_case(asked)
    return result


KEYS = {
    "a key of its own": ("jax.random.normal(jax.random.key(0), (3,))", GIVEN),
    "a key that is kept": ("jax.random.normal(FIXED, (3,))", "module.Model(jax.random.key(5))"),
    "an old key": ("jax.random.normal(jax.random.PRNGKey(0), (3,))", "module.Model(jax.random.PRNGKey(0))"),
    "part of the key": (
        "jax.random.normal(jax.random.wrap_key_data(jnp.array([0, 0], jnp.uint32)), (3,))",
        "module.Model(jax.random.key(0))",
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_constructors_are_compared_as_functions_of_their_key(tmp_path: Path, name: str) -> None:
    made, case = KEYS[name]
    result = compared(tmp_path, model(), model(made), case)
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert "with another key in the case, w is another" in result.parameters.reason


def test_a_key_that_the_case_file_keeps_is_another_one_too(tmp_path: Path) -> None:
    wrong = model("jax.random.normal(jax.random.key(3), (3,))")
    result = compared(tmp_path, model(), wrong, "module.Model(KEY)", "KEY = jax.random.key(3)")
    assert result.parameters is not None and result.parameters.status is Status.FAILED


@pytest.mark.parametrize("made", [NORMAL, "jnp.ones(3)", "jax.random.normal(FIXED, (3,))"])
def test_constructors_that_read_their_key_alike_are_proved(tmp_path: Path, made: str) -> None:
    assert proved(compared(tmp_path, model(made), model(made)))


ROUNDED = "jnp.asarray(np.asarray(jax.random.normal(key, (3,))).round(3))"
RARE = {
    "a clip": "jnp.clip(jax.random.normal(key, (3,)), -3.0, 3.0)",
    "a choice by value": "jax.random.normal(key, (3,)) * (1.0 if jax.random.normal(key, (3,))[0] < 4.0 else -1.0)",
    "a choice in the program": "jnp.where(jax.random.uniform(key) > 0.999, 0.0, jax.random.normal(key, (3,)))",
    "what is left out below": "jax.random.normal(key, (3,)) * (jax.random.uniform(key) > 0.0)",
    "between what keys give and the extremes": f"{NORMAL} * (-1.0 if 4.5 < float({NORMAL}[0]) < 5.0 else 1.0)",
    "a band of numbers below": f"jnp.where(({NORMAL} < -4.5) & ({NORMAL} > -4.9), 0.0, {NORMAL})",
    "a band of a rate": "jnp.where(jnp.abs(jax.random.uniform(key) - 0.0015) < 0.0005, 0.0, jax.random.normal(key, (3,)))",
    "it raises": "eqx.error_if(jax.random.normal(key, (3,)), jax.random.uniform(key) > 0.999, 'rare')",
}


@pytest.mark.parametrize("name", RARE)
def test_what_a_constructor_does_to_a_rare_key_alone_fails(tmp_path: Path, name: str) -> None:
    result = compared(tmp_path, model(), model(RARE[name]))
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert "with extreme random bits" in result.parameters.reason
    assert not result.good


@pytest.mark.parametrize(
    "made", [ROUNDED, "jnp.asarray(float(jax.random.normal(key))) * jnp.ones(3)", "jax.random.normal(key, (3,)) + 0.0"]
)
def test_constructors_that_are_not_proved_are_tested_with_many_keys(tmp_path: Path, made: str) -> None:
    other = made if made != "jax.random.normal(key, (3,)) + 0.0" else NORMAL
    result = compared(tmp_path, model(made), model(other))
    assert result.parameters is not None and result.parameters.status is Status.TESTED and result.good
    said = "the same parameters with the key of the case, with 16 other keys and with 50 kinds of extreme random bits"
    assert said in result.parameters.reason


RATES = "jax.random.normal(key, (3,)) * [float(rate) for rate in jnp.linspace(0.0, 1.0, 3)][2]"
GAMMA = "jax.random.gamma(key, jnp.ones(3))"


@pytest.mark.parametrize("made", [RATES, GAMMA])
def test_values_that_no_key_decides_may_be_read(tmp_path: Path, made: str) -> None:
    assert proved(compared(tmp_path, model(made), model(made)))


@pytest.mark.parametrize("drawn", [GAMMA, f"jax.random.normal(key) ** 2 + {GAMMA}"])
def test_a_loop_that_draws_until_it_likes_a_number_ends(tmp_path: Path, drawn: str) -> None:
    result = compared(tmp_path, model(drawn), model(f"jnp.maximum({drawn}, 0.0) + 0.0"))
    assert result.parameters is not None and result.parameters.status is Status.TESTED


HELD = """
import dataclasses

@dataclasses.dataclass(frozen=True, eq=EQUAL)
class Config:
    width: int = 3


class Model(eqx.Module):
    w: jax.Array
    config: Config = eqx.field(static=True)

    def __init__(self, key):
        self.config = Config()
        self.w = jax.random.normal(key, (self.config.width,))

    def __call__(self, x):
        return jnp.tanh(x * self.w)
"""


def test_two_models_have_one_structure_where_those_of_the_original_do(tmp_path: Path) -> None:
    equal, only_itself = (model(more=HELD.replace("EQUAL", each)) for each in ("True", "False"))
    result = compared(tmp_path, equal, only_itself)
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert "two models of the rewritten version have two tree structures" in result.parameters.reason
    assert ".config is not equal to that of another model" in result.parameters.reason
    for same in (equal, only_itself):
        assert proved(compared(tmp_path, same, same))
    other = compared(tmp_path, only_itself, equal).parameters  # whose class of what the model holds is another one
    assert other is not None and other.status is Status.NOT_RUN and "class Config" in other.reason


def test_an_array_of_numpy_is_no_parameter_of_jax(tmp_path: Path) -> None:
    result = compared(tmp_path, model("np.ones(3, np.float32)"), model("jnp.ones(3)"))
    assert result.parameters is not None and result.parameters.status is Status.FAILED
    assert "w: an array of NumPy in the original, an array of jax in the rewritten version" in result.parameters.reason


ELSEWHERE = {
    "from the original": ("Model(jax.random.key(module.N))", "from one import Model"),
    "by another file": ("Model(jax.random.key(module.N))", "from between import Model"),
    "from the rewritten version": ("Model(jax.random.key(module.N))", "from two import Model"),
    "when it is called": ("__import__('one').Model(jax.random.key(module.N))", ""),
    "what the rewritten version imports too": ("one.Model(jax.random.key(module.N))", "import one"),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_case_that_takes_its_model_from_elsewhere_is_an_error(tmp_path: Path, name: str) -> None:
    made, top = ELSEWHERE[name]
    more = "\nfrom one import FIXED as KEPT\n" if "imports too" in name else ""
    two = model(more="\nN = 0\n" + more).replace("x * self.w", "x + self.w")
    result = compared(tmp_path, model(more="\nN = 0\n"), two, made, top, between="from one import Model")
    assert result.error is not None and "so that a version would be compared with itself" in result.error


def test_a_version_that_is_given_by_the_other_file_is_its_own_business(tmp_path: Path) -> None:
    assert proved(compared(tmp_path, model(), "from one import Model"))
