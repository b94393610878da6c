"""From texts with stacks to texts with lists and loops."""

import ast
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

from scanify.emit.apply import apply_all, in_order
from scanify.emit.checks import Change, check
from scanify.emit.edits import Edit
from scanify.emit.loops.enclosing import module
from scanify.emit.names.unused_imports import unused_imports
from scanify.emit.rewrite import finished
from scanify.emit.text.house_style import house_style
from scanify.emit.unroll import stacks
from scanify.emit.unroll.builds import list_of, policy_of
from scanify.emit.unroll.stacks import Built, File, last_name
from scanify.emit.unroll.walks import METHODS, OTHERS, method_of, read_walk
from scanify.emit.unroll.written import in_place

ONLY_STACKS = frozenset(
    "take with_layer with_layers stacked stacked_of num_layers gradient_checkpointing level get_layer describe "
    "describe_via with_arrays is_stateful".split()
)
"""Attributes of a stack that a list lacks, besides the methods that apply its layers."""


@dataclass(frozen=True)
class Turned:
    """A scan that became a loop, or, with `why`, one that stays: its place and its container."""

    path: Path
    line: int
    container: str
    method: str
    why: str = ""


@dataclass(frozen=True)
class Unrolled:
    """The new texts of changed files, the scans that became loops and those that stay, and the removed policies."""

    texts: Mapping[Path, str] = field(default_factory=dict)
    turned: tuple[Turned, ...] = ()
    left: tuple[Turned, ...] = ()
    policies: tuple[tuple[Path, int, str], ...] = ()
    beyond: tuple[Path, ...] = ()


@dataclass
class _Group:
    """Names that hold the same stacks: all of them become lists, or none does."""

    names: set[str]
    edits: list[Edit] = field(default_factory=list)
    turned: list[Turned] = field(default_factory=list)
    left: list[Turned] = field(default_factory=list)
    policies: list[tuple[Path, int, str]] = field(default_factory=list)

    def files(self) -> set[Path]:
        """Return the files that change."""
        return {edit.path for edit in self.edits}


def unroll_texts(texts: Mapping[Path, str], named: Set[Path] | None = None) -> Unrolled:
    """Turn every stack that allows it back into a list, and the scans over it into loops.

    `texts` are those of the whole project, and only `named` files may change; by default, all. A stack that would
    change others too stays, and those are `beyond`. Raises CheckFailed if a check of the result fails.
    """
    files = [file for path, text in texts.items() if (file := stacks.read_file(path, text)) is not None]
    groups = _groups(files)
    held = {name: group for group in groups for name in group.names}
    files += [file for path, text in texts.items() if (file := _reader(path, text, files, held)) is not None]
    calls: list[_Group] = []
    for file in files:
        _read(file, held, calls)
    every = [*groups, *calls]
    mine = named if named is not None else texts.keys()
    free = [group for group in every if not group.left and group.files() & mine]
    done = [group for group in free if group.files() <= mine]
    edits = [edit for group in done for edit in group.edits]
    left = [each for group in every for each in (*group.left, *_with_them(group)) if each.path in mine]
    return Unrolled(
        _finished(texts, edits),
        tuple(sorted((each for group in done for each in group.turned), key=_place)),
        tuple(sorted(left, key=_place)),
        tuple(each for group in done for each in group.policies),
        tuple(sorted({path for group in free for path in group.files() - mine})),
    )


def _place(each: Turned) -> tuple[Path, int]:
    return each.path, each.line


def _with_them(group: _Group) -> list[Turned]:
    """Return the scans that stay because another use of their stack does."""
    if not group.left:
        return []
    first = group.left[0]
    why = f"its stack stays one because of line {first.line}"
    return [replace(each, why=why) for each in group.turned if each.line != first.line]


def _groups(files: list[File]) -> list[_Group]:
    """Group the names that hold stacks and are assigned to each other."""
    links: list[set[str]] = []
    for file in files:
        for node in ast.walk(file.parsed.tree):
            names = set(_names_of(file, node))
            if names:
                links.append(names)
    merged: list[set[str]] = []
    for link in links:
        joined = set(link)
        apart = []
        for other in merged:
            if other & joined:
                joined |= other
            else:
                apart.append(other)
        merged = [*apart, joined]
    return [_Group(names) for names in merged]


def _names_of(file: File, node: ast.AST) -> Iterator[str]:
    """Yield the names that hold stacks by a node: of a built or annotated one, or of a function that returns it."""
    match node:
        case ast.AnnAssign(target, annotation) if _annotated(file, annotation):
            yield last_name(target) or ""
        case ast.arg(arg=name, annotation=annotation) if annotation is not None and _annotated(file, annotation):
            yield name
        case ast.FunctionDef(name=name, returns=returns) if returns is not None and _annotated(file, returns):
            yield name
    if file.built(node) is not None and isinstance(node, ast.Call) and not _is_receiver(file, node):
        yield from holders(file, node)


def holders(file: File, node: ast.Call) -> Iterator[str]:
    """Yield the names that a stack is assigned to where it is built."""
    match file.parents[node]:
        case ast.Assign(targets):
            yield from (name for target in targets if (name := last_name(target)))
        case ast.AnnAssign(target):
            yield last_name(target) or ""
        case ast.Return():
            scope = file.scope(node)
            if isinstance(scope, ast.FunctionDef):
                yield scope.name
        case ast.keyword(arg=str(name)):
            yield name


def _annotated(file: File, annotation: ast.expr) -> bool:
    return stacks.annotation(file.parsed.code(annotation), file.locals) is not None


def _is_receiver(file: File, node: ast.Call) -> bool:
    """True if the layers are stacked in the call: `ArrayStacked.of(self.blocks).fold(x)`."""
    return isinstance(file.parents[node], ast.Attribute)


