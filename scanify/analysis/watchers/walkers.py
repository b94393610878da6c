"""Code that reads fields of objects that it does not name."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from scanify.analysis.index import Definition, External, Index, Module, Package
from scanify.analysis.lower.scope import FUNCTIONS, ancestors, parent_of
from scanify.analysis.lower.text import dotted
from scanify.analysis.watchers.names import callee, local_scope
from scanify.analysis.watchers.rules import FIELDS
from scanify.analysis.watchers.stacks import annotation_of, assigned, class_of
from scanify.analysis.watchers.watcher import Watcher

_DICTS = frozenset({"__dict__", "__dataclass_fields__"})
_ALL = _DICTS | {"__annotations__", "__getstate__", "__reduce__", "__slots__"}
_FIELDS = frozenset({"builtins.vars", "dataclasses.fields", "dataclasses.asdict", "dataclasses.astuple"})
_BY_NAME = frozenset({"builtins.getattr", "builtins.setattr", "builtins.object.__setattr__"})
FIELD_WORDS = _DICTS | frozenset("vars fields asdict astuple getattr setattr __setattr__ attrgetter".split())
"""The words of code that this room reads."""
_TAKERS = frozenset("get pop setdefault __getitem__ __setitem__".split())
_STRING = re.compile(r"""(["'])([^\s"']*[^\s"'\W][^\s"']*)\1""")
_KEYWORD = re.compile(r"[(,]\s*([^\W\d]\w*)\s*=(?!=)")
_NAME = re.compile(r"[^\W\d]\w*")
# Files and command lines hold names: code that imports these, or calls them, reads some.
_DATA = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:json|tomllib|tomli|toml|yaml|configparser|csv|argparse|omegaconf|hydra"
    r"|ml_collections|click|typer|tyro|fire|absl|simple_parsing|gin|draccus)\b"
    r"|\bsys\.argv\b|\bos\.environ\b|\bgetenv\(|\binput\(|\bread_text\(|\.readlines?\(",
    re.MULTILINE,
)
_MODULES = ("equinox.", "haliax.")


def field_reads(index: Index, module: Module, node: ast.Call | ast.Attribute) -> Iterator[Watcher]:
    """Yield what `vars(x)`, `x.__dict__`, `getattr(x, name)`, `attrgetter(path)` and the like read of a module."""
    match node:
        case ast.Attribute(value=source, attr=attr) if attr in _DICTS and not _is_plain(index, module, source):
            yield from _of_fields(index, module, node)
        case ast.Call(func=function, args=[source, *more]):
            known = callee(index, module, function)
            if known in _FIELDS and not _is_plain(index, module, source):
                yield from _of_fields(index, module, node)
            is_followed = known == "builtins.object.__setattr__" and more and isinstance(more[0], ast.Constant)
            if known in _BY_NAME and more and not is_followed and not _is_plain(index, module, source):
                yield from _by_name(index, module, node, more[0])
            for path in node.args if known == "operator.attrgetter" else ():
                if not isinstance(path, ast.Constant):  # a constant path is followed to the calls of the getter
                    yield from _by_name(index, module, node, path)
        case _:
            pass


def _of_fields(index: Index, module: Module, node: ast.expr) -> Iterator[Watcher]:
    """All fields of an object, or the one that is taken out of them: `vars(model)[name]`, `x.__dict__.get(name)`."""
    match above := parent_of(module, node):
        case ast.Subscript(value=value, slice=key) if value is node:
            yield from _by_name(index, module, node, key)
            return
        case ast.Attribute(attr=attr) if attr in _TAKERS:
            call = parent_of(module, above)
            if isinstance(call, ast.Call) and call.func is above and call.args:
                yield from _by_name(index, module, node, call.args[0])
                return
    yield Watcher(module.place(node), "what the fields of an object hold", rule=FIELDS, node=node)


def _by_name(index: Index, module: Module, node: ast.expr, name: ast.expr) -> Iterator[Watcher]:
    """`getattr(model, "layers")` reads the list of this name alone; `getattr(model, name)` any that is named."""
    match name:
        case ast.Constant(value=str(text)) if text in _ALL:
            yield Watcher(module.place(node), "what the fields of an object hold", rule=FIELDS, node=node)
        case ast.Constant(value=str(text)):
            yield Watcher(module.place(node), f"`{text}` by its name", frozenset({text}), FIELDS, node=node)
        case ast.Constant():
            pass  # an error, or an element of a dict
        case _:
            named = None if _may_come_from_outside(index, module, node) else _quoted(index)
            yield Watcher(module.place(node), "fields by their names", named, FIELDS, node=node)


def _may_come_from_outside(index: Index, module: Module, node: ast.AST) -> bool:
    """True if a name may be none that the code writes: the file, or one that uses the function around, reads data."""
    around = next((each for each in ancestors(module, node) if isinstance(each, FUNCTIONS)), None)
    users = index.modules_with(around.name) if around is not None else ()
    return any(_DATA.search(each.text) for each in (module, *users))


@lru_cache(maxsize=2)
def _quoted(index: Index) -> frozenset[str]:
    """Every name of the project that could be that of a field, in a string or a path ("blocks.0.bias") or a keyword."""
    texts = [source.text for path in index.paths if (source := index.source(path)) is not None]
    quoted = (name for text in texts for _, path in _STRING.findall(text) for name in _NAME.findall(path))
    return frozenset((*quoted, *(name for text in texts for name in _KEYWORD.findall(text))))


def _is_plain(index: Index, module: Module, source: ast.expr) -> bool:
    """True if an object is shown to be no module: of a class that is none, a library, parsed arguments."""
    owner = class_of(index, module, source)
    if owner is not None and isinstance(owner.node, ast.ClassDef):
        return not _may_be_module(index, owner.module, owner.node)
    name = dotted(source)
    if name is not None and local_scope(module, source, name.partition(".")[0]) is None:
        return isinstance(index.resolve(module, name), External | Package) or name in module.imports
    if not isinstance(source, ast.Name):
        return False
    annotation, values = annotation_of(module, source), assigned(module, source)
    if annotation is not None and not values:
        found = index.resolve(module, dotted(annotation) or "?")
        return isinstance(found, External) and found.qualname in ("argparse.Namespace", "builtins.dict")
    parsed = [getattr(getattr(each, "func", None), "attr", "") == "parse_args" for each in values]
    return bool(parsed) and all(parsed)


def _may_be_module(index: Index, module: Module, owner: ast.ClassDef, depth: int = 0) -> bool:
    for base in owner.bases:
        found = index.resolve(module, dotted(base.value if isinstance(base, ast.Subscript) else base) or "?")
        if isinstance(found, Definition) and isinstance(found.node, ast.ClassDef) and depth < 16:
            if _may_be_module(index, found.module, found.node, depth + 1):
                return True
        elif not isinstance(found, External) or found.qualname.startswith(_MODULES):
            return True
    return False
