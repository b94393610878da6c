"""Import what the target needs: once per file, at run time, where a person would put it."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.helpers import get_full_name_for_node

from scanify.emit.apply import apply_edits
from scanify.emit.edits import Edit
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text.newlines import newline_of
from scanify.source.notebook.text import is_notebook


@dataclass(frozen=True, order=True)
class Import:
    """`from module import name`, or `import module as name` for the `whole` module."""

    module: str
    name: str
    whole: bool = False


@dataclass(frozen=True)
class Binding:
    """The local name of an imported class, and the edit that imports it (None if the file already does)."""

    name: str
    edit: Edit | None


def bind(path: Path, text: str, module: str, name: str) -> Binding:
    """Return the local name of `name` from `module` in a file, with the edit that imports it.

    If the name is bound otherwise in the file, it is imported under another (`import ... as`). An import under `if
    TYPE_CHECKING:` or inside a function does not count.
    """
    tree = cst.parse_module(text)
    uses = _Uses(module, name)
    tree.visit(uses)
    for statement in tree.body:
        for _, alias in _imported(statement, module):
            if alias.evaluated_name == name:
                local = alias.evaluated_alias or name
                if local not in uses.bound_otherwise:
                    return Binding(local, None)
    whole = f"{module}.{name}"  # `import flax.linen as nn` for `from flax import linen as nn`
    others = _Uses(whole, "")
    tree.visit(others)
    for known in (known for statement in tree.body for known in _imported_whole(statement, whole)):
        if known != whole and known not in others.bound_otherwise:
            return Binding(known, None)
    local = fresh(f"Scanify{name}", uses.names) if name in uses.bound_otherwise else name
    line = f"from {module} import {name}{f' as {local}' if local != name else ''}{newline_of(text)}"
    edit = _merged(path, tree, text, module, name, local) or _inserted(path, tree, text, (1, module), line)
    return Binding(local, edit)


@dataclass(frozen=True)
class Bindings:
    """The local names of several imports, by name, and the one edit that adds them."""

    names: Mapping[str, str]
    edit: Edit | None


def bind_module(path: Path, text: str, module: str, name: str) -> Binding:
    """Return the local name of the module `module` in a file, with the edit that imports it as `name` if needed."""
    tree = cst.parse_module(text)
    uses = _Uses(module, "")
    tree.visit(uses)
    for statement in tree.body:
        for local in _imported_whole(statement, module):
            if local not in uses.bound_otherwise:
                return Binding(local, None)
    local = fresh(name if name not in uses.bound_otherwise else f"scanify_{name}", uses.names)
    line = f"import {module}{f' as {local}' if local != module else ''}{newline_of(text)}"
    return Binding(local, _inserted(path, tree, text, (0, module), line))


def bind_all(path: Path, text: str, imports: Iterable[Import]) -> Bindings:
    """Call `bind` for several names, each on the text that imports those before: one line then holds them all."""
    found: dict[str, str] = {}
    edits: list[Edit] = []
    new = text
    for one in imports:
        make = bind_module if one.whole else bind
        binding = make(path, new, one.module, one.name)
        found[one.name] = binding.name
        if binding.edit is not None:
            edits.append(binding.edit)
            new = apply_edits(new, [binding.edit])
    if len(edits) < 2:
        return Bindings(found, edits[0] if edits else None)
    start = min(edit.start for edit in edits)
    rest = len(text) - edits[0].end
    while not new.endswith(text[len(text) - rest :]):  # the second edit reached further down than the first
        rest -= 1
    return Bindings(found, Edit(path, start, len(text) - rest, new[start : len(new) - rest]))


class _Uses(cst.CSTVisitor):
    """The names of a file, and those that may be bound by anything but our import."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name
        self.names: set[str] = set()
        self.bound_otherwise: set[str] = set()

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        ours = (
            bool(self.name)
            and node.module is not None
            and not node.relative
            and get_full_name_for_node(node.module) == self.module
        )
        if not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                self._add(alias.evaluated_alias or alias.evaluated_name, ours)
        return False

    def visit_ImportAlias(self, node: cst.ImportAlias) -> bool:
        name = node.evaluated_name
        ours = _is_whole(name, node.evaluated_alias, self.module)
        self._add(node.evaluated_alias or name.partition(".")[0], ours and not self.name)
        return False

    def visit_Param(self, node: cst.Param) -> None:
        self._add(node.name.value, False)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._add(node.name.value, False)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._add(node.name.value, False)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._targets(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._targets(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._targets(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._targets(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._targets(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._targets(node.name)

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)

    def _targets(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self._add(node.value, False)
        elif isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self._targets(element.value)

    def _add(self, name: str, ours: bool) -> None:
        self.names.add(name)
        if not ours:
            self.bound_otherwise.add(name)


def _imported(statement: cst.BaseStatement, module: str) -> list[tuple[cst.ImportFrom, cst.ImportAlias]]:
    """Return the names that a top-level statement imports from `module`."""
    found = []
    for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if not isinstance(small, cst.ImportFrom) or isinstance(small.names, cst.ImportStar):
            continue
        if not small.relative and small.module is not None and get_full_name_for_node(small.module) == module:
            found += [(small, alias) for alias in small.names]
    return found


def _is_whole(name: str, alias: str | None, module: str) -> bool:
    """True if `import name as alias` binds the module itself: `import jax.numpy` binds `jax`."""
    return name == module or (alias is None and name.partition(".")[0] == module)


def _imported_whole(statement: cst.BaseStatement, module: str) -> list[str]:
    """Return the local names by which a top-level statement imports a top-level module."""
    smalls = statement.body if isinstance(statement, cst.SimpleStatementLine) else ()
    aliases = (alias for small in smalls if isinstance(small, cst.Import) for alias in small.names)
    return [
        alias.evaluated_alias or module
        for alias in aliases
        if _is_whole(alias.evaluated_name, alias.evaluated_alias, module)
    ]


def _offsets(tree: cst.Module, text: str) -> list[tuple[int, int]]:
    """Return the stretch of text of each statement of the module, including the comments above it."""
    at = sum(len(tree.code_for_node(line)) for line in tree.header)
    found = []
    for statement in tree.body:
        end = min(at + len(tree.code_for_node(statement)), len(text))  # the last line may have no line end
        found.append((at, end))
        at = end
    return found


def _merged(path: Path, tree: cst.Module, text: str, module: str, name: str, local: str) -> Edit | None:
    """Add the name to an existing import from the same module, in alphabetical order."""
    for statement, (start, end) in zip(tree.body, _offsets(tree, text), strict=True):
        imported = _imported(statement, module)
        if not imported:
            continue
        node = imported[0][0]
        names = [alias for own, alias in imported if own is node]
        at = next((i for i, alias in enumerate(names) if alias.evaluated_name > name), len(names))
        asname = cst.AsName(name=cst.Name(local)) if local != name else None
        plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        between = next((a.comma for a in names[:-1] if isinstance(a.comma, cst.Comma) and not _has_comment(a)), plain)
        added = cst.ImportAlias(name=cst.Name(name), asname=asname, comma=between)
        if at == len(names):
            last = names[-1]
            added = added.with_changes(comma=last.comma)
            if not _has_comment(last):
                names[-1] = last.with_changes(comma=between)
            else:
                added = added.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        new = statement.deep_replace(node, node.with_changes(names=[*names[:at], added, *names[at:]]))
        assert isinstance(new, cst.BaseStatement)
        return Edit(path, start, end, tree.code_for_node(new))
    return None


def _has_comment(alias: cst.ImportAlias) -> bool:
    return isinstance(alias.comma, cst.Comma) and "#" in cst.Module([]).code_for_node(alias.comma)


def _inserted(path: Path, tree: cst.Module, text: str, key: tuple[int, str], line: str) -> Edit:
    """Insert an import line among the third-party imports of the file's first block, by its sort key."""
    newline = newline_of(text)
    offsets = _offsets(tree, text)
    block = _leading_imports(tree, in_notebook=is_notebook(path))
    first = 1 if tree.get_docstring() is not None else 0
    futures = [i for i in block if _module_of(tree.body[i]) == "__future__"]
    rest = [i for i in block if i not in futures]
    if not rest:
        at = max([*futures, first - 1])
        if at >= 0:
            return _after(path, text, offsets[at][1], newline + line)
        return _at_the_top(path, tree, text, offsets, line + 2 * newline)
    groups = _groups(tree, rest)
    for group in groups:
        if any(_third_party(tree.body[i]) for i in group):
            before = [i for i in group if _sort_key(tree.body[i]) <= key]
            if before:
                return _after(path, text, offsets[before[-1]][1], line)
            start = offsets[group[0]][0] + _blank_lead(tree, group[0])
            return Edit(path, start, start, line)
    absolute = [i for i in rest if not _relative(tree.body[i])]
    if absolute:
        return _after(path, text, offsets[absolute[-1]][1], newline + line)
    start = offsets[rest[0]][0] + _blank_lead(tree, rest[0])
    return Edit(path, start, start, line + newline)


def _after(path: Path, text: str, at: int, line: str) -> Edit:
    """Insert a line after another, even if that one ends the file without a line end."""
    if at == 0 or text[at - 1 : at] in ("\n", "\r"):
        return Edit(path, at, at, line)
    newline = newline_of(text)
    return Edit(path, at, at, newline + line.removesuffix(newline))


def _at_the_top(path: Path, tree: cst.Module, text: str, offsets: list[tuple[int, int]], line: str) -> Edit:
    """Insert before the first statement and the comments directly above it."""
    end = offsets[0][0] if offsets else len(text)
    lead = [tree.code_for_node(each) for each in tree.header]
    blank = max((i for i, each in enumerate(tree.header) if each.comment is None), default=None)
    at = sum(map(len, lead[: blank + 1])) if blank is not None else end
    return Edit(path, at, at, line)


def _blank_lead(tree: cst.Module, index: int) -> int:
    """Return the length of the blank lines above a statement, up to the comments that belong to it."""
    statement = tree.body[index]
    lines = list(getattr(statement, "leading_lines", ()))
    last_blank = max((i for i, line in enumerate(lines) if line.comment is None), default=-1)
    return sum(len(tree.code_for_node(line)) for line in lines[: last_blank + 1])


def _leading_imports(tree: cst.Module, *, in_notebook: bool) -> list[int]:
    """Return the import lines of the first block, which may contain conditional imports and dunder assignments.

    In a notebook other statements may precede them, in cells that install packages or set options.
    """
    found = []
    for index, statement in enumerate(tree.body):
        if _module_of(statement) is not None:
            found.append(index)
        elif index == 0 and tree.get_docstring() is not None:
            continue
        elif not isinstance(statement, cst.If | cst.Try) and not _dunder(statement) and (found or not in_notebook):
            break
    return found


def _module_of(statement: cst.BaseStatement) -> str | None:
    """Return the (first) module of an import line, with the dots of a relative one; None for other statements."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    if not all(isinstance(small, cst.Import | cst.ImportFrom) for small in statement.body):
        return None
    small = statement.body[0]
    if isinstance(small, cst.Import):
        return small.names[0].evaluated_name
    assert isinstance(small, cst.ImportFrom)
    name = get_full_name_for_node(small.module) if small.module is not None else ""
    return "." * len(small.relative) + (name or "")


def _dunder(statement: cst.BaseStatement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine) or not isinstance(statement.body[0], cst.Assign):
        return False
    target = statement.body[0].targets[0].target
    return isinstance(target, cst.Name) and target.value.startswith("__")


def _relative(statement: cst.BaseStatement) -> bool:
    return (_module_of(statement) or "").startswith(".")


def _third_party(statement: cst.BaseStatement) -> bool:
    name = (_module_of(statement) or "").partition(".")[0]
    return bool(name) and name not in sys.stdlib_module_names


def _sort_key(statement: cst.BaseStatement) -> tuple[int, str]:
    """`import x` before `from x import y`, each by module: the order of isort and ruff."""
    assert isinstance(statement, cst.SimpleStatementLine)
    return int(isinstance(statement.body[0], cst.ImportFrom)), _module_of(statement) or ""


def _groups(tree: cst.Module, block: list[int]) -> list[list[int]]:
    """Group the import lines: a blank line, or a statement that is not an import, begins a new group."""
    groups: list[list[int]] = []
    for index in block:
        lines = getattr(tree.body[index], "leading_lines", ())
        if groups and groups[-1][-1] == index - 1 and not any(line.comment is None for line in lines):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
