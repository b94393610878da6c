"""What code consults is taken down as it was before the code ran; how a result depends on it is in test_cache."""

import os
import subprocess
from pathlib import Path

import pytest

from scanify.verify.consulted import Consulted, Consulting, consulting


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


def test_nothing_is_taken_down_afterwards(tmp_path: Path) -> None:
    with consulting(lambda path: False) as record:
        pass
    (tmp_path / "later").write_text("1")
    assert (tmp_path / "later").read_text() == os.environ.get("LATER", "1")
    assert not record.files and not record.variables
