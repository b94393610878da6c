"""The features of the server, as pygls handlers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

import scanify
from scanify.configuration.config import OF_FRAMEWORKS, TARGETS
from scanify.configuration.ignoring import UNKNOWN, UNUSED
from scanify.errors import ScanifyError
from scanify.report.findings.finding import Finding
from scanify.rules import RULES, find_rule
from scanify.server.changes import edits_of, ignoring
from scanify.server.documents import Document, Notebook, split
from scanify.server.jobs import Rewrite
from scanify.server.schedule import Schedule
from scanify.server.shown import diagnostic, hover_text, page_uri, path_of
from scanify.source.root import normal, project_root
from scanify.verdicts import last_verdict

EXPLAIN, REWRITE = "scanify.explain", "scanify.rewrite"
_JUPYTER = types.NotebookDocumentFilterNotebookType("jupyter-notebook")
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(notebook=_JUPYTER, cells=[types.NotebookCellLanguage("python")])]
)


class Server(LanguageServer):
    """The language server, with its open documents and their findings."""

    def __init__(self) -> None:
        super().__init__("scanify", scanify.__version__, notebook_document_sync=_NOTEBOOKS)
        self.documents: dict[Path, Document | Notebook] = {}
        self.schedule = Schedule(self.documents.values(), self.tell, self.warn)
        self._warned: set[str] = set()

    # -- documents ---------------------------------------------------------------------------------------------------

    def root_of(self, path: Path) -> Path | None:
        """Return the project root of a file, or None if no folder open in the editor contains the file."""
        folders = [normal(folder) for each in self.workspace.folders.values() if (folder := path_of(each.uri))]
        if not folders and self.workspace.root_path:
            folders = [normal(Path(self.workspace.root_path))]
        if folders and not any(path.is_relative_to(folder) for folder in folders):
            return None
        return project_root([path])

    def document_at(self, uri: str) -> tuple[Document | Notebook, str] | None:
        """Return the document with a URI and its text; for a notebook, the text of the cell."""
        for each in self.documents.values():
            if isinstance(each, Document) and each.uri == uri:
                return each, each.text
            if isinstance(each, Notebook):
                for cell, text in each.cells:
                    if cell == uri:
                        return each, text or ""
        return None

    def findings_at(self, uri: str, first: int, last: int) -> list[Finding]:
        """Return the findings on a range of lines (from 0)."""
        found = self.document_at(uri)
        if found is None:
            return []
        document, _ = found
        known = document.findings if isinstance(document, Document) else document.findings.get(uri, ())
        return [each for each in known if first <= each.mark.line - 1 <= last]

    # -- diagnostics -------------------------------------------------------------------------------------------------

    def tell(self, document: Document | Notebook) -> None:
        if self.documents.get(document.path) is not document:
            return
        if isinstance(document, Document):
            self._publish(document.uri, document.text, document.findings, document.version)
            return
        for uri, text in document.cells:
            if text is not None:
                self._publish(uri, text, document.findings.get(uri, ()), None)

    def _publish(self, uri: str, text: str, findings: Sequence[Finding], version: int | None) -> None:
        lines, codec = split(text), self.workspace.position_codec
        shown = [diagnostic(each, lines, codec) for each in findings]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, version))

    def forget(self, uri: str) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def warn(self, message: str) -> None:
        """Show a warning to the user, once per message."""
        if message not in self._warned:
            self._warned.add(message)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"scanify: {message}"))


server = Server()


# -- documents -------------------------------------------------------------------------------------------------------


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
async def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    given = params.text_document
    path = path_of(given.uri)
    if path is None or (root := ls.root_of(normal(path))) is None:
        return
    document = Document(normal(path), root, given.uri, given.text, given.version)
    ls.documents[document.path] = document
    ls.schedule.project(root)
    ls.schedule.warm(document)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    found = ls.document_at(params.text_document.uri)
    if found is None or not isinstance(document := found[0], Document):
        return
    document.edited(ls.workspace.get_text_document(document.uri).source, params.text_document.version)
    ls.schedule.changed(document)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
async def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    found = ls.document_at(params.text_document.uri)
    if found is not None and isinstance(found[0], Document):
        del ls.documents[found[0].path]
        ls.forget(found[0].uri)
        ls.schedule.project(found[0].root)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
async def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    _again(ls)


@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
async def did_change_watched_files(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    _again(ls)


def _again(ls: Server) -> None:
    for root in {each.root for each in ls.documents.values()}:
        ls.schedule.project(root)


@server.feature(types.INITIALIZED)
async def initialized(ls: Server, params: types.InitializedParams) -> None:
    workspace = ls.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is None or not watching.dynamic_registration:
        return
    files = [types.FileSystemWatcher(pattern) for pattern in ("**/*.py", "**/*.ipynb", "**/pyproject.toml")]
    options = types.DidChangeWatchedFilesRegistrationOptions(files)
    what = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await ls.client_register_capability_async(types.RegistrationParams([what]))


@server.feature(types.SHUTDOWN)
async def shutdown(ls: Server, params: Any) -> None:
    ls.schedule.close()


# -- notebooks -------------------------------------------------------------------------------------------------------


def _cells(ls: Server, notebook: types.NotebookDocument) -> list[tuple[str, str | None]]:
    def text(cell: types.NotebookCell) -> str | None:
        if cell.kind is not types.NotebookCellKind.Code:
            return None
        document = ls.workspace.text_documents.get(cell.document)
        return document.source if document is not None and document.language_id in ("python", "") else None

    return [(cell.document, text(cell)) for cell in notebook.cells]


@server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
async def notebook_did_open(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    given = params.notebook_document
    path = path_of(given.uri)
    if path is None or (root := ls.root_of(normal(path))) is None:
        return
    ls.documents[normal(path)] = Notebook(normal(path), root, given.uri, _cells(ls, given), given.version)
    ls.schedule.project(root)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
async def notebook_did_change(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    given = ls.workspace.get_notebook_document(notebook_uri=params.notebook_document.uri)
    path = path_of(params.notebook_document.uri)
    notebook = ls.documents.get(normal(path)) if path is not None else None
    if given is None or not isinstance(notebook, Notebook):
        return
    notebook.edited(_cells(ls, given), params.notebook_document.version)
    ls.schedule.changed(notebook)


@server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
async def notebook_did_close(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    path = path_of(params.notebook_document.uri)
    notebook = ls.documents.pop(normal(path), None) if path is not None else None
    if isinstance(notebook, Notebook):
        for uri, _ in notebook.cells:
            ls.forget(uri)
        ls.schedule.project(notebook.root)


# -- hovers and code actions -----------------------------------------------------------------------------------------


@server.feature(types.TEXT_DOCUMENT_HOVER)
async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    row = params.position.line
    found = ls.findings_at(params.text_document.uri, row, row)
    document = ls.document_at(params.text_document.uri)
    if not found or document is None:
        return None
    verdict = last_verdict(document[0].root, document[0].path, document[1])
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, hover_text(found, verdict)))


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions([types.CodeActionKind.QuickFix], resolve_provider=True),
)
async def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    uri = params.text_document.uri
    found = ls.document_at(uri)
    if found is None:
        return []
    document, text = found
    codec, lines = ls.workspace.position_codec, split(text)
    actions: list[types.CodeAction] = []
    for each in ls.findings_at(uri, params.range.start.line, params.range.end.line):
        about = [diagnostic(each, lines, codec)]
        kind = types.CodeActionKind.QuickFix
        if each.fix is not None:
            actions += [_rewrite_action(ls, document, each, about, target) for target in _targets(each)]
        if each.rule not in (UNUSED, UNKNOWN) and (edit := ignoring(each, text, codec)) is not None:
            change = types.WorkspaceEdit(changes={uri: [edit]})
            actions.append(types.CodeAction(f"Ignore {each.rule} here", kind, about, edit=change))
        title = f"Explain {each.rule}"
        actions.append(
            types.CodeAction(title, kind, about, command=types.Command(title, EXPLAIN, arguments=[each.rule]))
        )
    return actions


def _targets(each: Finding) -> tuple[str, ...]:
    """Return the targets that fit the framework of a loop's layers."""
    others = {target for targets in OF_FRAMEWORKS.values() for target in targets}
    return OF_FRAMEWORKS.get(each.framework, tuple(target for target in TARGETS if target not in others))


