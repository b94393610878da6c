"""Notebooks as their writers and their users leave them, put together at random: each has one loop that can be a scan."""

import json
import random
from typing import Any

from tests.notebooks.notebook import BLOCK, IMPORTS, MODEL, PYTHON

_ASIDE = (
    "%%time\nsum(range(10))",
    "%%capture out\nprint(1)",
    "%%bash\nfor f in *; do echo $f; done",
    "%%html\n<b>layers</b>",
    "!pip install equinox",
    "%matplotlib inline\n%load_ext autoreload\n%autoreload 2",
    "?print\nprint?\njax.jit??",
    "files = !ls\nx = %pwd",
    "print('🙂 ünïcode \u2028 \\n')",
    "# %% not a cell\n'''a\n  % b\n'''",
    "",
    "\n\n",
    "def f(x):\n\treturn x\n",
    "text = r'\\u0041 \\ \"quoted\"'",
    "if True:\n    %time y = 1\n    !echo $y",
    "await_me = 1;",
)


def random_notebook(seed: int) -> bytes:
    source = random.Random(seed)
    cells = [(IMPORTS, True), (BLOCK, True), (MODEL, True)]
    if source.random() < 0.3:
        cells = [(f"{IMPORTS}\n\n\n{BLOCK}\n\n{MODEL}", True)]
    elif source.random() < 0.3:
        cells = [(f"%matplotlib inline\n{IMPORTS}", True), (f"%%time\n{BLOCK}", True), (MODEL, True)]
    for _ in range(source.randrange(5)):
        cells.insert(source.randrange(len(cells) + 1), (source.choice(_ASIDE), source.random() < 0.8))
    minor = source.choice([0, 2, 4, 5])
    end = source.choice(["\n", "\n", "\r\n"])
    made = [_cell(source, text.replace("\n", end), code=code, minor=minor) for text, code in cells]
    metadata: dict[str, Any] = {**PYTHON, "toc": {"nested": [1, {"a": None}, 1e-7, -0.0]}, "widgets": {}}
    if source.random() < 0.2:
        metadata = {}
    document = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}
    if source.random() < 0.3:
        document = dict(reversed(document.items()))
    text = json.dumps(
        document,
        indent=source.choice([None, 0, 1, 2, 4, "\t"]),
        ensure_ascii=source.random() < 0.5,
        sort_keys=source.random() < 0.3,
        separators=source.choice([None, (",", ":"), (", ", " : ")]),
    )
    text = text.replace("/", "\\/") if source.random() < 0.2 else text
    text = text.replace("\n", "\r\n") if source.random() < 0.2 else text
    bom = b"\xef\xbb\xbf" if source.random() < 0.1 else b""
    return bom + (text + source.choice(["", "\n", "\n\n", "\r\n"])).encode()


def _cell(source: random.Random, text: str, *, code: bool, minor: int) -> dict[str, Any]:
    lines: str | list[str] = text.splitlines(keepends=True) if source.random() < 0.7 else text
    if isinstance(lines, list) and source.random() < 0.2:
        lines = [text[:7], text[7:]]  # strings that are no lines
    cell: dict[str, Any] = {"cell_type": "code" if code else source.choice(["markdown", "raw"])}
    cell["metadata"] = source.choice(
        [{}, {"tags": ["a", "ü"]}, {"collapsed": False, "jupyter": {"source_hidden": True}}]
    )
    cell["source"] = lines
    if code:
        image = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 2000, "text/plain": ["<Figure>"]}}
        stream = {"output_type": "stream", "name": "stdout", "text": ["for layer in self.layers:\n", "\u001b[31mred"]}
        cell["outputs"] = source.choice([[], [{**image, "metadata": {}}], [stream, stream]])
        cell["execution_count"] = source.choice([None, 3])
    elif cell["cell_type"] == "markdown" and source.random() < 0.5:
        cell["attachments"] = {"a.png": {"image/png": "AAAA" * 500}}
    if minor >= 5:
        cell["id"] = f"{source.randrange(16**8):08x}"
    return dict(reversed(cell.items())) if source.random() < 0.5 else cell
