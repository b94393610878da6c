"""What annotations declare: the types that are understood, by the names of Python, jax, jaxtyping and the project."""

import ast

from scanify.analysis.classes.classes import library_module
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.tables import ARRAY_TYPES, KEY_TYPES
from scanify.analysis.language.types import (
    Array,
    ClassOf,
    Env,
    Items,
    LibraryObject,
    Nothing,
    Object,
    Static,
    Type,
    join,
)
from scanify.analysis.lower.text import dotted

_STATIC = frozenset("int float bool complex str bytes DTypeLike dtype DType Sharding PartitionSpec Mesh".split())
_SOURCES = ("jax", "jaxtyping", "numpy", "chex", "equinox", "typing", "typing_extensions", "builtins", "collections")


class Annotations(Base):
    """The part of the walker that reads annotations."""

    def annotated(self, module: Module, node: ast.expr | None, env: Env | None = None) -> Type | None:
        match node:
            case None:
                return None
            case ast.Constant(value=None):
                return Nothing()
            case ast.Constant(value=str(text)):
                return self._quoted(module, text, env)
            case ast.BinOp(op=ast.BitOr()):
                return self._either(module, [node.left, node.right], env)
            case ast.Subscript():
                return self._subscripted(module, node, env)
            case ast.Name() | ast.Attribute():
                return self._named(module, node, env)
            case _:
                return None

    def _quoted(self, module: Module, text: str, env: Env | None) -> Type | None:
        try:
            inner = ast.parse(text, mode="eval").body
        except SyntaxError:
            return None
        return self.annotated(module, inner, env)

    def _either(self, module: Module, nodes: list[ast.expr], env: Env | None) -> Type | None:
        found = [self.annotated(module, each, env) for each in nodes]
        return join(found) if all(each is not None for each in found) else None

    def _subscripted(self, module: Module, node: ast.Subscript, env: Env | None) -> Type | None:
        last = (dotted(node.value) or "").rpartition(".")[2]
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if last == "Optional":
            found = self.annotated(module, parts[0], env)
            return join([found, Nothing()]) if found is not None else None
        if last == "Union":
            return self._either(module, parts, env)
        if last == "Literal":
            return Static()
        if last in tables.WRAPPERS_OF_TYPES:
            return self.annotated(module, parts[0], env)
        if last in tables.LIST_TYPES or last in ("set", "frozenset"):
            return self._container(module, last.lower(), parts, env)
        if last in tables.DICT_TYPES:
            inner = self.annotated(module, parts[-1], env)
            return Items("dict", None, inner, declared=True) if inner is not None else None
        if last in ARRAY_TYPES | KEY_TYPES:
            return Array()
        return self._named(module, node.value, env)

    def _container(self, module: Module, kind: str, parts: list[ast.expr], env: Env | None) -> Type | None:
        if kind in ("iterable", "collection"):
            return None
        plain = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is ...)]
        found = [self.annotated(module, each, env) for each in plain]
        if any(each is None for each in found):
            return None
        if kind == "tuple" and len(plain) == len(parts):
            return Items("tuple", tuple(each for each in found if each is not None))
        return Items("tuple" if kind == "tuple" else "list", None, join(found), declared=True)

    def _named(self, module: Module, node: ast.expr, env: Env | None) -> Type | None:
        name = dotted(node)
        if name is None:
            return None
        local = env.lookup(name) if env is not None else None
        if isinstance(local, ClassOf) and isinstance(local.cls, Definition):
            return self.declared(local.cls)
        last = name.rpartition(".")[2]
        match self.index.resolve(module, name):
            case Definition(node=ast.ClassDef()) as definition:
                return self.declared(definition)
            case Definition(node=ast.Assign(value=value)) as definition if definition.node not in self.active:
                self.active.append(definition.node)
                found = self.annotated(definition.module, value)
                self.active.pop()
                return found
            case External(qualname) if library_module(qualname):
                return LibraryObject(qualname) if qualname.startswith("equinox.nn.") else None
            case External(qualname) if qualname.startswith("equinox.nn.State"):
                return LibraryObject("equinox.nn.State")
            case External(qualname) if qualname.partition(".")[0] in _SOURCES:
                if last in ARRAY_TYPES | KEY_TYPES or qualname == "jax.numpy.ndarray":
                    return Array()
                return Static() if last in _STATIC or last in tables.DTYPES else None
            case _:
                return None

    def declared(self, cls: Definition) -> Type:
        """An object of a class of the project, or of any class that inherits from it."""
        bases = [base for owner in self.classes.lineage(cls) for base in self.classes.bases(owner)]
        names = {base.qualname for base in bases if isinstance(base, External)}
        if any(each.startswith("enum.") for each in names):
            return Object(cls)
        return Object(cls)
