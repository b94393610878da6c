"""Every place in a project that looks at the leaves of trees. Only statements with a telling word in them are read."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Index, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.watchers.names import callee
from scanify.analysis.watchers.optimizers import optimizer_reads, optimizers_in_text, optimizers_named
from scanify.analysis.watchers.rules import KEY, LIST, rule_of, rule_of_optimizer
from scanify.analysis.watchers.tables import (
    BYTES,
    DESERIALISES,
    FILTERS,
    FLATTENS,
    LEAVES,
    MAPS,
    PATHS,
    PER_LEAF_PACKAGES,
    RAVELS,
    REDUCES,
    SERIALISES,
    STRUCTURES,
    VMAPS,
)
from scanify.analysis.watchers.trees.leaf import applied
from scanify.analysis.watchers.trees.reads import tree_reads
from scanify.analysis.watchers.trees.treedefs import COUNTS, counts
from scanify.analysis.watchers.trees.values import HARMLESS
from scanify.analysis.watchers.walkers import field_reads
from scanify.analysis.watchers.watcher import Watcher
from scanify.source.notebook.text import Cells, is_notebook

_WORD = re.compile(
    r"\b(?:tree|tree_\w+|leaves|ravel_pytree|is_leaf|filter|filter_vmap|filter_pmap|partition|dumps?|num_leaves|num_nodes|"
    r"vars|__dict__|__dataclass_fields__|fields|asdict|astuple|getattr|setattr|attrgetter|"
    r"optax|blackjax|distributed_shampoo|evosax|kfac_jax|optax_shampoo|soap_jax|soap|muon|shampoo)\b"
)
_WORD_OF_TREES = re.compile(
    r"\b(?:tree_(?:map|leaves|flatten|reduce|util)|tree\.(?:map|leaves|flatten|reduce)|optax)\b"
)
_PACKAGES = ("optax", *PER_LEAF_PACKAGES)
_OF_PACKAGES = "|".join(map(re.escape, _PACKAGES))
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
# An import inside of a function, of something telling or of something in it.
_INNER_IMPORT = re.compile(
    rf"^[ \t]+from[ \t]+(?:jax|equinox|dataclasses|{_OF_PACKAGES})\b[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)"
    r"|^[ \t]+import[ \t]+"
    rf"((?:jax\.tree_util|jax\.tree|jax\.flatten_util|{_OF_PACKAGES})\b[\w.]*(?:[ \t]+as[ \t]+\w+)?)",
    re.MULTILINE,
)
_TREES = MAPS | LEAVES | FLATTENS | REDUCES | STRUCTURES | PATHS | FILTERS | RAVELS | BYTES | SERIALISES | DESERIALISES
_NAMES_OF_TREES = {name.rpartition(".")[2] for name in _TREES}
_ALIAS = re.compile(
    rf"^[ \t]*(\w+)[ \t]*=[ \t]*[\w.]*\b(?:tree|tree_util|jtu|{'|'.join(sorted(_NAMES_OF_TREES))})[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_LAST = {name.rpartition(".")[2] for name in _TREES | VMAPS}
_LAST |= frozenset("vars fields asdict astuple getattr setattr attrgetter".split())


def watchers(index: Index) -> tuple[Watcher, ...]:
    """The watchers of a project, in order of their places."""
    found: list[Watcher] = []
    texts = (source.text for path in index.paths if (source := index.source(path)) is not None)
    named = {match[1] for text in texts for match in _ALIAS.finditer(text)}
    for path in index.paths:
        source = index.source(path)
        if source is None or not (_WORD.search(source.text) or named & index.words(path)):
            continue
        module = index.module_at(path)
        if module is not None:
            found += _of_module(index, module, named)
        elif _WORD_OF_TREES.search(source.text):
            problem = index.problems[path]
            cell = Cells(source.text).at(problem.line, problem.line) if is_notebook(path) else None
            place = Place(path, Span(0, 0, problem.line, problem.line), cell)
            reads = f"what cannot be seen, as the file cannot be parsed ({problem.message})"
            found.append(Watcher(place, reads, rule=LIST))
    return tuple(found)


def _of_module(index: Index, module: Module, named: set[str]) -> Iterator[Watcher]:
    aliases = {name for name, target in module.imports.items() if target.startswith(_ORIGINS)}
    aliases |= {name for found in _INNER_IMPORT.finditer(module.text) for name in _names_in(found[1] or found[2])}
    aliases |= named & index.words(module.path)
    lines = _lines(module, aliases)
    seen: set[tuple[int, str]] = set()
    for statement in module.tree.body:
        for part in _parts(statement, lines):
            for node in nodes_in(part):
                for found in _watching(index, module, node, aliases):
                    key = (found.place.span.line, found.reads)
                    if key not in seen:
                        seen.add(key)
                        yield replace(found, rule=_rule(index, module, node, found), node=node)


def watchers_of(index: Index, module: Module, call: ast.Call) -> Iterator[Watcher]:
    """What one call looks at, without what its arguments do."""
    for found in _watching(index, module, call, set(module.imports)):
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


def _names_in(imported: str) -> set[str]:
    """The names that `a, b as c` binds."""
    parts = (part.split(" as ")[-1].strip().partition(".")[0] for part in imported.strip("()").split(","))
    return {part for part in parts if part.isidentifier()}


def _is_telling(node: ast.Call | ast.Attribute, aliases: set[str]) -> bool:
    """Whether the last name of what is called or read, or the first, may be one of something telling."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("__dict__", "__dataclass_fields__") or node.attr in COUNTS
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _LAST:
        return True
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and (function.id in aliases or function.id in _LAST)


