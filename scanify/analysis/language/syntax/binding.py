"""What assignments bind and change."""

import ast
from collections.abc import Sequence

from scanify.analysis.language.base import Base, code_of
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    GIVEN,
    Array,
    Env,
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


class Binding(Base):
    """The part of the walker that binds names."""

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
            case _ if self.writes_variable(target, env):
                pass
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
        if (isinstance(holder, Unknown) and holder.noted) or self.writes_variable(target, env):
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
            if not self.writes_variable(node.target, env):
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
