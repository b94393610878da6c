"""Files become text and bytes again exactly; paths become files; writing is all or nothing."""

import codecs
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanify.analysis.plan import Skipped
from scanify.errors import ScanifyError
from scanify.source import write
from scanify.source.discover import Selection, discover
from scanify.source.file import Source
from scanify.source.read import decode, encode, read
from scanify.source.write import write_all

PATH = Path("model.py")


def decoded(data: bytes) -> Source:
    source = decode(PATH, data)
    assert isinstance(source, Source), source
    return source


def skipped(data: bytes) -> str:
    answer = decode(PATH, data)
    assert isinstance(answer, Skipped), answer
    assert answer.path == PATH
    return answer.reason


class TestReading:
    @pytest.mark.parametrize(
        ("data", "encoding", "bom", "newline"),
        [
            pytest.param(b"", "utf-8", False, "\n", id="an empty file"),
            pytest.param(b"x = 1", "utf-8", False, "\n", id="a file without a line end"),
            pytest.param(b"x = 1\r\ny = 2\r\n", "utf-8", False, "\r\n", id="CRLF"),
            pytest.param(b"x = 1\ry = 2\r", "utf-8", False, "\r", id="CR alone"),
            pytest.param(b"x = 1\r\ny = 2\n", "utf-8", False, "\r\n", id="mixed line ends"),
            pytest.param("é = 1\n".encode(), "utf-8", False, "\n", id="UTF-8 without a coding line"),
            pytest.param(codecs.BOM_UTF8 + b"x = 1\n", "utf-8", True, "\n", id="a byte order mark"),
            pytest.param(b"# coding: latin-1\ns = '\xe9'\n", "iso-8859-1", False, "\n", id="a coding line"),
            pytest.param(
                b"#!/bin/python\n# vim: fileencoding=cp1252\ns = '\x80'\n", "cp1252", False, "\n", id="line two"
            ),
            pytest.param(b"x = 1\x0cy = 2\n", "utf-8", False, "\n", id="a form feed"),
        ],
    )
    def test_is_exact_both_ways(self, data: bytes, encoding: str, bom: bool, newline: str) -> None:
        source = decoded(data)
        assert (source.encoding, source.bom, source.newline) == (encoding, bom, newline)
        assert encode(source, source.text) == data
        assert not source.text.startswith("\ufeff")

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            pytest.param(
                b"x = 1\ns = '\xe9'\n", "line 2 is not utf-8; save it as UTF-8, or name", id="latin-1 unnamed"
            ),
            pytest.param(b"x = 1\n\n\n\ns = '\xe9'\n", "line 5 is not utf-8; save it as UTF-8", id="past line two"),
            pytest.param(
                b"# coding: ascii\n\ns = '\xe9'\n", "line 3 is not ascii; its coding line names", id="wrong coding"
            ),
            pytest.param(b"# coding: nonsense\n", "a coding line that Python does not accept", id="unknown coding"),
            pytest.param(b"# coding: rot13\nx = 1\n", "cannot be decoded as its coding line says", id="no text coding"),
            pytest.param("x = 1\n".encode("utf-16"), "is UTF-16", id="UTF-16"),
            pytest.param(b"x = 1\0\n", "holds a null character", id="a null character"),
            pytest.param(
                codecs.BOM_UTF8 + b"# coding: latin-1\n", "coding line that Python does not", id="contradiction"
            ),
            pytest.param(
                b"# coding: utf-7\nx = '+-'\ny = '+AGE-'\n", "cannot be encoded again", id="not the same bytes"
            ),
        ],
    )
    def test_what_is_not_source_is_skipped_with_a_reason(self, data: bytes, reason: str) -> None:
        assert reason in skipped(data)

    @given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.booleans())
    def test_any_text_survives(self, text: str, bom: bool) -> None:
        data = (codecs.BOM_UTF8 if bom else b"") + text.encode()
        answer = decode(PATH, data)
        if isinstance(answer, Source):
            assert encode(answer, answer.text) == data

    def test_a_character_that_the_encoding_lacks_is_an_error_that_names_it(self) -> None:
        source = decoded(b"# coding: latin-1\nx = 1\n")
        with pytest.raises(ScanifyError, match=r"model\.py: its encoding, iso-8859-1, has no code for '→'"):
            encode(source, source.text + "# →\n")

    def test_a_file_that_is_not_there_is_skipped(self, tmp_path: Path) -> None:
        answer = read(tmp_path / "none.py")
        assert isinstance(answer, Skipped)
        assert answer.reason == "cannot be read: No such file or directory"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    names = """b.py a.py a.txt stub.pyi pkg/__init__.py pkg/m.py .venv/lib/v.py .hidden/h.py pkg/__pycache__/c.py
        build/lib/b.py node_modules/n.py venv/x.py lib/site-packages/s.py old/o.py old/deep/d.py gen/a_pb2.py .dot.py"""
    for name in names.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


