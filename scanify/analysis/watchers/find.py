"""Every place in a project that looks at the leaves of trees. Only statements with a telling word in them are read."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TypeGuard

from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.watchers.names import Callee, callee, callees
from scanify.analysis.watchers.optimizers import optimizer_reads, optimizers_in_text, optimizers_named
from scanify.analysis.watchers.rules import KEY, LIST, REPLACED, rule_of, rule_of_optimizer
from scanify.analysis.watchers.tables import (
    ALLS,
    MAKES_TREES,
    MAPS,
    PER_LEAF_PACKAGES,
    READERS,
    STRUCTURES,
    TREE_AT,
    TREE_MODULES,
    VMAPS,
)
from scanify.analysis.watchers.trees.leaf import applied
from scanify.analysis.watchers.trees.reads import tree_reads
from scanify.analysis.watchers.trees.specs import replaced_fields
from scanify.analysis.watchers.trees.treedefs import COUNTS, PARTS, counts
from scanify.analysis.watchers.trees.values import HARMLESS
from scanify.analysis.watchers.walkers import field_reads
from scanify.analysis.watchers.watcher import Watcher
from scanify.source.notebook.text import Cells, is_notebook

_PACKAGES = ("optax", *PER_LEAF_PACKAGES)
_ORIGINS = (
    "jax.tree",
    "jax.flatten_util",
    "pickle.",
    "equinox.filter",
    "equinox.partition",
    "dataclasses.",
    "operator.attrgetter",
    "optax",
    *PER_LEAF_PACKAGES,
)
_MENTIONED = (READERS - STRUCTURES) | TREE_MODULES | {TREE_AT}
_NAMES_OF_TREES = {name.rpartition(".")[2] for name in _MENTIONED} | {"default_registry"}
_LAST = {name.rpartition(".")[2] for name in READERS | VMAPS}
_LAST |= _NAMES_OF_TREES | frozenset("vars fields asdict astuple getattr setattr __setattr__ attrgetter".split())
_OF_OBJECTS = COUNTS | {"__dict__", "__dataclass_fields__"}
_WORDS = _LAST | PARTS | _OF_OBJECTS | {*_PACKAGES}
# So common that they tell nothing: where they are functions on trees there is a word beside them that does.
_WORDS -= frozenset("map all structure reduce".split())
_WORDS_OF_TREES = frozenset("tree_map tree_leaves tree_flatten tree_reduce tree_util tree optax".split())


@lru_cache(maxsize=2)
def watchers(index: Index) -> tuple[Watcher, ...]:
    """The watchers of a project, in order of their places."""
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
        elif words & _WORDS_OF_TREES:
            problem = index.problems[path]
            cell = Cells(source.text).at(problem.line, problem.line) if is_notebook(path) else None
            place = Place(path, Span(0, 0, problem.line, problem.line), cell)
            reads = f"what cannot be seen, as the file cannot be parsed ({problem.message})"
            found.append(Watcher(place, reads, rule=LIST))
    return tuple(found)


def _aliases(index: Index) -> set[str]:
    """Return the names that imports and plain assignments of the project give to functions on trees."""
    texts = [source.text for path in index.paths if (source := index.source(path)) is not None]
    known = _NAMES_OF_TREES | {name.rpartition(".")[2] for name in _PACKAGES}
    found: set[str] = set()
    while True:
        last = "|".join(sorted(map(re.escape, known | found)))
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
    aliases = named & index.words(module.path)
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = module.imported(node).items()
            aliases |= {name for name, each in bound if each.target.startswith(_ORIGINS)}
    seen: dict[tuple[int, str], Watcher] = {}
    for node in nodes:
        if not _may_watch(node, aliases):
            continue
        for found in _watching(index, module, node, aliases, named):
            whole = replace(found, rule=_rule(index, module, node, found), node=node)
            seen.setdefault((found.place.span.line, found.reads), whole)
    return sorted(seen.values(), key=lambda each: each.place.span)


def _may_watch(node: ast.AST, aliases: set[str]) -> bool:
    """True if the kind and the last name of a node are those of something that may look at leaves."""
    match node:
        case ast.Name(id=name):
            return name in aliases or name in _NAMES_OF_TREES
        case ast.Attribute(attr=name):
            return name in aliases or name in _NAMES_OF_TREES or name in _OF_OBJECTS
        case ast.Constant(value=str(text)):
            return text.startswith("optax")
        case _:
            return isinstance(node, ast.Call)


def watchers_of(index: Index, module: Module, call: ast.Call) -> Iterator[Watcher]:
    """What one call looks at, without what its arguments do."""
    for found in _watching(index, module, call, set(module.imports), set()):
        yield replace(found, rule=_rule(index, module, call, found), node=call)


def _rule(index: Index, module: Module, node: ast.AST, found: Watcher) -> str:
    """The rule of a watcher: what takes leaves one after another and splits a key by their number has one for each."""
    rule = found.rule or rule_of(found.reads)
    if rule != LIST:
        return rule
    around = next((each for each in ancestors(module, node) if isinstance(each, FUNCTIONS)), None)
    calls = (each for each in nodes_in(around) if isinstance(each, ast.Call)) if around is not None else ()
    return KEY if any(_splits_by_number(index, module, each) for each in calls) else LIST


def _splits_by_number(index: Index, module: Module, call: ast.Call) -> bool:
    """`jax.random.split(key, len(leaves))`, `jax.random.split(key, treedef.num_leaves)`."""
    if len(call.args) != 2 or callee(index, module, call.func) != "jax.random.split":
        return False
    match call.args[1]:
        case ast.Call(func=function):
            return callee(index, module, function) == "builtins.len"
        case ast.Attribute(attr=name):
            return name == "num_leaves"
        case _:
            return False


def _is_telling(node: ast.Call | ast.Attribute, aliases: set[str]) -> bool:
    """Whether the last name of what is called or read, or the first, may be one of something telling."""
    if isinstance(node, ast.Attribute):
        return node.attr in _OF_OBJECTS
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _LAST | PARTS:
        return True
    while isinstance(function, ast.Attribute):
        if function.attr in _NAMES_OF_TREES:
            return True
        function = function.value
    return isinstance(function, ast.Name) and (function.id in aliases or function.id in _LAST)


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _mentions(index: Index, module: Module, node: ast.Name | ast.Attribute, named: set[str]) -> Iterator[Watcher]:
    """A function on trees, or a module of such, that is not called where it is named: it may be called anywhere.

    `named` are the names that are followed to what assignments and imports give them.
    """
    above = parent_of(module, node)
    if isinstance(above, ast.Attribute | ast.alias) or not isinstance(node.ctx, ast.Load):
        return
    if isinstance(above, ast.Call) and above.func is node:
        return
    found = [each for each in callees(index, module, node) if each in _MENTIONED or _is_unlisted(each)]
    if not found or _is_followed(module, above, named):
        return
    if isinstance(above, ast.Call) and found[0] in MAPS and len(above.args) > 1 and above.args[0] is node:
        partial = callee(index, module, above.func) == "functools.partial"
        if partial and applied(index, module, above.args[1]).kind in HARMLESS:
            return
    if isinstance(above, ast.Call) and callee(index, module, above.func) in ("builtins.hasattr", "builtins.print"):
        return
    yield Watcher(module.place(node), f"what `{module.code(node)}` is applied to elsewhere")


def _is_unlisted(known: Callee) -> TypeGuard[str]:
    """True for what a module of functions on trees has and no table lists."""
    if not isinstance(known, str) or known in TREE_MODULES:
        return False
    own = known.startswith(tuple(f"{each}." for each in TREE_MODULES))
    return own and known not in READERS | MAKES_TREES | ALLS


def _is_followed(module: Module, above: ast.AST | None, named: set[str]) -> bool:
    """True if a statement only gives another name of a module or a function, one that is followed."""
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            around = next(
                (each for each in ancestors(module, above) if isinstance(each, (*FUNCTIONS, ast.ClassDef))), None
            )
            return name in named and not isinstance(around, ast.ClassDef)
        case _:
            return False


def _watching(index: Index, module: Module, node: ast.AST, aliases: set[str], named: set[str]) -> Iterator[Watcher]:
    if isinstance(node, ast.Name | ast.Attribute) and _last_name(node) in aliases | _NAMES_OF_TREES:
        yield from _mentions(index, module, node, named)
    if isinstance(node, ast.Name | ast.Call):
        yield from optimizers_named(index, module, node, aliases)
    if isinstance(node, ast.Constant):
        yield from optimizers_in_text(module, node)
    if not isinstance(node, ast.Call | ast.Attribute) or not _is_telling(node, aliases):
        return
    yield from field_reads(index, module, node)
    yield from counts(index, module, node)
    if not isinstance(node, ast.Call):
        return
    for known in dict.fromkeys(callees(index, module, node.func)):
        if not isinstance(known, str):
            continue
        yield from tree_reads(index, module, node, known)
        if _is_unlisted(known):
            yield Watcher(module.place(node), "the children of each part of a tree")
        if known == TREE_AT:
            fields = replaced_fields(index, module, node)
            yield Watcher(module.place(node), "parts of a tree that it replaces", attributes=fields, rule=REPLACED)
        reads = optimizer_reads(known)
        if reads is not None:
            yield Watcher(module.place(node), reads, rule=rule_of_optimizer(reads))
