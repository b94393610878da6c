"""Statements: the names that they bind, and the control flow. Other kinds of statements are not understood."""

import ast
from collections.abc import Sequence

from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.base import code_of
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.syntax.values import Expressions
from scanify.analysis.lower.bound import names_bound_by
from scanify.analysis.lower.nodes import nodes_in

_ROUNDS = 3  # passes over the body of a loop to find types that its names keep


class Statements(Expressions):
    """The part of the walker that interprets statements."""

    def run(self, body: Sequence[ast.stmt], env: t.Env, returned: list[t.Type]) -> bool:
        """Interpret statements; True if the end of the block may be reached."""
        return all(self.statement(each, env, returned) for each in body)

    def statement(self, node: ast.stmt, env: t.Env, returned: list[t.Type]) -> bool:
        """Interpret one statement; True if the next one may be reached."""
        match node:
            case ast.Expr():
                self.evaluate(node.value, env)
            case ast.Assign():
                value = self.evaluate(node.value, env)
                for target in node.targets:
                    self.bind(target, value, env)
            case ast.AnnAssign(value=ast.expr() as given):
                value, declared = self.evaluate(given, env), self.annotated(env.module, node.annotation)
                known = declared is None or not isinstance(value, t.Unknown | t.Given)
                self.bind(node.target, value if known else declared or value, env)
            case ast.Pass() | ast.AnnAssign():
                pass
            case ast.AugAssign():
                self._augmented(node, env)
            case ast.Return():
                returned.append(self.evaluate(node.value, env) if node.value is not None else t.Nothing())
                return False
            case ast.Raise() | ast.Break() | ast.Continue():  # an exception ends the scan like the loop
                return False
            case ast.Assert():
                self.truth(env.module, node.test, self.evaluate(node.test, env))
            case ast.If():
                return self._if(node, env, returned)
            case ast.For():
                element = self.element(env.module, node.iter, self.evaluate(node.iter, env))
                self._rounds(node, element, env, returned)
                self.run(node.orelse, env, returned)
            case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)]) if (
                getattr(self.evaluate(call.func, env), "qualname", "") in tables.MANAGERS
            ):
                self.evaluate(call, env)
                if not (self.muted or all(isinstance(each, ast.Constant) for each in call.args)):
                    self.notes.setdefault(f"`{env.module.code(call)}` is one scope for all layers of a scan", None)
                return self.run(node.body, env, returned)
            case ast.FunctionDef():
                self.define(node.args, env, [node.returns])
                env.names[node.name] = self.decorated(t.Function(env.module, node, env), env)
            case _:
                self._unlisted(node, env)
        return True

    def _unlisted(self, node: ast.stmt, env: t.Env) -> None:
        """Record a statement that is not understood, and forget the types of the names that it may change."""
        text = f"a `{type(node).__name__.lower().removesuffix('star')}` statement is not understood"
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Delete):
            self.effect(env.module, node, text)
        else:
            self.condition(env.module, node, text)
        self._forget(node, env)

    def _forget(self, node: ast.stmt, env: t.Env) -> None:
        """Forget the types of the names that a statement binds, and of the containers that it names."""
        for each in nodes_in(node):
            named = [each.id] if isinstance(each, ast.Name) and isinstance(env.lookup(each.id), t.Items) else ()
            for name in (*names_bound_by(each), *named):
                env.names[name] = t.Unknown(f"`{name}` is bound in a statement that is not understood")

    def _if(self, node: ast.If, env: t.Env, returned: list[t.Type]) -> bool:
        self.truth(env.module, node.test, self.evaluate(node.test, env))
        branches = [(env.copy(), node.body), (env.copy(), node.orelse)]
        ends = [branch for branch, body in branches if self.run(body, branch, returned)]
        for name in {name for each in ends for name in each.names}:
            env.names[name] = t.join(each.names.get(name) for each in ends)
        return bool(ends)

    def _rounds(self, node: ast.For, element: t.Type, env: t.Env, returned: list[t.Type]) -> None:
        """Interpret a loop's body until its names keep their types; names that never do have unknown types."""
        changed = dict(env.names)
        for _ in range(_ROUNDS):
            before, inner = dict(env.names), env.copy()
            self.bind(node.target, element, inner)
            self.run(node.body, inner, returned)
            env.names.update((name, t.join([before.get(name, value), value])) for name, value in inner.names.items())
            changed = {name: value for name, value in env.names.items() if name in before and value != before[name]}
            if not changed:
                return
        for name in changed:
            env.names[name] = t.Unknown(f"`{name}` has another type in each iteration")

    # -- binding -----------------------------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: t.Type, env: t.Env) -> None:
        """Bind a target to a value."""
        match target:
            case ast.Name(id=name):
                env.names[name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(target, targets, value, env)
            case ast.Starred(value=inner):
                self.bind(inner, t.Items("list", None, value, self.own), env)
            case ast.Attribute(value=ast.Name(id=own)) if own and own == env.own:
                name = f"{own}.{target.attr}"
                env.names[name] = t.join([env.names.get(name), value])
            case ast.Subscript():
                self._store_item(target, value, env)
            case _:
                self.effect(env.module, target, f"the body assigns to `{code_of(env.module, target)}`")

    def _unpack(self, target: ast.expr, targets: Sequence[ast.expr], value: t.Type, env: t.Env) -> None:
        starred = any(isinstance(each, ast.Starred) for each in targets)
        match t.without_none(value):
            case t.Items(kind="tuple" | "list", parts=tuple() as parts) if len(parts) == len(targets) and not starred:
                pass
            case t.Given() as given if not starred:
                parts = (given,) * len(targets)
            case _:
                parts = (self.element(env.module, target, value),) * len(targets)
        for each, part in zip(targets, parts, strict=True):
            self.bind(each, part, env)

    def _store_item(self, target: ast.Subscript, value: t.Type, env: t.Env) -> None:
        index = self.evaluate(target.slice, env)
        match t.without_none(self.evaluate(target.value, env)):  # storing into None raises in a scan, too
            case t.Items(kind="list" | "dict") as holder:
                if not t.is_static(index):
                    self.note(env.module, target, why_of(target.slice, index))
                self.change(env, target, target.value, holder, value)
            case t.Unknown(noted=True):
                pass
            case _ if not self.is_collected(env, target.value):
                self.effect(env.module, target, f"`{code_of(env.module, target.value)}` is changed in place")

    def _augmented(self, node: ast.AugAssign, env: t.Env) -> None:
        value = self.evaluate(node.value, env)
        if not isinstance(node.target, ast.Name):
            self.effect(env.module, node, f"`{code_of(env.module, node.target)}` is changed in place")
            return
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        before = self.evaluate(name, env)
        for option in t.options(before):
            if isinstance(option, t.Items) and option.kind != "tuple":
                self.change(env, node, name, option, self.element(env.module, node.value, value))
                return
            if self.is_passed(option):
                self.note(env.module, node, f"an array of numpy would be changed in place; write `{name.id} = ...`")
        parts = [t.without_none(before), t.without_none(value)]
        env.names[name.id] = self.operation(node, node.op, [name, node.value], parts, env)
