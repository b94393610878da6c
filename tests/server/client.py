"""A real client of the language server: pygls' own, over the standard streams of a process."""

import ast
import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient


class Client(LanguageClient):
    """Takes down what the server tells."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.applied: list[types.WorkspaceEdit] = []
        self.shown: list[str] = []
        self.texts: dict[str, str] = {}
        self.told = asyncio.Condition()

    async def until(self, wanted: Callable[[], Any], seconds: float = 120) -> Any:
        """Wait for what the server tells next: long, as the machine may be busy with other tests."""
        async with asyncio.timeout(seconds), self.told:
            await self.told.wait_for(wanted)
        return wanted()

    def last(self, uri: str) -> types.PublishDiagnosticsParams | None:
        return next((each for each in reversed(self.published) if each.uri == uri), None)

    def codes(self, uri: str) -> list[tuple[Any, int]] | None:
        last = self.last(uri)
        return None if last is None else [(each.code, each.range.start.line) for each in last.diagnostics]

    async def codes_are(self, uri: str, expected: list[tuple[str, int]]) -> types.PublishDiagnosticsParams:
        try:
            await self.until(lambda: self.codes(uri) == expected)
        except TimeoutError:
            raise AssertionError(f"expected {expected}, got {self.codes(uri)}; {self.messages}") from None
        last = self.last(uri)
        assert last is not None
        return last

    def open(self, path: Path, text: str | None = None) -> str:
        uri, text = path.as_uri(), path.read_text() if text is None else text
        self.texts[uri] = text
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
        return uri

    def type(self, uri: str, version: int, row: int, column: int, text: str, *, instead_of: int = 0) -> None:
        """Put a text where the cursor is, in place of some characters behind it."""
        place = types.Range(types.Position(row, column), types.Position(row, column + instead_of))
        document = types.VersionedTextDocumentIdentifier(version, uri)
        change = types.TextDocumentContentChangePartial(place, text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def actions(self, uri: str, row: int) -> list[types.CodeAction]:
        place = types.Range(types.Position(row, 0), types.Position(row, 0))
        about = types.TextDocumentIdentifier(uri)
        context = types.CodeActionContext([])
        params = types.CodeActionParams(about, place, context)
        found = await self.protocol.send_request_async(types.TEXT_DOCUMENT_CODE_ACTION, params)
        return [_action(each) for each in found or []]


def _client() -> Client:
    client = Client()

    async def note(add: Callable[[], None]) -> None:
        async with client.told:
            add()
            client.told.notify_all()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    async def published(params: types.PublishDiagnosticsParams) -> None:
        await note(lambda: client.published.append(params))

    @client.feature(types.WINDOW_SHOW_MESSAGE)
    async def shown(params: types.ShowMessageParams) -> None:
        await note(lambda: client.messages.append(params.message))

    @client.feature(types.WINDOW_SHOW_DOCUMENT)
    async def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        await note(lambda: client.shown.append(params.uri))
        return types.ShowDocumentResult(True)

    @client.feature(types.WORKSPACE_APPLY_EDIT)
    async def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        await note(lambda: client.applied.append(params.edit))
        return types.ApplyWorkspaceEditResult(True)

    return client


@asynccontextmanager
async def connected(*folders: Path, resolves: bool = True) -> AsyncIterator[Client]:
    """A client of a server process, with some folders open."""
    client = _client()
    await client.start_io(sys.executable, "-m", "scanify", "server")
    resolve = types.ClientCodeActionResolveOptions(["edit"]) if resolves else None
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(resolve_support=resolve)
        ),
        window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(True)),
    )
    workspace = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
    await client.initialize_async(types.InitializeParams(capabilities, workspace_folders=workspace))
    client.initialized(types.InitializedParams())
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def _action(found: types.CodeAction | types.Command) -> types.CodeAction:
    """What lsprotocol takes for a bare command, because it has one (in Python's words, then), as the action it is."""
    if isinstance(found, types.CodeAction):
        return found
    inner = ast.literal_eval(found.command)
    return types.CodeAction(
        found.title, command=types.Command(inner["title"], inner["command"], arguments=inner.get("arguments"))
    )


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text with edits, which count characters as UTF-16 does."""
    lines = text.split("\n")

    def offset(at: types.Position) -> int:
        row = lines[at.line].encode("utf-16-le")[: 2 * at.character].decode("utf-16-le")
        return sum(len(line) + 1 for line in lines[: at.line]) + len(row)

    for each in sorted(edits, key=lambda each: offset(each.range.start), reverse=True):
        text = text[: offset(each.range.start)] + each.new_text + text[offset(each.range.end) :]
    return text
