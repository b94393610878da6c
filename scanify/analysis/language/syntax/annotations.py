"""The types that annotations declare, by the names of Python, jax, jaxtyping and the project."""

import ast

from scanify.analysis.classes.classes import library_module
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.base import Base
from scanify.analysis.lower.scope import COMPREHENSIONS, Scope
from scanify.analysis.lower.text import dotted

_ARRAYS = tables.ARRAY_TYPES | tables.KEY_TYPES
_STATIC = tables.DTYPES | frozenset(
    "int float bool complex str bytes DTypeLike dtype DType Sharding PartitionSpec Mesh".split()
)
_SOURCES = ("jax", "jaxtyping", "numpy", "chex", "equinox", "typing", "typing_extensions", "builtins", "collections")


class Annotations(Base):
    """The part of the walker that reads annotations."""

    def annotated(self, module: Module, node: ast.expr | None) -> t.Type | None:
        """Return the type that an annotation declares; None if it is not understood."""
        match node:
            case ast.Constant(value=None):
                return t.Nothing()
            case ast.Constant(value=str(text)):
                try:
                    return self.annotated(module, ast.parse(text, mode="eval").body)
                except SyntaxError:
                    return None
            case ast.BinOp(op=ast.BitOr()):
                return self._either(module, [node.left, node.right])
            case ast.Subscript():
                return self._subscripted(module, node)
            case ast.Name() | ast.Attribute():
                return self._named(module, node)
            case _:
                return None

    def _either(self, module: Module, nodes: list[ast.expr]) -> t.Type | None:
        found = [self.annotated(module, each) for each in nodes]
        return t.join(found) if all(each is not None for each in found) else None

    def _subscripted(self, module: Module, node: ast.Subscript) -> t.Type | None:
        last = (dotted(node.value) or "").rpartition(".")[2]
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last in ("Optional", "Union"):
            return self._either(module, [*parts, *([ast.Constant(None)] if last == "Optional" else ())])
        if last == "Literal":
            return t.Static()
        if last in tables.WRAPPERS_OF_TYPES:
            return self.annotated(module, parts[0])
        if last in _ARRAYS:
            return t.Array()
        if last in tables.DICT_TYPES:
            inner = self.annotated(module, parts[-1])
            return t.Items("dict", None, inner, declared=True) if inner is not None else None
        if last not in tables.LIST_TYPES or last in ("Iterable", "Collection"):
            return self._named(module, node.value)
        plain = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is ...)]
        element = self._either(module, plain)
        kind = "tuple" if last.lower() == "tuple" else "list"
        if element is None:
            return None
        if kind == "tuple" and len(plain) == len(parts):
            found = (self.annotated(module, each) for each in plain)
            return t.Items("tuple", tuple(each for each in found if each is not None))
        return t.Items(kind, None, element, declared=True)

    def _named(self, module: Module, node: ast.expr) -> t.Type | None:
        name = dotted(node)
        if name is None:
            return None
        last = name.rpartition(".")[2]
        match self.index.resolve(module, name):
            case Definition(node=ast.ClassDef()) as definition:
                return t.Object(definition)
            case Definition(node=ast.Assign(value=value)) as definition if definition.node not in self.active:
                self.active.append(definition.node)
                found = self.annotated(definition.module, value)
                self.active.pop()
                return found
            case External(qualname) if qualname.startswith("equinox.nn.State"):
                return t.LibraryObject("equinox.nn.State")
            case External(qualname) if library_module(qualname):
                return t.LibraryObject(qualname) if qualname.startswith("equinox.nn.") else None
            case External(qualname) if qualname.partition(".")[0] in _SOURCES:
                if last in _ARRAYS or qualname == "jax.numpy.ndarray":
                    return t.Array(certain=not qualname.startswith("numpy."))
                return t.Static() if last in _STATIC else None
            case _:
                return None

    def declared_argument(self, module: Module, arg: ast.arg) -> t.Type:
        """Return the type of a parameter by its annotation; `Given` if it has none."""
        if arg.annotation is None:
            return t.Given(arg.arg, module.place(arg).named)
        line = module.place(arg.annotation).named
        text = f"`{arg.arg}` has type {module.code(arg.annotation)} ({line}); give a case, or annotate it"
        return self.annotated(module, arg.annotation) or t.Unknown(text, declared=True)

    def parameter(self, scope: Scope, name: str) -> t.Type:
        """Return the type of a parameter by its annotation or, outside of constructors, by a constant default."""
        node = scope.node
        assert not isinstance(node, (ast.Module, ast.ClassDef, *COMPREHENSIONS))
        owner = scope.owner
        if owner is not None and scope.method is scope and scope.self_name == name:
            return t.Object(self._class(scope, owner))
        for arg, kind in ((node.args.vararg, "tuple"), (node.args.kwarg, "dict")):
            if arg is not None and arg.arg == name:
                return t.Items(kind, None, t.Given(name))
        plain = [*node.args.posonlyargs, *node.args.args]
        defaults = [*[None] * (len(plain) - len(node.args.defaults)), *node.args.defaults, *node.args.kw_defaults]
        pairs = zip([*plain, *node.args.kwonlyargs], defaults, strict=True)
        arg, default = next((arg, default) for arg, default in pairs if arg.arg == name)
        found = self.declared_argument(scope.module, arg)
        if not isinstance(default, ast.Constant) or scope.name == "__init__":
            return found
        if default.value is None:
            return t.join([found, t.Nothing()])
        return t.Static() if isinstance(found, t.Given) else found

    def _class(self, scope: Scope, node: ast.ClassDef) -> Definition:
        meaning = self.index.resolve(scope.module, node.name)
        same = isinstance(meaning, Definition) and meaning.node is node
        return meaning if same else Definition(scope.module, node.name, node)  # type: ignore[return-value]
