"""A notebook in the real JupyterLab, in headless Chromium: opened, all of its cells run, and what the page shows.

    python -m tests.notebooks.in_jupyterlab NOTEBOOK SCREENSHOT

The browser is spoken to by its own protocol, over a WebSocket, so that nothing is installed but JupyterLab (with ipykernel
and websocket-client) and Chromium.
"""

import base64
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
RUN_ALL = "document.querySelector('[data-command=\"runmenu:run-all\"]')"
# The numbers that the cells were run with, the text of their outputs, and whether a dialog stands in the way.
STATE = """
(() => {
  const text = (query) => Array.from(document.querySelectorAll(query)).map((each) => each.innerText.trim());
  return {
    prompts: text('.jp-Notebook .jp-CodeCell .jp-InputPrompt'),
    outputs: text('.jp-Notebook .jp-OutputArea-output'),
    cells: text('.jp-Notebook .jp-CodeCell .cm-content'),
    dialogs: text('.jp-Dialog-header'),
    ready: document.querySelectorAll('.jp-Notebook .jp-CodeCell').length,
    kernel: text('.jp-Toolbar-kernelName').join(),
    status: (document.querySelector('.jp-Notebook-ExecutionIndicator') || {dataset: {}}).dataset.status || '',
  };
})()
"""


def browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class Page:
    """A tab of the browser."""

    def __init__(self, port: int) -> None:
        import websocket

        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            pages = [each for each in json.load(answer) if each["type"] == "page"]
        self._socket = websocket.create_connection(
            pages[0]["webSocketDebuggerUrl"], timeout=60, suppress_origin=True, max_size=None
        )
        self._numbers = itertools.count(1)

    def close(self) -> None:
        self._socket.close()

    def call(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def value(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def press(self, key: str, code: int, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=modifiers)

    def until(self, found: Callable[[], Any], seconds: float = 120) -> Any:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := found():
                return value
            time.sleep(0.3)
        raise TimeoutError(f"the page did not come so far: {self.value(STATE)}")


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@contextmanager
def _running(command: list[str], address: str, folder: Path, variables: dict[str, str]) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **variables})
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(address, timeout=5):
                    break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.2)
        yield
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def run_all(notebook: Path, screenshot: Path) -> dict[str, Any]:
    """Open a notebook in JupyterLab, run all cells, and answer what the page shows then."""
    program = browser()
    assert program is not None
    lab, debug = free_port(), free_port()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        places = [Path(name) / each for each in ("lab", "browser")]
        for place in places:
            place.mkdir()
        server = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={lab}", "--ip=127.0.0.1"]
        server += ["--IdentityProvider.token=", f"--ServerApp.root_dir={notebook.parent}"]
        server += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        variables = dict.fromkeys(("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"), name)
        window = [program, "--headless=new", "--no-sandbox", "--disable-gpu", f"--remote-debugging-port={debug}"]
        window += [f"--user-data-dir={places[1]}", "--window-size=1300,1700", "about:blank"]
        with (
            _running(server, f"http://127.0.0.1:{lab}/api", places[0], variables),
            _running(window, f"http://127.0.0.1:{debug}/json/version", places[1], {}),
            ExitStack() as stack,
        ):
            page = stack.enter_context(closing(Page(debug)))
            page.call("Page.enable")
            page.call("Page.navigate", url=f"http://127.0.0.1:{lab}/lab/tree/{notebook.name}")
            page.until(lambda: "Python" in (state := page.value(STATE))["kernel"] and state["status"] == "idle")
            _run_by_menu(page)
            try:
                page.until(lambda: _ran(page.value(STATE)))
            finally:
                screenshot.write_bytes(base64.b64decode(page.call("Page.captureScreenshot")["data"]))
            found = page.value(STATE)
            return dict(found)


def _run_by_menu(page: Page) -> None:
    """Click on Run, and on Run All Cells, as a user does."""
    for text in ("Run", "Run All Cells"):
        place = page.until(
            lambda text=text: page.value(
                "(() => { const found = Array.from(document.querySelectorAll('.lm-MenuBar-itemLabel, .lm-Menu-itemLabel'))"
                f".find((each) => each.innerText.trim() === {text!r}); if (!found) return null;"
                "const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
            )
        )
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
        time.sleep(0.5)


def _ran(state: dict[str, Any]) -> bool:
    return state["status"] == "idle" and all(prompt.strip("[]:").isdigit() for prompt in state["prompts"])


if __name__ == "__main__":
    print(json.dumps(run_all(Path(sys.argv[1]).resolve(), Path(sys.argv[2])), indent=1, ensure_ascii=False))
