"""Loops over lists of parameters on the command line: reported with the target `lax`, and verified by a case."""

import pytest

from scanify.errors import Exit
from tests.command import Tool
from tests.emit.parameters.programs import DECODER

CASES = """\
import jax
import jax.numpy as jnp


def params(module, dtype=jnp.float32):
    keys = jax.random.split(jax.random.key(0), 4)
    dtypes = [jnp.float32] * 3 + [dtype]
    return [
        module.DecoderBlock(jax.random.normal(k, (3, 3)), jax.random.normal(k, (3, 3), t)) for k, t in zip(keys, dtypes)
    ]


def small(module):
    return jax.tree_util.Partial(module.decoder, params(module)), (jnp.ones((2, 3)), jnp.ones(3), jax.random.key(1))


def unlike(module):
    given = params(module, jnp.bfloat16)
    return jax.tree_util.Partial(module.decoder, given), (jnp.ones((2, 3)), jnp.ones(3), jax.random.key(1))
"""


@pytest.fixture
def decoder(tool: Tool) -> Tool:
    tool.write("decoder.py", DECODER.text)
    tool.write("cases.py", CASES)
    return tool


def test_check_reports_them_with_the_target_lax(decoder: Tool) -> None:
    assert decoder("check", "decoder.py").code == Exit.OK
    decoder.write("pyproject.toml", '[tool.scanify]\ntarget = "lax"\n')
    done = decoder("check", "decoder.py", "--format", "concise")
    assert done.code == Exit.FINDINGS
    assert "SCN106" in done.out and "decoder.py:21" in done.out


def test_without_a_case_the_file_stays(decoder: Tool) -> None:
    done = decoder("rewrite", "decoder.py", "--target", "lax")
    assert decoder.files()["decoder.py"].decode() == DECODER.text
    assert "hold nothing but arrays, and differ in the values of these alone" in done.err


def test_a_case_proves_outputs_and_gradients_of_the_list(decoder: Tool) -> None:
    done = decoder("rewrite", "decoder.py", "--target", "lax", "--remat", "nested", "--case", "cases.py:small")
    assert done.code == Exit.OK, done.err
    assert "as written   PROVED    PROVED" in done.err
    assert "scan_in_chunks" in decoder.files()["decoder.py"].decode()


@pytest.mark.whole
def test_elements_that_differ_fail_their_case(decoder: Tool) -> None:
    done = decoder("rewrite", "decoder.py", "--target", "lax", "--case", "cases.py:unlike")
    assert done.code == Exit.VERIFICATION
    assert "shape, dtype and weak_type" in " ".join(done.err.split())
    assert decoder.files()["decoder.py"].decode() == DECODER.text


TWO = """\
import jax.numpy as jnp


def forward(params, x, y):
    for p in params["blocks"]:
        x = x + jnp.tanh(x @ p["up"])
    for p in params["others"]:
        y = y + jnp.tanh(y @ p["up"])
    return x, y
"""


def test_each_of_two_loops_in_one_function_is_reported(tool: Tool) -> None:
    tool.write("pyproject.toml", '[tool.scanify]\ntarget = "lax"\n')
    tool.write("two.py", TWO)
    done = tool("check", "two.py", "--format", "concise")
    assert ["two.py:5" in done.out, "two.py:7" in done.out] == [True, True]
