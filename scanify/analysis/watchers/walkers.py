"""Code that reads fields of objects that it does not name."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from scanify.analysis.index import Definition, External, Index, Module, Package
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Scope, ancestors, parent_of, scope_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import callee, local_scope
from scanify.analysis.watchers.stacks import class_of
from scanify.analysis.watchers.watcher import Watcher

_FIELDS = frozenset({"builtins.vars", "dataclasses.fields", "dataclasses.asdict", "dataclasses.astuple"})
_ALL = frozenset({"__dict__", "__dataclass_fields__", "__annotations__", "__getstate__", "__reduce__", "__slots__"})
_BY_NAME = frozenset({"builtins.getattr", "builtins.setattr", "builtins.object.__setattr__"})
_TAKERS = frozenset("get pop setdefault __getitem__ __setitem__".split())
_STRING = re.compile(r"""(["'])([^\s"']*[^\s"'\W][^\s"']*)\1""")
_KEYWORD = re.compile(r"[(,]\s*([^\W\d]\w*)\s*=(?!=)")
_NAME = re.compile(r"[^\W\d]\w*")
# Files and command lines that say names: what imports these, or calls them, reads some.
_DATA = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:json|tomllib|tomli|toml|yaml|configparser|csv|argparse|omegaconf|hydra"
    r"|ml_collections|click|typer|tyro|fire|absl|simple_parsing|gin|draccus)\b"
    r"|\bsys\.argv\b|\bos\.environ\b|\bgetenv\(|\binput\(|\bread_text\(|\.readlines?\(",
    re.MULTILINE,
)
_MODULES = ("equinox.", "haliax.")
_OF_CLASSES = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


def field_reads(index: Index, module: Module, node: ast.Call | ast.Attribute) -> Iterator[Watcher]:
    """What `vars(x)`, `x.__dict__`, `getattr(x, name)`, `attrgetter(path)` and the like read of a module."""
    known = callee(index, module, node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and known in _BY_NAME and len(node.args) >= 2:
        constant = isinstance(node.args[1], ast.Constant)
        stored = constant and known == "builtins.object.__setattr__"  # which the interpreter follows
        if not stored and not _is_plain(index, module, node.args[0]):
            yield from _by_name(index, module, node, node.args[1])
        if constant:
            return
    if isinstance(node, ast.Call) and known == "operator.attrgetter":
        for path in node.args:
            if not isinstance(path, ast.Constant):  # one that is written out is followed to what it is called with
                yield from _by_name(index, module, node, path)
    source = _source(node, known)
    if source is None or _is_plain(index, module, source):
        return
    if (key := _entry(module, node)) is not None:
        yield from _by_name(index, module, node, key)
    else:
        yield Watcher(module.place(node), "what the fields of an object hold")


def _entry(module: Module, node: ast.AST) -> ast.expr | None:
    """The name of the one field that is taken out of all: `vars(model)[name]`, `model.__dict__.get(name)`."""
    above = parent_of(module, node)
    if isinstance(above, ast.Subscript) and above.value is node:
        return above.slice
    call = parent_of(module, above) if isinstance(above, ast.Attribute) and above.attr in _TAKERS else None
    return call.args[0] if isinstance(call, ast.Call) and call.func is above and call.args else None


def _by_name(index: Index, module: Module, node: ast.Call | ast.Attribute, name: ast.expr) -> Iterator[Watcher]:
    """`getattr(model, "layers")` reads the list of this name alone; `getattr(model, name)` any that is named."""
    if isinstance(name, ast.Constant):
        if name.value in _ALL:
            yield Watcher(module.place(node), "what the fields of an object hold")
        elif isinstance(name.value, str):
            yield Watcher(module.place(node), f"`{name.value}` by its name", attributes=frozenset({name.value}))
        return
    named = None if _may_come_from_outside(index, module, node) else _quoted(index)
    yield Watcher(module.place(node), "fields by their names", attributes=named)


def _may_come_from_outside(index: Index, module: Module, node: ast.AST) -> bool:
    """Whether a name may be none that the code says: where it is used, or the function around is, data are read."""
    around = next((each for each in ancestors(module, node) if isinstance(each, FUNCTIONS)), None)
    users = index.modules_with(around.name) if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef) else ()
    return any(_DATA.search(each.text) for each in (module, *users))


@lru_cache(maxsize=2)
def _quoted(index: Index) -> frozenset[str]:
    """Every name of the project that could be that of a field, in a string or a path ("blocks.0.bias") or a keyword."""
    texts = [source.text for path in index.paths if (source := index.source(path)) is not None]
    quoted = (name for text in texts for _, path in _STRING.findall(text) for name in _NAME.findall(path))
    return frozenset((*quoted, *(name for text in texts for name in _KEYWORD.findall(text))))


def _source(node: ast.AST, known: object) -> ast.expr | None:
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in ("__dict__", "__dataclass_fields__") else None
    if isinstance(node, ast.Call) and node.args and known in _FIELDS:
        return node.args[0]
    return None


def _is_plain(index: Index, module: Module, source: ast.expr) -> bool:
    """Whether an object is shown to be no module: a class, `self` of a class that is none, parsed arguments."""
    if (owner := class_of(index, module, source)) is not None and isinstance(owner.node, ast.ClassDef):
        return not _may_be_module(index, owner.module, owner.node)
    if not isinstance(source, ast.Name):
        name = dotted(source)
        if name is None or local_scope(module, source, name.partition(".")[0]) is not None:
            return False
        return isinstance(index.resolve(module, name), External | Package)
    scope = scope_of(module, source)
    method = scope.method
    if method is not None and method.params[:1] == (source.id,) and _is_of_class(method):
        return True
    if source.id == scope.self_name and scope.owner is not None:
        return not _may_be_module(index, module, scope.owner)
    holder = local_scope(module, source, source.id)
    if holder is None:
        return isinstance(index.resolve(module, source.id), External) or source.id in module.imports
    for each in nodes_in(holder.node):
        match each:
            case ast.arg(arg=name, annotation=ast.expr() as annotation) if name == source.id:
                found = index.resolve(module, dotted(annotation) or "?")
                if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef):
                    return not _may_be_module(index, found.module, found.node)
                return isinstance(found, External) and found.qualname in ("argparse.Namespace", "builtins.dict")
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="parse_args"))):
                if name == source.id:
                    return True
            case _:
                pass
    return False


def _is_of_class(method: Scope) -> bool:
    """Whether the first parameter of a method is the class."""
    decorators = getattr(method.node, "decorator_list", [])
    return method.name in _OF_CLASSES or any(
        isinstance(each, ast.Name) and each.id == "classmethod" for each in decorators
    )


def _may_be_module(index: Index, module: Module, owner: ast.ClassDef, depth: int = 0) -> bool:
    for base in owner.bases:
        name = dotted(base.value if isinstance(base, ast.Subscript) else base)
        found = index.resolve(module, name) if name is not None else None
        if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) and depth < 16:
            if _may_be_module(index, found.module, found.node, depth + 1):
                return True
        elif not isinstance(found, External) or found.qualname.startswith(_MODULES):
            return True
    return False
