"""Optimizers that treat each leaf as one thing, and those that treat each number by itself."""

from pathlib import Path

import pytest

from scanify.analysis.index import Index
from scanify.analysis.watchers.find import watchers
from scanify.analysis.watchers.library import optimizer_reads
from scanify.source.file import Source

PATH = Path("/project/train.py")


def found(text: str) -> list[tuple[int, str]]:
    return [(each.place.span.line, each.reads) for each in watchers(Index(PATH.parent, [Source(PATH, text)]))]


@pytest.mark.parametrize(
    "call",
    [
        "optax.adam(1e-3)",
        "optax.adamw(1e-3, weight_decay=0.1)",
        "optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(optax.cosine_decay_schedule(0.1, 100)))",
        "optax.apply_updates(params, updates)",
        "optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()",
        "optax.global_norm(grads)",
        "optax.MultiSteps(optax.lion(1e-3), 4)",
    ],
)
def test_most_optimizers_are_harmless(call: str) -> None:
    assert found(f"import optax\n\nopt = {call}\n") == []


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("import optax\nopt = optax.lamb(1e-3)\n", "a norm of each leaf"),
        ("import optax as ox\nopt = ox.chain(ox.adaptive_grad_clip(0.1), ox.adam(1e-3))\n", "a norm of each leaf"),
        ("from optax import adafactor\nopt = adafactor(1e-3)\n", "rank and size of each leaf"),
        ("from optax import contrib\nopt = contrib.muon(1e-3)\n", "rank and size of each leaf"),
        ("def make():\n    from optax.contrib import muon as m\n    return m(1e-3)\n", "rank and size of each leaf"),
        ("from optax.transforms import clip_by_block_rms\nopt = clip_by_block_rms(1.0)\n", "a norm of each leaf"),
        ("import optax\nopt = optax.tree.random_like(key, params)\n", "a random key for each leaf"),
        ("import optax\nopt = optax.one_that_is_new(1e-3)\n", "`optax.one_that_is_new`"),
        (
            "import jax, optax\nopt = optax.adamw(1e-3, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p))\n",
            "the rank of each leaf",
        ),
    ],
)
def test_those_that_look_at_leaves_are_found(text: str, reads: str) -> None:
    (one,) = found(text)
    assert one[1].startswith(reads)
    assert one[0] == len(text.splitlines())


def test_a_projects_own_optax_is_looked_into_and_not_known_by_name() -> None:
    own = Source(PATH.parent / "optax" / "__init__.py", "def lamb(rate):\n    return rate\n")
    index = Index(PATH.parent, [own, Source(PATH, "import optax\nopt = optax.lamb(1e-3)\n")])
    assert watchers(index) == ()


CHOSEN = "an optimizer of `optax` that is chosen as the program runs"


@pytest.mark.parametrize(
    ("code", "reads"),
    [
        ("opt = getattr(optax, name)(1e-3)", CHOSEN),
        ("opt = getattr(optax, 'sm' + str(3))(1e-3)", CHOSEN),
        ("opt = vars(optax)[name](1e-3)", CHOSEN),
        ("opt = optax.__dict__[name](1e-3)", CHOSEN),
        ("opt = make(optax, name)", CHOSEN),
        ("opt = importlib.import_module('optax').__dict__[name](1e-3)", CHOSEN),
        ("opt = operator.attrgetter(name)(importlib.import_module('optax'))(1e-3)", CHOSEN),
        ("opt = getattr(optax.contrib, name)(1e-3)", CHOSEN.replace("`optax`", "`optax.contrib`")),
        ("TABLE = {'adam': optax.adam, 'lamb': optax.lamb}", "a norm of each leaf"),
        ("opt = make(optax.lamb)", "a norm of each leaf"),
        ("opt = make('optax.lamb')", "a norm of each leaf"),
        ("opt = make({'_target_': 'optax.contrib:muon'})", "rank and size of each leaf"),
        ("opt = getattr(optax, 'lamb')(1e-3)", "a norm of each leaf"),
        ("opt = importlib.import_module('optax').lamb(1e-3)", CHOSEN),
    ],
)
def test_an_optimizer_that_is_chosen_or_handed_on_may_be_one_of_them(code: str, reads: str) -> None:
    text = f"import importlib\nimport operator\nimport optax\n\n{code}\n"
    assert any(each == (5, reads) for each in found(text)), found(text)


@pytest.mark.parametrize(
    "code",
    [
        "TABLE = {'adam': optax.adam, 'sgd': optax.sgd}",
        "opt = getattr(optax, 'adam')(1e-3)",
        "new = hasattr(optax, 'adopt')",
        "def step(opt: optax.GradientTransformation) -> optax.OptState: ...",
        "opt = make(optax.adamw, optax.cosine_decay_schedule)",
        "print(optax.__version__)",
        "opt = make('optax.adam', 'see optax.lamb')",
    ],
)
def test_harmless_ones_may_be_handed_on(code: str) -> None:
    assert found(f"import optax\n\n{code}\n") == []


def test_what_is_not_optax_is_not_asked_about() -> None:
    assert optimizer_reads("jax.numpy.lamb") is None
