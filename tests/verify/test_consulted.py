"""What code consults is taken down as it was before the code ran; how a result depends on it is in test_cache."""

import importlib.util
import os
import py_compile
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import jax
import pytest

from scanify.verify.cache.consulted import Consulted, Consulting, consulting

pytestmark = pytest.mark.usefixtures("nothing_reads_by_itself")


def found(record: Consulting) -> Consulted:
    return record.found(lambda place: False, ())


def test_all_variables_are_consulted_where_they_are_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    with consulting(lambda path: False) as record:
        assert dict(os.environ)
    assert found(record).holds()
    monkeypatch.setenv("A_NEW_VARIABLE", "1")
    assert not found(record).holds()


def test_a_variable_that_the_code_sets_is_consulted_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEN", "1")
    with consulting(lambda path: False) as record:
        os.environ["GIVEN"] = "2"
        assert os.environ["GIVEN"] == os.environb[b"GIVEN"].decode() == "2"
        assert subprocess.run(["sh", "-c", "echo $GIVEN"], capture_output=True, check=True).stdout == b"2\n"
    assert os.environ["GIVEN"] == "2" and not found(record).holds()
    monkeypatch.setenv("GIVEN", "1")
    assert found(record).holds()


@pytest.mark.parametrize("by", ["pathlib", "os"])
def test_files_are_consulted_unless_the_code_wrote_them(tmp_path: Path, by: str) -> None:
    given, written = tmp_path / "given", tmp_path / "written"
    given.write_text("1")
    with consulting(lambda path: path.endswith("ignored")) as record:
        if by == "os":
            os.close(os.open(given, os.O_RDONLY))
        else:
            assert given.read_text() == "1"
        written.write_text("2")
        assert written.read_text() == "2"
        (tmp_path / "ignored").write_text("3")
    assert [path for path, _ in found(record).files if path.startswith(str(tmp_path))] == [str(given)]
    assert found(record).holds()
    given.write_text("2")
    assert not found(record).holds()
    given.unlink()
    assert not found(record).holds()


def test_what_jax_has_compiled_is_not_consulted(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / name).write_text("1")
    before = jax.config.values["jax_compilation_cache_dir"]
    jax.config.update("jax_compilation_cache_dir", str(folder))
    try:
        with consulting(lambda path: False) as record:
            assert (folder / "one").read_text() == "1"
            assert not (folder / "none").exists()
        (folder / "none").write_text("1")
    finally:
        jax.config.update("jax_compilation_cache_dir", before)
    with consulting(lambda path: False) as other:
        assert (folder / "two").read_text() == "1"
    assert not any(path.startswith(str(folder)) for path, _ in found(record).files)
    assert any(path.startswith(str(folder)) for path, _ in found(other).files)


def test_nothing_is_taken_down_afterwards(tmp_path: Path) -> None:
    with consulting(lambda path: False) as record:
        pass
    (tmp_path / "later").write_text("1")
    assert (tmp_path / "later").read_text() == os.environ.get("LATER", "1")
    assert not record.files and not record.variables


def _mine(frame: FrameType) -> bool:
    return frame.f_globals is globals()


LOOKS: dict[str, tuple[Callable[[Path], Any], Callable[[Path], Any]]] = {
    "exists": (lambda folder: (folder / "new").exists(), lambda folder: (folder / "new").touch()),
    "a size": (lambda folder: (folder / "a").stat(), lambda folder: (folder / "a").write_text("longer")),
    "access": (lambda folder: os.access(folder / "new", os.R_OK), lambda folder: (folder / "new").touch()),
    "a folder": (lambda folder: (folder / "new").is_dir(), lambda folder: (folder / "new").mkdir()),
    "names": (lambda folder: os.listdir(folder), lambda folder: (folder / "new").touch()),  # noqa: PTH208
    "glob": (lambda folder: list(folder.glob("*.json")), lambda folder: (folder / "new.json").touch()),
    "sizes in a folder": (
        lambda folder: [each.stat().st_size for each in os.scandir(folder)],
        lambda folder: (folder / "a").write_text("longer"),
    ),
    "kinds in a folder": (
        lambda folder: [each.is_dir() for each in os.scandir(folder)],
        lambda folder: (folder / "a").unlink() or (folder / "a").mkdir(),
    ),
    "a size below, by glob": (
        lambda folder: [each.stat().st_size for each in folder.glob("**/*.txt")],
        lambda folder: (folder / "below/b.txt").write_text("longer"),
    ),
    "names below": (lambda folder: list(os.walk(folder)), lambda folder: (folder / "below/new").touch()),
    "a link": (lambda folder: (folder / "link").exists(), lambda folder: (folder / "a").unlink()),
}


@pytest.mark.parametrize("name", LOOKS)
def test_what_is_asked_about_files_must_stay_as_it_was(tmp_path: Path, name: str) -> None:
    look, change = LOOKS[name]
    (tmp_path / "a").write_text("a")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/b.txt").write_text("b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with consulting(lambda path: False, _mine) as record:
        look(tmp_path)
    seen = found(record)
    assert seen.holds()
    (tmp_path / "__pycache__").mkdir()
    assert seen.holds()
    change(tmp_path)
    assert not seen.holds()


def by_variable(folder: Path) -> Any:
    return sorted(Path(os.environ["DATA"]).iterdir())


