"""The values of names, attributes and results, and the code to evaluate again when one grows."""

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
_MAX_RUNS = 10_000
_MAX_GROWN = 12
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class State:
    """A monotone store of values with its worklist.

    `models` are the classes whose objects hold the lists, `lists` the names of these lists.
    """

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
        """Add to the value of a name, an attribute or a result."""
        before = self._held.get(key, NOTHING)
        grown = self._grown.get(key, 0)
        after = before | (held.whole if grown > _MAX_GROWN else held)
        if after != before:
            exact = grown < _MAX_GROWN and (before.parts is None or after.parts is not None)
            self._grown[key] = grown + 1 if exact else _MAX_GROWN + 1  # once its parts are lost they stay so
            self._held[key] = after if exact else after.whole
            self._waiting.update(dict.fromkeys(self._readers.get(key, ())))

    def learn(self, owner: Definition) -> None:
        """Add the fields of a class to those that are known by name."""
        self.fields.update(fields(owner.node))
        if isinstance(owner.node, ast.ClassDef):
            self.fields.update(stored(owner.node))

    # -- what is looked at -----------------------------------------------------------------------------------------

    def look_at(self, module: Module, node: ast.AST) -> None:
        """Put a function, a class body or a module on the worklist, once."""
        if id(node) not in self._units:
            self._units[id(node)] = (module, node)
            self._waiting[id(node)] = None

    def settle(self) -> None:
        """Evaluate code until no value grows."""
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
        """Return the value of a name where it is read."""
        for scope in scope_of(module, node).chain():
            if scope.parent is None or node.id in scope.globals:
                break
            if node.id in scope.locals:
                return self.held(("name", id(scope.node), node.id))
        return self.of_global(module, node.id)

    def of_global(self, module: Module, name: str) -> Held:
        """Return the value of a dotted name of a module."""
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
        """Return a function, joined with what its decorators make of it."""
        decorated = self.held(("decorated", id(node)))
        return Held(functions=frozenset({Function(module, node)})) | decorated

    # -- attributes ------------------------------------------------------------------------------------------------

    def of_attribute(self, base: Held, name: str) -> Held:
        """Return the value of an attribute: of fields by their name alone, of methods by the class if it is known."""
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
        """Return a method of a class or a base, joined with all methods of its name, which may override it."""
        found, waiting, seen = NOTHING, [owner], set()
        while waiting:
            each = waiting.pop()
            if each in seen or not isinstance(each.node, ast.ClassDef):
                continue
            seen.add(each)
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                    found |= self._as_method(each.module, node, bound)
            bases = (self.class_named(each.module, base) for base in each.node.bases)
            waiting += [base for base in bases if base is not None]
        return found if found == NOTHING else found | self.methods(name)

    def methods(self, name: str) -> Held:
        """Return all methods of a name in the project."""
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

    def class_named(self, module: Module, node: ast.expr) -> Definition | None:
        """Return the class of the project that an expression names, in quotes or not; None if it names none."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name: str | None = re.sub(r"\[.*|\|.*", "", node.value, flags=re.DOTALL).strip()
        else:
            name = dotted(node.value if isinstance(node, ast.Subscript) else node)
        found = self.index.resolve(module, name) if name else None
        return found if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) else None

    # -- what functions are given ----------------------------------------------------------------------------------

    def bind(self, function: Function, given: Iterable[Held], named: dict[str, Held], more: Held = NOTHING) -> Held:
        """Give a function arguments, `more` to all of its parameters, and return its result."""
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
    """The top-level classes of modules that contain one of some words, each with the words in its text."""
    for path in dict.fromkeys(path for name in names for path in index.paths_with(name)):
        module = index.module_at(path)
        for name, statements in module.definitions.items() if module is not None else ():
            for node in statements:
                if isinstance(node, ast.ClassDef) and module is not None:
                    words = frozenset(re.findall(r"[^\W\d]\w*", module.code(node)))
                    yield Definition(module, name, node), words


def functions_in(module: Module) -> Iterator[FunctionNode]:
    """All functions of a module, inner ones and lambdas included."""
    yield from (each for each in nodes_in(module.tree) if isinstance(each, _FUNCTIONS))
