"""`scanify server`, a process of its own, spoken to by a real client over its standard streams."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from scanify.cli import run
from scanify.verdicts import keep_verdict
from scanify.verify.verdict import CaseResult, PolicyResult, Status, Verdict, Verification

pytest.importorskip("pygls", reason="the language server needs pygls, an extra of scanify")

from lsprotocol import types

from tests.server.client import Client, applied, connected

MODEL = """\
import equinox as eqx
import jax


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, *, key):
        self.linear = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Model(eqx.Module):
    layers: list[Block]

    def __init__(self, *, key):
        self.layers = [Block(key=k) for k in jax.random.split(key, 3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
LOOP = 21  # its row, from 0
PAIR = '\n\ndef twice(model: Model, x):\n    "🙂"; y = [layer(x) for layer in model.layers]\n    return y\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.scanify]\nexclude = ['left_out.py']\n")
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


async def edit_of(client: Client, action: types.CodeAction) -> types.WorkspaceEdit | None:
    return (await client.code_action_resolve_async(action)).edit


def texts(client: Client, edit: types.WorkspaceEdit) -> dict[str, str]:
    found = {}
    for each in edit.document_changes or []:
        assert isinstance(each, types.TextDocumentEdit)
        uri = each.text_document.uri
        edits = [one for one in each.edits if isinstance(one, types.TextEdit)]
        found[uri] = applied(client.texts[uri], edits)
    return found


def test_what_is_found_follows_what_is_typed(project: Path) -> None:
    async def session() -> None:
        async with connected(project) as client:
            uri = client.open(project / "model.py")
            first = await client.codes_are(uri, [("SCN101", LOOP)])
            assert first.diagnostics[0].range == types.Range(types.Position(LOOP, 8), types.Position(LOOP, 33))
            assert first.diagnostics[0].severity is types.DiagnosticSeverity.Warning
            client.type(uri, 2, 0, 0, "# a line\n")
            assert (await client.codes_are(uri, [("SCN101", LOOP + 1)])).version == 2
            client.type(uri, 3, LOOP + 2, len("            x = layer(x)"), "\n            if x.sum(")
            await client.until(lambda: (last := client.last(uri)) and last.version == 3)
            assert client.codes(uri) == [("SCN101", LOOP + 1)], "half-written: what was found stays"
            client.type(uri, 4, LOOP + 3, len("            if x.sum("), ") > 0: print(x)")
            await client.codes_are(uri, [("SCN207", LOOP + 1)])
            row = MODEL.count("\n") + 2
            client.type(uri, 5, row, 0, PAIR)
            found = await client.codes_are(uri, [("SCN207", LOOP + 1), ("SCN104", row + 3)])
            assert found.diagnostics[1].range.start.character == len('    "🙂"; y = ') + 1, "columns count as UTF-16"
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
            await client.codes_are(uri, [])
            assert client.messages == []

    asyncio.run(session())


@pytest.mark.whole
def test_the_project_counts_with_what_is_not_saved(project: Path, tmp_path: Path) -> None:
    """Another file, another project with a configuration of its own, and files that are none of it."""
    (project / "uses.py").write_text("from model import Model\n")
    (project / "left_out.py").write_text(MODEL)
    other = project / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.scanify]\nignore = ['SCN101']\n")
    (other / "model.py").write_text(MODEL + PAIR)
    beyond = tmp_path.parent / f"{tmp_path.name}-beyond.py"
    beyond.write_text(MODEL)

    async def session() -> None:
        async with connected(project) as client:
            uri, uses = client.open(project / "model.py"), client.open(project / "uses.py")
            await client.codes_are(uri, [("SCN101", LOOP)])
            client.type(uses, 2, 1, 0, "\ndef odd(model: Model):\n    model.layers.append(None)\n    return model\n")
            await client.codes_are(uri, [("SCN102", LOOP)])
            apart = client.open(other / "model.py")
            await client.codes_are(apart, [("SCN104", MODEL.count("\n") + 3)])
            for silent in (project / "left_out.py", beyond):
                silent = client.open(silent)
                client.type(silent, 2, 0, 0, "\n")
            (other / "pyproject.toml").write_text("[tool.scanify]\nignore = ['SCN10']\nselect = 3\n")
            client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(apart)))
            await client.until(lambda: client.messages)
            assert "select" in client.messages[0]
            told = {each.uri for each in client.published if each.diagnostics}
            assert told == {uri, apart}

    asyncio.run(session())


