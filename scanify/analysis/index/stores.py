"""Names of attributes that code of a file stores into objects other than the one that its constructor makes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from scanify.analysis.lower.nodes import children, nodes_in

CONSTRUCTORS = frozenset("__init__ __new__ __post_init__ __check_init__ __setstate__ setup".split())
_SETTERS = frozenset("setattr __setattr__ delattr __delattr__ object".split())  # `mock.patch.object(Block, "scale")`


@dataclass(frozen=True)
class Stores:
    """The names that are stored: `plain` by statements, `forced` past a frozen class (`object.__setattr__(...)`)."""

    plain: frozenset[str]
    forced: frozenset[str]


def stores_in(tree: ast.Module) -> Stores:
    """The attribute stores of a file; kept with its tree."""
    known: Stores | None = getattr(tree, "_stores", None)
    if known is None:
        found = list(_stores(tree, "", frozenset()))
        plain = frozenset(name for name, forced in found if not forced)
        known = tree._stores = Stores(plain, frozenset(name for name, forced in found if forced))  # type: ignore
    return known


def _stores(node: ast.AST, own: str, building: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The names that are stored below a node, and whether past a frozen class; `own` is the object that is being made,
    `building` are the methods of the class around that make it."""
    if isinstance(node, ast.ClassDef):
        building = _building(node)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = [*node.args.posonlyargs, *node.args.args][:1]
        own = first[0].arg if first and node.name in building else own if node.name not in building else ""
        building = frozenset()
    match node:
        case ast.Attribute(value=owner, attr=name, ctx=ast.Store() | ast.Del()) if not _is_own(owner, own):
            yield name, False
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[owner, ast.Constant(str(name)), *_]):
            if called in _SETTERS and not _is_own(owner, own):
                yield name, True
        case ast.Subscript(value=holder, slice=ast.Constant(str(name)), ctx=ast.Store() | ast.Del()):
            if _holds_fields(holder, own):
                yield name, True
        case ast.Call(func=ast.Attribute(value=holder, attr="update"), args=args, keywords=keywords):
            if _holds_fields(holder, own):
                given = (each.value for each in nodes_in(*args) if isinstance(each, ast.Constant))
                names = [*(each.arg for each in keywords), *given]
                yield from ((name, True) for name in names if isinstance(name, str))
    for each in children(node):
        yield from _stores(each, own, building)


def _is_own(owner: ast.expr, own: str) -> bool:
    return isinstance(owner, ast.Name) and owner.id == own != ""


def _holds_fields(node: ast.expr, own: str) -> bool:
    """Whether `vars(x)` or `x.__dict__` holds the fields of an object other than the one that is being made."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__") | ast.Call(func=ast.Name(id="vars"), args=[owner]):
            return not _is_own(owner, own)
        case _:
            return False


def _building(cls: ast.ClassDef) -> frozenset[str]:
    """The methods of a class that make its objects: the constructors, and what these mention of their object."""
    methods = {each.name: each for each in cls.body if isinstance(each, ast.FunctionDef)}
    found = set(CONSTRUCTORS)
    waiting = [methods[name] for name in CONSTRUCTORS & methods.keys()]
    while waiting:
        for each in nodes_in(waiting.pop()):
            if isinstance(each, ast.Attribute) and each.attr in methods and each.attr not in found:
                found.add(each.attr)
                waiting.append(methods[each.attr])
    return frozenset(found)
