"""Classes of the project: bases, Equinox modules, methods, fields, and methods by name across all classes."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from scanify.analysis.classes.nnx import nnx_module
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.project import Index
from scanify.analysis.lower.bound import BLOCKS
from scanify.analysis.lower.nodes import by_kind, nodes_in
from scanify.analysis.lower.text import dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Public names of equinox.nn that are not modules (equinox/nn/__init__.py, 0.13).
_NOT_MODULES = frozenset({"State", "StateIndex", "inference_mode", "make_with_state"})
# Packages whose modules are not Equinox modules.
_OTHER_MODULES = frozenset("flax torch haiku keras tensorflow sonnet objax lightning pytorch_lightning mlx".split())
_PLAIN_BASES = frozenset(
    "builtins.object abc.ABC typing.Generic typing.Protocol enum.Enum typing.NamedTuple builtins.Exception".split()
)
_HARMLESS_DECORATORS = frozenset(
    "dataclasses.dataclass jaxtyping.jaxtyped typing.final functools.total_ordering beartype.beartype "
    "typeguard.typechecked equinox.module_update_wrapper jax.tree_util.register_pytree_node_class "
    "flax.struct.dataclass typing.runtime_checkable".split()
)
_INTERCEPTING = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__del__"})
_ACTING = (ast.Global, ast.Nonlocal, ast.Delete, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom)
_ASKING = frozenset({"len", "isinstance", "range", "tuple"})
_OPERATORS = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor lt le eq ne gt ge neg pos abs invert"
).split()
_CONVERSIONS = "array array_interface array_ufunc array_function jax_array index float int complex bool".split()
_OF_CONTAINERS = "iter next len getitem contains hash reversed missing getattr getattribute class".split()
# Special methods that Python calls implicitly; the operators may depend on their other operand, too.
_SPECIAL = tuple(
    f"__{prefix}{name}__" for name in (*_OPERATORS, *_CONVERSIONS, *_OF_CONTAINERS) for prefix in ("", "r", "i")
)


@dataclass(frozen=True, eq=False)
class Field:
    """`name: annotation = default` in the body of a class."""

    name: str
    owner: Definition
    statement: ast.AnnAssign

    @property
    def default(self) -> ast.expr | None:
        """The default, which may be a call of `field`."""
        return self.statement.value

    @property
    def keywords(self) -> list[ast.keyword]:
        """The keyword arguments of the `field` call that is the default."""
        return self.default.keywords if isinstance(self.default, ast.Call) else []


class Classes:
    """Facts about classes from the index, each computed once."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._bases: dict[ast.stmt, tuple[Definition | External | None, ...]] = {}
        self._lineage: dict[ast.stmt, tuple[Definition, ...]] = {}
        self._methods: dict[ast.stmt, dict[str, Function]] = {}
        self._fields: dict[ast.stmt, dict[str, Field]] = {}
        self._acting: dict[str, bool] = {}
        self._interceptions: dict[ast.AST, str | None] = {}

    # -- kinds of classes ------------------------------------------------------------------------------------------

    def bases(self, definition: Definition) -> tuple[Definition | External | None, ...]:
        """Return the base classes, with None for each that is unknown."""
        node = definition.node
        if node not in self._bases:
            bases = node.bases if isinstance(node, ast.ClassDef) else ()
            names = (dotted(base.value if isinstance(base, ast.Subscript) else base) or "" for base in bases)
            self._bases[node] = tuple(self._class(definition, name) for name in names)
        return self._bases[node]

    def _class(self, near: Definition, name: str) -> Definition | External | None:
        meaning = self.index.resolve(near.module, name)
        is_class = isinstance(meaning, Definition) and isinstance(meaning.node, ast.ClassDef)
        return meaning if is_class or isinstance(meaning, External) else None  # type: ignore[return-value]

    def lineage(self, definition: Definition) -> tuple[Definition, ...]:
        """Return a class and its base classes in the project, in method resolution order.

        Depth first, keeping the last of each, which differs from C3 only if C3 finds no order.
        """
        if definition.node not in self._lineage:
            found = [definition]
            self._lineage[definition.node] = ()  # for a class that inherits from itself, which Python refuses
            for base in self.bases(definition):
                more = self.lineage(base) if isinstance(base, Definition) else ()
                nodes = {each.node for each in more}
                found = [each for each in found if each.node not in nodes] + list(more)
            self._lineage[definition.node] = tuple(found)
        return self._lineage[definition.node]

    def _library_bases(self, definition: Definition) -> Iterator[tuple[Definition, str]]:
        """Yield the library classes that a class inherits from, directly or through bases in the project."""
        for owner in self.lineage(definition):
            yield from ((owner, base.qualname) for base in self.bases(owner) if isinstance(base, External))

    def is_module(self, meaning: object) -> bool:
        """True if a class is a module of a supported framework."""
        if isinstance(meaning, External):
            return library_module(meaning.qualname)
        if not isinstance(meaning, Definition) or not isinstance(meaning.node, ast.ClassDef):
            return False
        homes = [each.module.name.partition(".")[0] for each in self.lineage(meaning) if each.name == "Module"]
        return "equinox" in homes or any(
            library_module(base) or _like_module(owner, base) for owner, base in self._library_bases(meaning)
        )

    def is_dataclass(self, definition: Definition) -> bool:
        """True for modules and for classes decorated with `dataclass`, whose constructors take their fields."""
        names = (name for name, _ in self._decorators(definition))
        return self.is_module(definition) or any(name.rpartition(".")[2] == "dataclass" for name in names)

    def is_nnx(self, meaning: object) -> bool:
        """True if a class is a module of Flax NNX."""
        if not isinstance(meaning, Definition):
            return nnx_module(getattr(meaning, "qualname", ""))
        return any(nnx_module(base) for _, base in self._library_bases(meaning))

    def is_foreign(self, definition: Definition) -> bool:
        """True if a class is a module of a framework whose lists we never scan: PyTorch, Keras, Haiku."""
        names = [base for _, base in self._library_bases(definition)]
        return not self.is_module(definition) and any(
            name.partition(".")[0] in _OTHER_MODULES and name.endswith(("Module", "Layer", "Model")) for name in names
        )

    def is_taken_apart(self, cls: Definition) -> bool:
        """True if functions of the project, rather than the class's fields, tell jax how to flatten its objects.

        A scan flattens layers and rebuilds them from other arrays, so the code in these functions runs again.
        """
        own = any(name.startswith("tree_flatten") for owner in self.lineage(cls) for name in self.methods(owner))
        return not self.is_module(cls) and (own or cls.module.writes("register_pytree"))

    def is_opaque(self, cls: object) -> bool:
        """True if a class is a plain dataclass that no file registers as a pytree: a leaf that is not an array."""
        if not isinstance(cls, Definition) or not isinstance(cls.node, ast.ClassDef) or cls.node.bases:
            return False
        homes = self.index.modules_with(cls.name)
        registered = any(home.writes("register_pytree") or home.writes("register_dataclass") for home in homes)
        return not registered and [name for _, name in self._decorators(cls)] == ["dataclasses.dataclass"]

    def known_bases(self, definition: Definition) -> bool:
        """True if every base class is in the project, or adds nothing to the behaviour."""
        shown = all(base is not None for owner in self.lineage(definition) for base in self.bases(owner))
        names = [base for _, base in self._library_bases(definition)]
        return shown and all(library_module(name) or name in _PLAIN_BASES for name in names)

    def oddity(self, definition: Definition) -> str | None:
        """Return why calling the class does more than construct an object: a metaclass, a decorator, `__new__`."""
        for owner in self.lineage(definition):
            if any(keyword.arg == "metaclass" for keyword in getattr(owner.node, "keywords", ())):
                return f"`{owner.name}` has a metaclass"
            if "__new__" in self.methods(owner):
                return f"`{owner.name}` has its own `__new__`"
            if owner.node is not definition.node and "__init_subclass__" in self.methods(owner):
                return f"a base class of `{definition.name}` may change it in `__init_subclass__`"
            for name, qualname in self._decorators(owner):
                if qualname not in _HARMLESS_DECORATORS:
                    return f"`{owner.name}` is made by the decorator `{name or '...'}`"
        return None

    def interception(self, definition: Definition) -> str | None:
        """Return why an object of the class may do more than its methods do."""
        if definition.node not in self._interceptions:
            self._interceptions[definition.node] = self.oddity(definition) or self._interception(definition)
        return self._interceptions[definition.node]

    def _interception(self, definition: Definition) -> str | None:
        if not self.known_bases(definition):
            return f"`{definition.name}` has a base class that is not shown"
        if self.is_taken_apart(definition):
            return f"the functions that take objects of `{definition.name}` apart may forget or compute something"
        if any(self.method(definition, each) for each in _INTERCEPTING):
            return f"`{definition.name}` intercepts attributes, or does something when an object is dropped"
        return "code of the project stores a `__getattr__`" if any(map(self.is_patched, _INTERCEPTING)) else None

    def _decorators(self, definition: Definition) -> Iterator[tuple[str, str]]:
        """Yield each decorator of a class as written, with its qualified name if it comes from a library."""
        for each in getattr(definition.node, "decorator_list", ()):
            name = dotted(each.func if isinstance(each, ast.Call) else each) or ""
            yield name, getattr(self.index.resolve(definition.module, name), "qualname", "")

    # -- subclasses ------------------------------------------------------------------------------------------------

    @cached_property
    def _heirs(self) -> dict[ast.stmt | str, list[Definition]]:
        """The subclasses of each class of the project or of a library, including classes defined in functions."""
        found: dict[ast.stmt | str, list[Definition]] = {}
        homes = self.index.modules_with("class")
        nodes = ((home, node) for home in homes for node in by_kind(home.tree)[ast.ClassDef] if node.bases)
        for definition in (Definition(home, node.name, node) for home, node in nodes):
            above: set[ast.stmt | str] = {each.node for each in self.lineage(definition)[1:]}
            for base in above.union(base for _, base in self._library_bases(definition)):
                found.setdefault(base, []).append(definition)
        return found

    def has_heirs(self, qualname: str) -> bool:
        """True if a class of the project inherits from a library class."""
        return qualname in self._heirs

    def heirs(self, definition: Definition) -> Sequence[Definition]:
        """Return the subclasses of a class in the project."""
        return self._heirs.get(definition.node, ())

    # -- methods and fields ----------------------------------------------------------------------------------------

    def methods(self, definition: Definition) -> dict[str, Function]:
        """Return the functions in the body of a class, including conditional ones; the last one of a name wins."""
        node = definition.node
        if node not in self._methods:
            self._methods[node] = {each.name: each for each in functions_in(getattr(node, "body", ()))}
        return self._methods[node]

    def definitions(self, definition: Definition, name: str) -> list[Function]:
        """Return all functions of a name in the body of a class; branches or decorators may pick any of them."""
        return [each for each in functions_in(getattr(definition.node, "body", ())) if each.name == name]

    def method(self, definition: Definition, name: str) -> tuple[Definition, Function] | None:
        """Return the method of a name that an instance of exactly this class has."""
        found = ((owner, self.methods(owner).get(name)) for owner in self.lineage(definition))
        return next(((owner, function) for owner, function in found if function is not None), None)

    def fields(self, definition: Definition) -> dict[str, Field]:
        """Return the annotated fields in dataclass order, inherited ones first."""
        if definition.node not in self._fields:
            found = self._fields[definition.node] = {}
            for owner in reversed(self.lineage(definition)):
                annotated = (each for each in getattr(owner.node, "body", ()) if isinstance(each, ast.AnnAssign))
                for each in (each for each in annotated if "ClassVar" not in ast.unparse(each.annotation)):
                    if isinstance(each.target, ast.Name):
                        found[each.target.id] = Field(each.target.id, owner, each)
        return self._fields[definition.node]

    def constant(self, definition: Definition, name: str) -> tuple[Definition, ast.expr] | None:
        """Return the value of `name = value` in the body of a class or of a base class."""
        for owner in self.lineage(definition):
            for statement in owner.node.body if isinstance(owner.node, ast.ClassDef) else ():
                if isinstance(statement, ast.Assign) and any(dotted(one) == name for one in statement.targets):
                    return owner, statement.value
        return None

    # -- by name, in any class -------------------------------------------------------------------------------------

    def is_replaced(self, cls: object, name: str) -> bool:
        """True if code outside the constructor may store into a field of an object of a class.

        Equinox modules are frozen, so for them only stores that bypass the class count.
        """
        frozen = isinstance(cls, Definition) and self.is_module(cls) and not self.is_nnx(cls)
        return any(each.forced or not frozen for each in self.index.patches.stores(name))

    def is_patched(self, name: str) -> bool:
        """True if code of the project may replace a method of that name."""
        return bool(self.index.patches.stores(name))

    def acts(self, name: str) -> bool:
        """True if a method of that name in the project may do more than compute from its object and arguments.

        It may if it makes a call or a store, or binds a name outside itself.
        """
        if name not in self._acting:
            homes = (home for home in self.index.modules_with(name) if home.writes(f"def {name}("))
            classes = (each for home in homes for each in by_kind(home.tree)[ast.ClassDef])
            methods = (each for cls in classes for each in functions_in(cls.body) if each.name == name)
            self._acting[name] = any(map(_acts, methods))
        return self._acting[name]

    def may_act(self, name: str) -> bool:
        """True if a method of that name may do more than compute, as defined in its class or as patched."""
        return self.acts(name) or self.is_patched(name)

    @cached_property
    def special_methods_act(self) -> bool:
        """True if a special method of an object of the project may do more than compute."""
        return any(map(self.may_act, _SPECIAL))


