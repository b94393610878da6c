"""Process groups on a machine without /proc, by `ps`; with /proc they are tested through whole children."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scanify.verify.children import group

PS = """#!/bin/sh
case "$3" in
pid=,ppid=,pgid=) printf '    1     0     1\\n  100     1   100\\n  101   100   100\\n  102   101   102\\n  200     1   200\\n' ;;
pid=,rss=) printf '    1  9000\\n  100  1000\\n  101   500\\n  102   250\\n  200  7000\\n' ;;
*) exit 1 ;;
esac
"""


@pytest.fixture
def without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose processes are a leader (100), its child (101), that one's child in a group of its own (102),
    and others."""
    (tmp_path / "ps").write_text(PS)
    (tmp_path / "ps").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(group, "_PROC", tmp_path / "missing")


@pytest.mark.usefixtures("without_proc")
def test_without_proc_the_members_are_the_group_and_its_descendants() -> None:
    assert group.members(100) == [100, 101, 102]


@pytest.mark.usefixtures("without_proc")
def test_without_proc_memory_is_what_ps_says_in_kilobytes() -> None:
    assert group.resident_bytes(100) == 1750 * 1024


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_the_name_of_a_command_does_not_confuse(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 2 (b"
    odd.symlink_to(sys.executable)
    sleeper = subprocess.Popen([odd, "-S", "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        assert group.members(sleeper.pid) == [sleeper.pid]
        assert group.resident_bytes(sleeper.pid) > 2**20
        group.kill(sleeper.pid)
        assert sleeper.wait(timeout=10) == -9
    finally:
        sleeper.kill()
        sleeper.communicate()
