"""Containers: their elements, and operations that add to them."""

import ast

from scanify.analysis.index.module import Module
from scanify.analysis.language import types as t
from scanify.analysis.language.base import code_of
from scanify.analysis.language.syntax.operators import Operators, why_of


class Containers(Operators):
    """The part of the walker that handles containers."""

    def element(self, module: Module, node: ast.expr, value: t.Type) -> t.Type:
        """Return the type of the elements of a value that is iterated over."""
        found: list[t.Type] = []
        for option in t.options(t.without_none(value)):
            match option:
                case t.Array(cast=cast, certain=certain):
                    found.append(t.Array(None, cast, certain))
                case t.Static():
                    found.append(t.Static())
                case t.Items(kind=kind):
                    self.in_order(module, node, option)
                    each = t.Static() if kind == "dict" else option.element
                    found.append(each or t.Unknown("nothing shows its elements"))
                case t.Unknown(noted=True):
                    found.append(option)
                case _:
                    found.append(self.note(module, node, why_of(node, option, "what it is iterated over is not shown")))
        return t.join(found)

    def in_order(self, module: Module, node: ast.AST, value: t.Items) -> None:
        """Record that the order of a dict's keys is used, unless the dict was made in this iteration.

        A scan sorts the keys of dicts in layers and carries, as `jax.jit` does.
        """
        if value.kind == "dict" and not value.own:
            self.condition(module, node, f"`{code_of(module, node)}` may be used with the keys sorted")

    def change(self, env: t.Env, node: ast.AST, holder_node: ast.expr, holder: t.Items, value: t.Type | None) -> None:
        """Add an element to a container; it is an effect if the container was made before the iteration."""
        if self.is_collected(env, holder_node):
            return
        if not self.muted and not holder.own:
            self.effect(env.module, node, f"`{code_of(env.module, holder_node)}` is changed and was made before")
            return
        if holder.kind == "set" and value is not None and not t.is_static(value):
            self.note(env.module, node, "a set compares its elements")
        elements = [each for each in (holder.element, value and t.held(value)) if each is not None]
        grown = t.Items(holder.kind, None, t.join(elements) if elements else None, holder.own)
        match holder_node:
            case ast.Name(id=name) if env.lookup(name) is not None:
                env.holder_of(name).names[name] = grown
            case ast.Attribute(value=ast.Name(id=own)) if own and own == env.own:
                env.names[f"{own}.{holder_node.attr}"] = grown
            case _:
                self.note(env.module, node, "a container without a name of its own is changed")

    def is_collected(self, env: t.Env, node: ast.expr) -> bool:
        """True for a list whose elements become ys; layers may have local lists with the same name."""
        return isinstance(node, ast.Name) and node.id in self.collected and env.function is self.collector