def _reader(path: Path, text: str, files: list[File], held: Mapping[str, _Group]) -> File | None:
    """Return a file that names no container but uses a stack as one."""
    if any(file.path == path for file in files) or not held:
        return None
    words = "|".join((*ONLY_STACKS, *METHODS, *OTHERS))
    if not re.search(rf"\b({'|'.join(map(re.escape, held))})\s*\.\s*({words})\b", text):
        return None
    parsed = module(text)
    if parsed is None:
        return None
    parents = {child: node for node in ast.walk(parsed.tree) for child in ast.iter_child_nodes(node)}
    return File(path, parsed, {}, parents)


def _read(file: File, held: Mapping[str, _Group], calls: list[_Group]) -> None:
    """Collect the edits of one file, each in its group, and the uses that hold a group back."""
    known: set[ast.AST] = set()
    aliases = dict(held)
    for node in ast.walk(file.parsed.tree):
        match node:
            case ast.Assign([ast.Name(name)], value) if last_name(value) in held and file.built(value) is None:
                aliases.setdefault(name, held[last_name(value) or ""])
    for node in ast.walk(file.parsed.tree):
        if isinstance(node, ast.Call):
            _read_call(file, node, aliases, calls, known)
    for node in ast.walk(file.parsed.tree):
        if isinstance(node, ast.Attribute) and node not in known and node.attr in ONLY_STACKS | set(OTHERS):
            group = aliases.get(last_name(node.value) or "")
            if group is not None:
                why = f"`.{node.attr}` is of stacks, and lists have no such thing"
                group.left.append(_turned(file, node, node.value, node.attr, why))
        _read_annotation(file, node, held, known)
    for node in stacks.mentions(file):
        if node not in known:
            why = f"`{file.parsed.code(node)}` is named for something else than to build or annotate a stack"
            for group in {id(each): each for each in held.values()}.values():
                group.left.append(_turned(file, node, node, "", why))


def _turned(file: File, node: ast.expr, container: ast.expr, method: str, why: str = "") -> Turned:
    code = " ".join(file.parsed.code(container).split())
    return Turned(file.path, node.lineno, code, method, why)


def _read_call(
    file: File, node: ast.Call, held: Mapping[str, _Group], calls: list[_Group], known: set[ast.AST]
) -> None:
    built = file.built(node)
    if built is not None and not _is_receiver(file, node):
        _read_built(file, built, held, known)
        return
    found = method_of(node)
    if found is None or found[1] not in (*METHODS, *OTHERS):
        return
    stack, method, inner = found
    taken = None
    below = stack
    match stack:
        case ast.Call(ast.Attribute(below, "take") as attribute, [positions], []):
            taken = positions
            known.add(attribute)
    own = file.built(below)
    if own is not None and own.init is None:
        group = _Group(set())
        calls.append(group)
        known |= set(ast.walk(own.call.func))
        container = own.call.args[0]
        if policy_of(file, own) is not None:
            group.policies.append((file.path, node.lineno, policy_of(file, own) or ""))
    else:
        container = below
        maybe = held.get(last_name(below) or "")
        if maybe is None:
            return
        group = maybe
    known.add(inner.func if inner is not None else node.func)
    walk = read_walk(file.parsed, node, container, taken)
    made = walk if isinstance(walk, str) else in_place(file, walk)
    if isinstance(made, str):
        group.left.append(_turned(file, node, container, method, made))
    else:
        group.edits += made
        group.turned.append(_turned(file, node, container, method))


def _read_built(file: File, built: Built, held: Mapping[str, _Group], known: set[ast.AST]) -> None:
    names = [name for name in holders(file, built.call) if name in held]
    known |= set(ast.walk((built.init or built.call).func))
    if not names:
        every = {id(each): each for each in held.values()}.values()
        for group in every:
            why = "where the stack that is built here goes is not seen"
            group.left.append(_turned(file, built.call, built.call.func, "", why))
        return
    group, code = held[names[0]], list_of(file, built)
    if code is None:
        why = "which of the arguments have an entry for each layer is not seen"
        group.left.append(_turned(file, built.call, built.call.func, "", why))
        return
    start, end = file.parsed.start(built.call), file.parsed.end(built.call)
    group.edits.append(Edit(file.path, start, end, code))
    policy = policy_of(file, built)
    if policy is not None:
        group.policies.append((file.path, built.call.lineno, policy))


def _read_annotation(file: File, node: ast.AST, held: Mapping[str, _Group], known: set[ast.AST]) -> None:
    match node:
        case ast.AnnAssign(target, annotation):
            name = last_name(target)
        case ast.arg(arg=name, annotation=annotation) if annotation is not None:
            pass
        case ast.FunctionDef(name=name, returns=annotation) if annotation is not None:
            pass
        case _:
            return
    new = stacks.annotation(file.parsed.code(annotation), file.locals)
    if new is None:
        return
    known |= set(ast.walk(annotation))
    if name is not None and name in held:
        start, end = file.parsed.start(annotation), file.parsed.end(annotation)
        held[name].edits.append(Edit(file.path, start, end, new))


def _finished(texts: Mapping[Path, str], edits: list[Edit]) -> dict[Path, str]:
    """Apply the edits to the texts, remove unused imports, check the result and lay it out."""
    made: dict[Path, str] = {}
    for path, after in apply_all(texts, edits).items():
        mine = [edit for edit in edits if edit.path == path]
        whole = in_order([*unused_imports(path, texts, after), *mine])
        text = apply_all({path: texts[path]}, whole)[path]
        planned = tuple((edit.start, edit.end) for edit in whole)
        change = Change(path, texts[path], text, tuple(whole), planned)
        check([change])
        made[path] = finished(change, house_style(texts[path])).after
    return made
