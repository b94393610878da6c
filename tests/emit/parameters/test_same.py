"""What `--target lax` makes of loops over lists of parameters computes what the loops compute."""

from pathlib import Path

import jax
import pytest

import scanify
from scanify.analysis.plan import Plan
from tests.emit.parameters.programs import DECODER, GPT, PROGRAMS, TUPLES, Program
from tests.emit.targets.models import loaded, rewritten

POLICIES = ["none", "full", "nested", "dots", "save_all"]


def proved(program: Program, folder: Path, remat: str) -> None:
    after, outcome = rewritten(program.text, folder, "lax", remat=remat)
    (plan,) = outcome.analysis.loops
    assert isinstance(plan, Plan) and plan.rule == "SCN106" and plan.trees
    assert not plan.safe  # it waits for a case
    assert "jax.lax.scan" in after or "scan_in_chunks" in after
    assert "equinox" not in after and "scanify" not in after
    with loaded(program.text) as module:
        given = program.given(module)
        with loaded(after, "after") as other:
            # Both files define the classes of the elements: those of one are given to both.
            vars(other).update({name: each for name, each in vars(module).items() if isinstance(each, type)})
            looped, scanned = getattr(module, program.function), getattr(other, program.function)
            answer = scanify.prove_equal(looped, scanned, *given, up_to=1)
    assert answer, (answer.verdict, answer.reason)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_outputs_and_gradients_are_proved_equal(program: Program, tmp_path: Path) -> None:
    proved(program, tmp_path, "full")


@pytest.mark.parametrize("remat", POLICIES)
@pytest.mark.parametrize(
    "program", [TUPLES, DECODER, pytest.param(GPT, marks=pytest.mark.whole)], ids=lambda program: program.name
)
def test_so_they_are_under_each_policy(program: Program, remat: str, tmp_path: Path) -> None:
    proved(program, tmp_path, remat)


def test_a_scan_of_other_layers_is_not_proved_equal(tmp_path: Path) -> None:
    after, _ = rewritten(TUPLES.text, tmp_path, "lax")
    wrong = after.replace("stack_trees(params)", "stack_trees(params[::-1])")
    assert wrong != after
    with loaded(TUPLES.text) as module, loaded(wrong, "after") as other:
        assert not scanify.prove_equal(module.predict, other.predict, *TUPLES.given(module), up_to=0)


@pytest.mark.parametrize("target", ["scanify", "haliax"])
def test_other_targets_say_nothing_of_them(target: str, tmp_path: Path) -> None:
    for program in PROGRAMS[:4]:
        after, outcome = rewritten(program.text, tmp_path, target)
        assert outcome.analysis.loops == () and after == program.text, program.name


def test_the_program_holds_the_block_once(tmp_path: Path) -> None:
    after, _ = rewritten(GPT.text, tmp_path, "lax", remat="none")
    with loaded(GPT.text) as module, loaded(after, "after") as other:
        given = GPT.given(module)
        loop, scan = (str(jax.make_jaxpr(each)(*given)).count(" exp ") for each in (module.gpt, other.gpt))
    assert (loop, scan) == (5, 1)
