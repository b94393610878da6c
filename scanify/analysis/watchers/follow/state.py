"""What names, attributes and functions hold, and which code is to be looked at again where that grows."""

import ast
import re
from collections.abc import Iterable, Iterator

from scanify.analysis.index import Definition, External, Index, Meaning, Module
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import parameters, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.follow.held import NOTHING, TREE, Function, FunctionNode, Held, Library
from scanify.analysis.watchers.names import meanings
from scanify.analysis.watchers.stacks import fields, stored

Key = tuple[object, ...]
Unit = tuple[Module, ast.AST]
_MAX_RUNS = 30_000
_MAX_GROWN = 12
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class State:
    """What is known so far; it only grows. `models` are the classes whose objects hold the lists, `lists` the names of
    these lists. `run` is given by `calls.Follower`: it looks at one function, or at the statements of a module."""

    def __init__(self, index: Index, models: Iterable[Definition], lists: Iterable[str]) -> None:
        self.index = index
        self.models = frozenset(models)
        self.lists = frozenset(lists)
        self.fields: set[str] = set()
        self._held: dict[Key, Held] = {}
        self._grown: dict[Key, int] = {}
        self._readers: dict[Key, set[int]] = {}
        self._units: dict[int, Unit] = {}
        self._waiting: dict[int, None] = {}
        self._current = 0
        self.complete = True
        for model in self.models:
            self.learn(model)
        for name in self.lists:
            self.give(("attribute", name), TREE)

    # -- what holds what -------------------------------------------------------------------------------------------

    def held(self, key: Key) -> Held:
        self._readers.setdefault(key, set()).add(self._current)
        return self._held.get(key, NOTHING)

    def give(self, key: Key, held: Held) -> None:
        """Let a name, an attribute or a result hold something more."""
        before = self._held.get(key, NOTHING)
        grown = self._grown.get(key, 0)
        after = before | (held.whole if grown > _MAX_GROWN else held)
        if after != before:
            exact = grown < _MAX_GROWN and (before.parts is None or after.parts is not None)
            self._grown[key] = grown + 1 if exact else _MAX_GROWN + 1  # once its parts are lost they stay so
            self._held[key] = after if exact else after.whole
            self._waiting.update(dict.fromkeys(self._readers.get(key, ())))

    def learn(self, owner: Definition) -> None:
        """Let the names of a class's fields be known as such."""
        self.fields.update(fields(owner.node))
        if isinstance(owner.node, ast.ClassDef):
            self.fields.update(stored(owner.node))

    # -- what is looked at -----------------------------------------------------------------------------------------

    def look_at(self, module: Module, node: ast.AST) -> None:
        """Let a function, or what a module runs as it is imported, be looked at."""
        if id(node) not in self._units:
            self._units[id(node)] = (module, node)
            self._waiting[id(node)] = None

    def settle(self) -> None:
        """Look at everything until nothing is new."""
        runs = 0
        while self._waiting:
            runs += 1
            if runs > _MAX_RUNS:
                self.complete = False
                return
            unit = next(iter(self._waiting))
            del self._waiting[unit]
            self._current = unit
            self.run(*self._units[unit])

    def units(self) -> list[Unit]:
        return list(self._units.values())

    def run(self, module: Module, node: ast.AST) -> None:
        raise NotImplementedError

    # -- names -----------------------------------------------------------------------------------------------------

    def of_name(self, module: Module, node: ast.Name) -> Held:
        """What a name may hold where it is read."""
        for scope in scope_of(module, node).chain():
            if scope.parent is None or node.id in scope.globals:
                break
            if node.id in scope.locals:
                return self.held(("name", id(scope.node), node.id))
        return self.of_global(module, node.id)

    def of_global(self, module: Module, name: str) -> Held:
        """What a dotted name of a module may hold."""
        return self.of_meanings(meanings(self.index, module, name))

    def of_meanings(self, several: Iterable[tuple[Meaning | None, str]]) -> Held:
        found = NOTHING
        for meaning, rest in several:
            if isinstance(meaning, External):
                found |= Held(
                    functions=frozenset({Library(f"{meaning.qualname}.{rest}" if rest else meaning.qualname)})
                )
            elif isinstance(meaning, Definition):
                held = self.of_definition(meaning)
                for part in rest.split(".") if rest else ():
                    held = self.of_attribute(held, part)
                found |= held
        return found

    def of_definition(self, found: Definition) -> Held:
        self.look_at(found.module, found.module.tree)
        if isinstance(found.node, ast.ClassDef):
            return Held(classes=frozenset({found}), tree=found in self.models)
        if isinstance(found.node, _FUNCTIONS):
            return self.of_function(found.module, found.node)
        return self.held(("name", id(found.module.tree), found.name))

    def of_function(self, module: Module, node: FunctionNode) -> Held:
        """A function by its definition, its decorators applied."""
        decorated = self.held(("decorated", id(node)))
        return Held(functions=frozenset({Function(module, node)})) | decorated

    # -- attributes ------------------------------------------------------------------------------------------------

    def of_attribute(self, base: Held, name: str) -> Held:
        """What an attribute of something may hold: a field, whatever it is a field of, a method, a part of a tree."""
        found = self.held(("attribute", name)).whole
        for library in (each for each in base.functions if isinstance(each, Library) and each.name):
            found |= Held(functions=frozenset({Library(f"{library.name}.{name}")}))
        for maker in base.made:
            found |= Held(functions=frozenset({Library(f"{maker}().{name}")}))
        for owner in base.classes | base.objects:
            found |= self.method(owner, name, bound=owner in base.objects)
        if base.tree and name not in self.fields and name not in self.lists:
            found |= TREE
        if base.tree and not base.objects and not base.classes:
            found |= self.methods(name)
        if base.outside:
            found |= Held(outside=True)
        return found

    def method(self, owner: Definition, name: str, *, bound: bool) -> Held:
        """A method of a class or of one that it inherits from, with those of the same name of the classes below it."""
        found, waiting, seen = NOTHING, [owner], set()
        while waiting:
            each = waiting.pop()
            if each in seen or not isinstance(each.node, ast.ClassDef):
                continue
            seen.add(each)
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    found |= self._as_method(each.module, node, bound)
            waiting += [base for base in map(self.class_named(each.module), each.node.bases) if base is not None]
        return found if found == NOTHING else found | self.methods(name)

    def methods(self, name: str) -> Held:
        """The methods of a name that the classes of the project have."""
        found = NOTHING
        if not name.startswith("__"):
            for module in self.index.modules_with(name):
                for node in module.methods.get(name, ()):
                    found |= self._as_method(module, node, True)
        return found

    def _as_method(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, bound: bool) -> Held:
        names = {(dotted(each) or "").rpartition(".")[2] for each in node.decorator_list}
        if names & {"property", "cached_property"}:
            self.look_at(module, node)
            return self.held(("result", id(node)))
        given = 1 if "classmethod" in names or (bound and "staticmethod" not in names) else 0
        return Held(functions=frozenset({Function(module, node, given)}))

    def class_named(self, module: Module):  # type: ignore[no-untyped-def]
        """What gives the class of the project that an expression names; None if it names none."""

        def named(node: ast.expr) -> Definition | None:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name: str | None = re.sub(r"\[.*|\|.*", "", node.value, flags=re.DOTALL).strip()
            else:
                name = dotted(node.value if isinstance(node, ast.Subscript) else node)
            found = self.index.resolve(module, name) if name else None
            return found if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) else None

        return named

    # -- what functions are given ----------------------------------------------------------------------------------

    def bind(self, function: Function, given: Iterable[Held], named: dict[str, Held], more: Held = NOTHING) -> Held:
        """Give a function arguments, `more` to any of its parameters, and return what it may give."""
        self.look_at(function.module, function.node)
        args = function.node.args
        names = [each.arg for each in (*args.posonlyargs, *args.args)][function.given :]
        values = list(given)
        for name, value in zip(names, values, strict=False):
            self.give(("name", id(function.node), name), value)
        if args.vararg is not None:
            for value in values[len(names) :]:
                self.give(("name", id(function.node), args.vararg.arg), value.whole)
        known = {each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        for name, value in named.items():
            if name in known:
                self.give(("name", id(function.node), name), value)
            elif args.kwarg is not None:
                self.give(("name", id(function.node), args.kwarg.arg), value.whole)
        if more != NOTHING:
            for each in parameters(function.node)[function.given :]:
                self.give(("name", id(function.node), each.arg), more.whole)
        return self.held(("result", id(function.node)))


def classes_of(index: Index, names: Iterable[str]) -> Iterator[tuple[Definition, frozenset[str]]]:
    """The classes at the top level of modules that have one of some words, with the words in their text."""
    for path in dict.fromkeys(path for name in names for path in index.paths_with(name)):
        module = index.module_at(path)
        for name, statements in module.definitions.items() if module is not None else ():
            for node in statements:
                if isinstance(node, ast.ClassDef) and module is not None:
                    words = frozenset(re.findall(r"[^\W\d]\w*", module.code(node)))
                    yield Definition(module, name, node), words


def functions_in(module: Module) -> Iterator[FunctionNode]:
    """Every function of a module, the inner ones too."""
    yield from (each for each in nodes_in(module.tree) if isinstance(each, _FUNCTIONS))
