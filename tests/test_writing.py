"""Files that are written: what stays of them, whoever else writes, and runs that are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scanify.errors import ScanifyError
from scanify.source import write
from scanify.source.journal import finish_earlier
from scanify.source.write import write_all

ROOT = Path(__file__).resolve().parents[1]

# Writes some files and stops where it is told to: when a file is about to be put in its place, or a part of it is.
WRITER = """
import sys, time
from pathlib import Path
from scanify.source import write, journal
root, point, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = 0
def pausing(function):
    def paused(*arguments):
        global calls
        calls += 1
        if calls == number:
            (root / "here").touch()
            time.sleep(60)
        return function(*arguments)
    return paused
if point == "prepare":
    write._prepare = pausing(write._prepare)
elif point == "put":
    write.put = pausing(write.put)
elif point == "inside":
    def put(temporary, target, data):
        with target.open("r+b") as file:
            file.truncate(0)
            file.write(data[: len(data) // 2])
            file.flush()
            (root / "here").touch()
            time.sleep(60)
    write.put = put
elif point == "end":
    journal.Journal.end = pausing(journal.Journal.end)
files = sorted(root.glob("*.py"))
write.write_all({file: (file.read_bytes(), file.read_bytes() + b"# new\\n") for file in files}, root)
"""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / f"{name}.py").write_bytes(f"{name} = 1\n".encode())
    return tmp_path


def started(folder: Path, point: str, number: int) -> subprocess.Popen[bytes]:
    """A process that writes the files of a folder, which has come to a point."""
    arguments = [sys.executable, "-c", WRITER, str(folder), point, str(number)]
    process = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": str(ROOT)})
    for _ in range(3000):
        if (folder / "here").exists():
            (folder / "here").unlink()
            return process
        assert process.poll() is None
        time.sleep(0.01)
    raise AssertionError("the process did not come to its point")


def killed(folder: Path, point: str, number: int) -> None:
    process = started(folder, point, number)
    process.kill()
    process.wait()


OLD = {f"{name}.py": f"{name} = 1\n".encode() for name in "abc"}
NEW = {name: data + b"# new\n" for name, data in OLD.items()}


class TestKilled:
    @pytest.mark.parametrize(
        "point", [("prepare", 1), ("prepare", 3), ("put", 1), ("put", 2), ("put", 3), ("inside", 1), ("end", 1)]
    )
    def test_the_next_run_finishes_or_clears_away(self, three: Path, point: tuple[str, int]) -> None:
        killed(three, *point)
        assert any("scanify" in name for name in content(three))
        written, left = finish_earlier(three)
        assert content(three) == (OLD if point[0] == "prepare" else NEW)
        assert left == ()
        assert len(written) == {"prepare": 0, "put": 4 - point[1], "inside": 3, "end": 0}[point[0]]
        assert finish_earlier(three) == ((), ())

    def test_a_file_that_somebody_wrote_since_is_left_alone_and_named(self, three: Path) -> None:
        killed(three, "put", 2)
        (three / "b.py").write_bytes(b"mine\n")
        assert finish_earlier(three) == ((three / "c.py",), (three / "b.py",))
        assert content(three) == {**NEW, "b.py": b"mine\n"}

    def test_a_run_that_lives_is_left_alone(self, three: Path) -> None:
        process = started(three, "prepare", 2)
        before = content(three)
        assert finish_earlier(three) == ((), ())
        assert content(three) == before
        process.kill()
        process.wait()

    def test_the_command_says_what_it_finished(self, three: Path) -> None:
        killed(three, "put", 3)
        command = [sys.executable, "-m", "scanify", "rewrite", "--no-verify", "."]
        done = subprocess.run(
            command, cwd=three, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        assert done.returncode == 0
        assert "scanify: c.py holds now what a run that was stopped had begun to write" in done.stderr
        assert content(three) == NEW

    def test_killed_at_random(self, three: Path, request: pytest.FixtureRequest) -> None:
        """All files are old or all are new once the next run was there, and nothing else lies there."""
        source = random.Random(3)
        code = WRITER.replace(
            "root, point, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])",
            "root, point, number = Path(sys.argv[1]), '', 0",
        )
        code = code.replace("import sys, time", "import sys, time, os\nos.fsync = lambda handle: time.sleep(0.004)")
        code = code.replace("files = sorted", "print('begun', flush=True)\nfiles = sorted")
        seen = set()
        for _ in range(60 if request.config.getoption("--whole") else 6):
            for name, data in OLD.items():
                (three / name).write_bytes(data)
            arguments = [sys.executable, "-c", code, str(three)]
            with subprocess.Popen(
                arguments, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
            ) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(source.uniform(0, 0.04))
                process.send_signal(signal.SIGKILL)
            finish_earlier(three)
            found = content(three)
            assert found in (OLD, NEW)
            seen.add(found == NEW)
        assert seen


class TestWhatStays:
    def test_other_names_of_a_file_stay_names_of_it(self, three: Path) -> None:
        (three / "other").hardlink_to(three / "a.py")
        write_all({three / "a.py": (b"a = 1\n", b"new\n")})
        assert (three / "other").read_bytes() == b"new\n"
        assert (three / "a.py").stat().st_nlink == 2

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away")
    def test_the_owner_stays(self, three: Path) -> None:
        os.chown(three / "a.py", 1234, 4321)
        write_all({three / "a.py": (b"a = 1\n", b"new\n")})
        status = (three / "a.py").stat()
        assert (status.st_uid, status.st_gid) == (1234, 4321)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away")
    def test_where_a_new_file_cannot_have_the_owner_the_old_one_is_written(
        self, three: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(path: object, uid: int, gid: int) -> None:
            raise PermissionError(1, "Operation not permitted")

        os.chown(three / "a.py", 1234, 4321)
        number = (three / "a.py").stat().st_ino
        monkeypatch.setattr(write.os, "chown", refused)
        write_all({three / "a.py": (b"a = 1\n", b"new\n")})
        status = (three / "a.py").stat()
        assert (status.st_uid, status.st_gid, status.st_ino) == (1234, 4321, number)
        assert content(three) == {**OLD, "a.py": b"new\n"}

    def test_attributes_stay(self, three: Path) -> None:
        try:
            os.setxattr(three / "a.py", "user.note", b"kept")
        except (AttributeError, OSError):
            pytest.skip("this file system keeps no attributes")
        write_all({three / "a.py": (b"a = 1\n", b"new\n")})
        assert os.getxattr(three / "a.py", "user.note") == b"kept"

    def test_a_megabyte(self, tmp_path: Path) -> None:
        data = b"x = 1\n" * 200_000
        (tmp_path / "a.py").write_bytes(data)
        write_all({tmp_path / "a.py": (data, data + b"y = 2\n")})
        assert content(tmp_path) == {"a.py": data + b"y = 2\n"}


class TestSomebodyElse:
    def test_what_is_undone_is_undone_only_where_nobody_wrote(
        self, three: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = write.put

        def put(temporary: Path, target: Path, data: bytes) -> None:
            if target.name == "c.py":
                (three / "a.py").write_bytes(b"mine\n")
                raise OSError(28, "No space left on device", str(target))
            original(temporary, target, data)

        monkeypatch.setattr(write, "put", put)
        with pytest.raises(ScanifyError, match=r"a\.py was written by somebody else meanwhile and stays as it is now"):
            write_all({three / name: (data, NEW[name]) for name, data in OLD.items()})
        assert content(three) == {**OLD, "a.py": b"mine\n"}

    def test_of_two_runs_one_writes_and_the_other_says_that_it_did_not(self, three: Path) -> None:
        process = started(three, "put", 1)
        before = content(three)
        second = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(three), "", "0"],
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        time.sleep(0.5)
        assert second.poll() is None, "it waits for the first one"
        assert content(three) == before
        process.kill()
        process.wait()
        assert second.stderr is not None
        second.communicate()
        assert second.returncode == 0
        finish_earlier(three)
        assert content(three) == NEW
