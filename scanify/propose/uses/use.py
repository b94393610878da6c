"""A call of a class in the project, and the call of its instance, as the parts of a proposed case."""

from __future__ import annotations

import ast
import copy
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from scanify.propose.uses.shrink import shrink
from scanify.propose.uses.slices import Scope, bound_inside, calls_in, demand_values, loads, needed
from scanify.propose.uses.texts import Code, builders, codes
from scanify.propose.values.expression import Call, Expression, Text
from scanify.propose.values.names import GiveUp, follow
from scanify.propose.values.roles import ROLES
from scanify.propose.values.sizes import RESERVED
from scanify.verify.versions.project import is_installed, module_name

_MOST = 24
# Modules that the statements of a case must not import.
_ACTING = frozenset(("os", "sys", "subprocess", "shutil", "socket", "urllib", "requests", "pathlib", "builtins"))
_USUAL = {"jax": "import jax", "jnp": "import jax.numpy as jnp", "eqx": "import equinox as eqx"}


@dataclass(frozen=True)
class Use:
    """How `where`, a line of the project, builds an instance of the class.

    `prelude` are statements before `model`, which is built with `eqx.nn.make_with_state` if `state`. `body` is the body
    of a whole case if the instance is called in the same function, and empty otherwise.
    """

    where: str
    prelude: tuple[str, ...]
    model: Call
    state: bool = False
    body: tuple[str, ...] = ()


def uses(module: ModuleType, cls: type, entry: str) -> Iterator[Use]:
    """Yield the uses of `cls`, and of functions of its file that build it, that can be written as code.

    Uses whose instance is called come first; each is yielded with small widths, then with its own. The code is read,
    not run, but project modules that a use imports are imported.
    """
    found: dict[tuple[Any, ...], Use] = {}
    names = builders(module, cls.__name__)
    for code in codes(Path(str(module.__file__)), names):
        for call, scopes in calls_in(code.tree, names):
            for small in (True, False):
                try:
                    use = _Reader(module, cls, entry, names, code).use(call, scopes, small=small)
                except GiveUp:
                    continue
                found.setdefault((use.prelude, use.model, use.body), use)
        if len(found) >= _MOST:
            break
    yield from sorted(found.values(), key=lambda use: not use.body)


