"""Revisions as whole trees: the original finds the data files that it had, or there is no verdict."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from scanify.verify.cache.consulted import Consulted
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.child import respond
from scanify.verify.request import Change, Request, Tree
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult, Status
from scanify.verify.versions.other_data import looked_at
from tests.verify.in_turn import proved, request

MODEL = """
import json
import os
from pathlib import Path

import equinox as eqx
import jax

HERE = Path(__file__).parent
SCALE = LOOKS


class Model(eqx.Module):
    w: jax.Array

    def __init__(self, key):
        self.w = jax.random.normal(key, (3,))

    def __call__(self, x):
        return x * self.w * SCALE
"""
CASES = """
import jax
import jax.numpy as jnp


def case(module):
    return module.Model(jax.random.key(0)), (jnp.arange(3.0),)
"""
READS = "json.loads((HERE / 'data.json').read_text())"
LOOKS = {
    "reads beside its file": READS,
    "reads in the directory": "json.loads(Path('data.json').read_text())",
    "asks": "2.0 if (HERE / 'only.json').exists() else 1.0",
    "counts": "float(len(list(HERE.glob('*.json'))))",
    "a module of Python that reads": "__import__('reader').scale",
}


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    """The working tree, in which the test runs, and another state of it."""
    tree = Tree(tmp_path / "then" / "project", tmp_path / "now" / "project")
    for folder, scale in ((tree.copy, 1.0), (tree.here, 2.0)):
        folder.mkdir(parents=True)
        (folder / "data.json").write_text(str(scale))
        (folder / "reader.py").write_text(
            f"import json\nfrom pathlib import Path\nscale = {READS}".replace("HERE", "Path(__file__).parent")
        )
        (folder / "pyproject.toml").touch()
    (tree.here / "only.json").touch()
    monkeypatch.chdir(tree.here)
    yield tree


def asked(tree: Tree, looks: str, data: tuple[str, ...] = ("data.json", "only.json")) -> Request:
    for folder in (tree.copy, tree.here):
        for name in ("one.py", "two.py"):
            (folder / name).write_text(MODEL.replace("LOOKS", looks))
        (folder / "cases.py").write_text(CASES)
    paths = tree.copy / "one.py", tree.here / "one.py"
    return replace(
        request(tree.here),
        target=paths[0],
        rewritten_target=paths[1],
        changes=tuple(Change(path, path.read_bytes(), path.read_bytes()) for path in paths),
        data=tuple(tree.here / name for name in data),
        tree=tree,
    )


def compared(tree: Tree, looks: str, **options: tuple[str, ...]) -> CaseResult:
    (result,) = respond(asked(tree, looks, **options)).results
    return result


@pytest.mark.parametrize("name", LOOKS)
def test_each_version_has_the_data_of_its_own_tree(trees: Tree, name: str) -> None:
    result = compared(trees, LOOKS[name])
    assert result.error is None and not result.good
    assert result.policies[0].outputs.status is Status.FAILED
    (trees.copy / "data.json").write_text("2.0")
    (trees.copy / "only.json").touch()
    assert proved(compared(trees, LOOKS[name]))


# A generator has looked at nothing before it is asked, and Path.iterdir is one before Python 3.13.
@pytest.mark.parametrize("how", ["FILE.read_text()", "FILE.stat().st_size", "list(FILE.parent.iterdir())"])
@pytest.mark.whole
def test_an_original_that_looks_at_a_file_of_here_has_no_verdict(trees: Tree, how: str) -> None:
    looks = f"1.0 + 0 * bool({how})".replace("FILE", f"Path({str(trees.here)!r}, 'data.json')")
    error = compared(trees, looks).error
    assert error is not None and "data.json is another file in the revision, and the original looks at the one" in error
    assert proved(compared(trees, looks, data=("elsewhere/notes.json",)))


WITH = {
    "a patch": (f"(setattr(jax.nn, 'twice', lambda z: z), {READS})[1]", "jax.nn.twice(x) * self.w * SCALE"),
    "a function that is returned": (READS, "x * self.w, lambda z: z * x * SCALE"),
    "a derivative by hand": (
        f"jax.custom_jvp(lambda z: z * {READS})",
        "(SCALE.defjvp(lambda z, t: (SCALE(z[0]), t[0])), SCALE(x * self.w))[1]",
    ),
}


@pytest.mark.parametrize("name", WITH)
def test_data_is_seen_together_with_what_is_not_otherwise(
    trees: Tree, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, body = WITH[name]
    monkeypatch.setattr(sys.modules[__name__], "MODEL", MODEL.replace("x * self.w * SCALE", body))
    assert not compared(trees, looks).good
    (trees.copy / "data.json").write_text("2.0")
    result = compared(trees, looks)
    assert result.error is None and result.policies[0].outputs.status is not Status.FAILED


def test_a_module_that_is_in_one_tree_alone_is_not_taken_from_there(trees: Tree) -> None:
    (trees.here / "new.py").write_text("scale = 1.0")
    error = compared(trees, "__import__('new').scale").error
    assert error is not None and "No module named 'new'" in error
    (trees.here / "new.py").rename(trees.copy / "new.py")
    error = compared(trees, "__import__('new').scale").error
    assert error is not None and "the rewritten one.py does not import" in error


def test_a_module_of_the_other_tree_has_no_verdict(trees: Tree) -> None:
    looks = f"(__import__('sys').path.insert(0, {str(trees.here)!r}), __import__('new').scale)[1]"
    (trees.here / "new.py").write_text("scale = 1.0")
    error = compared(trees, looks).error
    assert error is not None and "the original version imports new.py of the working tree" in error


def test_files_of_both_trees_are_shown_as_those_of_here(trees: Tree) -> None:
    difference = compared(trees, READS).policies[0].outputs.difference
    assert difference is not None
    assert {each.file for each in (difference.before, difference.after) if each is not None} == {"one.py"}


def test_what_a_library_opens_by_itself_may_have_been_looked_at(tmp_path: Path) -> None:
    assert looked_at((tmp_path / "weights.safetensors",), (), Consulted()) is not None
    assert looked_at((tmp_path / "README.md",), (), Consulted()) is None
    assert looked_at((tmp_path / "README.md",), (), Consulted(unfollowed=("another program was run",))) is not None
    seen = str((tmp_path / "README.md").resolve())
    assert looked_at((tmp_path / "README.md",), {("rewritten", seen)}, Consulted()) is None
    assert looked_at((tmp_path / "README.md",), {("", seen)}, Consulted()) is not None


def test_with_one_tree_for_both_nobody_may_look(trees: Tree) -> None:
    both = replace(asked(trees, READS), tree=None, target=trees.here / "one.py", changes=())
    response = respond(both)
    assert response.other_data and response.results[0].error is not None
    assert "data.json is another file for the original, and the code looks at it" in response.results[0].error
    assert not respond(replace(both, data=(trees.here / "elsewhere.json",))).other_data


def test_a_case_that_looks_is_run_again_with_the_original_in_its_tree(
    trees: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(trees, READS)
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    taken: list[Tree] = []

    @contextmanager
    def tree() -> Iterator[Tree]:
        taken.append(trees)
        yield trees

    def verified(data: str) -> CaseResult:
        path = trees.here / "one.py"
        case = CaseSpec(trees.here / "cases.py", "case", "cases.py:case")
        changes = {path: (path.read_bytes(),) * 2}
        options = {"policies": [None], "requested": None, "measure": False, "rewritten_target": path}
        return verify(changes, [case], data=[trees.here / data], tree=tree, **options).cases[0]  # type: ignore[arg-type]

    assert verified("data.json").policies[0].outputs.status is Status.FAILED and taken == [trees]
    assert proved(verified("notes.md")) and taken == [trees]
