"""Find the stacks of a project: the names of our containers in each file, and the constructions of stacks."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scanify.emit.loops.enclosing import Module, module

CONTAINERS = ("ArrayStacked", "BlockSeq")
_MODULE = "scanify.nn"


@dataclass(frozen=True)
class Built:
    """One construction of a stack: `ArrayStacked.of(layers)` or `ArrayStacked.init(n, Block)(...)`."""

    call: ast.Call
    init: ast.Call | None  # the inner call of `ArrayStacked.init(n, Block)(...)`
    policy: ast.expr | None


@dataclass
class File:
    """One file that uses stacks. `locals` are the names of the containers, `parents` the parent of each node."""

    path: Path
    parsed: Module
    locals: Mapping[str, str]
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def container_of(self, node: ast.expr) -> str | None:
        """Return the container that an expression names."""
        match node:
            case ast.Name(id=name):
                return self.locals.get(name)
            case ast.Attribute(value, name) if name in CONTAINERS:
                return name if self.locals.get(ast.unparse(value)) == _MODULE else None
        return None

    def built(self, node: ast.AST) -> Built | None:
        """Return the construction of a stack at a node, if it can be read."""
        match node:
            case ast.Call(ast.Attribute(head, "of"), [layers], keywords) if self.container_of(head):
                known, policy = _policy(keywords)
                return Built(node, None, policy) if known and not isinstance(layers, ast.Starred) else None
            case ast.Call(ast.Call(ast.Attribute(head, "init"), [_, _, *more], keywords) as init) if self.container_of(
                head
            ):
                if len(more) > 1 or any(each.arg not in ("gradient_checkpointing", "in_axes") for each in keywords):
                    return None
                said = more[0] if more else next((k.value for k in keywords if k.arg != "in_axes"), None)
                return Built(node, init, said)
        return None

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the statement that contains a node."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def scope(self, node: ast.AST) -> ast.AST:
        """Return the function, class or module around a node."""
        above = self.parents[node]
        while not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module | ast.Lambda):
            above = self.parents[above]
        return above


def _policy(keywords: list[ast.keyword]) -> tuple[bool, ast.expr | None]:
    """Return whether a stack is built with at most a policy, and the policy; None is the runtime's default."""
    match keywords:
        case []:
            return True, None
        case [ast.keyword("gradient_checkpointing", value)]:
            return True, value
    return False, None


def read_file(path: Path, text: str) -> File | None:
    """Return a file that names one of our containers; None for others and if this Python cannot parse it."""
    if not any(name in text for name in CONTAINERS):
        return None
    parsed = module(text)
    if parsed is None:
        return None
    names: dict[str, str] = {}
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if node.module.startswith(_MODULE) and alias.name in CONTAINERS:
                    names[alias.asname or alias.name] = alias.name
                elif f"{node.module}.{alias.name}" == _MODULE:
                    names[alias.asname or alias.name] = _MODULE
        elif isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: _MODULE for alias in node.names if alias.name == _MODULE}
    if not names:
        return None
    parents = {child: node for node in ast.walk(parsed.tree) for child in ast.iter_child_nodes(node)}
    return File(path, parsed, names, parents)


def mentions(file: File) -> Iterator[ast.Name | ast.Attribute | ast.Constant]:
    """Yield every mention of a container in a file, except imports."""
    for node in ast.walk(file.parsed.tree):
        match node:
            case ast.Name() | ast.Attribute() if file.container_of(node) is not None:
                yield node
            case ast.Constant(value=str(text)) if _names_one(file, text):
                yield node


def _names_one(file: File, text: str) -> bool:
    """True if a string is an annotation that names a container."""
    if not any(name in text for name in file.locals):
        return False
    try:
        inner = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.Name) and node.id in file.locals for node in ast.walk(inner))


def last_name(node: ast.expr) -> str | None:
    """Return `blocks` for `self.blocks` and for `blocks`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None


def annotation(text: str, names: Mapping[str, str]) -> str | None:
    """Return the annotation with `list` for each stack in it; None if there is none or it cannot be read."""
    quote = text[:1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else ""
    plain = text[1:-1] if quote else text
    parsed = module(plain)
    if parsed is None:
        return None
    found = [
        node
        for node in ast.walk(parsed.tree)
        if (isinstance(node, ast.Name) and names.get(node.id) in CONTAINERS)
        or (
            isinstance(node, ast.Attribute)
            and node.attr in CONTAINERS
            and names.get(ast.unparse(node.value)) == _MODULE
        )
    ]
    for node in sorted(found, key=parsed.start, reverse=True):
        plain = plain[: parsed.start(node)] + "list" + plain[parsed.end(node) :]
    return f"{quote}{plain}{quote}" if found else None
