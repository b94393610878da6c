"""An original is read once for all that it is compared with, and nothing else is taken for what it was before."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scanify.jaxpr.number import Numbering
from scanify.jaxpr.table import Table
from scanify.verify.compare.compare import compare_case
from scanify.verify.measure.measure import Executables
from scanify.verify.programs.readings import Derived, Readings
from scanify.verify.proof.prove import Proof, prove
from tests.verify.loop_model import POLICIES, REWRITE, SOURCE, case

V = jnp.arange(4.0)


def drawn(x: Any) -> Any:
    return x + lax.rng_uniform(0.0, 1.0, (4,))


def looped(x: Any) -> Any:
    return lax.while_loop(lambda y: y.sum() < 9.0, drawn, x)


def without_places(proof: Proof) -> tuple[Any, ...]:
    return proof.equal, proof.avals_equal, proof.effects_equal, proof.not_understood


def test_an_original_is_read_once_in_each_way() -> None:
    readings, program = Readings(), jax.make_jaxpr(jnp.sin)(V)
    first = readings.original(program, frozenset(), Derived())
    assert readings.original(program, frozenset(), Derived()) is first
    assert readings.original(program, None, Derived()) is not first
    assert readings.original(program, frozenset(), Derived(cotangents=range(1))) is not first
    assert readings.original(jax.make_jaxpr(jnp.cos)(V), frozenset(), Derived()) is not first


def test_what_is_not_understood_is_not_equal_to_itself_however_often_it_is_compared() -> None:
    readings, program = Readings(), jax.make_jaxpr(drawn)(V)
    for _ in range(3):
        assert not prove(program, program, readings=readings).proved


def test_many_programs_are_compared_with_one_as_each_would_be_alone() -> None:
    before = jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(V)
    others = [
        lambda x: jnp.cos(x) * 2,
        lambda x: jnp.sin(x) * 2,
        drawn,
        lambda x: jnp.sin(x) * 2 + 0.0,
        lambda x: jnp.sin(x) * jnp.full(4, 2.0),
    ]
    readings = Readings()
    answers = []
    for each in others:
        after = jax.make_jaxpr(each)(V)
        proof = prove(before, after, readings=readings)
        assert without_places(proof) == without_places(prove(before, after))
        answers.append((proof.proved, bool(proof.not_understood)))
    assert answers == [(False, False), (True, False), (False, True), (False, False), (True, False)]


def test_every_turn_of_an_unrolled_scan_draws_anew() -> None:
    """The parameters of an equation are read once, but for those that are another thing each time."""

    def rows(step: Any) -> list[int]:
        program = jax.make_jaxpr(lambda x: lax.scan(lambda c, _: (c, step(x)), 0, length=2)[1])(V)
        table = Table()
        (rows,) = Numbering(table).run(program.jaxpr, program.consts, [table.node("input", 0, (), (4,), V.dtype)])
        return list(table.inputs[rows])

    assert len(rows(looped)) == len(set(rows(looped))) == 2
    (inner,) = rows(lambda x: lax.while_loop(lambda y: y.sum() < 9.0, lambda y: y + 1.0, x))  # repeats of one row
    assert isinstance(inner, int)


def test_a_case_reads_its_original_once(load_twice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs and gradients, in the forms that proofs ask for; each policy is read for itself."""
    count: Counter[tuple[int, Any, Any]] = Counter()
    alive = []
    read = Readings.read

    def counted(self: Readings, program: Any, whole: Any, derived: Any) -> Any:
        alive.append(program)
        count[id(program), whole, derived] += 1
        return read(self, program, whole, derived)

    monkeypatch.setattr(Readings, "read", counted)
    two = load_twice(SOURCE, REWRITE)
    result = compare_case(
        "case", case(two.before), case(two.after), policies=POLICIES, requested="nested", abstract=True, measure=False
    )
    assert {each.outputs.status.value for each in result.policies} == {"PROVED"}
    assert len(alive) > 2 * len(POLICIES) and max(count.values()) == 1


def test_one_program_is_compiled_once() -> None:
    compiled: list[str] = []

    def lowered(text: str) -> SimpleNamespace:
        return SimpleNamespace(compile=lambda: compiled.append(text) or text.upper())

    executables = Executables()
    for text in ("full", "none", "full"):
        executable, seconds = executables.compiled(lowered(text), text)
        assert executable == text.upper() and seconds >= 0
    assert compiled == ["full", "none"]


def test_two_policies_that_make_one_program_have_the_figures_of_one(compare: Any) -> None:
    """Three layers are nested in one chunk, which is full remat."""
    result = compare(REWRITE, measure=True, policies=("full", "nested", "none"))
    full, nested, none = (each.measured for each in result.policies)
    assert full.stablehlo_lines == nested.stablehlo_lines != none.stablehlo_lines
    assert full.compile_seconds == nested.compile_seconds != none.compile_seconds