def _last_name(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _handed_on(index: Index, module: Module, node: ast.Name | ast.Attribute) -> Iterator[Watcher]:
    """A function on trees that is not called where it is named, such as `map(jax.tree.leaves, models)`."""
    above = parent_of(module, node)
    called = isinstance(above, ast.Call) and above.func is node
    if called or isinstance(above, ast.Attribute | ast.Assign | ast.alias) or not isinstance(node.ctx, ast.Load):
        return
    known = callee(index, module, node)
    if known not in _TREES - STRUCTURES:
        return
    if isinstance(above, ast.Call) and known in MAPS and len(above.args) > 1 and above.args[0] is node:
        partial = callee(index, module, above.func) == "functools.partial"
        if partial and applied(index, module, above.args[1]).kind in HARMLESS:
            return
    yield Watcher(module.place(node), f"what `{module.code(node)}` is applied to elsewhere")


def _lines(module: Module, aliases: set[str]) -> list[int]:
    """The lines with a telling word, those of names that an import gave to something telling included."""
    found = [match.start() for match in _WORD.finditer(module.text)]
    others = [name for name in aliases if not _WORD.fullmatch(name)]
    if others:
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})\b")
        found += [match.start() for match in pattern.finditer(module.text)]
    return sorted({module.line_of(offset) for offset in found})


def _parts(statement: ast.stmt, lines: list[int]) -> Iterator[ast.stmt]:
    """The statement where it has one of the lines in it; of a class those of its statements that do."""
    if not any(statement.lineno <= line <= (statement.end_lineno or line) for line in lines):
        return
    if isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from _parts(inner, lines)
    elif not isinstance(statement, ast.Import | ast.ImportFrom):
        yield statement


def _watching(index: Index, module: Module, node: ast.AST, aliases: set[str]) -> Iterator[Watcher]:
    if isinstance(node, ast.Name | ast.Attribute) and _last_name(node) in aliases | _NAMES_OF_TREES:
        yield from _handed_on(index, module, node)
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
    known = callee(index, module, node.func)
    if isinstance(known, str):
        yield from tree_reads(index, module, node, known)
        reads = optimizer_reads(known)
        if reads is not None:
            yield Watcher(module.place(node), reads, rule=rule_of_optimizer(reads))
