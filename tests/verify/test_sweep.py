"""Cases with sizes to sweep: which variants there are, how they are shown, and what only another size tells."""

from pathlib import Path
from types import ModuleType

import pytest

from scanify.verify.cases.case import CaseError, CaseSpec
from scanify.verify.cases.sweep import find_sweep, shown
from scanify.verify.children.child import run_case
from scanify.verify.request import Change, Request
from scanify.verify.verdict import CaseResult, Status

SPEC = CaseSpec(Path("/p/cases.py"), "gpt", "cases.py:gpt")


def function(source: str):  # type: ignore[no-untyped-def]
    module = ModuleType("cases")
    exec(source, vars(module))
    return module.gpt


def test_a_case_without_a_sweep_has_one_variant() -> None:
    gpt = function("def gpt(module): ...")
    assert find_sweep(gpt, SPEC) == ({},)
    assert shown(gpt, ({},), {}) == ()


def test_the_defaults_come_first_and_then_every_entry() -> None:
    gpt = function("def gpt(module, batch=2, length=16, depth=3): ...\ngpt.sweep = [{'length': 7}, {'batch': 1}]")
    sweep = find_sweep(gpt, SPEC)
    assert sweep == ({}, {"length": 7}, {"batch": 1})
    assert [shown(gpt, sweep, each) for each in sweep] == [
        (("batch", "2"), ("length", "16")),
        (("batch", "2"), ("length", "7")),
        (("batch", "1"), ("length", "16")),
    ]


def test_arguments_are_shown_in_words() -> None:
    gpt = function(
        "import numpy as np\ndef gpt(m, *, key=np.ones(3), **more): ...\ngpt.sweep = [{'key': None, 'x': 'a'}]"
    )
    sweep = find_sweep(gpt, SPEC)
    assert [shown(gpt, sweep, each) for each in sweep] == [
        (("key", "an array float64[3]"),),
        (("key", "None"), ("x", "'a'")),
    ]


@pytest.mark.parametrize(
    ("sweep", "says"),
    [
        ("{'batch': 1}", 'expected gpt.sweep to be a list of dicts, such as gpt.sweep = [{"batch": 1}]; got a dict'),
        ("[{'batch': 1}, 3]", "expected gpt.sweep[1] to be a dict of arguments, such as"),
        ("[{'bacth': 1}]", "gpt.sweep[0] gives 'bacth', but gpt takes batch, length. Give each size"),
        ("[{'module': 1}]", "gpt.sweep[0] gives 'module', but gpt takes batch, length"),
        ("[{3: 1}]", "gpt.sweep[0] gives 3, but"),
    ],
)
def test_a_wrong_sweep_says_what_was_expected_and_what_came(sweep: str, says: str) -> None:
    with pytest.raises(CaseError) as raised:
        find_sweep(function(f"def gpt(module, batch=2, *, length=4): ...\ngpt.sweep = {sweep}"), SPEC)
    assert str(raised.value).startswith("cases.py:gpt: ")
    assert says in str(raised.value)


def test_a_case_without_parameters_says_how_to_give_it_some() -> None:
    with pytest.raises(CaseError, match=r"takes no arguments but the module.*def gpt\(module, batch=2\)"):
        find_sweep(function("def gpt(module): ...\ngpt.sweep = [{'batch': 1}]"), SPEC)


