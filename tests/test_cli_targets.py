"""`--target` on the command line and in the configuration: what is written, verified, and said where it cannot be."""

import pytest

from scanify.emit.targets.arrays import HALIAX, LEVANTER
from scanify.emit.targets.every import TARGETS
from scanify.errors import Exit
from scanify.pipeline import Outcome, Project
from tests.command import MODEL, REFUSED, Result, Tool

CASE = """\
import jax
import jax.numpy as jnp


def small(module):
    return module.Model(3, 4, key=jax.random.key(0)), (jnp.ones(3),)
"""


@pytest.fixture
def tool(tmp_path, capsys, monkeypatch) -> Tool:
    tool = Tool(tmp_path, capsys, monkeypatch)
    tool.write("model.py")
    tool.write("cases.py", CASE)
    return tool


def test_the_names_are_those_of_the_emitters() -> None:
    from scanify.configuration.config import TARGETS as NAMES

    assert tuple(name for name in TARGETS if name not in (HALIAX, LEVANTER)) == NAMES


def test_a_release_is_named_on_the_command_line_or_in_the_configuration(tool: Tool) -> None:
    done = tool("rewrite", "model.py", "--target", "haliax", "--target-version", "marin-haliax==0.2.224", "--diff")
    assert "+from haliax.nn import ArrayStacked" in done.out
    tool.write("pyproject.toml", '[tool.scanify]\ntarget = "haliax"\ntarget-version = "marin-levanter==0.2.227"\n')
    assert "+from levanter.layers.stacked import ArrayStacked" in tool("rewrite", "model.py", "--diff").out
    assert "jax.lax.scan" in tool("rewrite", "model.py", "--target", "lax", "--diff").out
    other = tool("rewrite", "model.py", "--target-version", "marin-haliax==0.2.227", "--diff").out
    assert "hax.nn.Stacked(" in other


def test_a_release_that_is_not_known_is_a_usage_error(tool: Tool) -> None:
    done = tool("rewrite", "model.py", "--target", "haliax", "--target-version", "0.2.224")
    assert done.code == Exit.USAGE
    assert "expected a release of marin-levanter, marin-haliax, haliax as the target version" in done.err
    assert "as in marin-haliax==0.2.224, got 0.2.224" in done.err


def test_a_rewrite_is_verified_as_it_is_written(tool: Tool) -> None:
    done: Result = tool("rewrite", "model.py", "--target", "lax", "--remat", "dots", "--case", "cases.py:small")
    assert done.code == Exit.OK, done.err
    assert "as written   PROVED    PROVED" in done.err
    written = tool.files()["model.py"].decode()
    assert "jax.lax.scan" in written
    assert "dots_with_no_batch_dims_saveable" in written
    assert "scanify" not in written
    again = tool("rewrite", "model.py", "--target", "lax")
    assert (again.code, tool.files()["model.py"].decode()) == (Exit.OK, written)


def test_the_configuration_names_a_target_and_the_command_line_another(tool: Tool) -> None:
    tool.write("pyproject.toml", '[tool.scanify]\ntarget = "lax"\n')
    assert "jax.lax.scan" in tool("rewrite", "model.py", "--diff").out
    assert "scanify.nn" in tool("rewrite", "model.py", "--diff", "--target", "scanify").out


@pytest.mark.whole
def test_verify_compares_what_the_target_would_write(tool: Tool) -> None:
    done = tool(
        "verify", "model.py", "--target", "lax", "--remat", "nested", "--case", "cases.py:small", "--no-measure"
    )
    assert done.code == Exit.OK, done.err
    assert "PROVED  1 case, 1 remat policy" in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("verify", "model.py", "--remat", "full", "--remat", "dots"), "several policies are compared on one"),
        (("rewrite", "model.py", "--remat", "auto"), "remat auto compares policies on one rewritten text"),
    ],
)
def test_policies_are_not_compared_where_the_text_has_one(tool: Tool, options: tuple[str, ...], said: str) -> None:
    done = tool(*options, "--target", "lax", "--case", "cases.py:small")
    assert done.code == Exit.USAGE
    assert said in done.err


def test_a_version_by_hand_has_no_target(tool: Tool) -> None:
    done = tool("verify", "--before", "model.py", "--after", "model.py", "--target", "lax", "--case", "cases.py:small")
    assert done.code == Exit.USAGE
    assert "--stack, --accept, --target and --target-version are how scanify rewrites a file" in done.err


def test_what_the_target_cannot_express_is_said_with_another_that_can(tool: Tool) -> None:
    early = REFUSED.replace("x.sum() > limit", "limit == 2")
    tool.write("model.py", early)
    done = tool("rewrite", "model.py", "--target", "lax", "--unsafe")
    assert "SCN217" in done.err, done.err
    assert "with jax.lax.scan every layer is applied, and this loop may end before its last one" in done.err
    assert "help: the target scanify can express this loop" in done.err
    assert tool.files()["model.py"].decode() == early


def test_a_loop_that_is_held_back_keeps_its_list(tool: Tool) -> None:
    from scanify.pipeline import rewrite_sources

    second = "\n    def other(self, x, act):\n        for layer in self.layers:\n            x = act(layer(x))\n        return x\n"
    tool.write("model.py", MODEL + second)
    project = Project.load([tool.folder / "model.py"])
    both: Outcome = rewrite_sources(project, target="lax", accept=lambda plan: True)
    one = rewrite_sources(project, target="lax", accept=lambda plan: plan.safe)
    assert (len(both.applied), len(both.held)) == (2, 0)
    assert (len(one.applied), len(one.held)) == (0, 2)
    assert [bool(plan.obligations) for plan in one.held] == [True, True]
    assert (
        "unsafe (layers): another loop over its list is held back" in tool("rewrite", "model.py", "--target", "lax").err
    )