@pytest.mark.parametrize("resolves", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_actions_rewrite_and_ignore_and_explain(project: Path, resolves: bool) -> None:
    async def session() -> None:
        async with connected(project, resolves=resolves) as client:
            uri = client.open(project / "model.py", MODEL.replace("(4, 4", "(4,  4"))  # not saved
            await client.codes_are(uri, [("SCN101", LOOP)])
            actions = {each.title: each for each in await client.actions(uri, LOOP)}
            targets = [f"Rewrite as a scan, target {target}" for target in ("scanify", "haliax", "lax")]
            assert list(actions) == [*targets, "Ignore SCN101 here", "Explain SCN101"]
            for title, sign in zip(targets, ("ArrayStacked", "ScanCheckpointPolicy", "jax.lax.scan"), strict=True):
                if resolves:
                    edit = await edit_of(client, actions[title])
                else:
                    command = actions[title].command
                    assert command is not None
                    params = types.ExecuteCommandParams(command.command, command.arguments)
                    await client.workspace_execute_command_async(params)
                    await client.until(lambda: client.applied)
                    edit = client.applied.pop()
                assert edit is not None
                target = title.rpartition(" ")[2]
                path = project / "model.py"
                path.write_text(client.texts[uri])
                assert run(["rewrite", "--no-verify", "--target", target, str(path)]) == 0
                assert texts(client, edit)[uri] == path.read_text() and sign in path.read_text()
            changes = actions["Ignore SCN101 here"].edit
            assert changes is not None and changes.changes is not None
            (project / "model.py").write_text(applied(client.texts[uri], list(changes.changes[uri])))
            assert "for layer in self.layers:  # scanify: ignore[SCN101]\n" in (project / "model.py").read_text()
            assert run(["check", str(project / "model.py")]) == 0
            explain = actions["Explain SCN101"].command
            assert explain is not None
            params = types.ExecuteCommandParams(explain.command, explain.arguments)
            assert "python-layer-loop" in await client.workspace_execute_command_async(params)
            assert client.shown[0].endswith("SCN101-python-layer-loop.md")

    asyncio.run(session())


@pytest.mark.whole
def test_a_hover_has_the_page_and_the_last_verdict(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)  # Where it is set, no verdict is kept (scanify/cache_folder.py).
    path = project / "model.py"
    proved = Verdict(Status.PROVED)
    case = CaseResult("cases.py:model", proved, (PolicyResult("full", proved, proved),))
    keep_verdict(project, {path: MODEL}, Verification((case,)))

    async def session() -> None:
        async with connected(project) as client:
            uri = client.open(path)
            await client.codes_are(uri, [("SCN101", LOOP)])
            about = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(LOOP, 12))
            found = await client.text_document_hover_async(about)
            assert found is not None and isinstance(found.contents, types.MarkupContent)
            said = found.contents.value
            assert "**SCN101** loop over self.layers can be a fold" in said and "**What to do**" in said
            assert said.endswith(
                "**Last verification** ✓ cases.py:model: parameters PROVED, outputs PROVED, gradients PROVED"
            )
            client.type(uri, 2, 0, 0, "\n")
            about.position = types.Position(LOOP + 1, 12)
            found = await client.text_document_hover_async(about)
            assert found is not None and isinstance(found.contents, types.MarkupContent)
            assert "(of an earlier text of this file)" in found.contents.value
            about.position = types.Position(0, 0)
            assert await client.text_document_hover_async(about) is None

    asyncio.run(session())


def test_notebooks_are_followed_cell_by_cell(project: Path) -> None:
    head, _, tail = MODEL.partition("\n\nclass Model")
    contents = [("# Model", "markdown"), (f"%matplotlib inline\n{head}", "python"), (f"class Model{tail}", "python")]
    path = project / "model.ipynb"

    async def session() -> None:
        async with connected(project) as client:
            cells = [
                types.TextDocumentItem(f"{path.as_uri()}#{at}", language, 1, text)
                for at, (text, language) in enumerate(contents)
            ]
            client.texts.update({each.uri: each.text for each in cells})
            kinds = {"markdown": types.NotebookCellKind.Markup, "python": types.NotebookCellKind.Code}
            listed = [types.NotebookCell(kinds[each.language_id], each.uri) for each in cells]
            notebook = types.NotebookDocument(path.as_uri(), "jupyter-notebook", 1, listed)
            client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, cells))
            uri, row = cells[2].uri, 7
            await client.codes_are(uri, [("SCN101", row)])
            actions = await client.actions(uri, row)
            edit = await edit_of(client, actions[0])
            assert edit is not None
            changed = texts(client, edit)
            assert set(changed) == {cells[1].uri, cells[2].uri}
            assert (
                changed[cells[1].uri].startswith("%matplotlib inline\n")
                and "import ArrayStacked" in changed[cells[1].uri]
            )
            assert "ArrayStacked.init" in changed[uri] or "ArrayStacked.of" in changed[uri]
            about = types.VersionedTextDocumentIdentifier(2, uri)
            place = types.Range(types.Position(row, 0), types.Position(row, 0))
            change = types.NotebookDocumentCellContentChanges(
                about, [types.TextDocumentContentChangePartial(place, "\n")]
            )
            event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[change]))
            named = types.VersionedNotebookDocumentIdentifier(2, path.as_uri())
            client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(named, event))
            await client.codes_are(uri, [("SCN101", row + 1)])
            client.notebook_document_did_close(
                types.DidCloseNotebookDocumentParams(
                    types.NotebookDocumentIdentifier(path.as_uri()),
                    [types.TextDocumentIdentifier(each.uri) for each in cells],
                )
            )
            await client.codes_are(uri, [])

    asyncio.run(session())


def test_without_pygls_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('pygls')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom scanify.cli import run\nsys.exit(run(['server']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "scanify-jax[server]" in done.stderr and "Traceback" not in done.stderr
