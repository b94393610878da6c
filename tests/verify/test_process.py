"""The parent's side of a child process: answers, output, limits, and that nothing outlives it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scanify.verify.children import group
from scanify.verify.children.limits import Limits
from scanify.verify.children.process import Outcome, run_child

PRELUDE = """
import os, signal, subprocess, sys, time
def answer(fd, text):
    os.write(fd, text.encode() + b"\\n")
def watch(fd):
    import threading
    from scanify.verify.children.in_child import end_with_parent
    threading.Thread(target=end_with_parent, args=(fd,), daemon=True).start()
"""

Child = Callable[..., Outcome]
WIDE = Limits(seconds=60)


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Child:
    """Runs `body` as the `main(request, response, lifeline)` of a child."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(group.__file__).parents[3]}")

    def run(body: str, *, request: bytes = b"", limits: Limits = WIDE, **options: Any) -> Outcome:
        text = textwrap.indent(textwrap.dedent(body), "    ")
        (tmp_path / "written_child.py").write_text(f"{PRELUDE}\ndef main(request, response, lifeline):\n{text}\n")
        return run_child(request, limits, "written_child", **options)

    return run


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def ends(pid: int) -> bool:
    """Whether the process ends within some seconds."""
    for _ in range(200):
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


def test_a_request_goes_in_and_an_answer_comes_out(child: Child) -> None:
    outcome = child("answer(response, os.read(request, 99).decode().upper())", request=b"hello")
    assert (outcome.response, outcome.output, outcome.stopped) == (b"HELLO\n", "", None)


def test_an_answer_larger_than_a_pipe_arrives_whole(child: Child) -> None:
    outcome = child("answer(response, 'x' * 1_000_000)")
    assert outcome.response == b"x" * 1_000_000 + b"\n"


def test_steps_are_told_as_they_come_and_are_no_part_of_the_answer(child: Child) -> None:
    told: list[str] = []
    outcome = child(
        """
        for step in ("one", "two"):
            answer(response, '{"step": "%s"}' % step)
            time.sleep(0.2)
        os.write(response, b'{"step": "th')
        time.sleep(0.2)
        answer(response, 'ree"}\\n{"step": 3, "results": []}\\n{"results": []}')
        """,
        notify=told.append,
    )
    assert told == ["one", "two", "three", "3"]
    assert outcome.response == b'{"results": []}\n'


def test_a_child_that_dies_between_steps_gave_no_answer(child: Child) -> None:
    outcome = child('answer(response, \'{"step": "one"}\'); os._exit(7)')
    assert (outcome.response, outcome.returncode) == (None, 7)


def test_output_of_all_kinds_is_kept_and_cannot_reach_the_answer(child: Child) -> None:
    outcome = child("""
        print("out")
        print("err", file=sys.stderr)
        subprocess.run(["echo", "grandchild"])
        os.write(1, b"\\xff raw\\n")
        answer(response, "done")
    """)
    assert outcome.response == b"done\n"
    assert outcome.output == "out\nerr\ngrandchild\n\N{REPLACEMENT CHARACTER} raw\n"


def test_endless_output_is_kept_in_part_from_both_ends(child: Child) -> None:
    outcome = child("""
        print("first")
        for number in range(100_000):
            print("line", number)
        print("last")
        answer(response, "done")
    """)
    assert outcome.response == b"done\n"
    assert outcome.output.startswith("first\n") and outcome.output.endswith("last\n")
    assert len(outcome.output) < 40_000 and "bytes of output left out" in outcome.output


@pytest.mark.parametrize(("given", "found"), [(None, "false"), ("true", "true")])
def test_jax_takes_memory_of_a_gpu_as_it_needs_it(
    child: Child, monkeypatch: pytest.MonkeyPatch, given: str | None, found: str
) -> None:
    """All of it is gone beside a training run, or beside another child; who has said otherwise is heard."""
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    if given is not None:
        monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", given)
    outcome = child('answer(response, os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"])')
    assert outcome.response == f"{found}\n".encode()


def test_standard_input_is_empty(child: Child) -> None:
    assert child("answer(response, repr(sys.stdin.read()))").response == b"''\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [("sys.exit(3)", 3), ("os._exit(0)", 0), ("os.kill(os.getpid(), signal.SIGKILL)", -9), ("1 / 0", 1)],
)
def test_an_end_without_an_answer_gives_the_exit_code(child: Child, body: str, code: int) -> None:
    outcome = child(body)
    assert (outcome.response, outcome.returncode, outcome.stopped) == (None, code, None)


def test_an_answer_cut_short_is_no_answer(child: Child) -> None:
    outcome = child("os.write(response, b'{'); os._exit(0)")
    assert (outcome.response, outcome.returncode) == (None, 0)


def test_a_child_that_answers_and_stays_is_not_waited_for(child: Child) -> None:
    outcome = child("print(os.getpid())\nanswer(response, 'done')\ntime.sleep(600)")
    assert outcome.response == b"done\n" and outcome.seconds < 60
    assert ends(int(outcome.output))


def test_a_child_that_never_ends_is_stopped_at_the_time_limit(child: Child) -> None:
    outcome = child("print('started')\nwhile True: pass", limits=Limits(seconds=1))
    assert (outcome.response, outcome.stopped, outcome.output) == (None, "time", "started\n")


