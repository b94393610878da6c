"""What is said of recorded calls: proofs where both versions are equal, and each wrong rewrite is told."""

from pathlib import Path

import pytest

from scanify.verify.verdict import CaseResult, Status
from tests.recorded.runs import run

COMPARE = "scanify.verify.compare.compare:compare_case"
JITTED = "eqx.filter_jit(net)(x, jax.random.key(1))"
BFLOAT16 = """
cast = lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a
eqx.filter_jit(jax.tree.map(cast, net))(x.astype(jnp.bfloat16))
"""
NAMED = "jax.vmap(lambda x: centred(net, x), axis_name='batch')(jnp.ones((3, 4)))"


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def verdicts(result: CaseResult) -> tuple[Status | None, ...]:
    assert result.error is None, result.error
    (policy,) = result.policies
    return result.parameters and result.parameters.status, policy.outputs.status, policy.gradients.status


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(JITTED, id="traced"),
        pytest.param(BFLOAT16, id="cast and traced"),
        pytest.param(NAMED, id="under a named axis"),
    ],
)
def test_equal_versions_are_proved(program: str, tmp_path: Path) -> None:
    (result,) = run(tmp_path, program, COMPARE)
    assert verdicts(result) == (Status.PROVED,) * 3
    (loop,) = (loop for loop in result.loops if loop.iterations)
    assert loop.layers is not None
    assert loop.layers.name in ("self.layers", "net.layers")
    assert (loop.layers.count, loop.layers.kinds) == (3, 1)


@pytest.mark.parametrize(
    ("program", "edit", "wrong"),
    [
        pytest.param(JITTED, ("jax.random.split(key, depth)", "jnp.stack([key] * depth)"), 0, id="one key for all"),
        pytest.param(
            BFLOAT16, ("jax.random.split(key, depth)", "jax.random.split(key, depth)[::-1]"), 0, id="keys in reverse"
        ),
        pytest.param(JITTED, ("return x + self", "return 2 * x + self"), 1, id="another body"),
        pytest.param(NAMED, ("pmean(x,", "psum(x,"), 1, id="another reduction over a named axis"),
    ],
)
def test_a_wrong_version_fails(program: str, edit: tuple[str, str], wrong: int, tmp_path: Path) -> None:
    (result,) = run(tmp_path, program, COMPARE, edit)
    found = verdicts(result)
    assert found[wrong] is Status.FAILED
    assert all(status is not Status.FAILED for status in found[:wrong])


def test_parameters_that_nobody_was_seen_to_make_are_not_proved(tmp_path: Path) -> None:
    program = "own = net\ndef apply(y):\n    for block in own.layers:\n        y = block(y)\n    return y\n"
    (result,) = run(
        tmp_path, f"def main():\n    {program.replace(chr(10), chr(10) + '    ')}\n    apply(x)\nmain()", COMPARE
    )
    assert verdicts(result)[0] is not Status.PROVED


def test_leaves_are_named_as_the_function_names_them(tmp_path: Path) -> None:
    edit = ("jax.random.split(key, depth)", "jnp.stack([key] * depth)")
    results = run(tmp_path, "net(x)", COMPARE, edit)
    assert results[0].parameters is not None
    assert results[0].parameters.reason.startswith("layers[0].linear.weight is ")
