"""The values of names, attributes and results, and the code to evaluate again when one grows."""

import ast
from collections.abc import Iterable
from typing import TypeAlias

from scanify.analysis.classes.classes import Classes
from scanify.analysis.index import Definition, External, Index, Meaning, Module
from scanify.analysis.lower.scope import FUNCTIONS, parameters, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.follow.values import (
    ARRAY,
    MODEL,
    NOTHING,
    TREE,
    Class,
    Function,
    FunctionNode,
    Held,
    Library,
    Object,
    held,
    join,
)
from scanify.analysis.watchers.names import meanings
from scanify.analysis.watchers.stacks import stored

Key: TypeAlias = tuple[object, ...]
Unit: TypeAlias = tuple[Module, ast.AST]
_MAX_RUNS = 10_000


class State:
    """A monotone store of values with its worklist.

    `models` are the classes whose objects hold the lists, `lists` the names of these lists, `fields` the names that
    are known to be fields, whose values are looked up by their names.
    """

    def __init__(self, index: Index, models: Iterable[Definition], lists: Iterable[str]) -> None:
        self.index, self.classes = index, Classes(index)
        self.models, self.lists = frozenset(models), frozenset(lists)
        self.fields: set[str] = set()
        self.complete = True
        self.values: dict[Key, Held] = {}
        self.units: dict[int, Unit] = {}
        self._readers: dict[Key, set[int]] = {}
        self._waiting: dict[int, None] = {}
        self._current = 0
        for model in self.models:
            self.learn(model)
        for name in self.lists:
            self.give(("attribute", name), MODEL)

    def held(self, key: Key) -> Held:
        """Return the value under a key so far; the unit that runs is run again when it grows."""
        self._readers.setdefault(key, set()).add(self._current)
        return self.values.get(key, NOTHING)

    def give(self, key: Key, value: Held) -> None:
        """Add to the value of a name, an attribute or a result."""
        before = self.values.get(key, NOTHING)
        after = before | value
        if after != before:
            self.values[key] = after
            self._waiting.update(dict.fromkeys(self._readers.get(key, ())))

    def learn(self, owner: Definition) -> None:
        """Add the fields of a class to those that are known by name."""
        self.fields.update(self.classes.fields(owner))
        if isinstance(owner.node, ast.ClassDef):
            self.fields.update(stored(owner.node))

    def look_at(self, module: Module, node: ast.AST) -> None:
        """Put a function, a class body or a module on the worklist, once."""
        if id(node) not in self.units:
            self.units[id(node)] = (module, node)
            self._waiting[id(node)] = None

    def settle(self) -> None:
        """Evaluate code until no value grows."""
        for _ in range(_MAX_RUNS):
            if not self._waiting:
                return
            self._current = next(iter(self._waiting))
            del self._waiting[self._current]
            self.run(*self.units[self._current])
        self.complete = False

    def run(self, module: Module, node: ast.AST) -> None:
        """Evaluate one unit."""
        raise NotImplementedError

    # -- names and attributes --------------------------------------------------------------------------------------

    def of_name(self, module: Module, node: ast.Name) -> Held:
        """Return the value of a name where it is read."""
        for scope in scope_of(module, node).chain():
            if scope.parent is None or node.id in scope.globals:
                break
            if node.id in scope.locals:
                return self.held(("name", id(scope.node), node.id))
        return self.of_meanings(meanings(self.index, module, node.id))

    def of_meanings(self, several: Iterable[tuple[Meaning | None, str]]) -> Held:
        """Return the value of the meanings that a dotted name may have."""
        found = NOTHING
        for meaning, rest in several:
            if isinstance(meaning, External):
                found |= held(Library(f"{meaning.qualname}.{rest}" if rest else meaning.qualname))
            elif isinstance(meaning, Definition):
                value = self.of_definition(meaning)
                for part in rest.split(".") if rest else ():
                    value = self.of_attribute(value, part)
                found |= value
        return found

    def of_definition(self, found: Definition) -> Held:
        """Return the value of a global name of the project."""
        self.look_at(found.module, found.module.tree)
        if isinstance(found.node, ast.ClassDef):
            return held(Class(found), *([TREE] if found in self.models else []))
        if isinstance(found.node, FUNCTIONS):
            return self.of_function(found.module, found.node)
        return self.held(("name", id(found.module.tree), found.name))

    def of_function(self, module: Module, node: FunctionNode, bound: int = 0) -> Held:
        """Return a function, joined with what its decorators make of it."""
        return held(Function(module, node, bound)) | self.held(("decorated", id(node)))

    def of_attribute(self, base: Held, name: str) -> Held:
        """Return the value of an attribute: of fields and methods by their name alone."""
        found = self.held(("attribute", name)).whole
        for atom in base.atoms:
            if isinstance(atom, Library) and atom != ARRAY:
                found |= held(Library(f"{atom.name}.{name}"))
            elif isinstance(atom, Class | Object):
                found |= self.method(atom.definition, name, bound=isinstance(atom, Object))
            elif atom == TREE and name not in self.fields | self.lists:
                found |= MODEL
            elif atom != TREE:
                found |= held(atom)
        known = any(isinstance(atom, Class | Object) for atom in base.atoms)
        return found | (self.methods(name) if base.tree and not known else NOTHING)

    def method(self, owner: Definition, name: str, *, bound: bool = True) -> Held:
        """Return a method of a class, joined with all methods of its name, which may override it."""
        found = self.classes.method(owner, name)
        if found is None:
            return NOTHING
        own = self._as_method(found[0].module, found[1], bound)
        return own if name.startswith("__") else own | self.methods(name)

    def methods(self, name: str) -> Held:
        """Return all methods of a name in the project."""
        modules = self.index.modules_with(name) if not name.startswith("__") else ()
        return join(self._as_method(each, node, True) for each in modules for node in each.methods.get(name, ()))

    def _as_method(self, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, bound: bool) -> Held:
        names = {(dotted(each) or "").rpartition(".")[2] for each in node.decorator_list}
        if names & {"property", "cached_property"}:
            self.look_at(module, node)
            return self.held(("result", id(node)))
        return held(Function(module, node, int("classmethod" in names or (bound and "staticmethod" not in names))))

    def bind(self, function: Function, given: Iterable[Held], named: dict[str, Held], more: Held = NOTHING) -> Held:
        """Pass arguments to a function, `more` to all of its parameters, and return its result."""
        self.look_at(function.module, function.node)
        args = function.node.args
        names = [each.arg for each in (*args.posonlyargs, *args.args)][function.bound :]
        known = {each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        values = list(given)
        pairs = [*zip(names, values, strict=False), *named.items()]
        pairs += [(args.vararg.arg, value.whole) for value in values[len(names) :] if args.vararg is not None]
        pairs += [(each.arg, more.whole) for each in parameters(function.node)[function.bound :]]
        for name, value in pairs:
            if name not in known and args.kwarg is not None and name in named:
                name, value = args.kwarg.arg, value.whole
            self.give(("name", id(function.node), name), value)
        return self.held(("result", id(function.node)))
