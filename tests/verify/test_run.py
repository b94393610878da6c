"""verify(): real child processes from the parent's side. Each starts jax, so they are few."""

import hashlib
import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from scanify.errors import ScanifyError
from scanify.verify import run as run_module
from scanify.verify.cases.case import CaseSpec
from scanify.verify.children.limits import Limits
from scanify.verify.run import verify
from scanify.verify.verdict import CaseResult, Status, Verification

MODEL = """
import equinox as eqx
import jax
import jax.numpy as jnp

from .blocks import Block


class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        self.layers = [Block(key=k) for k in jax.random.split(key, 4)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
BLOCKS = """
import equinox as eqx
import jax.numpy as jnp


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, *, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return jnp.tanh(self.linear(x))
"""
CASES = """
import os, signal, subprocess, sys, time
import jax, jax.numpy as jnp

def net(module):
    print("building with", os.environ.get("JAX_PLATFORMS"))
    return module.Net(jax.random.key(0)), (jnp.ones(4),)

def endless(module):
    print("working")
    while True:
        time.sleep(0.01)

def hungry(module):
    held = []
    while True:
        held.append(b"x" * 2**24)
        time.sleep(0.005)

def killed(module):
    print("goodbye")
    os.kill(os.getpid(), signal.SIGSEGV)

def gone(module):
    os._exit(7)
"""
# Two files change together; rewritten, the blocks are a scan over stacked layers.
REWRITTEN = MODEL.replace(
    "        for layer in self.layers:\n            x = layer(x)\n        return x\n",
    "        return through(self.layers, x)\n",
).replace("import Block\n", "import Block, through\n")
REWRITTEN_BLOCKS = (
    BLOCKS.replace("import jax.numpy", "import jax\nimport jax.numpy")
    + """

def through(layers, x):
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)
    return jax.lax.scan(lambda x, layer: (layer(x), None), x, stack)[0]
"""
)
COMPARER = """
import numpy as np
import jax
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict

def values(name, before, after, *, policies, requested, abstract, measure, files):
    outputs, jaxprs = [], []
    for build in (before, after):
        model, args, kwargs = build()
        outputs.append(np.asarray(model(*args, **kwargs)))
        jaxprs.append(str(jax.make_jaxpr(model)(*args, **kwargs)))
    equal = Verdict(Status.TESTED if np.allclose(*outputs, atol=1e-6) else Status.FAILED)
    results = tuple(PolicyResult(policy, equal, equal) for policy in policies)
    return CaseResult(name, equal, results, findings=tuple("scan" for text in jaxprs if "scan[" in text))