MODEL = """
import equinox as eqx
import jax
import jax.numpy as jnp
from scanify.nn import ArrayStacked


class Block(eqx.Module):
    w: jax.Array

    def __call__(self, x, mask, key=None):
        y = jnp.where(mask[:, None], jnp.tanh(x @ self.w), 0.0)
        if key is not None:
            y = jnp.where(jax.random.bernoulli(key, 0.5, y.shape), y, 0.0)
        return x + y


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(jax.random.normal(k, (2, 2))) for k in jax.random.split(key, 3)]

    def __call__(self, x, mask, key=None):
        keys = [None] * 3 if key is None else jax.random.split(key, 3)
        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
        return x
"""
LIST = "[Block(jax.random.normal(k, (2, 2))) for k in jax.random.split(key, 3)]"
LOOP = """        for layer, k in zip(self.layers, keys):
            x = layer(x, mask, k)
"""
FOLD = """        if key is None:
            x = self.layers.fold_via(Block.__call__)(x, mask)
        else:
            x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, keys)
"""
CASES = """
import jax
import jax.numpy as jnp


def model(module, length=4, key=1):
    x = jnp.linspace(0.0, 1.0, 2 * length).reshape(length, 2)
    keys = {} if key is None else {"key": jax.random.key(key)}
    return module.Model(key=jax.random.key(0)), (x, jnp.arange(length) % 3 > 0), keys


model.sweep = [{"length": 7}, {"key": None}]
"""


def results(folder: Path, *changes: tuple[str, str], cases: str = CASES) -> tuple[CaseResult, ...]:
    """The results of a case under the rewrite with some pieces of it replaced."""
    text = MODEL.replace(LIST, f"ArrayStacked.of({LIST})").replace(LOOP, FOLD)
    assert text.count("ArrayStacked") == 2 and "fold_via" in text
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "swept_model.py").write_text(MODEL)
    (folder / "swept_cases.py").write_text(cases)
    return run_case(
        Request(
            case=CaseSpec(folder / "swept_cases.py", "model", "swept_cases.py:model"),
            target=folder / "swept_model.py",
            changes=(Change(folder / "swept_model.py", MODEL.encode(), text.encode()),),
            policies=("none",),
            requested=None,
            abstract=False,
            measure=False,
            directory=folder,
        )
    )


def test_every_variant_of_a_faithful_rewrite_is_proved(tmp_path: Path) -> None:
    found = results(tmp_path)
    assert [each.variant for each in found] == [
        (("length", "4"), ("key", "1")),
        (("length", "7"), ("key", "1")),
        (("length", "4"), ("key", "None")),
    ]
    assert {each.policies[0].outputs.status for each in found} == {Status.PROVED}
    assert all(each.good and each.case == "swept_cases.py:model" for each in found)
    loaded = [["import jax" in dict(each.seconds), "load original" in dict(each.seconds)] for each in found]
    assert loaded == [[True, True], [False, False], [False, False]]


ONLY_FOUR = ("jnp.where(mask[:, None],", "jnp.where(jnp.pad(mask[:4], (0, max(0, len(x) - 4)))[:, None],")
IGNORES_NONE = ("self.layers.fold_via(Block.__call__)(x, mask)", "self.layers.fold_via(Block.__call__)(x, ~mask)")


@pytest.mark.parametrize(
    ("change", "good"),
    [
        pytest.param(ONLY_FOUR, [True, False, True], id="a mask of the default length", marks=pytest.mark.whole),
        pytest.param(IGNORES_NONE, [True, True, False], id="another mask where there is no key"),
    ],
)
def test_a_rewrite_that_is_right_for_the_defaults_only_fails_in_the_sweep(
    tmp_path: Path, change: tuple[str, str], good: list[bool]
) -> None:
    assert [each.good for each in results(tmp_path, change)] == good


def test_a_variant_that_raises_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    found = results(tmp_path, cases=CASES.replace('{"length": 7}', '{"length": "seven"}'))
    assert [each.good for each in found] == [True, False, True]
    assert found[1].error is not None and "TypeError" in found[1].error
    assert found[1].variant == (("length", "'seven'"), ("key", "1"))


def test_a_sweep_that_depends_on_the_module_is_refused(tmp_path: Path) -> None:
    grows = "import swept_model\nmodel.sweep = [{}] * (2 if hasattr(swept_model.Model, 'rewritten') else 1)\n"
    (found,) = results(tmp_path, ("layers: list[Block]", "layers: list[Block]\n    rewritten = 1"), cases=CASES + grows)
    assert found.error is not None and "must not depend on the module" in found.error
