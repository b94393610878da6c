"""Find every place in a project that reads leaves: functions on trees, optimisers, and calls that are passed a model.

A listed function that is named without being called may be applied to any tree, so naming it counts as reading.
"""

import ast
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from scanify.analysis.classes.classes import Classes
from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Definition, Index, Module
from scanify.analysis.lower.nodes import by_kind, nodes_in
from scanify.analysis.lower.scope import parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.readers import Reader
from scanify.analysis.watchers.flow import Flow
from scanify.analysis.watchers.library import (
    JUDGED,
    KINDS,
    PER_LEAF_PACKAGES,
    TREE_MODULES,
    is_unlisted,
    optimizer_reads,
)
from scanify.analysis.watchers.names import callees
from scanify.analysis.watchers.sharding import PLACES, SHARD_MAPS, SHARDED, is_whole
from scanify.analysis.watchers.trees import CHILDREN, COUNT, reads_of_call
from scanify.source.notebook.text import Cells, is_notebook

_PACKAGES = ("optax", *PER_LEAF_PACKAGES)
_OPTIMISERS = frozenset((*(f"optax{each}" for each in ("", ".contrib", ".transforms", ".experimental")), *_PACKAGES))
_MENTIONED = {name for name in JUDGED if KINDS[name] != "structure"} | TREE_MODULES | {"jax.tree_util.default_registry"}
_COUNTS, _PARTS = frozenset({"num_leaves", "num_nodes"}), frozenset({"children", "node_data"})
_IMPORTS, _BY_TEXT = frozenset({"__import__", "import_module"}), ("jax", "equinox", "pickle")
_NAMED = {name.rpartition(".")[2] for name in {*_MENTIONED, *KINDS}} | _IMPORTS
# Common names prove nothing: a call of a function on trees has another word of its path, too.
_WORDS = _NAMED | _COUNTS | _PARTS | PLACES | {"shard_map", *_PACKAGES}
_WORDS -= frozenset("map all structure reduce filter partition".split())
_OF_TREES = frozenset("tree_map tree_leaves tree_flatten tree_reduce tree_util tree optax".split())
_ORIGINS = ("jax.tree", "jax.flatten_util", "pickle.", "equinox", *_PACKAGES, *SHARD_MAPS)
_PATH = re.compile(r"optax(?:[.:][a-z]\w*)*")
_TEXTS = (".__version__", ".__name__", ".__file__", ".__doc__")
_PROGRAM = re.compile(r"\.eqns\b|\.cost_analysis\b")
# Code that looks into scans knows their length: `eqn.primitive.name == "scan"`, `scan_p`, `eqn.params["length"]`.
_KNOWS_SCANS = re.compile(r"""["']scan["']|\bscan_p\b|["']length["']""")


@lru_cache(maxsize=2)
def watchers(index: Index) -> tuple[Reader, ...]:
    """Return the watchers of a project, in order of their places."""
    found: list[Reader] = []
    aliases = _aliases(index)
    for path in index.paths:
        source, words = index.source(path), index.words(path)
        if source is None or not words & (_WORDS | aliases):
            continue
        module = index.module_at(path)
        if module is not None:
            found += _of_module(index, module, aliases)
        elif words & _OF_TREES:
            problem = index.problems[path]
            cell = Cells(source.text).at(problem.line, problem.line) if is_notebook(path) else None
            place = Place(path, Span(0, 0, problem.line, problem.line), cell)
            found.append(Reader(place, f"what cannot be seen, as the file cannot be parsed ({problem.message})"))
    return tuple(found)


def watchers_of(index: Index, module: Module, call: ast.Call) -> Iterator[Reader]:
    """Yield what one call reads of leaves, apart from calls among its arguments."""
    return (_reader(module, call, reads) for reads in reads_of_call(index, module, call))


def given_models(index: Index, place: Place, lists: Collection[str]) -> list[Reader]:
    """Return the calls that are passed a model with one of the lists; in too large a project, one at `place`."""
    models = _models(index, lists)
    models |= {base for each in models for base in Classes(index).lineage(each)}
    flow = Flow(index, models, lists)
    for module in filter(None, map(index.module_at, index.paths)):
        flow.look_at(module)
    found = flow.follow()
    if not flow.complete:
        found.append(Reader(place, "what is not shown, as the project is too large to follow a model"))
    return found


def _models(index: Index, lists: Collection[str]) -> set[Definition]:
    """Return the classes that name a list, or another such class, as subclasses and fields do."""
    names, found = set(lists), set[Definition]()
    while True:
        paths = dict.fromkeys(path for name in sorted(names) for path in index.paths_with(name))
        modules = [module for path in paths if (module := index.module_at(path)) is not None]
        classes = (
            Definition(each, name, node)
            for each in modules
            for name in each.definitions
            for node in each.definitions[name]
        )
        more = {each for each in classes if isinstance(each.node, ast.ClassDef) and names & _words_of(each)} - found
        if not more:
            return found
        found |= more
        names |= {each.name for each in more}


def _words_of(cls: Definition) -> set[str]:
    return set(re.findall(r"[^\W\d]\w*", cls.module.code(cls.node)))


