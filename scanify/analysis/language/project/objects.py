"""Attributes of values, and methods and fields of objects of the project."""

import ast
from dataclasses import replace

from scanify.analysis.index.meaning import Definition
from scanify.analysis.language import tables
from scanify.analysis.language import types as t
from scanify.analysis.language.names import bindings
from scanify.analysis.language.syntax.containers import Containers
from scanify.analysis.language.syntax.operators import why_of
from scanify.analysis.lower.nodes import by_kind
from scanify.analysis.lower.scope import Scope, inner_scope, own_nodes
from scanify.analysis.lower.text import called, dotted


class Objects(Containers):
    """The part of the walker that handles attributes and classes."""

    def attribute(self, env: t.Env, node: ast.expr, value: t.Type, name: str) -> t.Type:
        known = t.without_none(value)
        return t.join(self._attribute_of(env, node, option, name) for option in t.options(known))

    def _attribute_of(self, env: t.Env, node: ast.expr, value: t.Type, name: str) -> t.Type:
        match value:
            case t.Array() | t.Given():
                return self._of_array(env, node, value, name)
            case t.Static(text=text):
                if self.is_passed(value) and self.classes.may_act(name):
                    return self.note(env.module, node, f"a class of the project has its own `{name}`")
                if id(node) in self.called:
                    return self.note(env.module, node, f"`.{name}` of a Python value is not listed")
                return t.Static(f"{text}.{name}" if (text or "").startswith(t.GIVEN) else None)
            case t.Items():
                return t.LibraryFunction(f"items.{name}", value)
            case t.LibraryFunction(qualname=qualname, of=None):
                return t.LibraryFunction(f"{qualname}.{name}")
            case t.LibraryObject(qualname="jax.at"):
                return t.LibraryFunction(f"jax.at.{name}", value)
            case t.Object():
                return self._of_object(env, node, value, name)
            case t.Unknown():
                return self.unknown(env.module, node, value)
            case t.LibraryObject(qualname=qualname) if name in ("weight", "bias") and not self.classes.is_patched(name):
                return t.join([t.Array(), t.Nothing()]) if name == "bias" else t.Array()
            case t.LibraryObject(qualname=qualname):
                return self.note(env.module, node, f"`{name}` of a `{qualname}` is not listed")
            case _:
                holder = node.value if isinstance(node, ast.Attribute) else node
                return self.note(env.module, node, why_of(holder, value))

    def _of_array(self, env: t.Env, node: ast.expr, value: t.Array | t.Given, name: str) -> t.Type:
        if self.is_passed(value) and self.classes.may_act(name):
            return self.note(env.module, node, f"a class of the project has its own `{name}`")
        if name in tables.MEASURES:
            shape = value.shape if isinstance(value, t.Array) else None
            return t.Static(f"{name}:{shape}" if shape else None)
        if isinstance(value, t.Given) and not self.muted:
            return self.note(env.module, node, why_of(node, value))
        if isinstance(value, t.Given):
            value = t.Array(value.name, None, False)
        if name == "T" and value.shape is not None:
            return replace(value, shape=value.shape[:-2] if value.shape.endswith(" T") else f"{value.shape} T")
        if name in tables.VIEWS:
            return t.Array(certain=value.certain)
        if name == "at":
            return t.LibraryObject("jax.at", (("of", value),))
        return t.LibraryFunction(f"array.{name}", value)

    # -- classes of the project ------------------------------------------------------------------------------------

    def understood_class(self, env: t.Env, node: ast.AST, cls: Definition) -> bool:
        """True if nothing intercepts the attributes and calls of a class; otherwise record the reason."""
        odd = self.classes.interception(cls)
        if odd is not None:
            self.note(env.module, node, odd)
        return odd is None

    def _of_object(self, env: t.Env, node: ast.expr, value: t.Object, name: str) -> t.Type:
        """Return the type of an attribute (method, property or field), over all classes that the object may have."""
        classes = [value.cls] if value.exact else [value.cls, *self.classes.heirs(value.cls)]
        for cls in classes:
            if not self.understood_class(env, node, cls):
                return t.Unknown(f"the class `{cls.name}` is not understood", noted=not self.muted)
        found = [self._in_class(env, node, value, cls, name) for cls in classes]
        if any(found):
            return t.join(found)
        return self.note(env.module, node, f"`{value.cls.name}` has no `{name}` that is shown")

    def _in_class(self, env: t.Env, node: ast.expr, value: t.Object, cls: Definition, name: str) -> t.Type | None:
        if self.classes.is_patched(name):
            return self.note(env.module, node, f"code of the project stores another `{name}`")
        owner = next((each for each in self.classes.lineage(cls) if name in self.classes.methods(each)), cls)
        methods = self.classes.definitions(owner, name)
        is_field = name in self.classes.fields(cls)
        if len(methods) > 1 or (methods and is_field):
            return t.Unknown(f"`{name}` is defined in several ways")
        if methods:
            this = value if value.cls is cls else t.Object(cls, value.exact)
            return None if _is_abstract(methods[0]) else self._method(env, node, owner, methods[0], this)
        if name[:2] == "__":
            return None
        return self._field(cls, name)

    def _method(self, env: t.Env, node: ast.expr, owner: Definition, function: ast.AST, this: t.Type) -> t.Type:
        """Return a bound method of an object, or the value of a property."""
        assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        kinds = [dotted(each) for each in function.decorator_list]
        bound = None if kinds == ["staticmethod"] else this
        found = t.Function(owner.module, function, None, bound)
        if kinds == ["property"]:
            return self.call_function(env, node, found, [], {})
        return found if kinds == ["staticmethod"] else self.decorated(found, t.Env(owner.module))

    def decorated(self, function: t.Function, env: t.Env) -> t.Type:
        """Apply the decorators of a function; for a local function, calls among them would run in the iteration."""
        for each in getattr(function.node, "decorator_list", ()):
            with self.silent():
                target = self.evaluate(each.func if isinstance(each, ast.Call) else each, env)
            qualname = target.qualname if isinstance(target, t.LibraryFunction) else ""
            if qualname not in tables.DECORATORS or (function.around is not None and isinstance(each, ast.Call)):
                return self.note(function.module, each, "a decorator that is not listed")
        return function

    # -- fields ------------------------------------------------------------------------------------------------------

    def _field(self, cls: Definition, name: str) -> t.Type | None:
        """Return the type of a field by its annotation, or by the constructor if that shows more."""
        field = self.classes.fields(cls).get(name)
        found = self.annotated(field.owner.module, field.statement.annotation) if field is not None else None
        if found is None or not t.is_data(found):
            stored = self._stored(cls, name)
            if stored is not None and (field is None or not _holds_unknown(stored)):
                found = stored
        if found is not None or field is None:
            return self._as_stored(cls, name, found) if found is not None else None
        line = field.owner.module.place(field.statement.annotation).named
        text = field.owner.module.code(field.statement.annotation)
        remedy = "give a case" if "Callable" in text else "give a case, or annotate the field"
        return t.Unknown(f"`{name}` has type {text} ({line}); {remedy}", declared=True)

    def _stored(self, cls: Definition, name: str) -> t.Type | None:
        """Return the type that the constructor of a class stores in a field; None if it stores nothing there."""
        method = self.classes.method(cls, "__init__")
        field = self.classes.fields(cls).get(name)
        if field is not None and any(each.arg == "converter" for each in field.keywords):
            return t.Unknown(f"`{name}` has a `converter`, which is not followed")
        if method is None:
            return None
        scope = inner_scope(method[0].module, method[1])
        if any((called(node) or "").endswith(("setattr", "setattr__")) for node in own_nodes(scope.node)):
            return t.Unknown("a constructor stores fields by computed names")
        if not _stores(scope, name):
            return None
        for owner in self.classes.lineage(cls):
            for other in self.classes.methods(owner).values():
                if other is not method[1] and _stores(inner_scope(owner.module, other), name):
                    return t.Unknown(f"`{name}` is stored in several functions")
        return self.by_bindings(scope, f"{scope.params[0]}.{name}")

    def _as_stored(self, cls: Definition, name: str, value: t.Type) -> t.Type:
        """Return the type of a field, unless other code may store another value there."""
        if all(isinstance(each, t.Array | t.Static | t.Nothing) for each in t.options(value)):
            return value
        if self._is_exchanged(name):
            return self._only_declared(cls, name)
        if t.is_fixed(value):
            return value
        if isinstance(value, t.Items) and self._is_home(cls, name):
            return replace(value, declared=True)
        declared = self._only_declared(cls, name)
        # Other code may change the elements of a list, but changing the list in the loop is still an effect.
        is_list = isinstance(value, t.Items) and value.kind == "list" and isinstance(declared, t.Unknown)
        return t.Items("list", None, declared) if is_list else declared

    def _is_home(self, cls: Definition, name: str) -> bool:
        """True for the field that holds the layers."""
        owner, field = self.home
        return name == field and any(each.node is getattr(owner, "node", None) for each in self.classes.lineage(cls))

    def _only_declared(self, cls: Definition, name: str) -> t.Type:
        """Return the type of a field by its annotation alone."""
        field = self.classes.fields(cls).get(name)
        declared = self.annotated(field.owner.module, field.statement.annotation) if field is not None else None
        return declared or t.Unknown(f"code of the project may put something else into `{name}`")

    def _is_exchanged(self, name: str) -> bool:
        """True if code of the project may name a field in `tree_at` or `replace`."""
        exchanged = self.project.exchanged
        if name not in exchanged:
            modules = {*self.index.modules_with("tree_at"), *self.index.modules_with("replace", name)}
            calls = (call for module in modules for call in by_kind(module.tree).get(ast.Call, ()))
            exchanged[name] = any(_may_exchange(call, name) for call in calls)
        return exchanged[name]


def _stores(scope: Scope, name: str) -> bool:
    """True if a method assigns a field of its object."""
    return any(f"{self}.{name}" in names for self in scope.params[:1] for _, names in bindings(scope))


def _may_exchange(call: ast.Call, name: str) -> bool:
    """True for `replace(name=...)`, and for `tree_at` with a function that names the field or may return any field."""
    function = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if function == "replace":
        return any(each.arg in (name, None) for each in call.keywords)
    where = call.args[0] if call.args else call
    parts = list(ast.walk(where)) if isinstance(where, ast.Lambda) else [call]
    return function == "tree_at" and any(
        isinstance(each, ast.Call) or getattr(each, "attr", None) == name for each in parts
    )


def _is_abstract(function: ast.AST) -> bool:
    decorators = getattr(function, "decorator_list", ())
    return any((dotted(each) or "").endswith("abstractmethod") for each in decorators)


def _holds_unknown(value: t.Type) -> bool:
    """True if the type of a part of a value is not shown."""
    inner = [each.element for each in t.options(value) if isinstance(each, t.Items) and each.element is not None]
    return any(isinstance(each, t.Unknown | t.Given) for each in t.options(value)) or any(map(_holds_unknown, inner))
