"""Both versions of a case on eight virtual devices: what each takes on one of them, and what they exchange."""

from collections.abc import Callable
from pathlib import Path

import pytest

from scanify.verify.cases.case import parse_case
from scanify.verify.mesh.on_mesh import OnMesh
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult

DEPTH, WIDTH, BATCH = 3, 16, 8
LOOP = """\
import equinox as eqx
import jax
from jax.sharding import PartitionSpec as P


class Block(eqx.Module):
    up: jax.Array
    down: jax.Array

    def __init__(self, width, *, key):
        a, b = jax.random.split(key)
        self.up = jax.random.normal(a, (width, 4 * width))
        self.down = jax.random.normal(b, (4 * width, width))

    def __call__(self, x):
        return x + jax.nn.gelu(x @ self.up) @ self.down


class Model(eqx.Module):
    blocks: list[Block]

    def __init__(self, width, depth, *, key):
        self.blocks = [Block(width, key=k) for k in jax.random.split(key, depth)]

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
SCAN = LOOP.replace(
    "[Block(width, key=k) for k in jax.random.split(key, depth)]",
    "ArrayStacked.init(depth, Block)(width, key=jax.random.split(key, depth))",
).replace(
    "        for block in self.blocks:\n            x = block(x)\n        return x\n",
    "        return self.blocks.fold(x)\n",
)
SCAN = SCAN.replace("import jax\n", "import jax\nfrom scanify.nn import ArrayStacked\n", 1)
CASES = f"""\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def data(module):
    return module.Model({WIDTH}, {DEPTH}, key=jax.random.key(0)), (jnp.ones(({BATCH}, {WIDTH})),)


def tensor(module):
    return data(module)


def staged(module, depth=4):
    return module.Model({WIDTH}, depth, key=jax.random.key(0)), (jnp.ones(({BATCH}, {WIDTH})),)


def unequal(module):
    return data(module)


def silent(module):
    return data(module)


def everywhere(path, leaf):
    return P("data") if path == "x" else None


def by_columns_and_rows(path, leaf):
    if path == "x":
        return P("data")
    return P(None, "model") if path.endswith("up") else P("model", None)


data.shardings = everywhere
tensor.shardings = by_columns_and_rows
staged.shardings = unequal.shardings = everywhere
staged.pipeline = unequal.pipeline = "model"
"""
MESH = (("data", 2), ("model", 4))
UP_AND_DOWN = 2 * 4 * WIDTH * WIDTH * 4  # bytes of the parameters of a block
CARRY = BATCH // 2 * WIDTH * 4  # bytes of the carry on a device

Run = Callable[..., CaseResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(case: str, after: str = SCAN) -> CaseResult:
        model, cases = tmp_path / "model.py", tmp_path / "cases.py"
        model.write_text(LOOP)
        cases.write_text(CASES)
        done = verify(
            {model: (LOOP.encode(), after.encode())},
            [parse_case(f"{cases}:{case}")],
            policies=("none",),
            requested=None,
            measure=False,
            comparer="scanify.verify.mesh.partitioned:partitioned_case",
            mesh=MESH,
        )
        return done.cases[0]

    return run


def figures(result: CaseResult) -> OnMesh:
    assert result.error is None, result.error
    assert result.on_mesh is not None
    return result.on_mesh


def moved(found: OnMesh, program: str, version: str) -> dict[str, tuple[int, int]]:
    [one] = [each for each in found.programs if (each.program, each.version) == (program, version)]
    assert not one.unknown_turns
    return {each.kind: (each.count, each.bytes) for each in one.collectives}


def test_data_parallel_gradients_are_reduced_once_and_nothing_else_is_exchanged(run: Run) -> None:
    found = figures(run("data"))
    assert found.axes == MESH and not found.notes
    assert [(each.program, each.version) for each in found.programs] == [
        ("constructor", "(loop)"),
        ("constructor", "(scan)"),
        *(("call", version) for version in ("(loop)", "none")),
        *(("gradient", version) for version in ("(loop)", "none")),
    ]
    scalar = 4  # the loss
    for version in ("(loop)", "none"):
        assert moved(found, "call", version) == {}
        [(kind, (_, size))] = moved(found, "gradient", version).items()
        assert (kind, size) == ("all-reduce", DEPTH * UP_AND_DOWN + scalar)
    arguments = {each.version: each.argument_bytes for each in found.programs if each.program == "call"}
    assert arguments == {"(loop)": DEPTH * UP_AND_DOWN + CARRY, "none": DEPTH * UP_AND_DOWN + CARRY}


@pytest.mark.whole
def test_tensor_parallel_layers_reduce_their_carry_in_each_turn(run: Run) -> None:
    found = figures(run("tensor"))
    for version in ("(loop)", "none"):
        assert moved(found, "call", version) == {"all-reduce": (DEPTH, DEPTH * CARRY)}
    arguments = {each.version: each.argument_bytes for each in found.programs if each.program == "call"}
    assert arguments == {"(loop)": DEPTH * UP_AND_DOWN // 4 + CARRY, "none": DEPTH * UP_AND_DOWN // 4 + CARRY}
    made = {each.version: each.output_bytes for each in found.programs if each.program == "constructor"}
    for size in made.values():  # each device makes its part; the pointers of a tuple come on top
        assert size is not None and DEPTH * UP_AND_DOWN // 4 <= size < DEPTH * UP_AND_DOWN // 2


@pytest.mark.whole
def test_layers_of_a_stack_are_cut_over_a_pipeline_axis_where_the_case_asks(run: Run) -> None:
    found = figures(run("staged"))
    arguments = {each.version: each.argument_bytes for each in found.programs if each.program == "call"}
    assert arguments == {"(loop)": 4 * UP_AND_DOWN + CARRY, "none": UP_AND_DOWN + CARRY}
    made = {each.version: each.output_bytes for each in found.programs if each.program == "constructor"}
    assert made["(loop)"] >= 4 * UP_AND_DOWN > 2 * UP_AND_DOWN > made["(scan)"] >= UP_AND_DOWN
    assert moved(found, "call", "(loop)") == {} != moved(found, "call", "none")  # a layer lies on one stage alone


def test_layers_that_the_pipeline_axis_does_not_divide_are_refused_by_name(run: Run) -> None:
    error = run("unequal").error
    assert error is not None
    assert "over the axis 'model' of 4 devices, but the stack that begins with blocks[0]" in error
    assert "has 3 layers, which 4 does not divide" in error


@pytest.mark.whole
def test_a_rewrite_that_gathers_the_parameters_of_each_layer_is_seen(run: Run) -> None:
    gathering = SCAN.replace(
        "x @ self.up)",
        "x @ jax.lax.with_sharding_constraint(self.up, P()))",
    )
    found = figures(run("tensor", gathering))
    assert moved(found, "call", "(loop)") == {"all-reduce": (DEPTH, DEPTH * CARRY)}
    assert moved(found, "call", "none")["all-gather"] == (DEPTH, DEPTH * UP_AND_DOWN // 2)


def test_a_case_that_does_not_say_where_arrays_lie_is_told_how(run: Run) -> None:
    result = run("silent")
    assert result.on_mesh is None
    assert result.error is not None and "expected the case's `shardings` to be a function" in result.error