def by_file(folder: Path) -> Any:
    return (folder / (folder / "a").read_text()).exists()


def by_link(folder: Path) -> Any:
    return [each.stat().st_size for each in os.scandir(folder / "data") if each.is_file()]


def by_bytecode(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("reads", folder / "below/reads.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


# Two ways to look at once: what is looked at first says where to look then. Either may change.
COMPOSED: dict[str, tuple[Callable[[Path], Any], tuple[Callable[[Path], Any], ...]]] = {
    "names in a folder that a variable names": (
        by_variable,
        (lambda folder: (folder / "below/new").touch(), lambda folder: os.environ.update(DATA=str(folder))),
    ),
    "whether there is what a file names": (
        by_file,
        (lambda folder: (folder / "b.txt").touch(), lambda folder: (folder / "a").write_text("c.txt")),
    ),
    "sizes in a folder behind a link": (
        by_link,
        (
            lambda folder: (folder / "below/b.txt").write_text("longer"),
            lambda folder: (folder / "data").unlink() or (folder / "data").symlink_to(folder),
        ),
    ),
    "a file that a module loaded from bytecode reads": (
        by_bytecode,
        (lambda folder: (folder / "a").write_text("c"), lambda folder: (folder / "below/reads.py").write_text("x = 1")),
    ),
}


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("name", COMPOSED)
def test_what_is_looked_at_on_the_way_counts_as_well(
    tmp_path: Path, name: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, changes = COMPOSED[name]
    (tmp_path / "a").write_text("b.txt")
    (tmp_path / "below").mkdir()
    (tmp_path / "below/b.txt").write_text("b")
    source = tmp_path / "below/reads.py"
    source.write_text("from pathlib import Path\nx = (Path(__file__).parent.parent / 'a').read_text()")
    py_compile.compile(str(source))
    (tmp_path / "data").symlink_to(tmp_path / "below")
    monkeypatch.setenv("DATA", str(tmp_path / "below"))
    with consulting(lambda path: False, _mine) as record:
        look(tmp_path)
    seen = found(record)
    assert seen.holds()
    changes[at](tmp_path)
    assert not seen.holds()


def test_a_module_that_is_loaded_from_bytecode_is_its_source(tmp_path: Path) -> None:
    source = tmp_path / "by_path.py"
    source.write_text("x = 1")
    py_compile.compile(str(source))
    with consulting(lambda path: False, _mine) as record:
        spec = importlib.util.spec_from_file_location("by_path", source)
        assert spec is not None and spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    seen = found(record)
    assert str(source) in dict(seen.files) and seen.holds()
    source.write_text("x = 2")
    assert not seen.holds()


def test_nothing_holds_where_another_program_was_run() -> None:
    with consulting(lambda path: False, _mine) as record:
        subprocess.run(["true"], check=True)
    assert found(record).unfollowed == ("another program was run",) and not found(record).holds()


def test_nothing_holds_where_a_database_was_opened(tmp_path: Path) -> None:
    with consulting(lambda path: False, _mine) as record:
        sqlite3.connect(tmp_path / "data.db").close()
    assert found(record).unfollowed == ("a database was opened",) and not found(record).holds()


def test_nothing_holds_beside_a_library_that_opens_files_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with consulting(lambda path: False, _mine) as record:
        monkeypatch.setitem(sys.modules, "safetensors", ModuleType("safetensors"))
    assert found(record).unseen == ("safetensors",) and not found(record).holds()
    monkeypatch.delitem(sys.modules, "safetensors")
    assert found(record).holds()


def longer(file: Path) -> None:
    """More in it, written at the same time."""
    when = file.stat()
    file.write_text("x = 22")
    os.utime(file, ns=(when.st_atime_ns, when.st_mtime_ns))


LIBRARY_CHANGES = {
    "another size": (lambda folder: longer(folder / "deep/er/code.py"), False),
    "another time": (lambda folder: os.utime(folder / "deep/er/code.py", (1, 1)), False),
    "a new extension": (lambda folder: (folder / "deep/fast.so").touch(), False),
    "a new name": (lambda folder: (folder / "code.py").rename(folder / "other.py"), False),
    "bytecode": (lambda folder: (folder / "deep/code.pyc").touch(), True),
    "a file behind a link": (lambda folder: (folder.parent / "elsewhere/code.py").touch(), True),
    "a link to nothing": (lambda folder: (folder / "gone.py").symlink_to("nowhere.py"), True),
}


@pytest.mark.parametrize("name", LIBRARY_CHANGES)
def test_a_library_is_what_the_sizes_and_times_of_its_files_are(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "consulted_library"
    (folder / "deep/er").mkdir(parents=True)
    for file in ("__init__.py", "code.py", "deep/er/code.py"):
        (folder / file).write_text("x = 1")
    (tmp_path / "elsewhere").mkdir()
    (folder / "deep/link").symlink_to(tmp_path / "elsewhere")
    module = ModuleType("consulted_library")
    module.__file__ = str(folder / "__init__.py")
    monkeypatch.setitem(sys.modules, "consulted_library", module)
    with consulting(lambda path: False) as record:
        pass
    known = record.found(lambda place: place == str(folder), ())
    assert len(known.libraries) == 1 and known.holds()
    change, holds = LIBRARY_CHANGES[name]
    change(folder)
    assert known.holds() == holds