def _rewrite_action(
    ls: Server, document: Document | Notebook, each: Finding, about: list[types.Diagnostic], target: str
) -> types.CodeAction:
    """Create a code action whose rewrite is computed only when chosen.

    Clients that can resolve the edit of a code action request it; others run a command.
    """
    unsafe = ", unsafe" if each.fix == "unsafe" else ""
    mark = each.mark
    data = {"path": str(document.path), "line": mark.line, "column": mark.column, "cell": mark.cell, "target": target}
    title = f"Rewrite as a scan, target {target}{unsafe}"
    capabilities = ls.client_capabilities.text_document
    asks = capabilities.code_action if capabilities is not None else None
    resolves = asks is not None and asks.resolve_support is not None and "edit" in asks.resolve_support.properties
    command = None if resolves else types.Command(title, REWRITE, arguments=[data])
    return types.CodeAction(
        title,
        types.CodeActionKind.QuickFix,
        about,
        data=data,
        command=command,
        is_preferred=target == _targets(each)[0],
    )


@server.feature(types.CODE_ACTION_RESOLVE)
async def code_action_resolve(ls: Server, params: types.CodeAction) -> types.CodeAction:
    if params.data is not None and params.command is None:
        params.edit = await _edit(ls, params.data)
    return params


async def _edit(ls: Server, data: Any) -> types.WorkspaceEdit | None:
    path = Path(data["path"])
    document = ls.documents.get(path)
    if document is None:
        return None
    opened = tuple(each.opened for each in ls.documents.values() if each.root == document.root)
    job = Rewrite(document.root, opened, path, data["line"], data["column"], data["cell"], data["target"])
    try:
        done = await ls.schedule.rewrite(job)
    except ScanifyError as error:
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"scanify: {error}"))
        return None
    if not done.texts:
        said = f"scanify: the loop on line {data['line']} {done.why_not}"
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))
        return None
    return types.WorkspaceEdit(document_changes=edits_of(done, ls.documents, ls.workspace.position_codec))


@server.command(REWRITE)
async def rewrite(ls: Server, data: Any) -> None:
    edit = await _edit(ls, data)
    if edit is not None:
        await ls.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "scanify rewrite"))


@server.command(EXPLAIN)
async def explain(ls: Server, rule: str) -> str | None:
    """Show the page of a rule; also return its text, for clients that cannot show documents."""
    if rule not in {each.id for each in RULES}:
        return None
    window = ls.client_capabilities.window
    if window is not None and window.show_document is not None and window.show_document.support:
        await ls.window_show_document_async(types.ShowDocumentParams(page_uri(rule), take_focus=True))
    return find_rule(rule).page.text


def serve() -> None:
    """Serve on standard input and output until the editor exits."""
    server.start_io()