def program_readers(index: Index) -> list[Reader]:
    """Return the places that read traced or compiled programs, where a scan is one equation with the cost of one."""
    found: list[Reader] = []
    for path in index.paths:
        source = index.source(path)
        module = index.module_at(path) if source is not None and _PROGRAM.search(source.text) else None
        nodes = [each for each in nodes_in(module.tree) if isinstance(each, ast.Attribute)] if module else []
        for attr, reads in (("eqns", "the equations of a program"), ("cost_analysis", "the cost of a program")):
            read = next((each for each in nodes if each.attr == attr), None)
            if module and read and not (attr == "eqns" and _KNOWS_SCANS.search(module.text)):
                found.append(Reader(module.place(read), reads))
    return found


def _reader(module: Module, node: ast.AST, reads: str) -> Reader:
    attributes = frozenset(each.attr for each in nodes_in(node) if isinstance(each, ast.Attribute))
    return Reader(module.place(node), reads, attributes)


def _aliases(index: Index) -> set[str]:
    """Return the aliases under which the project imports functions on trees."""
    texts = [source.text for path in index.paths if (source := index.source(path)) is not None]
    found: set[str] = set()
    while True:
        last = "|".join(sorted(map(re.escape, {*_NAMED, *_PACKAGES} | found)))
        renamed = re.compile(rf"\b(?:{last})[ \t]+as[ \t]+(\w+)")
        more = {name for text in texts for name in renamed.findall(text)}
        if more <= found:
            return found
        found |= more


def _of_module(index: Index, module: Module, aliases: set[str]) -> list[Reader]:
    nodes = nodes_in(module.tree)
    words = _WORDS | (aliases & index.words(module.path))
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound = module.imported(node).items()
            words |= {name for name, each in bound if each.target.startswith(_ORIGINS)}
    found: dict[tuple[int, str], Reader] = {}
    for node in nodes:
        for reads in _reads(index, module, node) if _is_telling(node, words) else ():
            reader = _reader(module, node, reads)
            found.setdefault((reader.place.span.line, reads), reader)
    return sorted(found.values(), key=lambda each: each.place.span)


def _is_telling(node: ast.AST, words: frozenset[str] | set[str]) -> bool:
    """True if a word in the path of a node, or of the function that it calls, may name a function on trees."""
    match node:
        case ast.Name(id=name):
            return name in words
        case ast.Attribute(value=value, attr=name):
            return name in words or _is_telling(value, words)
        case ast.Constant(value=str(text)):
            return text.startswith(("optax", *_BY_TEXT)) or text in PLACES
        case ast.keyword(arg=name):
            return name in PLACES
        case ast.Call(func=function):
            return _is_telling(function, words)
        case _:
            return False


def _reads(index: Index, module: Module, node: ast.AST) -> Iterator[str]:
    """Yield descriptions of what a node reads of leaves."""
    match node:
        case ast.Constant(value=str(text)):
            above = parent_of(module, node)
            if _PATH.fullmatch(text) and (text != "optax" or isinstance(above, ast.Call)):
                yield from _chosen(text.replace(":", "."), None)
            if text.startswith(_BY_TEXT) and isinstance(above, ast.Call) and _last(above.func) in _IMPORTS:
                yield f"what `{module.code(above)}` is applied to elsewhere"
            yield from [SHARDED] if text in PLACES else []
        case ast.keyword(value=value):
            yield from [SHARDED] if not is_whole(module, value) else []
        case ast.Name() | ast.Attribute() if _is_root(module, node):
            yield from _mentioned(index, module, node)
    match node:
        case ast.Attribute(attr=name) if name in _COUNTS:
            yield COUNT
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]) if name in _PARTS:
            classes = (each for home in index.modules_with(name) for each in by_kind(home.tree)[ast.ClassDef])
            if not any(getattr(each, "name", "") == name for cls in classes for each in cls.body):
                yield CHILDREN
        case ast.Call(args=args):
            specs = args[2:] if SHARD_MAPS & {*callees(index, module, node.func)} else []
            yield from [SHARDED] if not all(is_whole(module, each) for each in specs) else []
            yield from reads_of_call(index, module, node)


def _is_root(module: Module, node: ast.AST) -> bool:
    """True for the longest dotted path, such as `jax.tree.map`, if it is read and not called."""
    above = parent_of(module, node)
    is_part = isinstance(above, ast.Attribute) or (isinstance(above, ast.Call) and above.func is node)
    return not is_part and dotted(node) is not None and isinstance(getattr(node, "ctx", None), ast.Load)


def _mentioned(index: Index, module: Module, node: ast.expr) -> Iterator[str]:
    """Yield reads by functions on trees and optimisers that are named without being called."""
    above = parent_of(module, node)
    for known in dict.fromkeys(callees(index, module, node)):
        if not isinstance(known, str):
            continue
        if known.partition(".")[0] in _PACKAGES:
            yield from _chosen(known, above)
        elif known in _MENTIONED or is_unlisted(known):
            yield f"what `{module.code(node)}` is applied to elsewhere"


def _chosen(qualname: str, above: ast.AST | None) -> Iterator[str]:
    """Yield reads by an optimiser, or by any optimiser of a package, that is named without being called."""
    package = qualname.removesuffix(".__dict__")
    is_any = package in _OPTIMISERS
    match above:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            package, is_any = f"{package}.{name}", False
        case ast.Call(func=ast.Name(id="hasattr" | "print" | "repr" | "str" | "id") | ast.Attribute(attr="reload")):
            return
    reads = f"an optimizer of `{package}` that is chosen as the program runs" if is_any else optimizer_reads(package)
    if reads is not None and not qualname.endswith(_TEXTS):
        yield reads


def _last(function: ast.expr) -> str:
    return (dotted(function) or "").rpartition(".")[2]