def _acts(method: Function) -> bool:
    for each in nodes_in(*method.body):
        call = isinstance(each, ast.Call) and getattr(each.func, "id", "") not in _ASKING
        store = isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load)
        if call or store or isinstance(each, _ACTING):
            return True
    return False


def functions_in(body: Sequence[ast.AST]) -> Iterator[Function]:
    """Yield the functions that a block defines, including those in branches."""
    for statement in body:
        if isinstance(statement, Function):
            yield statement
        elif not isinstance(statement, ast.ClassDef):
            for name in BLOCKS:
                yield from functions_in(getattr(statement, name, ()))


def _like_module(owner: Definition, base: str) -> bool:
    """True if a base from another package is named like an `equinox.Module`, in a file that uses equinox.

    If it is not one, stacking its layers raises.
    """
    names = owner.module.imports.values()
    known = "Module" in base.rpartition(".")[2] and base.partition(".")[0] not in _OTHER_MODULES
    return known and any(name == "equinox" or name.startswith("equinox.") for name in names)


def library_module(qualname: str) -> bool:
    """True if a library class is an `equinox.Module` or a Flax NNX module."""
    if nnx_module(qualname):
        return True
    root, _, name = qualname.rpartition(".")
    if root == "equinox.nn" or root.startswith("equinox.nn._"):
        return name[:1].isupper() and name not in _NOT_MODULES
    return qualname in ("equinox.Module", "equinox._module.Module", "equinox.nn.StatefulLayer")