@pytest.mark.whole
def test_a_child_that_ignores_signals_and_sleeps_is_stopped_with_its_children(child: Child) -> None:
    outcome = child(
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        same_session = subprocess.Popen(["sleep", "600"])
        own_session = subprocess.Popen(["sleep", "600"], start_new_session=True)
        print(os.getpid(), same_session.pid, own_session.pid)
        time.sleep(600)
        """,
        limits=Limits(seconds=1),
    )
    assert outcome.stopped == "time"
    pids = [int(word) for word in outcome.output.split()]
    assert len(pids) == 3 and all(ends(pid) for pid in pids)


def test_children_left_behind_by_an_answered_child_are_ended(child: Child) -> None:
    outcome = child("""
        print(subprocess.Popen(["sleep", "600"]).pid)
        answer(response, "done")
        os._exit(0)
    """)
    assert outcome.response == b"done\n" and ends(int(outcome.output))


# Starts `sleep` so that it is neither in the session of the child nor below any process that still runs.
LOST = """
def lose():
    inner, outer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=-3, stderr=-3)
            os.write(outer, str(sleeper.pid).encode())
            os._exit(0)
        os._exit(0)
    os.wait()
    return os.read(inner, 99).decode()
pid = lose()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_CHILD_SUBREAPER")
@pytest.mark.parametrize(
    ("end", "limit"),
    [
        ("answer(response, pid)", 60),
        ("answer(response, pid); time.sleep(600)", 60),
        ("print(pid); os._exit(7)", 60),
        ("print(pid); os.kill(os.getpid(), signal.SIGKILL)", 60),
        ("print(pid); time.sleep(600)", 1),
    ],
    ids=["answers", "answers and stays", "exits", "is killed", "is stopped"],
)
def test_what_left_the_session_and_lost_its_parent_ends_with_the_child(child: Child, end: str, limit: int) -> None:
    outcome = child(f"{LOST}\n{end}", limits=Limits(seconds=limit))
    assert ends(int((outcome.response or outcome.output).strip()))


def test_a_child_that_takes_too_much_memory_is_stopped(child: Child) -> None:
    limits = Limits(seconds=60, memory=200 * 2**20)
    outcome = child("kept = []\nwhile True: kept.append(b'x' * (8 * 2**20)); time.sleep(0.005)", limits=limits)
    assert (outcome.response, outcome.stopped) == (None, "memory")
    assert 200 * 2**20 < outcome.peak < 4 * 2**30


def test_the_memory_of_its_children_counts(child: Child) -> None:
    hold = "x = b'x' * (150 * 2**20); import time; time.sleep(600)"
    outcome = child(
        f"two = [subprocess.Popen([sys.executable, '-c', {hold!r}]) for _ in range(2)]\ntime.sleep(600)",
        limits=Limits(seconds=60, memory=250 * 2**20),
    )
    assert outcome.stopped == "memory"


@pytest.mark.whole
def test_memory_that_is_reserved_and_not_used_does_not_count(child: Child) -> None:
    outcome = child(
        "import mmap\nreserved = mmap.mmap(-1, 64 * 2**30, flags=mmap.MAP_PRIVATE | 0x4000)\ntime.sleep(0.5)\n"
        "answer(response, 'done')",
        limits=Limits(seconds=60, memory=200 * 2**20),
    )
    assert outcome.response == b"done\n" and outcome.peak < 200 * 2**20


@pytest.mark.whole
def test_memory_that_a_fork_shares_counts_once(child: Child) -> None:
    outcome = child(
        """
        held = b"x" * (150 * 2**20)
        for _ in range(3):
            if os.fork() == 0:
                time.sleep(600)
        time.sleep(3)
        answer(response, "done")
        """,
        limits=Limits(seconds=60, memory=300 * 2**20),
    )
    assert outcome.response == b"done\n" and outcome.peak > 150 * 2**20


def test_an_interrupt_of_the_parent_ends_the_child(child: Child, tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts what runs in the background with the signal ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            child(f"""
                open({str(tmp_path / "half")!r}, "w").write(str(os.getpid()))
                os.rename({str(tmp_path / "half")!r}, {str(tmp_path / "pid")!r})
                time.sleep(600)
            """)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ends(int((tmp_path / "pid").read_text()))


def test_the_death_of_the_parent_ends_the_child_and_what_it_lost(tmp_path: Path) -> None:
    text = f"watch(lifeline)\n{LOST}\nopen({str(tmp_path / 'pid')!r}, 'w').write(f'{{os.getpid()}} {{pid}}\\n')\ntime.sleep(600)"
    text = textwrap.indent(text, "    ")
    (tmp_path / "written_child.py").write_text(f"{PRELUDE}\ndef main(request, response, lifeline):\n{text}\n")
    code = (
        "from scanify.verify.children.process import run_child; from scanify.verify.children.limits import Limits; "
        "run_child(b'', Limits(seconds=60), 'written_child')"
    )
    root = Path(group.__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    with subprocess.Popen([sys.executable, "-c", code], env=env) as parent:
        try:
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().endswith("\n"):
                assert parent.poll() is None
                time.sleep(0.02)
        finally:
            parent.kill()
    assert all(ends(int(pid)) for pid in (tmp_path / "pid").read_text().split())


def test_no_descriptor_is_left_open(child: Child) -> None:
    before = list(Path("/proc/self/fd").iterdir())
    child("answer(response, 'done')")
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
