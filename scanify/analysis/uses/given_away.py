"""Find calls that are passed a layer while it is built: they may keep it, but a stack does not hold that object."""

import ast
from collections.abc import Iterator

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.index.module import Module
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lists.objects import home_of
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS, Function, parameters
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.uses.use import Use

_CONSTRUCTORS = ("__init__", "__post_init__", "__check_init__")
# Packages whose functions never keep a module that they are passed.
_KEEP_NOTHING = frozenset("builtins copy dataclasses equinox functools haliax jax jaxtyping math numpy typing".split())
# Methods of lists, dicts and sets, which hold the layer itself.
_HOLDS = frozenset("add append appendleft extend insert put setdefault update".split())


def given_away(project: ProjectFacts, layers: LayerList) -> Iterator[Use]:
    """Yield the calls that may keep a layer: weak references, and library calls in code that builds layers."""
    for module in project.index.modules_with("weakref"):
        for call in _calls(module.tree):
            if home_of(project, module, call).library(call).startswith("weakref."):
                yield _use(module, call)
    for module, function, own in _makers(project, layers):
        for call in _calls(*function.body):
            given = [*call.args, *(each.value for each in call.keywords)]
            if own.intersection(getattr(each, "id", "") for each in given) and _may_keep(project, module, call):
                yield _use(module, call)


def _calls(*nodes: ast.AST) -> Iterator[ast.Call]:
    return (each for each in nodes_in(*nodes) if isinstance(each, ast.Call))


def _use(module: Module, call: ast.Call) -> Use:
    text = " ".join(module.code(call).split())
    return Use(module.place(call), call, f"`{text}` is given a layer, and may keep it", changes=True)


def _makers(project: ProjectFacts, layers: LayerList) -> Iterator[tuple[Module, Function, frozenset[str]]]:
    """Yield the functions that build layers, each with the names under which it may have one."""
    waiting: list[tuple[Module, ast.AST]] = [(each.module, each.node) for each in layers.made]
    seen: set[ast.AST] = set()
    while waiting:
        module, node = waiting.pop()
        for call in _calls(node):
            found = home_of(project, module, call).meaning(call.func)
            if not isinstance(found, Definition) or found.node in seen:
                continue
            seen.add(found.node)
            if isinstance(found.node, FUNCTIONS):
                names = (each for each in nodes_in(*found.node.body) if isinstance(each, ast.Name))
                bound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
                yield found.module, found.node, frozenset({*bound, *(each.arg for each in parameters(found.node))})
                waiting.append((found.module, found.node))
            for owner in project.classes.lineage(found) if isinstance(found.node, ast.ClassDef) else ():
                methods = project.classes.methods(owner)
                for method in (methods[name] for name in _CONSTRUCTORS if name in methods):
                    yield owner.module, method, frozenset(each.arg for each in parameters(method)[:1])


def _may_keep(project: ProjectFacts, module: Module, call: ast.Call) -> bool:
    """True for an unlisted library function, and for a method of a module-level object."""
    home = home_of(project, module, call)
    found = home.meaning(call.func)
    if isinstance(found, External):
        return found.qualname.partition(".")[0] not in _KEEP_NOTHING
    if found is not None or not isinstance(call.func, ast.Attribute) or call.func.attr in _HOLDS:
        return False
    holder: ast.expr = call.func
    while isinstance(holder, ast.Attribute):
        holder = holder.value
    return isinstance(holder, ast.Name) and home.meaning(holder) is not None