@dataclass
class _Reader:
    module: ModuleType
    cls: type
    entry: str
    names: Set[str]
    code: Code

    def use(self, call: ast.Call, scopes: tuple[Scope, ...], *, small: bool) -> Use:
        """Return the use of a call. Raises GiveUp if something that the call needs cannot be written in a case."""
        own = os.path.realpath(self.code.path) == os.path.realpath(str(self.module.__file__)) and not self.code.example
        around = scopes[:-1] if own else (*scopes[:-1], ast.Module([*self.code.shared, *scopes[-1].body], []))
        around = around or (ast.Module([], []),)
        imports, prelude, (built,) = self._written(call, (call,), around, call.lineno, small=small, own=own)
        model, state = self._model(built)
        where = f"{os.path.relpath(self.code.path)}:{self.code.first + call.lineno - 1}"
        for instance in _instance_calls(scopes[0], call, self.entry):
            try:
                body = self._body(instance, around, own=own, small=small)
            except GiveUp:
                continue
            return Use(where, (*imports, *prelude), model, state, body)
        return Use(where, (*imports, *prelude), model, state)

    def _body(self, instance: ast.Call, around: Sequence[Scope], *, own: bool, small: bool) -> tuple[str, ...]:
        func = _pytree(instance.func)
        given = [each.value for each in instance.keywords]
        parts = (func, *instance.args, *given)
        imports, body, trees = self._written(instance, parts, around, instance.lineno, small=small, own=own, whole=True)
        called, *values = map(ast.unparse, trees)
        args, kwargs = values[: len(instance.args)], values[len(instance.args) :]
        pairs = [f'"{one.arg}": {v}' if one.arg else f"**{v}" for one, v in zip(instance.keywords, kwargs, strict=True)]
        answer = f"return {called}, ({', '.join(args)}{',' if len(args) == 1 else ''})"
        return (*imports, *body, answer + (f", {{{', '.join(pairs)}}}" if pairs else ""))

    def _written(
        self,
        call: ast.Call,
        parts: Sequence[ast.expr],
        around: Sequence[Scope],
        line: int,
        *,
        small: bool,
        own: bool,
        whole: bool = False,
    ) -> tuple[list[str], list[str], list[ast.expr]]:
        """Return the imports and statements that `parts` need, and `parts` with the names of a case."""
        names = _Names(self.module, self.code.path, own=own or self.code.example)
        for each in parts:
            demand_values(each)
        statements = needed({name for each in parts for name in loads(each)}, around, line, names.known)
        statements = [each for each in statements if not names.imported(each)]
        copied = [*statements, *map(copy.deepcopy, parts)]
        names.local |= {name for each in copied for name in bound_inside(each)}
        shrink(copied[: len(statements)] if whole else copied, names.positional, widths=small)
        trees = [names.visit(each) for each in copied]
        imports = names.imports(trees)
        renamed = _Renamed(names.local & ({"module"} if whole else RESERVED | ROLES.keys()))
        trees = [renamed.visit(each) for each in trees]
        return imports, [ast.unparse(each) for each in trees[: len(statements)]], trees[len(statements) :]

    def _model(self, built: ast.expr) -> tuple[Call, bool]:
        assert isinstance(built, ast.Call)
        callee, state = built.func, False
        if isinstance(callee, ast.Call) and "make_with_state" in ast.unparse(callee.func):
            callee, state = callee.args[0], True
        text, ours = ast.unparse(callee), f"module.{self.cls.__qualname__}"
        if text != ours and not text.startswith(f"{ours}.") and text not in {f"module.{name}" for name in self.names}:
            raise GiveUp(f"`{text}` is another class")
        given: list[tuple[str | None, Expression]] = [(None, Text(ast.unparse(each))) for each in built.args]
        given += [(each.arg, Text(("" if each.arg else "**") + ast.unparse(each.value))) for each in built.keywords]
        return Call(text, tuple(given)), state


def _instance_calls(scope: Scope, call: ast.Call, entry: str) -> Iterator[ast.Call]:
    """Yield the calls, after `call` in the same scope, of names assigned from it or from a value derived from it."""
    assigned = sorted((each for each in ast.walk(scope) if isinstance(each, ast.Assign)), key=lambda each: each.lineno)
    names: set[str] = set()
    for each in assigned:
        if call in ast.walk(each.value) or (names and each.lineno > call.lineno and names & loads(each.value)):
            target = each.targets[0]
            names.add(_named(target.elts[0] if isinstance(target, ast.Tuple) else target))
    calls = (each for each in ast.walk(scope) if isinstance(each, ast.Call))
    for one in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        if one.lineno >= call.lineno and one is not call and _called(one.func, entry) in names - {""}:
            yield one


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _called(func: ast.expr, entry: str) -> str:
    """Return the name whose `entry` is called, looking through functions such as `jax.vmap`."""
    if isinstance(func, ast.Attribute) and func.attr == entry:
        return _named(func.value)
    if isinstance(func, ast.Call) and func.args:
        return _called(func.args[0], entry)
    return _named(func) if entry == "__call__" else ""


def _pytree(func: ast.expr) -> ast.expr:
    """Return the called function as a pytree with the model's arrays: without jit, and mapped by Equinox."""
    if not isinstance(func, ast.Call):
        return func
    inner, wrapper = _pytree(func.args[0]), ast.unparse(func.func).rpartition(".")[2]
    if wrapper in ("jit", "filter_jit"):
        return inner
    mapped = ast.parse("eqx.filter_vmap", mode="eval").body if wrapper == "vmap" else func.func
    keywords = [*func.keywords, *(ast.keyword("in_axes", each) for each in func.args[1:2] if wrapper == "vmap")]
    return ast.Call(mapped, [inner, *(() if wrapper == "vmap" else func.args[1:])], keywords)


