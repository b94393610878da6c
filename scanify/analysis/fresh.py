"""The names in some code whose objects the code itself has surely just made."""

from collections.abc import Callable, Sequence

import libcst as cst

from scanify.analysis.blocks import blocks
from scanify.analysis.names import flow, target_names
from scanify.analysis.project import dotted

_DISPLAYS = (cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp, cst.Tuple)
_MAKERS = frozenset("list dict set bytearray sorted".split())
_EXTERNAL = frozenset(
    f"numpy.{name}" for name in "zeros ones empty full arange eye identity array copy linspace tri tril triu".split()
) | frozenset(f"numpy.{name}_like" for name in "zeros ones empty full".split())


def fresh_names(statements: Sequence[cst.CSTNode], external: Callable[[cst.CSTNode], str | None]) -> frozenset[str]:
    """Names that every binding gives a new list, dict, set or numpy array, which nobody else can know.

    `h = mask` makes nothing: to change `h` in place is to change `mask`. `external` gives the qualified name of
    a function outside of the project.
    """
    return _always(statements, lambda value: _new(value, external))


def made_names(statements: Sequence[cst.CSTNode]) -> frozenset[str]:
    """Names that every binding gives an object of another's class: `x.__class__(...)`, `type(x)(...)`, `x.empty()`.

    Such an object is new, but it may share parts with others.
    """
    again = [target_names(one.target) for one in blocks(statements) if isinstance(one, cst.AugAssign)]
    return _always(statements, _made).difference(*again)


def _always(statements: Sequence[cst.CSTNode], wanted: Callable[[cst.BaseExpression], bool]) -> frozenset[str]:
    """The names that nothing binds but assignments to that name alone, of values that are all as wanted."""
    found: dict[str, bool] = {}
    plain: set[cst.CSTNode] = set()
    for statement in blocks(statements):
        if isinstance(statement, cst.Assign | cst.AnnAssign) and statement.value is not None:
            targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else [statement.target]
            for target in targets:
                for name in target_names(target):
                    new = isinstance(target, cst.Name) and len(targets) == 1 and wanted(statement.value)
                    found[name] = found.get(name, True) and new
            plain |= set(targets)
        elif isinstance(statement, cst.For):
            found |= dict.fromkeys(target_names(statement.target), False)
        elif isinstance(statement, cst.With):
            names = [target_names(item.asname.name) for item in statement.items if item.asname is not None]
            found |= dict.fromkeys([name for some in names for name in some], False)
    bound = flow(statements).bound  # where another kind of statement binds the name first, it is not ours
    return frozenset(name for name, new in found.items() if new and bound.get(name) in plain)


def _made(value: cst.BaseExpression) -> bool:
    match value:
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="__class__" | "empty"))):
            return True
        case cst.Call(func=cst.Call(func=cst.Name(value="type"), args=[_])):
            return True
        case _:
            return False


def _new(value: cst.BaseExpression, external: Callable[[cst.CSTNode], str | None]) -> bool:
    if isinstance(value, _DISPLAYS):
        return True
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply):
        return isinstance(value.left, cst.List) or isinstance(value.right, cst.List)
    if not isinstance(value, cst.Call):
        return False
    if isinstance(value.func, cst.Attribute) and value.func.attr.value == "copy" and not value.args:
        return True
    qualname = external(value.func) or ""
    return (
        dotted(value.func) in (*_MAKERS, "object.__new__")
        or qualname in _EXTERNAL
        or qualname.startswith("collections.")
    )
