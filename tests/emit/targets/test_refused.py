"""What a target has no words for is refused, and a list that is used as one stays a list."""

from pathlib import Path

import pytest

from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import CallStack, InitStack
from scanify.pipeline import Project, rewrite_sources
from scanify.source.discover import Selection
from tests.emit.targets.models import PLAIN, model, reason, rewritten
from tests.texts import texts

REFUSED = {
    "an exit": (
        "for i, block in enumerate(self.blocks):\n        if i == 2:\n            break\n        x = block(x)",
        "may end before its last one",
    ),
    "nothing yet": (
        "last = None\n    for block in self.blocks:\n        x = block(x)\n        last = x",
        "`last`, which goes from one to the next, begins as None",
    ),
}

BLOCKS = "[Block(width, key=k) for k in jax.random.split(key, depth)]"
OTHERS = {
    "of two classes": (
        f"{BLOCKS} + [eqx.nn.Linear(width, width, key=k) for k in jax.random.split(key, depth)]",
        "the layers are of different classes: `Block`, `equinox.nn.Linear`",
    ),
}
OPEN = {
    "of other sizes": (
        "[Block(width, key=key), Block(width, key=key), Block(width, key=key), Block(2 * width, key=key)]",
        "though some layers are built apart from the others",
    ),
    "with functions": (
        "[*[Block(width, key=k) for k in jax.random.split(key, depth)], jnp.tanh]",
        "though an element may be `jnp.tanh`, which is no module",
    ),
}


@pytest.mark.parametrize("target", ["lax", "haliax"])
@pytest.mark.parametrize("name", OTHERS)
def test_layers_that_are_shown_to_need_several_bodies_are_refused(name: str, target: str, tmp_path: Path) -> None:
    layers, said = OTHERS[name]
    after, outcome = rewritten(PLAIN.replace(BLOCKS, layers), tmp_path, target)
    assert after == PLAIN.replace(BLOCKS, layers)
    assert said in reason(outcome)


@pytest.mark.parametrize("target", ["lax", "haliax"])
@pytest.mark.parametrize("name", OPEN)
def test_whether_one_body_fits_is_an_obligation_if_the_source_leaves_it_open(
    name: str, target: str, tmp_path: Path
) -> None:
    layers, said = OPEN[name]
    path = tmp_path / "model.py"
    path.write_text(PLAIN.replace(BLOCKS, layers))
    outcome = rewrite_sources(Project.load([path]), target=target)
    assert not outcome.applied
    (plan,) = outcome.held
    assert any(said in each for each in texts(plan.obligations))
    assert isinstance(plan.stack, CallStack)


@pytest.mark.parametrize("target", ["lax", "haliax"])
def test_layers_with_a_number_of_their_own_in_a_static_field_need_evidence(target: str, tmp_path: Path) -> None:
    layers = "[Block(width, key=k, rate=0.5 / (i + 1)) for i, k in enumerate(jax.random.split(key, depth))]"
    path = tmp_path / "model.py"
    path.write_text(PLAIN.replace(BLOCKS, layers))
    (loop,) = rewrite_sources(Project.load([path]), target=target).analysis.loops
    assert isinstance(loop, Refusal)
    assert loop.rule == "SCN203"
    assert isinstance(loop.undecided, Plan)


CARRIES = {
    "an optional one": (
        "(self, x, cache=None)",
        "x, cache = block(x), x",
        "`cache` has the structure before the loop that each layer gives it, and may begin as None",
    ),
    "one of another shape": (
        "(self, x)",
        "y = block(x)\n        x = x + y",
        "`y` has the shape and the dtype before the loop that each layer gives it",
    ),
}


@pytest.mark.parametrize("name", CARRIES)
def test_what_a_carry_begins_with_is_an_obligation_where_it_may_be_otherwise(name: str, tmp_path: Path) -> None:
    given, body, said = CARRIES[name]
    call = f"\ndef __call__{given}:\n    y = x.sum()\n    for block in self.blocks:\n        {body}\n    return x, y"
    path = tmp_path / "model.py"
    path.write_text(model(call + (", cache\n" if "cache" in given else "\n")))
    (plan,) = rewrite_sources(Project.load([path]), target="lax").held
    assert said in texts(plan.obligations)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_scan_has_no_words_for_is_refused(name: str, tmp_path: Path) -> None:
    body, said = REFUSED[name]
    text = model(f"\ndef __call__(self, x):\n    {body}\n    return x, {'last' if 'last' in body else 'x'}\n")
    after, outcome = rewritten(text, tmp_path, "lax")
    assert after == text
    assert said in reason(outcome)


USED = {
    "by number": "self.blocks[0]",
    "to walk": "[b for b in self.blocks]",
    "by another name": "getattr(self, 'blocks')",
    "in a test": "bool(self.blocks)",
}


@pytest.mark.parametrize("name", USED)
def test_a_list_that_is_used_as_one_stays_a_list(name: str, tmp_path: Path) -> None:
    text = PLAIN + f"\n    def other(self):\n        return {USED[name]}\n"
    _, outcome = rewritten(text, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [CallStack]
    _, outcome = rewritten(text, tmp_path, "lax", stack="init")
    assert not outcome.applied
    if name != "by another name":  # which no target builds stacked
        assert "is no list, and model.py" in reason(outcome)


def test_another_class_may_have_a_field_of_the_name(tmp_path: Path) -> None:
    other = (
        "\n\nclass Other(eqx.Module):\n    blocks: list[int]\n\n    def first(self):\n        return self.blocks[0]\n"
    )
    _, outcome = rewritten(PLAIN + other, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [InitStack]
    heir = "\n\nclass Heir(Model):\n    def first(self):\n        return self.blocks[0]\n"
    _, outcome = rewritten(PLAIN + heir, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [CallStack]


def test_all_loops_over_a_list_are_rewritten_or_the_list_stays(tmp_path: Path) -> None:
    second = (
        "\n    def other(self, x):\n        for block in self.blocks:\n            x = block(x) * 2\n        return x\n"
    )
    after, outcome = rewritten(PLAIN + second, tmp_path, "lax")
    assert [type(plan.stack) for plan in outcome.applied] == [InitStack, InitStack]
    assert after.count("def stack_layers(") == 1
    early = second.replace("            x =", "            if x.ndim == 2:\n                break\n            x =")
    _, outcome = rewritten(PLAIN + early, tmp_path, "lax")
    assert [type(loop.stack) for loop in outcome.applied] == [CallStack]
    assert [type(loop) for loop in outcome.analysis.loops] == [Plan, Refusal]


def test_a_policy_that_the_library_has_not_is_refused(tmp_path: Path) -> None:
    after, outcome = rewritten(PLAIN, tmp_path, "haliax", remat="dots")
    assert after == PLAIN
    assert 'haliax has no remat policy like "dots"' in reason(outcome)


def test_a_loop_in_a_file_that_was_not_named_holds_back_that_of_one_that_was(tmp_path: Path) -> None:
    heir = "from model import Model\n\n\nclass Heir(Model):\n    def other(self, x):\n        for block in self.blocks:\n            x = block(x)\n        return x\n"
    (tmp_path / "heir.py").write_text(heir)
    (tmp_path / "model.py").write_text(PLAIN)
    every = Project.load([tmp_path], selection=Selection(tmp_path))
    one = Project.load([tmp_path / "model.py"], selection=Selection(tmp_path))
    assert len(rewrite_sources(every, target="lax").applied) == 2
    for plan in rewrite_sources(one, target="lax").applied:
        assert isinstance(plan.stack, CallStack)
