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

if TYPE_CHECKING:
    from scanify.analysis.index.project import Index

_STORES_LOOSELY = "setattr delattr __setattr__ __delattr__ __dict__ vars globals locals __builtins__ patch".split()
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

    A file is parsed only if its text has the name that is asked for.
    """

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._stores: dict[str, tuple[Stored, ...]] = {}
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
        """The stores whose name is no constant, by the names that may be meant."""
        found: dict[str, list[Stored]] = {}
        homes = {home.path: home for word in _STORES_LOOSELY for home in self._index.modules_with(word)}
        for path, home in sorted(homes.items()):
            for node in by_name(home.tree).loose:
                for name in self._meant(by_name(home.tree), node):
                    found.setdefault(name, []).append(Stored(path, node, True))
        return found

    def _meant(self, table: ByName, node: ast.AST) -> set[str]:
        """The strings of a file and of those that name the function around a node; with `**names` keywords there."""
        names = {*table.strings}
        for function in table.functions_on(getattr(node, "lineno", 0))[-1:]:
            for home in map(by_name, (each.tree for each in self._index.modules_with(function.name))):
                names |= home.strings.keys()
                if function.args.kwarg is not None:
                    words = (
                        name for name, nodes in home.uses.items() if any(isinstance(n, ast.keyword) for n in nodes)
                    )
                    names.update(words)
        return names

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

    def _tables(self, *words: str) -> Iterator[tuple[Path, ByName | None]]:
        """The tables of the files that have some words; None for those that cannot be parsed and may use the first."""
        for path in self._index.paths_with(*words):
            module, source = self._index.module_at(path), self._index.source(path)
            if module is not None:
                yield path, by_name(module.tree)
            elif source is not None and re.search(rf"\.\s*{words[0]}\b|[\"'.]{words[0]}[\"']", source.text):
                yield path, None
