"""Plans made from source texts by a small reader of its own, so that emission is tested without the analysis."""

import ast
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.plan import Argument, Body, Kind, LayerCall, PerLayer, Plan
from scanify.analysis.stack import After, Annotation, CallStack, InitStack, Wrap
from scanify.emit import rewrite_texts

MODEL = Path("model.py")


class Reader:
    """Finds the loops over `container` in one text, and the places where it is built. ASCII only."""

    def __init__(self, path: Path, text: str, container: str) -> None:
        self.path, self.text, self.container = path, text, container
        self.tree = ast.parse(text)
        self.starts = [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", text))]

    def span(self, node: Any) -> Span:
        start = self.starts[node.lineno - 1] + node.col_offset
        return Span(start, self.starts[node.end_lineno - 1] + node.end_col_offset, node.lineno, node.end_lineno)

    def code(self, node: Any) -> str:
        span = self.span(node)
        return self.text[span.start : span.end]

    def place(self, node: Any) -> Place:
        return Place(self.path, self.span(node))

    def loops(self) -> list[ast.For]:
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.For)]
        return sorted((node for node in found if self.parts(node)[0] == self.container), key=lambda node: node.lineno)

    def parts(self, loop: ast.For) -> tuple[str, list[tuple[str, str]]]:
        """The container, and the other targets with their sources."""
        if isinstance(loop.iter, ast.Call) and self.code(loop.iter.func) == "zip":
            targets = [self.code(each) for each in loop.target.elts][1:]
            sources = [self.code(each) for each in loop.iter.args]
            return sources[0], list(zip(targets, sources[1:], strict=True))
        return self.code(loop.iter), []

    def layer(self, loop: ast.For) -> str:
        return self.code(loop.target if not self.parts(loop)[1] else loop.target.elts[0])

    def body(self, loop: ast.For) -> Body:
        span = self.span(loop)
        first, last = loop.body[0], loop.body[-1]
        if first.lineno == loop.iter.end_lineno:
            return Body(Span(self.span(first).start, span.end, first.lineno, span.end_line))
        line = self.starts[first.lineno - 1]
        while self.text[self.starts[self.line(line - 1) - 1] : line].lstrip().startswith("#"):
            line = self.starts[self.line(line - 1) - 1]
        stop = self.starts[last.end_lineno] if last.end_lineno < len(self.starts) else len(self.text)
        indent = self.text[self.starts[first.lineno - 1] : self.span(first).start]
        return Body(Span(line, stop, self.line(line), last.end_lineno), indent)

    def line(self, offset: int) -> int:
        return sum(start <= offset for start in self.starts)

    def call(self, loop: ast.For, owner: str | None) -> LayerCall | None:
        """The layer's call where the body is `carry = layer(carry, ...)`."""
        if len(loop.body) != 1 or not isinstance(loop.body[0], ast.Assign):
            return None
        target, value = loop.body[0].targets[0], loop.body[0].value
        if not isinstance(value, ast.Call) or not value.args or self.code(value.args[0]) != self.code(target):
            return None
        func, layer, method = value.func, self.layer(loop), "__call__"
        if isinstance(func, ast.Attribute):
            func, method = func.value, func.attr
        if self.code(func) != layer:
            return None
        mine = {name for name, _ in self.parts(loop)[1]}
        arguments = [(None, each) for each in value.args[1:]] + [(each.arg, each.value) for each in value.keywords]
        return LayerCall(
            method,
            owner,
            tuple(Argument(self.code(v), keyword, 0 if self.code(v) in mine else None) for keyword, v in arguments),
        )

    def stack(self) -> InitStack:
        """Where the container is assigned: a display or comprehension to wrap, or an append loop to follow."""
        sites: list[Wrap | After] = []
        annotations: list[Annotation] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.AnnAssign) and self.code(node.target) in (
                self.container,
                self.container.split(".")[-1],
            ):
                old = self.code(node.annotation)
                element = re.search(r"\[(.*)\]", old, re.DOTALL)
                annotations.append(Annotation(self.place(node.annotation), element and element[1]))
            if isinstance(node, ast.Assign) and self.code(node.targets[0]) == self.container:
                sites += [] if self.code(node.value) == "[]" else [Wrap(self.place(node.value))]
            if isinstance(node, ast.For) and self.code(node.body[0]).startswith(f"{self.container}.append"):
                span = self.span(node)
                line, stop = self.starts[span.line - 1], self.starts[min(span.end_line, len(self.starts) - 1)]
                stop = stop if stop > span.end else len(self.text)
                place = Place(self.path, Span(line, stop, span.line, span.end_line))
                sites.append(After(place, self.container, self.text[line : span.start]))
        return InitStack(tuple(sites), tuple(annotations))


def read_plans(
    text: str,
    *,
    carry: str = "x",
    owner: str | None = "Block",
    container: str = "self.layers",
    stack: str = "init",
    path: Path = MODEL,
    taken: tuple[str, ...] = (),
) -> list[Plan]:
    """A plan for each loop over `container` in `text`."""
    reader = Reader(path, text, container)
    names = tuple(carry.split(", "))
    return [
        Plan(
            place=reader.place(loop),
            kind=Kind.FOLD,
            container=container,
            layer=reader.layer(loop),
            carry=names,
            body=reader.body(loop),
            stack=reader.stack() if stack == "init" else CallStack(),
            xs=tuple(PerLayer(target, source) for target, source in reader.parts(loop)[1]),
            call=reader.call(loop, owner) if len(names) == 1 else None,
            taken=frozenset(taken),
        )
        for loop in reader.loops()
    ]


def read_and_rewrite(text: str, *, remat: str | None = None, **options: Any) -> str:
    """Rewrite every loop of one text, with every check on."""

    def again(texts: Mapping[Path, str]) -> list[Plan]:
        return read_plans(texts[MODEL], **options)

    return rewrite_texts({MODEL: text}, read_plans(text, **options), remat=remat, reanalyse=again).get(MODEL, text)


@pytest.fixture(scope="session")
def plans_of() -> Callable[..., list[Plan]]:
    return read_plans


@pytest.fixture(scope="session")
def rewrite() -> Callable[..., str]:
    return read_and_rewrite


@pytest.fixture(scope="session")
def model() -> SimpleNamespace:
    return SimpleNamespace(path=MODEL)