class TestDiscovering:
    def names(self, tree: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
        found = discover([tree / path for path in paths], Selection(tree, exclude))
        return [str(path.relative_to(tree)) for path in found]

    def test_a_folder_is_walked_in_order_past_what_is_not_the_projects_own(self, tree: Path) -> None:
        everything = [
            ".dot.py",
            "a.py",
            "b.py",
            "gen/a_pb2.py",
            "old/deep/d.py",
            "old/o.py",
            "pkg/__init__.py",
            "pkg/m.py",
        ]
        assert self.names(tree, ".") == everything

    @pytest.mark.parametrize("name", ["a.txt", ".venv/lib/v.py", "build/lib/b.py", "stub.pyi"])
    def test_a_file_that_is_named_is_taken(self, tree: Path, name: str) -> None:
        assert self.names(tree, name) == [name]

    def test_a_left_out_folder_that_is_named_is_walked(self, tree: Path) -> None:
        assert self.names(tree, "build") == ["build/lib/b.py"]

    def test_duplicates_count_once_in_the_order_of_the_paths(self, tree: Path) -> None:
        (tree / "link.py").symlink_to(tree / "a.py")
        assert self.names(tree, "pkg/m.py", "pkg", "b.py", "link.py", "a.py") == [
            "pkg/m.py",
            "pkg/__init__.py",
            "b.py",
            "link.py",
        ]

    @pytest.mark.parametrize(
        ("pattern", "gone"),
        [
            pytest.param("old", {"old/deep/d.py", "old/o.py"}, id="a folder by name"),
            pytest.param("old/", {"old/deep/d.py", "old/o.py"}, id="a folder by name with a slash"),
            pytest.param("deep", {"old/deep/d.py"}, id="a folder at any depth"),
            pytest.param("/deep", set(), id="a folder at the root alone"),
            pytest.param("old/deep", {"old/deep/d.py"}, id="a folder by path"),
            pytest.param("*_pb2.py", {"gen/a_pb2.py"}, id="files by name"),
            pytest.param("old/*.py", {"old/deep/d.py", "old/o.py"}, id="files by path"),
        ],
    )
    def test_what_is_excluded_is_passed_over(self, tree: Path, pattern: str, gone: set[str]) -> None:
        assert set(self.names(tree, ".")) - set(self.names(tree, ".", exclude=(pattern,))) == gone

    @pytest.mark.parametrize("pattern", ["old", "old/", "old/deep", "*.py", "old/deep/*", "d.py"])
    def test_what_is_named_is_passed_over_where_it_is_excluded(self, tree: Path, pattern: str) -> None:
        assert self.names(tree, "old/deep/d.py", "b.py", exclude=(pattern,)) == ["b.py"] * (pattern != "*.py")
        assert self.names(tree, "old/deep", exclude=(pattern,)) == []

    def test_a_missing_path_is_an_error_that_names_all_of_them(self, tree: Path) -> None:
        with pytest.raises(ScanifyError, match=r"expected files or folders that exist, got .*no\.py, .*nor"):
            discover([tree / "no.py", tree / "a.py", tree / "nor"], Selection(tree))

    def test_a_dangling_link_is_missing(self, tree: Path) -> None:
        (tree / "link.py").symlink_to(tree / "gone.py")
        with pytest.raises(ScanifyError, match="exist"):
            discover([tree / "link.py"], Selection(tree))
        assert "link.py" not in self.names(tree, ".")


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class TestWriting:
    def test_the_content_is_replaced_and_the_mode_bits_stay(self, tmp_path: Path) -> None:
        path = tmp_path / "m.py"
        path.write_bytes(b"old")
        path.chmod(0o751)
        write_all({path: (b"old", b"new")})
        assert content(tmp_path) == {"m.py": b"new"}
        assert stat.S_IMODE(path.stat().st_mode) == 0o751

    def test_a_symbolic_link_stays_one_and_its_target_changes(self, tmp_path: Path) -> None:
        (tmp_path / "real.py").write_bytes(b"old")
        (tmp_path / "link.py").symlink_to("real.py")
        write_all({tmp_path / "link.py": (b"old", b"new")})
        assert (tmp_path / "link.py").is_symlink()
        assert content(tmp_path) == {"real.py": b"new", "link.py": b"new"}

    def test_a_read_only_file_is_an_error_and_nothing_changes(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(b"a")
        (tmp_path / "b.py").write_bytes(b"b")
        (tmp_path / "b.py").chmod(0o444)
        with pytest.raises(ScanifyError, match=r"b\.py: is read-only; no file was changed"):
            write_all({tmp_path / "a.py": (b"a", b"A"), tmp_path / "b.py": (b"b", b"B")})
        assert content(tmp_path) == {"a.py": b"a", "b.py": b"b"}

    def test_a_file_that_changed_meanwhile_is_an_error_and_nothing_changes(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(b"a")
        (tmp_path / "b.py").write_bytes(b"edited")
        with pytest.raises(ScanifyError, match=r"b\.py: changed on disk while scanify was at work"):
            write_all({tmp_path / "a.py": (b"a", b"A"), tmp_path / "b.py": (b"b", b"B")})
        assert content(tmp_path) == {"a.py": b"a", "b.py": b"edited"}

    def test_a_file_that_is_gone_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ScanifyError, match=r"gone\.py: cannot be written: No such file"):
            write_all({tmp_path / "gone.py": (b"a", b"A")})

    @pytest.mark.parametrize("failing", [1, 2])
    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    def test_what_fails_halfway_is_undone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int, error: BaseException
    ) -> None:
        (tmp_path / "a.py").write_bytes(b"a")
        (tmp_path / "b.py").write_bytes(b"b")
        original, calls = Path.replace, []

        def replace(self: Path, target: Path) -> Path:
            calls.append(target)
            if len(calls) == failing:
                raise error
            return original(self, target)

        monkeypatch.setattr(write.Path, "replace", replace)
        expected = ScanifyError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            write_all({tmp_path / "a.py": (b"a", b"A"), tmp_path / "b.py": (b"b", b"B")})
        assert content(tmp_path) == {"a.py": b"a", "b.py": b"b"}
        assert len(calls) == (1 if failing == 1 else 3)

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
    def test_a_folder_that_cannot_be_written_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "m.py"
        path.write_bytes(b"old")
        tmp_path.chmod(0o555)
        try:
            with pytest.raises(ScanifyError, match="cannot be written: Permission denied; no file was changed"):
                write_all({path: (b"old", b"new")})
        finally:
            tmp_path.chmod(0o755)
        assert content(tmp_path) == {"m.py": b"old"}