class _Names(ast.NodeTransformer):
    """Qualifies names of the model's module as `module.name`, and collects the imports of other names.

    If `own`, unbound names belong to the module. `local` are names bound by the statements themselves.
    """

    def __init__(self, module: ModuleType, path: Path, *, own: bool) -> None:
        self.module, self.path, self.own = module, path, own
        self.objects: dict[str, Any] = {}
        self.lines: dict[str, str] = {}
        self.local: set[str] = set()

    def imported(self, statement: ast.stmt) -> bool:
        """True if the statement is an import; its names are then known. Raises GiveUp if it must not be run."""
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            return False
        origin = ""
        if isinstance(statement, ast.ImportFrom):
            origin = "." * statement.level + (statement.module or "")
            if statement.level:
                origin = importlib.util.resolve_name(origin, module_name(self.path).rpartition(".")[0])
        for each in statement.names:
            short = each.asname or each.name.partition(".")[0]
            found = _imported(origin or each.name, self.module)
            if origin and not hasattr(found, each.name):
                found = _imported(f"{origin}.{each.name}", self.module)
            elif origin:
                found = getattr(found, each.name)
            self.objects[short] = found if origin or each.asname else sys.modules.get(short)
            said = each.name + (f" as {each.asname}" if each.asname else "")
            self.lines[short] = f"from {origin} import {said}" if origin else f"import {said}"
        return True

    def imports(self, trees: Sequence[ast.AST]) -> list[str]:
        """Return the imports that `trees` still need, except those that every case has."""
        used = {each.id for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Name)}
        return sorted({line for name, line in self.lines.items() if name in used and _USUAL.get(name) != line})

    def known(self, name: str) -> bool:
        """True if a name that no statement binds has a value in a case."""
        return name in _USUAL or (self.own and hasattr(self.module, name))

    def value(self, node: ast.expr) -> Any:
        """Return the object that a dotted name refers to; None if it is unknown before the case runs."""
        if isinstance(node, ast.Attribute):
            return getattr(self.value(node.value), node.attr, None)
        if not isinstance(node, ast.Name) or node.id in self.local:
            return None
        if node.id in self.objects or not self.own:
            return self.objects.get(node.id)
        return getattr(self.module, node.id, None)

    def positional(self, call: ast.Call) -> Sequence[str]:
        """Return the names of the arguments that a call of a known class or function passes by position."""
        found = self.value(call.func)
        try:
            return tuple(inspect.signature(found).parameters) if callable(found) else ()
        except (TypeError, ValueError):
            return ()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._through_module(node) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        found = self._through_module(node)
        if found is None:
            self.generic_visit(node)
        return found or node

    def _through_module(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Name) and (not isinstance(node.ctx, ast.Load) or node.id in self.local):
            return None
        value: Any = self.value(node)
        if value is self.module:
            return ast.Name("module", ast.Load())
        name = str(getattr(value, "__qualname__", ""))
        if getattr(value, "__module__", None) != self.module.__name__ or follow(self.module, name) is not value:
            name = node.id if isinstance(node, ast.Name) else ""
            name = name if self.own and name not in _USUAL.keys() | self.objects.keys() else ""
            name = name if hasattr(self.module, name) else ""
        return ast.parse(f"module.{name}", mode="eval").body if name else None


class _Renamed(ast.NodeTransformer):
    """Renames names that have another meaning in a case."""

    def __init__(self, names: Set[str]) -> None:
        self.names = names - _USUAL.keys()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"{node.id}_", node.ctx) if node.id in self.names else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name += "_" if node.name in self.names else ""
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(f"{node.arg}_", node.annotation) if node.arg in self.names else node


def _imported(name: str, module: ModuleType) -> ModuleType:
    """Import the module `name`, which must belong to the project or to libraries that the model imports."""
    top = name.partition(".")[0]
    own = top == module.__name__.partition(".")[0] or top in sys.modules
    spec = None if own else importlib.util.find_spec(top)
    if top in _ACTING or not (own or (spec and spec.origin and not is_installed(Path(spec.origin)))):
        raise GiveUp(f"it imports {top}, which the model does not")
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise GiveUp(f"`{name}` does not import: {error}") from None
