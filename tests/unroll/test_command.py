"""`scanify unroll` from outside: what comes out, with which exit code, and which files change."""

import subprocess

import pytest

from scanify.errors import Exit
from tests.command import CALLER, COMMAND, MODEL, Tool, environment


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("SCANIFY_CACHE_DIR", raising=False)


def test_a_rewrite_and_the_way_back(tool: Tool) -> None:
    path = tool.write("model.py", MODEL.replace("\n", "\r\n"))
    before = path.read_bytes()
    assert tool("rewrite", "--remat", "nested", ".").code == Exit.OK and path.read_bytes() != before
    done = tool("unroll", ".")
    assert (done.code, path.read_bytes()) == (Exit.OK, before)
    assert done.err.startswith("model.py: what it was before it was rewritten\n    note: ")
    assert "scanify convert OLD NEW --unstack" in done.err and done.err.endswith("\n1 file unrolled.\n")
    assert tool("unroll", ".").err == "Nothing to unroll.\n"


@pytest.mark.parametrize("option", ["--diff", "--check"])
def test_nothing_is_written_where_that_is_only_asked(tool: Tool, option: str) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", ".")
    scan = path.read_text()
    done = tool("unroll", option, ".")
    assert (done.code, path.read_text()) == (Exit.FINDINGS, scan)
    assert ("-from scanify.nn import ArrayStacked\n" in done.out) == (option == "--diff")
    assert done.err.endswith("1 file would be unrolled.\n")


def test_without_what_was_kept_the_loop_is_read_off(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", "--remat", "nested", ".")
    monkeypatch.setenv("CI", "1")
    done = tool("unroll", ".")
    assert (done.code, path.read_text()) == (Exit.OK, MODEL)
    assert "`self.layers.fold` is a loop over a list\n" in done.err
    assert 'the policy "nested" of the stack is gone' in done.err


def test_a_loop_that_is_not_shown_is_held_back(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", ".")
    path.write_text(path.read_text().replace("fold(x)", "fold_via(Block.__call__)(x * 2)"))
    scan = path.read_text()
    done = tool("unroll", ".")
    assert (done.code, path.read_text()) == (Exit.OK, scan)
    assert "can be a loop, but that is unsafe\n" in done.err and "--case" in done.err
    assert tool("unroll", "--unsafe", ".").code == Exit.OK
    assert "        x = x * 2\n        for layer in self.layers:\n            x = layer(x)\n" in path.read_text()


def test_standard_input(tool: Tool) -> None:
    path = tool.write("model.py", MODEL)
    tool("rewrite", ".")
    scan = path.read_bytes()
    done = subprocess.run([*COMMAND, "unroll", "-"], input=scan, capture_output=True, env=environment(), check=False)
    assert done.stdout.decode() == MODEL
    assert path.read_bytes() == scan


@pytest.mark.parametrize("kept", [True, False])
def test_files_that_were_not_named_stay(tool: Tool, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    tool.write("model.py", MODEL.replace("        return x\n", "        return x * 1\n"))
    tool.write("caller.py", CALLER)
    tool.write("apart.py", MODEL.replace("layer", "block"))
    before = tool.files()
    assert tool("rewrite", ".").code == Exit.OK
    scans = tool.files()
    assert all(scans[name] != before[name] for name in before)
    if not kept:
        monkeypatch.setenv("CI", "1")
    done = tool("unroll", "caller.py", "apart.py")
    assert "together with model.py" in done.err
    now = tool.files()
    assert (now["model.py"], now["caller.py"]) == (scans["model.py"], scans["caller.py"])
    assert now["apart.py"] == before["apart.py"]
    assert tool("unroll", ".").code == Exit.OK
    assert tool.files()["caller.py"] == before["caller.py"]
