"""Builtins, and methods of containers and arrays."""

import ast

from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.project.objects import Objects
from scanify.analysis.language.shapes import dtype_of
from scanify.analysis.language.syntax.operators import why_of

_CONTAINERS = {"reversed": "iterator", "iter": "iterator", "list": "list", "tuple": "tuple", "set": "set"}
_OF_NUMBERS = frozenset(
    "sum max min abs pow divmod round all any int float bool complex str repr format slice sorted".split()
)
_EXCEPTIONS = ("Error", "Exception", "Warning", "Iteration")
_READS = frozenset("index count copy get".split())
_UPDATES = frozenset("set add subtract multiply mul divide power min max apply get".split())


class Python(Objects):
    """The part of the walker that calls builtins and their methods."""

    def call_builtin(self, env: t.Env, node: ast.expr, name: str, args: t.Types, keywords: t.Named) -> t.Type:
        module = env.module
        if name.endswith(_EXCEPTIONS):
            return t.Static()
        if any(not t.is_data(each) or isinstance(each, t.LibraryFunction) for each in keywords.values()):
            return self.note(module, node, "it calls a function that it is passed")
        for each in args:
            if isinstance(t.without_none(each), t.Unknown):
                return self.note(module, node, why_of(node, each))
        match name:
            case "len" if not any(isinstance(each, t.Object) for value in args for each in t.options(value)):
                return t.Static()
            case "range" if all(map(t.is_static, args)):
                return t.Items("tuple", None, t.Static(), self.own)
            case "dict" if not args:
                return t.Items("dict", None, t.join(keywords.values()) if keywords else None, self.own)
            case "zip" | "enumerate":
                inner = [self.element(module, node, each) for each in (args if name == "zip" else args[:1])]
                parts = tuple(inner) if name == "zip" else (t.Static(), *inner)
                return t.Items("iterator", None, t.Items("tuple", parts, None, self.own), self.own)
            case _ if name in _CONTAINERS:
                element = self.element(module, node, args[0]) if args else None
                if name == "set" and element is not None and not t.is_static(element):
                    return self.note(module, node, "a set compares its elements")
                return t.Items(_CONTAINERS[name], None if args else (), element, self.own)
            case _ if name in _OF_NUMBERS:
                return self._of_numbers(env, node, name, args)
            case _:
                return self.note(module, node, f"`{name}` is not on the list of functions that only compute")

    def _of_numbers(self, env: t.Env, node: ast.expr, name: str, args: t.Types) -> t.Type:
        """Call a builtin that computes with Python numbers; `sum` and `abs` accept arrays, too."""
        inner = [each.element or t.Static() if isinstance(each, t.Items) else each for each in args]
        if all(map(t.is_static, inner)):
            return t.Items("list", None, t.join(inner), self.own) if name == "sorted" else t.Static()
        if name in ("sum", "abs") and all(t.is_data(each) and not isinstance(each, t.Given) for each in inner):
            return t.Array()
        bad = next((each for each in args if not t.is_static(each)), t.Nothing())
        return self.note(env.module, node, why_of(node, bad))

    def call_method(
        self, env: t.Env, node: ast.expr, of: t.Type, name: str, args: t.Types, keywords: t.Named
    ) -> t.Type:
        """Call a method of a container or an array."""
        match of:
            case t.Items() as container:
                return self._of_container(env, node, container, name, args)
            case t.Array() if name in tables.CONCRETE_METHODS:
                return self.note(env.module, node, "it needs the value of an array, which a scan does not have")
            case t.Array(shape=shape, certain=certain) if name == "astype" and len(args) == 1 and t.is_data(args[0]):
                return t.Array(shape, dtype_of(args[0]), certain)
            case t.LibraryObject(qualname="jax.at", arguments=tuple() as held) if name in _UPDATES:
                values = [*args, *keywords.values()]
                if all(isinstance(each, t.Array | t.Static | t.Given | t.Items) for each in values):
                    return dict(held)["of"] if name != "get" else t.Array()
        return self.note(env.module, node, f"`.{name}` is not listed")

    def _of_container(self, env: t.Env, node: ast.expr, of: t.Items, name: str, args: t.Types) -> t.Type:
        """Call a method of a container; methods that are not known to read it count as changing it."""
        holder = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else node
        element = of.element or t.Nothing()
        if name in ("items", "values", "keys"):
            self.in_order(env.module, holder, of)
            rows = {"items": t.Items("tuple", (t.Static(), element), None, self.own), "values": element}
            return t.Items("iterator", None, rows.get(name, t.Static()), self.own)
        if name == "append" and len(args) == 1:
            self.change(env, node, holder, of, args[0])
            return t.Nothing()
        text = f"`.{name}` of a container is not listed"
        if name not in _READS:
            self.change(env, node, holder, of, t.Unknown(text))
        return self.note(env.module, node, text)
