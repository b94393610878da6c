import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import Tool

# Of a test's parameters, where they are many and each is compiled by itself, the suite takes every so manyth.
_LARGE = 8
_GRIDS = {
    "tests/nn/test_as_sequential.py": 3,
    "tests/nn/test_block_seq.py": 4,
    "tests/nn/test_block_seq_interface.py": 2,
    "tests/nn/test_block_seq_programs.py": 2,
    "tests/nn/test_functional.py": 4,
    "tests/nn/test_map_via.py": 2,
    "tests/nn/test_stack_against_loop.py": 5,
    "tests/emit/test_early_exits.py": 2,
}
_PROGRAMS = "programs"  # a folder of pytest's cache
_MOST = 400 * 2**20  # bytes of compiled programs, after which they are begun anew


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run what is marked `whole` too: more of what a sample shows")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--whole"):
        return
    left = {item for item in items if item.get_closest_marker("whole")} | set(_between(items))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def _between(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """The points of large grids that the suite leaves out."""
    grids: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        file, _, name = item.nodeid.partition("::")
        if file in _GRIDS:
            grids.setdefault((file, name.partition("[")[0]), []).append(item)
    for (file, _), points in grids.items():
        if len(points) >= _LARGE:
            yield from (point for at, point in enumerate(points) if at % _GRIDS[file])


def pytest_configure(config: pytest.Config) -> None:
    """Forget the compiled programs when they have become many. Not in a worker: others read them."""
    folder = _programs(config)
    if folder is not None and not hasattr(config, "workerinput"):
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if size > _MOST:
            shutil.rmtree(folder)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was compiled once is read from pytest's cache, by later tests, other workers and later runs.

    jax knows a program by all of its text, its own version, the compiler's and its flags, so that nothing but time is
    saved. Processes that tests start compile for themselves: what they read is a matter of tests. `-p no:cacheprovider`
    does without, `--cache-clear` begins anew.
    """
    folder = _programs(session.config)
    if folder is None or "jax" not in sys.modules:
        return
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    jax.config.update("jax_compilation_cache_dir", str(folder / f"jax-{jax.__version__}"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # tests may have compiled something where they were collected


def _programs(config: pytest.Config) -> Path | None:
    return config.cache.mkdir(_PROGRAMS) if config.pluginmanager.hasplugin("cacheprovider") else None


@pytest.fixture
def tool(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    (tmp_path / ".git").mkdir()  # so that no configuration above is found
    return Tool(tmp_path, capfd, monkeypatch)