"""

pytestmark = pytest.mark.usefixtures("fresh_children")

Verify = Callable[..., Verification]
WIDE = Limits(seconds=120)


def snapshot(directory: Path) -> dict[str, str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {"pkg/__init__.py": "", "pkg/model.py": MODEL, "pkg/blocks.py": BLOCKS, "tests/cases.py": CASES}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def run(project: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Verify:
    """Verifies the functions named of the case file, and checks that no file was changed or added."""
    comparers = tmp_path_factory.mktemp("comparers")
    (comparers / "written_comparer.py").write_text(COMPARER)
    monkeypatch.setenv("PYTHONPATH", str(comparers))
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.chdir(project)

    def run(
        *functions: str, limits: Limits = WIDE, rewritten: str = REWRITTEN, comparer: str = "written_comparer:values"
    ) -> Verification:
        before = snapshot(project)
        changes = {
            Path("pkg/model.py"): (MODEL.encode(), rewritten.encode()),
            Path("pkg/blocks.py"): (BLOCKS.encode(), REWRITTEN_BLOCKS.encode()),
        }
        specs = [CaseSpec(Path("tests/cases.py"), name, f"tests/cases.py:{name}") for name in functions]
        try:
            return verify(
                changes,
                specs,
                policies=["nested"],
                requested=None,
                measure=False,
                limits=limits,
                comparer=comparer,
            )
        finally:
            assert snapshot(project) == before

    return run


def only(verification: Verification) -> CaseResult:
    (case,) = verification.cases
    assert not verification.good
    return case


def test_a_project_of_several_files_is_compared_and_nothing_is_written(run: Verify) -> None:
    verification = run("net")
    (case,) = verification.cases
    assert (case.case, case.error, case.findings) == ("tests/cases.py:net", None, ("scan",))
    assert case.policies[0].outputs.status is Status.TESTED
    assert case.output == "building with cpu\nbuilding with cpu\n"
    assert [step for step, _ in case.seconds] == ["import jax", "load original", "load rewritten", "total"]
    assert dict(verification.versions).keys() == {"python", "jax", "equinox", "scanify"}


def test_the_comparer_of_scanify_proves_it_with_lines_of_the_users_files(run: Verify) -> None:
    good, wrong = (
        run("net", rewritten=text, comparer="scanify.verify.compare.compare:compare_case").cases[0]
        for text in (REWRITTEN, REWRITTEN.replace("self.layers, x", "self.layers[::-1], x"))
    )
    assert (good.error, good.good) == (None, True)
    assert {good.policies[0].outputs.status, good.policies[0].gradients.status} == {Status.PROVED}
    difference = wrong.policies[0].outputs.difference
    assert difference is not None and difference.before is not None and difference.after is not None
    assert {difference.before.file, difference.after.file} == {"pkg/blocks.py"}


def test_a_wrong_rewrite_is_told_apart(run: Verify) -> None:
    (case,) = run("net", rewritten=REWRITTEN.replace("self.layers, x", "self.layers[:-1], x")).cases
    assert case.policies[0].outputs.status is Status.FAILED


def test_a_case_that_dies_takes_no_other_with_it(run: Verify) -> None:
    killed, gone, net = run("killed", "gone", "net").cases
    assert killed.error == "tests/cases.py:killed: its process was killed by SIGSEGV"
    assert killed.output.startswith("goodbye\n")
    assert gone.error == ("tests/cases.py:gone: its process ended (exit code 7) before the versions were compared")
    assert net.error is None


@pytest.mark.whole
def test_a_case_that_never_ends_is_stopped_and_says_how_to_raise_the_limit(run: Verify) -> None:
    case = only(run("endless", limits=Limits(seconds=3)))
    assert case.error == (
        "tests/cases.py:endless was stopped: it ran longer than the time limit of 3 s. "
        "Make the model smaller, or raise the limit with --time-limit SECONDS"
    )


@pytest.mark.whole
def test_a_case_that_takes_too_much_memory_is_stopped_and_says_so(run: Verify) -> None:
    case = only(run("hungry", limits=Limits(seconds=120, memory=2**30)))
    assert case.error is not None and "more than the limit of 1 GiB" in case.error
    assert "--abstract" in case.error and "--memory-limit SIZE" in case.error


SPEC = CaseSpec(Path("cases.py"), "net", "cases.py:net")
CHANGES = {Path("model.py"): (b"x = 1", b"x = 2")}


@pytest.mark.parametrize(
    ("changes", "cases", "policies", "message"),
    [
        ({}, [SPEC], ["nested"], "nothing to verify"),
        (CHANGES, [], ["nested"], "name one with --case FILE:FUNCTION"),
        (CHANGES, [SPEC], [], "at least one remat policy"),
        ({Path("model.ipynb"): (b"", b"")}, [SPEC], ["nested"], r"model\.ipynb: only Python files"),
        ({Path("/v/site-packages/m.py"): (b"", b"")}, [SPEC], ["nested"], "belongs to an installed package"),
    ],
)
def test_wrong_usage_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, changes: object, cases: object, policies: object, message: str
) -> None:
    monkeypatch.setattr(run_module, "run_child", lambda *_: pytest.fail("a child was started"))
    with pytest.raises(ScanifyError, match=message):
        verify(changes, cases, policies=policies, requested=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", [{"jax", "equinox"}, {"equinox"}])
def test_without_jax_or_equinox_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, missing: set[str]) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in missing else found(name))
    with pytest.raises(ScanifyError) as raised:
        verify(CHANGES, [SPEC], policies=["nested"], requested=None)
    assert 'pip install "scanify-jax[jax]"' in str(raised.value)
    assert " and ".join(name for name in ("jax", "equinox") if name in missing) + " not found" in str(raised.value)


def test_the_parent_imports_neither_jax_nor_the_users_code() -> None:
    code = """
        import sys
        import scanify.verify.run, scanify.verify.cases.case
        import scanify.report.verification.text, scanify.report.verification.json
        scanify.verify.run.versions()
        print(sorted({"jax", "equinox", "numpy", "libcst"} & sys.modules.keys()))
    """
    root = str(Path(run_module.__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
