"""Names under which code of a project stores into a class, an object or a module, its own or a library's."""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scanify.analysis.facts import Place, Span
from scanify.analysis.index.by_name import ANY_MODULE, ByName, Store, by_name
from scanify.analysis.index.meaning import External, Package
from scanify.analysis.index.module import Module

if TYPE_CHECKING:
    from scanify.analysis.index.project import Index

_STORES_LOOSELY = (
    "setattr delattr __setattr__ __delattr__ __dict__ vars globals locals __builtins__ mock mocker".split()
)
_READS_LOOSELY = ("getattr", "attrgetter", "replace", "evolve", "_replace")
_FINDS_MODULES = ("modules", "import_module", "__import__", "getmodule", "globals")


class Patches:
    """The stores of the files of an index, by name.

    A file is parsed only if its text contains the name in question.
    """

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._stores: dict[str, tuple[Store, ...]] = {}
        self._replaced: dict[tuple[str, str], bool] = {}

    def stores(self, name: str) -> tuple[Store, ...]:
        """Return the stores to attributes of a name, except constructors storing to their own objects."""
        if name not in self._stores:
            found: list[Store] = []
            for path, table in self._tables(name):
                found += table.stores.get(name, ()) if table is not None else [Store(path, None, True)]
            self._stores[name] = (*found, *self._loose.get(name, ()))
        return self._stores[name]

    def in_module(self, holder: str, name: str) -> bool:
        """True if code may store to a name in a module whose last name is `holder`."""
        key = holder, name
        if key not in self._replaced:
            tables = (table for _, table in self._tables(name, holder))
            self._replaced[key] = name in self._in_any_module or any(
                _stores_in(table, holder, name) for table in tables
            )
        return self._replaced[key]

    @cached_property
    def builtins(self) -> frozenset[str]:
        """The names of builtins that code stores to."""
        stored = (each for table in self._tables_with("builtins", "__builtins__") for each in table.modules)
        loose = (table for table in self._tables_with("builtins", "__builtins__", "globals") if table.loose)
        names = {name for table in loose for name in table.strings}
        return self._in_any_module | names | {name for holder, name in stored if holder == "builtins"}

    @cached_property
    def _in_any_module(self) -> frozenset[str]:
        """Names stored by files that find modules by name: `sys.modules["blocks"].build = counted`."""
        stored = (each for table in self._tables_with(*_FINDS_MODULES) for each in table.modules)
        return frozenset(name for holder, name in stored if holder == ANY_MODULE)

    def place(self, store: Store) -> Place:
        """Return the place of a store; the line of the error if its file cannot be parsed."""
        module = self._index.module_at(store.path)
        if module is not None and store.node is not None:
            return module.place(store.node)
        line = self._index.problems[store.path].line
        return Place(store.path, Span(0, 0, line, line))

    @cached_property
    def _loose(self) -> dict[str, list[Store]]:
        """Stores by a name that is not constant, keyed by each name that it may be."""
        found: dict[str, list[Store]] = {}
        for home in self._homes(*_STORES_LOOSELY):
            for node in by_name(home).loose:
                for name in self._meant(by_name(home), node):
                    found.setdefault(name, []).append(Store(home.path, node, True))
        return found

    def _meant(self, table: ByName, node: ast.AST) -> set[str]:
        """Return the names that a loose store may use.

        They are its keywords, and the strings of its file and of files that name the enclosing function; if that
        function takes `**names`, also the keywords in those files.
        """
        names = {*table.strings} | {each.arg for each in getattr(node, "keywords", ()) if each.arg is not None}
        for function in table.functions_on(getattr(node, "lineno", 0))[-1:]:
            for other in self._tables_with(function.name):
                names |= other.strings.keys()
                if function.args.kwarg is not None:
                    uses = other.uses.items()
                    names |= {name for name, nodes in uses if any(isinstance(each, ast.keyword) for each in nodes)}
        return names

    @cached_property
    def loose_readers(self) -> frozenset[str]:
        """The names of functions that read attributes by a name that is not constant."""
        reads = ((home, node) for home in self._homes(*_READS_LOOSELY) for node in self.loose_reads(home))
        return frozenset(each.name for home, node in reads for each in by_name(home).functions_on(node.lineno))

    def loose_reads(self, module: Module) -> list[ast.Call]:
        """Return the reads of attributes by a name that is not constant, except attributes of imported modules."""
        return [each for each in by_name(module).loose_reads if not self._is_of_module(module, *each.args[:1])]

    def _is_of_module(self, module: Module, *holder: ast.expr) -> bool:
        names = [ast.unparse(each) for each in holder if isinstance(each, ast.Name | ast.Attribute)]
        return any(isinstance(self._index.resolve(module, name), External | Package) for name in names)

    def _homes(self, *words: str) -> list[Module]:
        """Return the files that contain any of some words, in order of their paths."""
        homes = {home.path: home for word in words for home in self._index.modules_with(word)}
        return [homes[path] for path in sorted(homes)]

    def _tables_with(self, *words: str) -> Iterator[ByName]:
        return map(by_name, self._homes(*words))

    def _tables(self, *words: str) -> Iterator[tuple[Path, ByName | None]]:
        """Yield the tables of the files that contain all words.

        The table is None for a file that cannot be parsed and may store to the first word.
        """
        for path in self._index.paths_with(*words):
            module, source = self._index.module_at(path), self._index.source(path)
            if module is not None:
                yield path, by_name(module)
            elif source is not None and re.search(rf"\.\s*{words[0]}\b|[\"'.]{words[0]}[\"']", source.text):
                yield path, None


def _stores_in(table: ByName | None, holder: str, name: str) -> bool:
    """True if a file may store to a name of a module, by an assignment or through a string."""
    if table is None or (holder, name) in table.modules:
        return True
    named = (table.imported, table.strings, table.uses)
    return bool(table.loose) and name in table.strings and any(holder in names for names in named)
