"""Profiles of small models, whose loops are known: the program itself says how much each makes."""

import importlib.util
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from scanify.errors import ScanifyError
from scanify.verify.profile.profiled import profiled_both, profiled_case

MODEL = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Block(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.first = eqx.nn.Linear(4, 4, key=a)
        self.second = eqx.nn.Linear(4, 4, key=b)

    def __call__(self, x):
        return x + self.second(jnp.tanh(self.first(x)))


class Model(eqx.Module):
    blocks: list[Block]
    ends: list[eqx.nn.Linear]

    def __init__(self, n, *, key):
        self.blocks = [Block(k) for k in jax.random.split(key, n)]
        self.ends = [eqx.nn.Linear(4, 4, key=k) for k in jax.random.split(key, 2)]

    def __call__(self, x):
        for block in self.blocks:
            for _ in range(2):
                x = block(x)
            x = x - jnp.cos(x)
        for end in self.ends:
            x = end(x)
        return jnp.sum(x**3)
"""
OUTER, INNER, ENDS, MADE = 28, 29, 32, 24


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "small_model.py"
    path.write_text(MODEL)
    spec = importlib.util.spec_from_file_location("small_model", path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["small_model"] = loaded
    spec.loader.exec_module(loaded)
    yield loaded
    del sys.modules["small_model"]


def profile(module, n, *, compiles=False, comparer=profiled_case, other=None):
    def case_of(count):
        return lambda: (module.Model(count, key=jax.random.key(0)), (jnp.ones(4),), {})

    def files(name):
        return "small_model.py" if name == module.__file__ else None

    found = comparer("case", case_of(n), case_of(other or n), files=files, measure=compiles, policies=(None,))
    assert found.startup is not None
    return found.startup


def largest(program):
    return max((share for share in program.shares if not share.depth), key=lambda share: share.lines)


def by_line(program):
    return {share.loop.line: share for share in program.shares}


@pytest.fixture(scope="module")
def three(module):
    return {program.name: program for program in profile(module, 3).programs}


@pytest.fixture(scope="module")
def five(module):
    return {program.name: program for program in profile(module, 5).programs}


@pytest.mark.parametrize("name", ["call", "gradient"])
def test_the_lines_of_a_loop_are_those_that_more_turns_add(three, five, name):
    before, after = by_line(three[name])[OUTER], by_line(five[name])[OUTER]
    # jax 0.10 knows no source of some zeros that it makes for a gradient.
    grown = five[name].lines - three[name].lines
    assert (1.0 if name == "call" else 0.9) * grown <= after.lines - before.lines <= grown
    assert grown > 0
    assert (before.turns, after.turns) == (3, 5)
    assert before.scanned < before.lines


def test_a_list_that_is_made_is_a_loop(three, five):
    before, after = by_line(three["constructor"])[MADE], by_line(five["constructor"])[MADE]
    assert (before.turns, after.turns) == (3, 5)
    # How its key is taken for each layer stands in a function of its own.
    grown = five["constructor"].lines - three["constructor"].lines
    assert 0.6 * grown < after.lines - before.lines <= grown


def test_a_loop_inside_of_another_is_counted_in_it(three):
    found = by_line(three["call"])
    assert (found[OUTER].depth, found[INNER].depth, found[ENDS].depth) == (0, 1, 0)
    assert (found[OUTER].turns, found[INNER].turns, found[ENDS].turns) == (3, 2, 2)
    assert found[INNER].lines <= found[OUTER].lines
    assert three["call"].lines == three["call"].outside + found[OUTER].lines + found[ENDS].lines


def test_loops_are_named_by_their_files_and_heads(three):
    loop = by_line(three["call"])[OUTER].loop
    assert (loop.file, loop.head) == ("small_model.py", "for block in self.blocks")
    assert largest(three["call"]) is by_line(three["call"])[OUTER]


def test_nothing_is_compiled_unless_it_is_asked_for(module, three):
    assert all(program.compile_seconds is None for program in three.values())
    compiled = profile(module, 1, compiles=True).programs
    assert all(program.compile_seconds is not None and program.compile_seconds > 0 for program in compiled)


def test_the_second_version_is_measured_beside(module):
    found = profile(module, 3, comparer=profiled_both, other=1)
    assert [program.name for program in found.rewritten] == ["constructor", "call", "gradient"]
    assert all(a.lines > b.lines for a, b in zip(found.programs, found.rewritten, strict=True))


def test_a_constructor_that_looks_at_values_is_a_note(module):
    def case():
        model = module.Model(2, key=jax.random.key(0))
        if float(model.ends[0].weight.sum()) > 1e9:
            raise AssertionError
        return model, (jnp.ones(4),), {}

    found = profiled_case("case", case, case, files=lambda name: None, measure=False).startup
    assert found is not None
    assert [program.name for program in found.programs] == ["call", "gradient"]
    assert "the constructor cannot be traced" in found.notes[0]


def test_a_call_without_gradient_is_a_note(module):
    def stepped(x):
        return jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1]

    found = profiled_case(
        "case", lambda: (stepped, (jnp.ones(4),), {}), lambda: None, files=lambda name: None, measure=False
    ).startup
    assert found is not None
    assert [program.name for program in found.programs] == ["constructor", "call"]
    assert "no gradient" in found.notes[0]


def test_what_is_no_case_is_said():
    with pytest.raises(ScanifyError, match="expected"):
        profiled_case("case", lambda: 3, lambda: 3, files=lambda name: None, measure=False)


def test_a_loop_of_a_library_has_its_own_place():
    def case():
        keys = jax.random.split(jax.random.key(0), 4)
        return eqx.nn.Sequential([eqx.nn.Linear(4, 4, key=k) for k in keys]), (jnp.ones(4),), {}

    found = profiled_case("case", case, case, files=lambda name: None, measure=False).startup
    assert found is not None
    (call,) = [program for program in found.programs if program.name == "call"]
    assert largest(call).loop.file.startswith("equinox/nn/") and largest(call).turns == 4
