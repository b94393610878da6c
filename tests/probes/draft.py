"""The text of a model that is being mutated: its classes and places by `ast`, and edits of its text."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_BEYOND = (ast.Lambda, ast.ClassDef, ast.FunctionDef)


@dataclass(frozen=True)
class Place:
    """An expression or a statement in a method of `cls`, or in a function if that is None.

    `part` is "layer", "loop", "constructor" or "outside".
    """

    node: ast.AST
    part: str
    cls: ast.ClassDef | None


@dataclass
class Draft:
    """One file of a model with edits of its text, none of which overlaps another.

    Raises ValueError if the file has no class with a `for` statement that calls its target.
    """

    text: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)
        self._lines = [0]
        for line in self.text.encode().splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.classes = [each for each in self.tree.body if isinstance(each, ast.ClassDef)]
        self.functions = [each for each in self.tree.body if isinstance(each, ast.FunctionDef)]
        self.model, self.loop = self._with_loop()

    def _with_loop(self) -> tuple[ast.ClassDef | None, ast.For | None]:
        for cls in self.classes:
            for node in ast.walk(cls):
                if isinstance(node, ast.For) and cls is self.classes[-1]:
                    return cls, node
        return None, None

    @property
    def layers(self) -> list[ast.ClassDef]:
        """The modules that the layers are made of: classes with a method `__call__`, but the model."""
        return [each for each in self.classes if each is not self.model and methods(each)]

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node in the text; columns of `ast` are bytes, and so are these."""
        return (
            self._lines[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self._lines[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text.encode()[start:end].decode()

    def line_start(self, node: ast.stmt) -> int:
        """Return where the line of a statement begins, or that of its first decorator."""
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        return self._lines[first - 1]

    def line_end(self, node: ast.stmt) -> int:
        """Return where the line after a statement begins."""
        assert node.end_lineno is not None
        return self._lines[node.end_lineno]

    @property
    def head(self) -> int:
        """Return where definitions can stand: in front of the first class or function."""
        first = next(each for each in self.tree.body if isinstance(each, ast.ClassDef | ast.FunctionDef))
        return self.line_start(first)

    def replace(self, node: ast.AST, text: str) -> None:
        self.edits.append((*self.span(node), text))

    def insert(self, at: int, text: str) -> None:
        self.edits.append((at, at, text))

    def before(self, statement: ast.stmt, text: str) -> None:
        """Insert a line of the same indentation in front of a statement."""
        self.insert(self.line_start(statement), indented(text, statement.col_offset))

    def after(self, statement: ast.stmt, text: str) -> None:
        """Insert a line of the same indentation after a statement."""
        self.insert(self.line_end(statement), indented(text, statement.col_offset))

    def append(self, text: str) -> None:
        """Add code at the end of the file."""
        self.insert(len(self.text.encode()), f"\n\n{text}\n")

    def result(self) -> str:
        data = self.text.encode()
        if not data.endswith(b"\n"):
            data += b"\n"
        order = sorted(enumerate(self.edits), key=lambda each: (each[1][0], each[0]), reverse=True)
        for _, (start, end, text) in order:
            data = data[:start] + text.encode() + data[end:]
        return data.decode()

    # -- places ------------------------------------------------------------------------------------------------------

    def expressions(self, kinds: tuple[type[ast.expr], ...]) -> list[Place]:
        """Return the expressions of some kinds that functions read, and no annotation, default or decorator."""
        return [
            Place(node, self._part(node, part), cls)
            for function, part, cls in self._functions()
            for node in _values(function)
            if isinstance(node, kinds) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        ]

    def statements(self) -> list[Place]:
        """Return the simple statements of functions, each on a line of its own."""
        return [
            Place(node, self._part(node, part), cls)
            for function, part, cls in self._functions()
            for node in ast.walk(function)
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr)
            and not isinstance(getattr(node, "value", None), ast.Constant)
        ]

    def _functions(self) -> Iterator[tuple[ast.FunctionDef, str, ast.ClassDef | None]]:
        for function in self.functions:
            yield function, "layer", None
        for cls in self.classes:
            for method in methods(cls):
                part = "outside" if cls is self.model else "layer"
                yield method, "constructor" if method.name == "__init__" else part, cls

    def _part(self, node: ast.AST, part: str) -> str:
        if self.loop is None or part != "outside":
            return part
        inside = self.loop.body[0].lineno <= node.lineno <= (self.loop.end_lineno or 0)  # type: ignore[attr-defined]
        return "loop" if inside else part


def methods(cls: ast.ClassDef) -> list[ast.FunctionDef]:
    return [each for each in cls.body if isinstance(each, ast.FunctionDef)]


def method(cls: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((each for each in methods(cls) if each.name == name), None)


def fields(cls: ast.ClassDef) -> list[ast.AnnAssign]:
    return [each for each in cls.body if isinstance(each, ast.AnnAssign)]


def indented(text: str, columns: int) -> str:
    return "".join(f"{' ' * columns}{line}\n" if line else "\n" for line in text.splitlines())


def filled(text: str, source: str) -> str:
    """Return a text with an expression in the places of `E`."""
    return re.sub(r"\bE\b", lambda _: f"({source})" if "\n" in source else source, text)


def named(text: str, words: Mapping[str, str]) -> str:
    """Return a text with placeholders such as TOUCH replaced by the names of a probe."""
    return re.sub(r"\b(" + "|".join(words) + r")\b", lambda found: words[found[0]], text)


def _values(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Return the expressions that a function computes, except in f-strings."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr | ast.FunctionDef) or _is_super(node):
            continue
        if isinstance(node, ast.AnnAssign):
            waiting.append(node.value) if node.value is not None else None
            continue
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            waiting += [*node.args, *node.keywords]
            continue
        waiting += ast.iter_child_nodes(node)


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
