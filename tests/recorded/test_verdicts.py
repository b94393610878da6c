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


CHUNKS = """
class Chunk(eqx.Module):
    layers: list
    scale: float = eqx.field(static=True)

    def __init__(self, depth, scale, *, key):
        self.layers = [Block(4, key=k) for k in jax.random.split(key, depth)]
        self.scale = scale

    def __call__(self, x):
        for layer in self.layers:
            x = self.scale * layer(x)
        return x

class Whole(eqx.Module):
    chunks: tuple

    def __init__(self, depths, scale, *, key):
        keys = jax.random.split(key, len(depths))
        self.chunks = tuple(Chunk(depth, scale, key=k) for depth, k in zip(depths, keys))

    def __call__(self, x):
        for chunk in self.chunks:
            x = chunk(x)
        return x

def several(key):
    first, second = jax.random.split(key)
    return Chunk(3, 0.5, key=first), Chunk(3, 0.5, key=second)

chunk, other = several(jax.random.key(0))
"""
TRACED = "eqx.filter_jit(lambda chunk, x: chunk(x))(chunk, x)"


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            "for scale in (0.5, 0.25):\n    Whole([3, 4], scale, key=jax.random.key(1))(x)", id="static fields differ"
        ),
        pytest.param("Whole([3, 4, 3], 0.5, key=jax.random.key(1))(x)", id="keys differ"),
        pytest.param(f"third = Chunk(3, 0.25, key=jax.random.key(2))\n{TRACED}", id="in a jit"),
    ],
)
def test_a_traced_model_is_made_as_the_run_made_it(program: str, tmp_path: Path) -> None:
    """The list of chunks becomes a sequence, in which the rewritten version calls chunks with tracers."""
    results = run(tmp_path, CHUNKS + program, COMPARE)
    assert [verdicts(result) for result in results] == [(Status.PROVED,) * 3] * len(results)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        pytest.param(("key=first)", "key=second)"), (Status.FAILED, Status.PROVED), id="one of two keys"),
        pytest.param(
            ("Chunk(3, 0.5, key=first), C", "*[Chunk(3, 0.5, key=second)] * 1, C"),
            (Status.FAILED, Status.PROVED),
            id="made twice from one key",
        ),
        pytest.param(
            ("return Chunk(3, 0.5, key=first), Chunk(3, 0.5, key=second)", "return [Chunk(3, 0.5, key=first)] * 2"),
            (Status.NOT_RUN, Status.PROVED),
            id="made once",
        ),
        pytest.param(
            (
                "chunk, other = several(jax.random.key(0))",
                "chunk, other = several(jax.random.key(0))\nobject.__setattr__(chunk, 'scale', 1.0)",
            ),
            (Status.FAILED, Status.FAILED),
            id="a static field set afterwards",
        ),
    ],
)
def test_a_traced_model_that_is_made_otherwise_is_not_proved(
    edit: tuple[str, str], found: tuple[Status, Status], tmp_path: Path
) -> None:
    (result,) = run(tmp_path, CHUNKS + TRACED, COMPARE, edit)
    assert verdicts(result)[:2] == found
