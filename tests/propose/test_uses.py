"""Cases from the project's own calls: each source of values has a model that no signature alone builds."""

import textwrap
from pathlib import Path

import pytest

from scanify.propose.request import Answer, Ask
from scanify.propose.search import Search
from tests.propose.helpers import HEAD, line_of, module_of

# Nothing but its own project knows what a `plan` is.
STACK = """
class Stack(eqx.Module):
    layers: list[Block]

    def __init__(self, plan, *, key):
        self.layers = [Block(plan["dim"], key=k) for k in jax.random.split(key, plan["depth"])]

    def __call__(self, x, scale):
        for layer in self.layers:
            x = layer(x)
        return x * scale["by"]
"""


def answer_in(folder: Path, source: str, cls: str = "Stack", **files: str) -> Answer:
    """The answer for a class of a module `proposed_model` in a project with `files`, whose names have no suffix."""
    (folder / "pyproject.toml").write_text("")
    (folder / "proposed_model.py").write_text(HEAD + textwrap.dedent(source))
    for name, text in files.items():
        suffix = ".md" if name.isupper() else ".py"
        (folder / f"{name}{suffix}").write_text(textwrap.dedent(text))
    span = line_of(source, "x = layer(x)")
    with module_of(source, folder=folder) as module:
        ask = Ask(folder / "proposed_model.py", folder, cls, ("__call__",), (span,), True, 60.0)
        return Search(ask, module, lambda name: name).answer()


def text_in(folder: Path, source: str, cls: str = "Stack", **files: str) -> str:
    answer = answer_in(folder, source, cls, **files)
    assert answer.case is not None, answer.reasons
    return answer.case.text


def test_without_a_call_in_the_project_there_is_no_case(tmp_path: Path) -> None:
    assert answer_in(tmp_path, STACK).case is None


@pytest.mark.parametrize(
    ("files", "written"),
    [
        pytest.param(
            {
                "test_stack": """
                import jax
                from proposed_model import Stack

                PLAN = {"dim": 8, "depth": 3}

                def test_it():
                    model = Stack(PLAN, key=jax.random.key(1))
                    assert model(jax.numpy.ones(8), {"by": 2.0}).shape == (8,)
                """
            },
            'Stack(PLAN, key=jax.random.key(1))\n    return model, (jax.numpy.ones(8), {"by": 2.0})',
            id="a test with a constant of its module",
        ),
        pytest.param(
            {
                "conftest": """
                import pytest

                @pytest.fixture
                def plan():
                    return dict(dim=8, depth=3)
                """,
                "test_stack": """
                import jax.random as jr
                import proposed_model as pm
                import pytest

                @pytest.mark.parametrize(("by", "n"), [(2.0, 1), (3.0, 2)])
                def test_it(plan, by, n, key):
                    model = pm.Stack(plan, key=key)
                    model(jr.normal(key, (8,)), {"by": by})
                """,
            },
            "plan = plan()",
            id="fixtures and parameters",
        ),
        pytest.param(
            {
                "train": """
                import jax
                import equinox as eqx
                from proposed_model import Stack

                if __name__ == "__main__":
                    plan = {}
                    plan["dim"] = 512
                    plan.update(depth=12)
                    model = Stack(plan, key=jax.random.key(0))
                    xs = jax.numpy.ones((4, 512))
                    out = jax.jit(jax.vmap(model, in_axes=(0, None)))(xs, {"by": 1.0})
                """
            },
            "eqx.filter_vmap(model, in_axes=(0, None))",
            id="a script, with what it does to a dict, under vmap",
        ),
        pytest.param(
            {
                "test_stack": """
                import jax
                import equinox as eqx
                from proposed_model import Stack

                class Twice(eqx.Module):
                    inner: eqx.Module

                    def __call__(self, x, scale):
                        return self.inner(self.inner(x, scale), scale)

                def test_it():
                    model = Twice(Stack({"dim": 8, "depth": 3}, key=jax.random.key(1)))
                    for by in (2.0, 3.0):
                        model(jax.numpy.ones(8), dict(by=by))
                """
            },
            "by = next(iter((2.0, 3.0)))",
            id="inside of another module, in a loop",
        ),
        pytest.param(
            {
                "README": """
                # Stack

                ```python
                from proposed_model import Stack
                model = Stack({"dim": 8, "depth": 3}, key=jax.random.key(0))
                y = model(jnp.ones(8), {"by": 1.0})
                ```
                """
            },
            "Built and called as in README.md:6.",
            id="a page",
        ),
    ],
)
def test_a_call_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = text_in(tmp_path, STACK, **files)
    assert written.replace('"', "'") in text.replace('"', "'") and "module." in text
    compile(text, "case", "exec")


def test_an_example_of_a_docstring(tmp_path: Path) -> None:
    example = '''
    """A stack.

    >>> model = Stack({"dim": 8, "depth": 3}, key=jax.random.key(0))
    >>> model(jnp.ones(8), {"by": 2.0})
    """
'''
    text = text_in(tmp_path, STACK.replace("(eqx.Module):\n", f"(eqx.Module):\n{example}"))
    assert "return model, (jnp.ones(8), {'by': 2.0})" in text


def test_what_loads_or_writes_is_no_value(tmp_path: Path) -> None:
    script = "from proposed_model import Stack\nmodel = Stack(load_plan('plan.json'), key=jax.random.key(0))\n"
    assert answer_in(tmp_path, STACK, script=script).case is None


def test_what_is_built_in_another_way_each_time_is_no_case(tmp_path: Path) -> None:
    test = """
        import random
        import jax
        from proposed_model import Stack

        def test_it():
            model = Stack({"dim": 8, "depth": 3}, key=jax.random.key(SEED))
            model(jax.numpy.ones(8), {"by": 1.0})
        """
    files = {"test_stack": test.replace("SEED", "random.randint(0, 2**30)")}
    answer = answer_in(tmp_path, STACK, **files)
    assert answer.case is None and "other arrays each time" in answer.reasons[0]
    assert answer_in(tmp_path, STACK, test_stack=test.replace("SEED", "1")).case is not None
