"""Statements: what each kind binds, and which way the code goes on. One that is not listed is not understood."""

import ast
from collections.abc import Callable, Sequence

from scanify.analysis.index.meaning import External
from scanify.analysis.index.module import Module
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.names import names_of
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    GIVEN,
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    Nothing,
    Static,
    Type,
    Unknown,
    held,
    is_static,
    join,
    options,
    without_none,
)
from scanify.analysis.lower.text import dotted

_ROUNDS = 3  # of a loop until its names keep their types


class Statements(Base):
    """The part of the walker that runs statements."""

    target: ast.AST | None = None  # the loop that is asked about

    def run(self, body: Sequence[ast.stmt], env: Env, returned: list[Type]) -> bool:
        return all(self._statement(each, env, returned) and not self.reached for each in body)

    reached = False

    passes = False  # a loop around it is walked for the types of its names

    def at_target(self, env: Env) -> bool:
        """Called with the names where the loop that is asked about stands; True if it is passed by."""
        return False

    def _statement(self, node: ast.stmt, env: Env, returned: list[Type]) -> bool:
        """Walk one statement; True if the next one may be reached."""
        if node is self.target and self.at_target(env):
            return True
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case ast.Import() | ast.ImportFrom():
                return self._import(node, env)
            case ast.Expr():
                self.evaluate(node.value, env)
                return True
            case ast.Assign():
                value = self.evaluate(node.value, env)
                for target in node.targets:
                    self.bind(target, value, env)
                return True
            case ast.AnnAssign():
                return self._declared(node, env)
            case ast.AugAssign():
                return self.augmented(node, env)
            case ast.Return():
                returned.append(self.evaluate(node.value, env) if node.value is not None else Nothing())
                return False
            case ast.Raise():
                self._raise(node, env)
                return False
            case ast.Assert():
                self.truth(env.module, node.test, self.evaluate(node.test, env))
                return True
            case ast.If():
                return self._if(node, env, returned)
            case ast.For():
                return self._for(node, env, returned)
            case ast.While():
                return self._while(node, env, returned)
            case ast.Break() | ast.Continue():
                return False
            case ast.With():
                return self._with(node, env, returned)
            case ast.FunctionDef():
                self.define(node.args, env, [node.returns])
                self.bind_name(node.name, self.local_function(node, env), env)
                return True
            case ast.Delete(targets=targets) if all(isinstance(each, ast.Name) for each in targets):
                return True
            case ast.Global() | ast.Nonlocal() | ast.Delete():
                self.effect(env.module, node, _unlisted(node))
                self._forget(node, env)
                return True
            case _:
                self.condition(env.module, node, _unlisted(node))
                self._forget(node, env)
                return True

    def _declared(self, node: ast.AnnAssign, env: Env) -> bool:
        declared = self.annotated(env.module, node.annotation, env)
        if node.value is not None:
            value = self.evaluate(node.value, env)
            known = not isinstance(value, Unknown | Given) or declared is None
            self.bind(node.target, value if known else declared or value, env)
        return True

    def _forget(self, node: ast.stmt, env: Env) -> None:
        """Names that a statement which is not understood may bind, or whose containers it may change, have no type."""
        inside = names_of(node)
        for name in inside.bound | inside.changed:
            env.names[name] = Unknown(f"`{name}` is bound in a statement that is not understood")

    def local_function(self, node: ast.FunctionDef, env: Env) -> Type:
        """A function that is defined in another one, with its decorators applied."""
        return self.decorated(Function(env.module, node, env), env)

    def _if(self, node: ast.If, env: Env, returned: list[Type]) -> bool:
        self.truth(env.module, node.test, self.evaluate(node.test, env))
        branches = ((env.copy(), node.body), (env.copy(), node.orelse))
        goes = [(branch, self.run(body, branch, returned)) for branch, body in branches]
        self._meet(env, [branch for branch, falls in goes if falls])
        return any(falls for _, falls in goes)

    def _meet(self, env: Env, branches: Sequence[Env]) -> None:
        """Join the names of the branches that go on."""
        if not branches:
            return
        names = {name for each in branches for name in each.names}
        for name in names:
            env.names[name] = join(each.names.get(name) for each in branches)

    def _for(self, node: ast.For, env: Env, returned: list[Type]) -> bool:
        value = self.evaluate(node.iter, env)
        element = self.element(env.module, node.iter, value)
        self._rounds(node, env, lambda inner: self._once(node, element, inner, returned))
        self.run(node.orelse, env, returned)
        return True

    def _once(self, node: ast.For, element: Type, env: Env, returned: list[Type]) -> None:
        self.bind(node.target, element, env)
        self.run(node.body, env, returned)

    def _while(self, node: ast.While, env: Env, returned: list[Type]) -> bool:
        self.truth(env.module, node.test, self.evaluate(node.test, env))
        self._rounds(node, env, lambda inner: self.run(node.body, inner, returned))
        return True

    def _rounds(self, node: ast.stmt, env: Env, once: Callable[[Env], object]) -> None:
        """Walk a loop's body until its names keep their types; those that do not have none.

        The loop that is asked about, if it is in the body, is reached with the types of all iterations.
        """
        if self.target is not None and self.muted and any(each is self.target for each in ast.walk(node)):
            before, self.passes = self.passes, True
            self._until_kept(env, once)
            self.passes = before
            once(env.copy())
        else:
            self._until_kept(env, once)

    def _until_kept(self, env: Env, once: Callable[[Env], object]) -> None:
        before = dict(env.names)
        for _ in range(_ROUNDS):
            inner = env.copy()
            once(inner)
            changed = []
            for name, value in inner.names.items():
                env.names[name] = join([env.names[name], value]) if name in before else value
                if name in before and env.names[name] != before[name]:
                    changed.append(name)
            if not changed:
                return
            before = {name: env.names[name] for name in before}
        for name in changed:
            env.names[name] = Unknown(f"`{name}` has another type in each iteration")

    _unpacks = False  # an argument is unpacked: its parts are arguments, too

    def element(self, module: Module, node: ast.expr, value: Type) -> Type:
        found: list[Type] = []
        for option in options(without_none(value)):
            match option:
                case Array():
                    found.append(Array(None, option.cast, option.certain))
                case Given() if self._unpacks:
                    found.append(option)
                case Static(numpy=numpy):
                    found.append(Static(None, numpy))
                case Items(kind="iterator") if not option.own and not self.muted:
                    found.append(self.note(module, node, "an iterator that was made before is used up"))
                case Items():
                    self.in_order(module, node, option)
                    found.append(self._keys(option))
                case ClassOf():
                    found.append(Static())
                case Unknown(noted=True):
                    found.append(option)
                case _:
                    found.append(self.note(module, node, why_of(node, option, "what it is iterated over is not shown")))
        return join(found)

    def in_order(self, module: Module, node: ast.AST, value: Items) -> None:
        """Note that the order of a dict's keys is used, unless it was made in this iteration or they are sorted.

        A scan hands on the dicts of layers and carries with their keys sorted, as `jax.jit` does.
        """
        is_sorted = value.keys is not None and list(value.keys) == sorted(value.keys)
        if value.kind == "dict" and not value.own and not is_sorted:
            self.condition(module, node, f"`{code_of(module, node)}` may be used with the keys sorted")

    def _keys(self, value: Items) -> Type:
        if value.kind == "dict":
            return Static()
        return value.element if value.element is not None else Unknown("nothing shows its elements")

    def _with(self, node: ast.With, env: Env, returned: list[Type]) -> bool:
        for item in node.items:
            call = item.context_expr
            name = dotted(call.func) if isinstance(call, ast.Call) else None
            meaning = (
                self.index.resolve(env.module, name)
                if name is not None and env.lookup(name.partition(".")[0]) is None
                else None
            )
            if not isinstance(meaning, External) or meaning.qualname not in tables.MANAGERS or item.optional_vars:
                self.note(env.module, call, "a context manager that is not listed may do anything")
                self.evaluate(call, env)
            elif isinstance(call, ast.Call):
                for each in [*call.args, *(keyword.value for keyword in call.keywords)]:
                    self.evaluate(each, env)
        return self.run(node.body, env, returned)

    def _raise(self, node: ast.Raise, env: Env) -> None:
        self.raising += 1
        for each in (node.exc, node.cause):
            if each is not None:
                self.evaluate(each, env)
        self.raising -= 1

    def _import(self, node: ast.Import | ast.ImportFrom, env: Env) -> bool:
        for name, imported in env.module.imported(node).items():
            meaning = self.index.resolve_absolute(env.module, imported.target, relative=imported.relative)
            if isinstance(meaning, External):
                env.names[name] = self.of_library(meaning.qualname)
            else:
                found = self.of_meaning(meaning)
                env.names[name] = found or self.note(env.module, node, f"`{name}` is not shown")
        return True

    def bind_name(self, name: str, value: Type, env: Env) -> None:
        env.names[name] = value

    def bind(self, target: ast.expr, value: Type, env: Env) -> None:
        match target:
            case ast.Name(id=name):
                self.bind_name(name, value, env)
            case ast.Starred(value=inner):
                self.bind(inner, Items("list", None, self.element(env.module, inner, value), self.own), env)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(target, targets, value, env)
            case ast.Attribute(value=ast.Name(id=own), attr=name) if own and own == env.own:
                self.store_own(name, value, env)
            case ast.Subscript():
                self._store_item(target, value, env)
            case _:
                self.effect(env.module, target, f"the body assigns to `{code_of(env.module, target)}`")

    def _unpack(self, target: ast.expr, targets: Sequence[ast.expr], value: Type, env: Env) -> None:
        starred = [at for at, each in enumerate(targets) if isinstance(each, ast.Starred)]
        for option in options(value):
            if isinstance(option, Items) and option.parts is not None and option.kind != "dict":
                parts = list(option.parts)
                if not starred and len(parts) == len(targets):
                    continue
                if starred and len(parts) >= len(targets) - 1:
                    continue
            if isinstance(option, Static | Nothing | Array | Given | Items):
                continue
            if isinstance(option, Unknown) and option.noted:
                continue
            self.note(env.module, target, why_of(target, option))
        only = value if isinstance(value, Items) else None
        if isinstance(value, Static) and value.text and value.text.startswith("shape:") and not starred:
            for at, each in enumerate(targets):
                self.bind(each, Static(f"{value.text}[{at}/{len(targets)}]"), env)
            return
        if only is not None and only.parts is not None and only.kind != "dict":
            parts = list(only.parts)
            if starred:
                (at,) = starred[:1]
                rest = len(parts) - (len(targets) - 1)
                parts[at : at + rest] = [Items("list", tuple(parts[at : at + rest]), None, self.own)]
            if len(parts) == len(targets):
                for each, part in zip(targets, parts, strict=True):
                    self.bind(each.value if isinstance(each, ast.Starred) else each, part, env)
                return
        self._unpacks = True
        with self.silent():
            element = self.element(env.module, target, value)
        self._unpacks = False
        for each in targets:
            inner = isinstance(each, ast.Starred)
            part = Items("list", None, element, self.own) if inner else element
            self.bind(each.value if isinstance(each, ast.Starred) else each, part, env)

    def _store_item(self, target: ast.Subscript, value: Type, env: Env) -> None:
        holder = without_none(self.evaluate(target.value, env))  # to store into None raises in a scan, too
        index = self.evaluate(target.slice, env)
        if isinstance(holder, Unknown) and holder.noted:
            return
        if isinstance(holder, Given) and self._is_collected(target.value):
            return  # the caller's list: that nothing else reads it is a condition of its own
        if not isinstance(holder, Items) or holder.kind not in ("list", "dict"):
            self.effect(env.module, target, f"`{code_of(env.module, target.value)}` is changed in place")
            return
        if not is_static(index):
            self.note(env.module, target, why_of(target.slice, index))
            return
        self.change(env, target, target.value, holder, value)

    def change(self, env: Env, node: ast.AST, holder_node: ast.expr, holder: Items, value: Type | None) -> None:
        """Note that a container gets another element; one that was made before the iteration must not."""
        if not self.muted and not holder.own and not self._is_collected(holder_node):
            self.effect(env.module, node, f"`{code_of(env.module, holder_node)}` is changed and was made before")
            return
        if holder.kind == "set" and value is not None and not is_static(value):
            self.note(env.module, node, "a set compares its elements")
        elements = [each for each in (holder.element, value and held(value)) if each is not None]
        grown = Items(holder.kind, None, join(elements) if elements else None, holder.own)
        match holder_node:
            case ast.Name(id=name) if env.lookup(name) is not None:
                env.holder_of(name).names[name] = grown
                return
            case ast.Attribute(value=ast.Name(id=own), attr=name) if own and own == env.own:
                self.store_own(name, grown, env)
                return
        self.note(env.module, node, "a container without a name of its own is changed")

    def _is_collected(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.collected

    def augmented(self, node: ast.AugAssign, env: Env) -> bool:
        held = (
            ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            if isinstance(node.target, ast.Name)
            else None
        )
        value = self.evaluate(node.value, env)
        if held is None:
            self.effect(env.module, node, f"`{code_of(env.module, node.target)}` is changed in place")
            return True
        before = self.evaluate(held, env)
        for option in options(before):
            if isinstance(option, Items) and option.kind != "tuple":
                self.change(env, node, held, option, value.element if isinstance(value, Items) else value)
                return True
            given = isinstance(option, Static) and (option.text or "").startswith(GIVEN)
            unsure = given or isinstance(option, Given) or (isinstance(option, Array) and not option.certain)
            if unsure and not self.declared_array(held.id, env):
                self.note(env.module, node, f"an array of numpy would be changed in place; write `{held.id} = ...`")
        found = self.operation(node, node.op, [held, node.value], [without_none(before), without_none(value)], env)
        self.bind_name(held.id, found, env)
        return True

    def declared_array(self, name: str, env: Env) -> bool:
        """True if the function's annotation says that a name is a jax array."""
        return name in self.jax_arrays

    jax_arrays: frozenset[str] = frozenset()


def _unlisted(node: ast.stmt) -> str:
    kind = type(node).__name__
    word = {"TryStar": "try", "Delete": "del"}.get(kind, kind.lower())
    return f"a `{word}` statement is not understood"
