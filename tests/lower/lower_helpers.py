"""Small files for tests of the lowering."""

from pathlib import Path
from textwrap import dedent

from scanify.analysis.index import Module
from scanify.analysis.index.parse import parse


def source(text: str) -> Module:
    text = dedent(text)
    tree = parse(text)
    assert not hasattr(tree, "message"), tree
    return Module(Path("model.py"), "model", Path(), False, text, tree)
