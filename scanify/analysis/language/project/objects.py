"""Objects: attributes of any value, fields and methods of classes of the project, and what their constructors make."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.language import tables
from scanify.analysis.language.base import Base
from scanify.analysis.language.shapes import cast_of
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.language.types import (
    GIVEN,
    Array,
    ClassOf,
    Env,
    Function,
    Given,
    Items,
    LibraryFunction,
    LibraryObject,
    Nothing,
    Object,
    Package,
    Static,
    Type,
    Unknown,
    is_data,
    is_fixed,
    join,
    options,
    without_none,
)
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import dotted

_ARRAY_FIELDS = frozenset("weight bias weight_ih weight_hh bias_n negative_slope".split())
_STATIC_FIELDS = frozenset(
    "use_bias in_features out_features num_heads query_size key_size value_size output_size qk_size vo_size p "
    "inference shape eps use_weight channels groups hidden_size input_size depth width_size in_size out_size "
    "embedding_size num_embeddings kernel_size stride padding dilation in_channels out_channels num_spatial_dims "
    "channelwise_affine".split()
)
_INTERCEPTING = frozenset({"__getattr__", "__getattribute__"})
_CONSTRUCTORS = ("__init__", "__post_init__", "__check_init__")
_PLAIN_DECORATORS = frozenset({"staticmethod", "classmethod", "property"})


class Objects(Base):
    """The part of the walker that knows attributes and classes."""

    def attribute(self, env: Env, node: ast.expr, value: Type, name: str) -> Type:
        known = without_none(value)
        return join(self._attribute_of(env, node, option, name) for option in options(known))

    def _attribute_of(self, env: Env, node: ast.expr, value: Type, name: str) -> Type:
        module = env.module
        holder = node.value if isinstance(node, ast.Attribute) else node
        match value:
            case Array() | Given():
                return self._of_array(env, node, value, name)
            case Static(text=text):
                if self.asks(env, node, value, name, "__getattr__", "__getattribute__"):
                    return Unknown(f"a class of the project has its own `{name}`")
                read = id(node) not in self.called and (text or "").startswith(GIVEN)
                return Static(f"{text}.{name}") if read else LibraryFunction(f"static.{name}", value)
            case Items():
                return LibraryFunction(f"items.{name}", value)
            case Package(qualname=qualname):
                return self.meaning_absolute(module, f"{qualname}.{name}") or Unknown(
                    f"`{qualname}.{name}` is not shown"
                )
            case LibraryFunction(qualname=qualname, of=None):
                return self.of_library(f"{qualname}.{name}")
            case ClassOf(cls=str(qualname)):
                return self.of_library(f"{qualname}.{name}")
            case ClassOf(cls=Definition() as cls):
                return self._of_class(env, node, cls, name)
            case LibraryObject():
                return self._of_library_object(env, node, value, name)
            case Object():
                return self.of_object(env, node, value, name)
            case Function() if name in ("__name__", "__qualname__", "__doc__", "__module__"):
                return Static()
            case Function() if name in ("defvjp", "defjvp", "defjvps", "def_vmap") and self.muted:
                return LibraryFunction("builtins.object")
            case Unknown():
                return self.unknown(module, node, value)
            case _:
                return self.note(module, node, why_of(holder, value))

    def _of_array(self, env: Env, node: ast.expr, value: Array | Given, name: str) -> Type:
        uncertain = isinstance(value, Given) or not value.certain
        if uncertain and (self.classes.acts(name) or self.classes.is_patched(name)):
            return self.note(env.module, node, f"a class of the project has its own `{name}`")
        if name in tables.MEASURES:
            shape = value.shape if isinstance(value, Array) else None
            return Static(f"{name}:{shape}" if shape else None)
        if isinstance(value, Given) and not self.muted:
            return self.note(env.module, node, why_of(node, value))
        if isinstance(value, Given):
            value = Array(value.name, None, False)
        if name == "T" and value.shape is not None:
            return replace(value, shape=value.shape[:-2] if value.shape.endswith(" T") else f"{value.shape} T")
        if name in tables.VIEWS:
            return Array(None, cast_of(name, (), {}, [value]), value.certain)
        if name == "at":
            return LibraryObject("jax.at", (("of", value),))
        return LibraryFunction(f"array.{name}", value)

    def of_library(self, qualname: str) -> Type:
        """The type of something of a library, by its qualified name."""
        last = qualname.rpartition(".")[2]
        if qualname.startswith("equinox.nn.") and last[:1].isupper():
            return ClassOf(qualname)
        return LibraryFunction(qualname)

    def of_meaning(self, meaning: object) -> Type | None:
        """The type of what an import inside a function brings."""
        match meaning:
            case Definition() as definition:
                return self.defined(definition)
            case External(qualname):
                return self.of_library(qualname)
            case _:
                name = getattr(meaning, "name", None)
                return Package(name) if isinstance(name, str) else None

    def meaning_absolute(self, module: Module, name: str) -> Type | None:
        return self.of_meaning(self.index.resolve_absolute(module, name))

    # -- classes of libraries --------------------------------------------------------------------------------------

    def _of_library_object(self, env: Env, node: ast.expr, value: LibraryObject, name: str) -> Type:
        if self.classes.is_patched(name):
            return self.note(env.module, node, f"code of the project stores another `{name}`")
        if value.qualname == "builtins.super":
            return self._of_super(env, node, value, name)
        if value.qualname == "jax.at":
            return LibraryFunction(f"jax.at.{name}", value)
        if value.qualname.startswith("equinox.nn."):
            if name in _ARRAY_FIELDS:
                return join([Array(), Nothing()]) if "bias" in name else Array()
            if name in _STATIC_FIELDS:
                return Static()
            if name == "layers":
                inner = dict(value.arguments or ()).get(0)
                return (
                    inner if isinstance(inner, Items) else Unknown(f"the layers of a `{value.qualname}` are not shown")
                )
            if name == "__call__":
                return value
        return self.note(env.module, node, f"`{name}` of a `{value.qualname}` is not listed")

    def _of_super(self, env: Env, node: ast.expr, value: LibraryObject, name: str) -> Type:
        """The method of the next class in the order of method resolution."""
        this = dict(value.arguments or ()).get("this")
        if env.owner is None or not isinstance(this, Object):
            return self.note(env.module, node, "`super()` outside of a method of a class that is shown")
        order = self.classes.lineage(this.cls)
        nodes = [each.node for each in order]
        after = order[nodes.index(env.owner.node) + 1 :] if env.owner.node in nodes else ()
        for owner in after:
            found = self.classes.methods(owner).get(name)
            if found is not None:
                return self.method(env, node, owner, found, this)
        bases = [base for owner in after or (env.owner,) for base in self.classes.bases(owner)]
        if name in ("__init__", "__post_init__", "__init_subclass__", "__check_init__"):
            libraries = [base for base in bases if isinstance(base, External)]
            if all(not base.qualname.startswith("equinox.nn.") for base in libraries):
                return LibraryFunction("builtins.object")
        return self.note(env.module, node, "a base class of a library defines it")

    # -- classes of the project ------------------------------------------------------------------------------------

    def understood_class(self, env: Env, node: ast.AST, cls: Definition) -> bool:
        """True if nothing intercepts what an object of the class does; else the reason is an obligation."""
        odd = self.classes.oddity(cls)
        if odd is None and not self.classes.known_bases(cls):
            odd = f"`{cls.name}` has a base class that is not shown"
        if odd is None and self.classes.is_taken_apart(cls):
            odd = f"the functions that take objects of `{cls.name}` apart may forget or compute something"
        if odd is None and self.classes.method(cls, "__del__") is not None:
            odd = f"`{cls.name}` does something when an object is dropped"
        if odd is None and _INTERCEPTING & self.classes.special_methods(cls):
            odd = f"`{cls.name}` intercepts attributes"
        if odd is None and any(map(self.classes.is_patched, _INTERCEPTING)):
            odd = "code of the project stores a `__getattr__`"
        if odd is not None:
            self.note(env.module, node, odd)
        return odd is None

    def alternatives(self, value: Object) -> list[Definition]:
        """The classes that an object may be of."""
        return [value.cls] if value.made is not None else [value.cls, *self.classes.heirs(value.cls)]

    def of_object(self, env: Env, node: ast.expr, value: Object, name: str) -> Type:
        """The attribute of an object: a method, a property, a field, a constant, in each class it may be of."""
        understood = [self.understood_class(env, node, cls) for cls in self.alternatives(value)]
        if not all(understood):
            return Unknown(f"the class `{value.cls.name}` is not understood")
        found = [self.in_class(env, node, value, cls, name) for cls in self.alternatives(value)]
        known = [each for each in found if each is not None]
        if known:
            return join(known)
        return self.note(env.module, node, f"`{value.cls.name}` has no `{name}` that is shown")

    def in_class(self, env: Env, node: ast.expr, value: Object, cls: Definition, name: str) -> Type | None:
        if self.is_made_now(value):
            own = self.making[-1][1].get(name)
            if own is not None:
                return own
        own = value.field(name)
        if own is not None and not _holds_unknown(own):
            return self._as_stored(cls, name, own)
        methods = [
            (owner, each) for owner in self.classes.lineage(cls) for each in self.classes.definitions(owner, name)
        ]
        fields = self.classes.fields(cls)
        if methods and not (name in fields and self._is_above(cls, fields[name].owner, methods[0][0])):
            owner = methods[0][0]
            this = value if value.cls is cls else Object(cls, value.made)
            mine = [each for at, each in methods if at is owner]
            return join(self.method(env, node, owner, each, this) for each in mine)
        if name in fields:
            return self._declared_field(cls, name)
        constant = self.classes.constant(cls, name)
        if constant is not None:
            found = self._constant_of(constant, name)
            if not is_fixed(found):
                found = Unknown(f"code of the project may put something else into `{name}`")
            return found if is_data(found) or isinstance(found, Function | ClassOf) else None
        if own is not None:
            text = f"`{name}` is what the caller of the constructor of `{cls.name}` passes; give a case, or annotate it"
            return Unknown(text, declared=True)
        if value.made is not None:
            return None
        stored = self.stored_by_constructor(cls, name)
        if stored is not None:
            return self._as_stored(cls, name, stored)
        library = self.classes.library_base(cls, name)
        if library is not None:
            return self._of_library_object(env, node, LibraryObject(library), name)
        return None

    def _is_above(self, cls: Definition, one: Definition, other: Definition) -> bool:
        order = [each.node for each in self.classes.lineage(cls)]
        return order.index(one.node) < order.index(other.node)

    def method(self, env: Env, node: ast.expr, owner: Definition, function: ast.AST, this: Type) -> Type:
        """A method as it is read from an object: bound, or what its property returns."""
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if self.classes.is_patched(function.name):
            return self.note(env.module, node, f"code of the project stores another `{function.name}`")
        kinds = [dotted(each) for each in function.decorator_list]
        found = Function(owner.module, function, None, this, owner)
        if "staticmethod" in kinds:
            found = Function(owner.module, function, None, None, owner)
        elif "classmethod" in kinds:
            cls = this.cls if isinstance(this, Object) else owner
            found = Function(owner.module, function, None, ClassOf(cls), owner)
        if "property" in kinds:
            return self.call_function(found, [], {})
        return self.decorated(found, Env(owner.module))

    def _declared_field(self, cls: Definition, name: str) -> Type:
        field = self.classes.fields(cls)[name]
        annotation = field.statement.annotation
        found = self.annotated(field.owner.module, annotation)
        if found is None or not is_data(found):
            stored = self.stored_by_constructor(cls, name)
            if stored is not None and not _holds_unknown(stored):
                found = stored
        if found is None:
            line = field.owner.module.place(annotation).named
            text = field.owner.module.code(annotation)
            remedy = "give a case" if "Callable" in text else "give a case, or annotate the field"
            return Unknown(f"`{name}` has type {text} ({line}); {remedy}", declared=True)
        return self._as_stored(cls, name, found)

    def _as_stored(self, cls: Definition, name: str, value: Type) -> Type:
        """The type of a field, unless other code may put something else there."""
        if all(isinstance(each, Array | Static | Nothing) for each in options(value)):
            own = self.is_static_field(cls, name)
            stacked = (isinstance(each, Array) or (isinstance(each, Static) and each.numpy) for each in options(value))
            return join(
                Array() if array and not own else each for each, array in zip(options(value), stacked, strict=True)
            )
        if self.classes.is_replaced(cls, name) or self._is_exchanged(name):
            return self._only_declared(cls, name)
        if is_fixed(value):
            return value
        if isinstance(value, Items) and self._is_home(cls, name):
            return replace(value, declared=True)
        declared = self._only_declared(cls, name)
        # Code may change what a list holds; to change the list itself is still an effect.
        is_list = isinstance(value, Items) and value.kind == "list" and isinstance(declared, Unknown)
        return Items("list", None, declared) if is_list else declared

    home: tuple[Definition | None, str | None] = (None, None)  # the class and the field of the layers

    def _is_home(self, cls: Definition, name: str) -> bool:
        """True of the field that holds the layers."""
        owner, field = self.home
        return name == field and any(each.node is getattr(owner, "node", None) for each in self.classes.lineage(cls))

    def is_static_field(self, cls: Definition, name: str) -> bool:
        """True if a field is declared static: jax does not look into it."""
        field = self.classes.fields(cls).get(name)
        keywords = field.default.keywords if field is not None and isinstance(field.default, ast.Call) else []
        return any(each.arg == "static" and ast.unparse(each.value) != "False" for each in keywords)

    def _only_declared(self, cls: Definition, name: str) -> Type:
        """What the annotation of a field says, whatever its constructor stores."""
        field = self.classes.fields(cls).get(name)
        declared = self.annotated(field.owner.module, field.statement.annotation) if field is not None else None
        return declared or Unknown(f"code of the project may put something else into `{name}`")

    def _is_exchanged(self, name: str) -> bool:
        """True if code of the project may name a field in `tree_at` or `replace`."""
        exchanged = self.project.exchanged
        if name not in exchanged:
            exchanged[name] = self._may_exchange(name)
        return exchanged[name]

    def _may_exchange(self, name: str) -> bool:
        for module in self.index.modules_with("tree_at"):
            for call in _calls_of(module, "tree_at"):
                where = call.args[0] if call.args else None
                if not isinstance(where, ast.Lambda) or any(isinstance(each, ast.Call) for each in ast.walk(where)):
                    return True
                if any(getattr(each, "attr", None) == name for each in ast.walk(where)):
                    return True
        modules = self.index.modules_with("replace", name)
        return any(
            keyword.arg in (name, None)
            for module in modules
            for call in _calls_of(module, "replace")
            for keyword in call.keywords
        )

    def _constant_of(self, constant: tuple[Definition, ast.expr], name: str) -> Type:
        owner, value = constant
        if self.classes.is_patched(name):
            return Unknown(f"code of the project stores another `{name}`")
        with self.silent():
            found = self.evaluate(value, Env(owner.module))
        if any(isinstance(each, Given) for each in options(found)):
            return Unknown(f"`{name}` is what a call returns, and may be a descriptor")
        return found if is_fixed(found) else Items(getattr(found, "kind", "list"))

    def _of_class(self, env: Env, node: ast.expr, cls: Definition, name: str) -> Type:
        """An attribute of the class itself: an alternative constructor, a static method, a constant."""
        found = self.classes.method(cls, name)
        if found is not None:
            owner, function = found
            if self.classes.is_patched(name):
                return self.note(env.module, node, f"code of the project stores another `{name}`")
            kinds = [dotted(each) for each in function.decorator_list]
            bound = ClassOf(cls) if "classmethod" in kinds else None
            return self.decorated(Function(owner.module, function, None, bound, owner), Env(owner.module))
        constant = self.classes.constant(cls, name)
        if constant is not None:
            return self._constant_of(constant, name)
        if name in ("__name__", "__qualname__", "__doc__"):
            return Static()
        return self.note(env.module, node, f"`{cls.name}` has no `{name}` that is shown")


def _holds_unknown(value: Type) -> bool:
    """True if the source shows nothing of a part of a value."""
    inner = [each.element for each in options(value) if isinstance(each, Items) and each.element is not None]
    return any(isinstance(each, Unknown | Given) for each in options(value)) or any(map(_holds_unknown, inner))


def _calls_of(module: Module, name: str) -> Iterator[ast.Call]:
    for node in nodes_in(module.tree):
        if isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) == name:
            yield node
