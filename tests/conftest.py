import gc
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from scanify.verify.children import process
from tests.command import Tool
from tests.memory import Memory
from tests.sampling import COSTS, Costs, costs, left_out
from tests.warm_children import WarmChildren

# What is measured, or compared to the last digits of float32, is compiled as users' programs are; elsewhere a program
# runs once, and most of the time would go to optimising it.
_OPTIMISED = (
    "tests/notebooks/",
    "tests/nn/test_as_sequential.py",
    "tests/nn/test_haliax_conformance.py",
    "tests/nn/test_key_order.py",
    "tests/nn/test_memory.py",
)
# Where programs are evaluated equation by equation (`tests/evaluated.py`), and in which of those files they are compiled
# all the same: what is asked about is the compiled program, or each policy has to be run as users run it.
_EVALUATED = (
    "tests/emit/",
    "tests/jaxpr/",
    "tests/mutants/",
    "tests/nn/",
    "tests/optim/",
    "tests/reroll/",
    "tests/test_fixtures.py",
    "tests/test_probes.py",
    "tests/test_random_models.py",
    "tests/test_random_projects.py",
    "tests/verify/",
)
_VERIFIED = ("tests/mutants/", "tests/verify/")
_COMPILED = (
    "tests/nn/test_costs.py",
    "tests/nn/test_in_place.py",
    "tests/nn/test_init.py",
    "tests/nn/test_memory.py",
    "tests/nn/test_residuals.py",
    "tests/nn/test_stack_against_loop.py",
    "tests/verify/test_equinox_mlp.py",
    "tests/verify/test_op_by_op.py",
    "tests/verify/test_prove_rules.py",
)
_PROGRAMS = "programs"  # a folder of pytest's cache
_MOST = 400 * 2**20  # bytes of compiled programs, after which they are begun anew
_SELDOM = (20_000, 20, 20)  # new objects, and rounds of younger ones, after which the collector looks
_CHILDREN = WarmChildren()
_MEMORY = Memory()
_QUICK = "JAX_DISABLE_MOST_OPTIMIZATIONS"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run what is marked `whole` too: more of what a sample shows")
    parser.addoption(
        "--costs", action="store_true", help="write down what the points of tests cost (`tests/costs.txt`)"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    left = {item for item in items if item.get_closest_marker("whole")}
    left |= set(left_out(items, costs(COSTS.read_text())))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def pytest_configure(config: pytest.Config) -> None:
    """What was compiled once is read from pytest's cache, by later tests and runs, other workers, and child processes.

    jax knows a program by all of its text, its own version, the compiler's and its flags, so that nothing but time is
    saved. `-p no:cacheprovider` does without, `--cache-clear` begins anew.
    """
    vars(process)["_start"] = _CHILDREN.start
    if config.getoption("--costs") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Costs())
    # In one piece: for programs this small, threads that each compile a part take longer than they save.
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_parallel_codegen_split_count=1".strip()
    os.environ[_QUICK] = "1"  # for what is computed while tests are collected
    if not config.pluginmanager.hasplugin("cacheprovider"):
        return
    folder = config.cache.mkdir(_PROGRAMS)
    if not hasattr(config, "workerinput"):  # a worker forgets nothing, as others read it
        _forget_many(folder)
    _set("jax_compilation_cache_dir", str(folder / f"jax-{version('jax')}"))
    _set("jax_persistent_cache_min_compile_time_secs", 0)
    _set("jax_persistent_cache_min_entry_size_bytes", -1)


def _set(name: str, value: str | int) -> None:
    """For this process and its children. Where a file of a folder is named, the folder's conftest has imported jax by now."""
    os.environ[name.upper()] = str(value)
    if "jax" in sys.modules:
        import jax

        jax.config.update(name, value)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        _MEMORY.forget_if_large()


def pytest_collection_finish() -> None:
    """From here on the tests run: what there is by now stays to the end, and what they write changes within a second.

    The collector need not look at the first again, nor as often at the rest. Of the second no bytecode is written: Python
    would take it for that of a later text of the same size.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Choose how the programs of a test and of its children are compiled."""
    quick = not item.nodeid.startswith(_OPTIMISED)
    if os.environ.get(_QUICK) == str(int(quick)):
        return
    os.environ[_QUICK] = str(int(quick))
    if "jax" in sys.modules:
        import jax

        jax.config.update(_QUICK.lower(), quick)
        jax.clear_caches()  # both versions of a model are to be compiled alike


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Evaluate the programs of a test where nothing is asked about compiled ones."""
    if not item.nodeid.startswith(_EVALUATED) or item.nodeid.startswith(_COMPILED):
        return (yield)
    from tests.evaluated import evaluated

    with evaluated(digits=not item.nodeid.startswith(_VERIFIED)):
        return (yield)


def pytest_unconfigure() -> None:
    _CHILDREN.end()
    gc.freeze()  # or pytest looks five times at all that there is


def _forget_many(folder: Path) -> None:
    """Forget the compiled programs when they have become many."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > _MOST:
        shutil.rmtree(folder)
        folder.mkdir()


@pytest.fixture
def tool(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    (tmp_path / ".git").mkdir()  # so that no configuration above is found
    return Tool(tmp_path, capfd, monkeypatch)


@pytest.fixture
def fresh_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Children are started as those of users are, each by a Python of its own."""
    monkeypatch.setattr(_CHILDREN, "fresh", True)
