"""Every place in a project that looks at the leaves of trees. Only nodes with a telling word in them are read."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.watchers.names import callee, callees, imported_in_place
from scanify.analysis.watchers.optimizers import mentioned_reads, optimizer_reads, text_reads
from scanify.analysis.watchers.rules import LIST, REPLACED, SHAPE, rule_of
from scanify.analysis.watchers.tables import (
    ALLS,
    MAKES_TREES,
    PER_LEAF_PACKAGES,
    READERS,
    STRUCTURES,
    TREE_AT,
    TREE_MODULES,
    VMAPS,
)
from scanify.analysis.watchers.trees import COUNT, replaced_fields, tree_reads
from scanify.analysis.watchers.walkers import FIELD_WORDS, field_reads
from scanify.analysis.watchers.watcher import Watcher
from scanify.source.notebook.text import Cells, is_notebook

_PACKAGES = ("optax", *PER_LEAF_PACKAGES)
_ORIGINS = (
    *("jax.tree", "jax.flatten_util", "pickle.", "equinox.filter", "equinox.partition", "dataclasses."),
    *("operator.attrgetter", *_PACKAGES),
)
_MENTIONED = (READERS - STRUCTURES) | TREE_MODULES | {TREE_AT, "jax.tree_util.default_registry"}
_COUNTS, _PARTS = frozenset({"num_leaves", "num_nodes"}), frozenset({"children", "node_data"})
_NAMED = {name.rpartition(".")[2] for name in _MENTIONED | READERS | VMAPS} | {"__import__", "import_module"}
# Names that are common tell nothing: in a call of a function on trees another word of its path does.
_WORDS = (_NAMED | _COUNTS | _PARTS | FIELD_WORDS | {*_PACKAGES}) - frozenset("map all structure reduce".split())
_OF_TREES = frozenset("tree_map tree_leaves tree_flatten tree_reduce tree_util tree optax".split())


@lru_cache(maxsize=2)
def watchers(index: Index) -> tuple[Watcher, ...]:
    """Return the watchers of a project, in order of their places."""
    found: list[Watcher] = []
    named = _aliases(index)
    for path in index.paths:
        source = index.source(path)
        words = index.words(path)
        if source is None or not words & (_WORDS | named):
            continue
        module = index.module_at(path)
        if module is not None:
            found += _of_module(index, module, named)
        elif words & _OF_TREES:
            problem = index.problems[path]
            cell = Cells(source.text).at(problem.line, problem.line) if is_notebook(path) else None
            place = Place(path, Span(0, 0, problem.line, problem.line), cell)
            reads = f"what cannot be seen, as the file cannot be parsed ({problem.message})"
            found.append(Watcher(place, reads, rule=LIST))
    return tuple(found)


def watchers_of(index: Index, module: Module, call: ast.Call) -> Iterator[Watcher]:
    """Yield what one call looks at, without what its arguments do."""
    return _watching(index, module, call, set())


def _aliases(index: Index) -> set[str]:
    """Return the names that imports and plain assignments of the project give to functions on trees."""
    texts = [source.text for path in index.paths if (source := index.source(path)) is not None]
    found: set[str] = set()
    while True:
        last = "|".join(sorted(map(re.escape, {*_NAMED, *_PACKAGES} | found)))
        renamed = re.compile(
            rf"\b(?:{last})[ \t]+as[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*(?::[^=\n]*)?=[ \t]*[\w.]*\b(?:{last})[ \t]*(?:#.*)?$",
            re.MULTILINE,
        )
        more = {name for text in texts for match in renamed.finditer(text) for name in match.groups() if name}
        if more <= found:
            return found
        found |= more


def _of_module(index: Index, module: Module, named: set[str]) -> list[Watcher]:
    nodes = nodes_in(module.tree)
    words = _WORDS | (named & index.words(module.path))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = module.imported(node).items()
            words |= {name for name, each in bound if each.target.startswith(_ORIGINS)}
    found = (each for node in nodes if _is_telling(node, words) for each in _watching(index, module, node, named))
    seen: dict[tuple[int, str], Watcher] = {}
    for each in found:
        seen.setdefault((each.place.span.line, each.reads), each)
    return sorted(seen.values(), key=lambda each: each.place.span)


def _is_telling(node: ast.AST, words: frozenset[str] | set[str]) -> bool:
    """True if a word in the path of a node, or of the function that it calls, may name a function on trees."""
    match node:
        case ast.Name(id=name):
            return name in words
        case ast.Attribute(value=value, attr=name):
            return name in words or _is_telling(value, words)
        case ast.Constant(value=str(text)):
            return text.startswith("optax")
        case ast.Call(func=function):
            return _is_telling(function, words)
        case _:
            return False


def _watching(index: Index, module: Module, node: ast.AST, named: set[str]) -> Iterator[Watcher]:
    """Yield what one node looks at. `named` are the names that are followed to what assignments give them."""
    match node:
        case ast.Constant():
            yield from _watcher(module, node, text_reads(module, node), optimizer=True)
        case ast.Name() | ast.Attribute() | ast.Call() if _is_root(module, node):
            yield from _mentions(index, module, node, named)
    if isinstance(node, ast.Attribute | ast.Call):
        yield from field_reads(index, module, node)
    match node:
        case ast.Attribute(attr=name) if name in _COUNTS:
            yield from _watcher(module, node, COUNT)
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]) if name in _PARTS:
            if not any(name in each.methods for each in index.modules_with(name)):
                yield from _watcher(module, node, "the children of each part of a tree")
        case ast.Call(func=function):
            for known in dict.fromkeys(callees(index, module, function)):
                if isinstance(known, str):
                    yield from _called(index, module, node, known)


def _called(index: Index, module: Module, call: ast.Call, known: str) -> Iterator[Watcher]:
    for reads in tree_reads(index, module, call, known):
        yield from _watcher(module, call, reads)
    if _is_unlisted(known):
        yield from _watcher(module, call, "the children of each part of a tree")
    if known == TREE_AT:
        fields = replaced_fields(index, module, call)
        yield Watcher(module.place(call), "parts of a tree that it replaces", fields, REPLACED, node=call)
    yield from _watcher(module, call, optimizer_reads(known), optimizer=True)


def _is_root(module: Module, node: ast.AST) -> bool:
    """True for the longest path of names: `jax.tree.map`, `import_module("optax").adam`, and no part of one."""
    above = parent_of(module, node)
    if isinstance(above, ast.Attribute | ast.alias) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    imported = isinstance(inner, ast.Call) and imported_in_place(inner) is not None
    called = isinstance(above, ast.Call) and above.func is node
    return imported or (not called and isinstance(inner, ast.Name))


def _mentions(index: Index, module: Module, node: ast.expr, named: set[str]) -> Iterator[Watcher]:
    """Yield functions on trees, and optimizers, that are not called where they are named: they may be anywhere."""
    above = parent_of(module, node)
    for known in dict.fromkeys(callees(index, module, node)):
        if not isinstance(known, str):
            continue
        if known.partition(".")[0] in _PACKAGES:
            yield from _watcher(module, node, mentioned_reads(known, above), optimizer=True)
        elif (known in _MENTIONED or _is_unlisted(known)) and not _is_followed(index, module, above, named):
            yield from _watcher(module, node, f"what `{module.code(node)}` is applied to elsewhere")


def _is_unlisted(known: str) -> bool:
    """True for a function of a module of functions on trees that no table lists."""
    own = known.startswith(tuple(f"{each}." for each in TREE_MODULES)) and known not in TREE_MODULES
    return own and known not in READERS | MAKES_TREES | ALLS


def _is_followed(index: Index, module: Module, above: ast.AST | None, named: set[str]) -> bool:
    """True if a statement only gives another name of a module or a function, one that is followed."""
    match above:
        case ast.Call(func=function):
            return callee(index, module, function) == "builtins.hasattr"
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            kinds = (*FUNCTIONS, ast.ClassDef)
            around = next((each for each in ancestors(module, above) if isinstance(each, kinds)), None)
            return name in named and not isinstance(around, ast.ClassDef)
        case _:
            return False


def _watcher(module: Module, node: ast.AST, reads: str | None, *, optimizer: bool = False) -> Iterator[Watcher]:
    if reads is None:
        return
    rule = rule_of(reads)
    if optimizer and reads == "the rank of each leaf":
        rule = SHAPE  # it takes a leaf of rank two for a matrix
    yield Watcher(module.place(node), reads, rule=rule, node=node)
