"""Names under which code of a project puts something into a class, an object or a module, its own or a library's."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span
from scanify.analysis.index.by_name import ANY_MODULE, ByName, by_name
from scanify.analysis.index.meaning import External, Package
from scanify.analysis.index.module import Module
from scanify.analysis.lower.nodes import nodes_in

if TYPE_CHECKING:
    from scanify.analysis.index.project import Index

# A store without a string has a dot before its name, or is a keyword of `patch.multiple` and `vars(x).update`.
_MAY_STORE = re.compile(r"""\.(?:\s|\\|#[^\n]*)*(\w+)\b(?!\s*\()|(\w+)["']|\b(\w+)\s*=(?!=)""")
_SETTER = re.compile(r"\b(?:_*(?:set|del)attr_*|patch(?:\.\w+)?)\b|\b__dict__|\b(?:vars|globals|locals)\(")
_SETS_CONSTANT = re.compile(r"""\b(?:_*(?:set|del)attr_*|patch(?:\.\w+)?)\(\s*(?:[\w.]+,\s*)?["'][\w.]+["']""")
_READS_LOOSELY = ("getattr", "attrgetter", "replace", "evolve", "_replace")
_FINDS_MODULES = (("sys", "modules"), ("import_module",), ("__import__",), ("getmodule",), ("globals",))


@dataclass(frozen=True, eq=False)
class Stored:
    """A store of a file; `node` is None if the file cannot be parsed and its text may have the store.

    A `forced` store also reaches objects of frozen classes.
    """

    path: Path
    node: ast.AST | None
    forced: bool


class Patches:
    """The stores of the files of an index, by name.

    A file is parsed only if its text may have a store to the name that is asked for.
    """

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._written: dict[Path, frozenset[str]] = {}
        self._stores: dict[str, tuple[Stored, ...]] = {}
        self._properties: dict[str, bool] = {}
        self._replaced: dict[tuple[str, str], bool] = {}

    def stores(self, name: str) -> tuple[Stored, ...]:
        """Return the stores to attributes of a name, without constructors that store to their own objects."""
        if name not in self._stores:
            self._stores[name] = (*self._stores_to(name), *self._loose.get(name, ()))
        return self._stores[name]

    def _stores_to(self, name: str) -> Iterator[Stored]:
        for path, table in self._tables(name):
            if table is None:
                yield Stored(path, None, True)
            else:
                yield from (Stored(path, each.node, each.forced) for each in table.stores.get(name, ()))

    def in_module(self, holder: str, name: str) -> bool:
        """True if code may store to a name in a module whose last name is `holder`."""
        key = holder, name
        if key not in self._replaced:
            tables = (table for _, table in self._tables(name, holder))
            stored = any(table is None or key in table.modules for table in tables)
            self._replaced[key] = stored or name in self._in_any_module
        return self._replaced[key]

    @cached_property
    def builtins(self) -> frozenset[str]:
        """The names of builtins that code stores to."""
        homes = (home for word in ("builtins", "__builtins__") for home in self._index.modules_with(word))
        stored = (each for home in homes for each in by_name(home.tree).modules)
        return self._in_any_module | {name for holder, name in stored if holder == "builtins"}

    @cached_property
    def loose(self) -> tuple[Stored, ...]:
        """The stores whose name is no constant, and for which no file has a string that may be the name."""
        return tuple(store for store, names in self._names_of_loose if not names)

    def place(self, store: Stored) -> Place:
        """The place of a store; the line of the error if its file cannot be parsed."""
        module = self._index.module_at(store.path)
        if module is not None and store.node is not None:
            return module.place(store.node)
        problem = self._index.problems.get(store.path)
        line = problem.line if problem is not None else 1
        return Place(store.path, Span(0, 0, line, line))

    @cached_property
    def _in_any_module(self) -> frozenset[str]:
        """The names that files store to which find modules by name: `sys.modules["blocks"].build = counted`."""
        homes = (home for words in _FINDS_MODULES for home in self._index.modules_with(*words))
        return frozenset(name for home in homes for holder, name in by_name(home.tree).modules if holder == ANY_MODULE)

    @cached_property
    def _loose(self) -> dict[str, list[Stored]]:
        found: dict[str, list[Stored]] = {}
        for store, names in self._names_of_loose:
            for name in names:
                found.setdefault(name, []).append(store)
        return found

    @cached_property
    def _names_of_loose(self) -> list[tuple[Stored, frozenset[str]]]:
        """The stores whose name is no constant, with the names that may be meant.

        These are the strings of the file, and those in calls of the function around; with `**names` the keywords there.
        """
        found = []
        for path in self._index.paths:
            text = self._text(path)
            module = self._index.module_at(path) if _may_be_loose(text) else None
            table = by_name(module.tree) if module is not None else ByName()
            for node in table.loose:
                names = {*table.strings, *self._passed(module.tree, node)}  # type: ignore[union-attr]
                found.append((Stored(path, node, True), frozenset(names)))
        return found

    @cached_property
    def loose_readers(self) -> frozenset[str]:
        """The names of functions that read attributes whose name is no constant."""
        homes = {home.path: home for word in _READS_LOOSELY for home in self._index.modules_with(word)}
        reads = ((home, node) for home in homes.values() for node in self.loose_reads(home))
        return frozenset(each.name for home, node in reads for each in by_name(home.tree).functions_on(node.lineno))

    def loose_reads(self, module: Module) -> list[ast.Call]:
        """Return the reads of attributes in a file whose name is no constant, without those of imported modules."""
        found = by_name(module.tree).loose_reads
        return [each for each in found if not self._is_of_module(module, each.args[0] if each.args else None)]

    def _is_of_module(self, module: Module, node: ast.expr | None) -> bool:
        name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        return bool(name) and isinstance(self._index.resolve(module, name), External | Package)

    def _passed(self, tree: ast.Module, node: ast.AST) -> Iterator[str]:
        """The strings that calls anywhere pass to the function around a node, and keywords for its `**names`."""
        for function in by_name(tree).functions_on(getattr(node, "lineno", 0))[-1:]:
            for home in self._index.modules_with(function.name):
                for call in nodes_in(home.tree):
                    if isinstance(call, ast.Call) and function.name == _last(call.func):
                        values = nodes_in(*call.args, *call.keywords)
                        strings = (each.value for each in values if isinstance(each, ast.Constant))
                        yield from (each for each in strings if isinstance(each, str))
                        yield from (each.arg for each in call.keywords if function.args.kwarg and each.arg)

    def _tables(self, *words: str, text: str = "") -> Iterator[tuple[Path, ByName | None]]:
        """The tables of files that have some words and `text`, and may store to the first; None for those that do not
        parse."""
        for path in self._index.paths_with(*words):
            if words[0] in self._written_in(path) and text in self._text(path):
                module = self._index.module_at(path)
                if module is not None:
                    yield path, by_name(module.tree)
                elif re.search(rf"\.\s*{words[0]}\b|[\"'.]{words[0]}[\"']", self._text(path)):
                    yield path, None

    def _written_in(self, path: Path) -> frozenset[str]:
        """The names that the text of a file may store to, all of them if it is parsed."""
        if path not in self._written:
            if self._index.is_parsed(path):
                self._written[path] = self._index.words(path)
            else:
                found = _MAY_STORE.findall(self._text(path))
                self._written[path] = frozenset(name for names in found for name in names)
        return self._written[path]

    def _text(self, path: Path) -> str:
        source = self._index.source(path)
        return source.text if source is not None else ""


def _may_be_loose(text: str) -> bool:
    """True unless each setter in a text has its name as a constant."""
    return len(_SETTER.findall(text)) != len(_SETS_CONSTANT.findall(text))


def _last(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
