"""What people see: lines that fit a terminal, colours where they are wanted, completion, and the manual page."""

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from scanify.cli import COMMANDS
from scanify.manual import page
from scanify.report.diff import coloured
from scanify.report.terminal import wrapped
from tests.command import MODEL, REFUSED, Tool

ROOT = Path(__file__).resolve().parents[1]
CODE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")


def on_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """What a command prints on a terminal of 80 columns, both of its streams."""
    import fcntl
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    variables |= {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "scanify", *arguments]
    with subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, env=variables) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        process.wait()
    os.close(master)
    # What said that it takes a while is drawn over.
    return re.sub(r"[^\n]*\r\x1b\[K", "", text.decode().replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "m.py", "refused.py"),
        ("rewrite", "--no-verify", "--check", "."),
        ("rules",),
        ("config",),
        ("check", "gone" * 20),
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_word_is_broken_at_80_columns(tool: Tool, arguments: tuple[str, ...]) -> None:
    tool.write("m.py", MODEL)
    tool.write("refused.py", REFUSED)
    text = on_terminal(tool.folder, *arguments)
    lines = CODE.sub("", text).split("\n")
    words = [line for line in lines if len(line) > 80 and " " in line.strip() and " | " not in line]
    assert words == [] and len(lines) > 1
    piped = tool(*arguments)
    assert CODE.sub("", text).split() == f"{piped.out}{piped.err}".split(), "the words are those of a pipe"


def test_what_is_looked_at_as_it_stands_is_not_broken() -> None:
    source = "12 |     " + "word " * 30
    coloured_source = f"\x1b[34m12\x1b[0m \x1b[34m|\x1b[0m {'word ' * 30}"
    for line in (source, coloured_source, "a" * 200):
        assert wrapped(line, 80) == line
    assert wrapped(f"    note: {'word ' * 20}".rstrip(), 40).split("\n")[1].startswith("        word")


@pytest.mark.whole
def test_colours_are_as_the_environment_says(tool: Tool) -> None:
    tool.write("m.py", MODEL)
    for arguments in (("check", "m.py"), ("rewrite", "--no-verify", "--diff", "m.py")):
        assert "\x1b[3" in on_terminal(tool.folder, *arguments)
        assert "\x1b[3" not in on_terminal(tool.folder, *arguments, NO_COLOR="1")
        command = [sys.executable, "-m", "scanify", *arguments]
        for variable, wanted in (("FORCE_COLOR", True), ("NO_COLOR", False)):
            variables = {**os.environ, "PYTHONPATH": str(ROOT), variable: "1"}
            done = subprocess.run(command, cwd=tool.folder, capture_output=True, text=True, env=variables, check=False)
            assert ("\x1b[3" in done.stdout) == wanted


def test_a_coloured_diff_is_the_diff() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n-x = 1\r\n+x = 2\r\n y = 3\n\\ No newline at end of file\n"
    assert CODE.sub("", coloured(diff)) == diff
    assert "\x1b[31m-x = 1\x1b[0m\r\n" in coloured(diff) and "\x1b[1m--- a.py\x1b[0m" in coloured(diff)


def test_a_long_wait_is_explained_and_taken_away_again() -> None:
    code = "import time; from scanify.report import progress as p; p._PATIENCE = 0.0\nwith p.waiting('counting sheep ...'): time.sleep(0.3)\nprint('done')"
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=slave, stderr=slave, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ):
        pass
    os.close(slave)
    text = os.read(master, 65536).decode()
    os.close(master)
    assert text == "counting sheep ...\r\x1b[Kdone\r\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


class TestCompletion:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "BASH_COMPLETION_USER_DIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        return tmp_path

    @pytest.mark.parametrize(
        ("shell", "place"),
        [
            ("bash", ".local/share/bash-completion/completions/scanify"),
            ("zsh", ".zfunc/_scanify"),
            ("fish", ".config/fish/completions/scanify.fish"),
        ],
    )
    def test_it_is_installed_by_one_command(self, tool: Tool, home: Path, shell: str, place: str) -> None:
        printed = tool("completion", shell)
        for _ in range(2):
            done = tool("completion", shell, "--install")
            assert done.code == 0 and place in done.out
        assert (home / place).read_text() == printed.out
        if shell == "zsh":
            assert (home / ".zshrc").read_text().count("completion of scanify") == 1

    def test_bash_completes_with_it(self, tool: Tool, home: Path) -> None:
        if shutil.which("bash") is None:
            pytest.skip("there is no bash here")
        tool("completion", "bash", "--install")
        (home / "bin").mkdir()
        program = home / "bin" / "scanify"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m scanify "$@"\n')
        program.chmod(0o755)
        script = home / ".local/share/bash-completion/completions/scanify"
        code = f"source {script}; COMP_WORDS=(scanify che); COMP_CWORD=1; _scanify_completion scanify; echo ${{COMPREPLY[@]}}"
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, env=variables, check=True)
        assert done.stdout.strip() == "check"


def test_the_manual_page_has_every_command_and_man_takes_it(tmp_path: Path) -> None:
    text = page()
    assert all(f".B scanify {name}" in text for name in COMMANDS)
    assert "\b" not in text and "\\-\\-fix\\-ignores" in text
    if shutil.which("man") is None:
        pytest.skip("there is no man here")
    (tmp_path / "scanify.1").write_text(text)
    variables = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["man", "-l", "--warnings", str(tmp_path / "scanify.1")],
        capture_output=True,
        text=True,
        env=variables,
        check=True,
    )
    assert done.stderr == ""
    assert "REWRITE" in done.stdout and "--memory-budget SIZE" in CODE.sub("", re.sub(".\b", "", done.stdout))
