"""A child process with all processes it started: their memory, and their termination."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    group: int
    session: int


def members(leader: int) -> list[int]:
    """Return the process `leader`, a session leader, the others of its session, and all their descendants."""
    processes = _processes()
    found = {one.pid for one in processes if leader in (one.pid, one.session, one.group)}
    while more := {one.pid for one in processes if one.parent in found} - found:
        found |= more
    return sorted(found)


def resident_bytes(leader: int) -> int:
    """Return the resident bytes of the processes around `leader`; shared pages count once.

    Address space is no measure here: XLA and CUDA reserve much more than they use.
    """
    pids = members(leader)
    if not _PROC.is_dir():
        return _resident_by_ps(pids)
    if len(pids) == 1:
        return _resident(pids[0])
    return sum(_proportional(pid) for pid in pids)


def kill(leader: int) -> None:
    """Kill `leader` and everything around it at once. The caller still has to wait for the leader."""
    for _ in range(20):  # a process may start another one between the listing and the signal
        alive = [pid for pid in members(leader) if not _is_zombie(pid)]
        if not alive:
            return
        for pid in alive:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def kill_below(parent: int) -> None:
    """Kill all descendants of a process at once, but not the process itself."""
    for _ in range(200):  # each of them may start another one between the listing and the signal
        found = [pid for pid in members(parent) if pid != parent and not _is_zombie(pid)]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _processes() -> list[_Process]:
    if not _PROC.is_dir():
        return _processes_by_ps()
    pids = [int(entry.name) for entry in os.scandir(_PROC) if entry.name.isdigit()]
    stats = [(pid, stat) for pid in pids if (stat := _stat(pid)) is not None]
    return [_Process(pid, int(stat[1]), int(stat[2]), int(stat[3])) for pid, stat in stats]


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat after the command, which may contain spaces: state, ppid, pgrp, ..."""
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _is_zombie(pid: int) -> bool:
    if not _PROC.is_dir():
        return False
    stat = _stat(pid)
    return stat is None or stat[0] in "ZX"


def _resident(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _proportional(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return _resident(pid)
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)


def _ps(columns: str) -> list[list[int]]:
    output = subprocess.run(["ps", "-A", "-o", columns], capture_output=True, text=True, check=False).stdout
    return [[int(word) for word in line.split()] for line in output.splitlines() if line.strip()]


def _processes_by_ps() -> list[_Process]:
    # The `sess` column of macOS is a kernel address; the process group replaces the session.
    return [_Process(pid, parent, group, group) for pid, parent, group in _ps("pid=,ppid=,pgid=")]


def _resident_by_ps(pids: list[int]) -> int:
    wanted = set(pids)
    return sum(kilobytes * 1024 for pid, kilobytes in _ps("pid=,rss=") if pid in wanted)
