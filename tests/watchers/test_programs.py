"""Code that reads traced or compiled programs, in which a scan counts once: said of every plan, wherever it stacks."""

from pathlib import Path

import pytest

from scanify.analysis.stack import CallStack
from tests.texts import texts
from tests.watchers.test_plans import plan

WALK = """\
import jax


def count(jaxpr):
    total = 0
    for eqn in jaxpr.eqns:
        total += eqn.primitive.name == "dot_general"
    return total
"""
COST = "import jax\n\n\ndef flops(f, x):\n    return jax.jit(f).lower(x).compile().cost_analysis()['flops']\n"


@pytest.mark.parametrize("stack", [None, "call"])
@pytest.mark.parametrize(("text", "line", "reads"), [(WALK, 6, "the equations"), (COST, 5, "the cost")])
def test_what_reads_programs_is_named(tmp_path: Path, text: str, line: int, reads: str, stack: str | None) -> None:
    found = plan(tmp_path, "flops.py", text, stack=stack)
    (said,) = texts(found.obligations)
    assert said.startswith(f"{tmp_path / 'flops.py'}:{line} reads {reads} of a program (SCN320)")
    assert (texts(found.elsewhere), texts(found.cost)) == ((), (said,)) and not found.safe
    assert stack is None or isinstance(found.stack, CallStack)


@pytest.mark.parametrize(
    "text",
    [
        WALK.replace("    return", '        if eqn.primitive.name == "scan":\n            total += 1\n    return'),
        WALK.replace(".eqns", ".equations"),
        COST.replace("cost_analysis()['flops']", "as_text()"),
        "# jaxpr.eqns of a program\n",
    ],
)
def test_what_knows_scans_or_reads_none_is_not(tmp_path: Path, text: str) -> None:
    assert plan(tmp_path, "flops.py", text).safe


def test_a_cost_of_a_program_with_a_scan_counts_its_body_once() -> None:
    """What the page of the rule says of XLA."""
    import jax
    import jax.numpy as jnp

    weights, x = jnp.ones((8, 16, 16)), jnp.ones((16, 16))

    def loop(weights, x):
        for at in range(8):
            x = x @ weights[at]
        return x

    def scan(weights, x):
        return jax.lax.scan(lambda carry, weight: (carry @ weight, None), x, weights)[0]

    unrolled, rolled = (jax.jit(each).lower(weights, x).compile().cost_analysis()["flops"] for each in (loop, scan))
    assert unrolled > 7 * rolled
