"""Code that writes into a layer that it took out of a list: a stack makes its layers anew, and the write is lost.

Equinox modules are frozen, so weights are loaded into them with `object.__setattr__`, or into what they hold.
"""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.children import nodes_in
from scanify.analysis.names import body_of, target_names
from scanify.analysis.project import Definition, Module, Project, dotted

_SETTERS = frozenset("setattr delattr object.__setattr__ object.__delattr__".split())
_MAX_DEPTH = 3


def written_part(module: Module, node: cst.CSTNode) -> str | None:
    """The write into what an expression such as `model.layers[0].attn` stands for, that it is a part of."""
    below: cst.CSTNode = node
    for above in module.parsed.ancestors(node):
        if isinstance(above, cst.Attribute | cst.Subscript) and above.value is below:
            below = above
            continue
        if isinstance(above, cst.AssignTarget | cst.AugAssign | cst.Del) and below is not node:
            return module.parsed.code(below)
        call = module.parsed.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(call, cst.Call) and dotted(call.func) in _SETTERS and call.args[0] is above:
            return module.parsed.code(call.func)
        return None
    return None


def written(
    project: Project, module: Module, body: Sequence[cst.CSTNode], names: frozenset[str], depth: int = 0
) -> str | None:
    """The first write into one of some objects in some code, or in the functions of the project it gives them to."""
    if depth > _MAX_DEPTH or not names:
        return None
    known = set(names)
    for node in nodes_in(*body):
        match node:
            case cst.Assign() | cst.AugAssign() | cst.AnnAssign() | cst.Del():
                targets = [one.target for one in node.targets] if isinstance(node, cst.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, cst.Attribute | cst.Subscript) and _root(target) in known:
                        return module.parsed.code(target)
                if isinstance(node, cst.Assign) and _root(node.value) in known:
                    known |= {name for target in targets for name in target_names(target)}
            case cst.For() if _root(node.iter) in known:
                known |= set(target_names(node.target))
            case cst.Call():
                found = _called(project, module, node, frozenset(known), depth)
                if found is not None:
                    return found
            case _:
                pass
    return None


def _called(project: Project, module: Module, call: cst.Call, names: frozenset[str], depth: int) -> str | None:
    name = dotted(call.func) or ""
    if name in _SETTERS:
        return name if call.args and _root(call.args[0].value) in names else None
    head, _, last = name.rpartition(".")
    if head and head.partition(".")[0] in names:
        return last if _writes_itself(project, last, depth) else None
    meaning = project.resolve(module, name) if name else None
    if not isinstance(meaning, Definition) or not isinstance(meaning.node, cst.FunctionDef):
        return None
    params = [one.name.value for one in (*meaning.node.params.posonly_params, *meaning.node.params.params)]
    given = {
        arg.keyword.value if arg.keyword is not None else params[position]
        for position, arg in enumerate(call.args)
        if _root(arg.value) in names and (arg.keyword is not None or position < len(params))
    }
    return written(project, meaning.module, body_of(meaning.node.body), frozenset(given), depth + 1)


def _writes_itself(project: Project, method: str, depth: int) -> bool:
    """Whether any method of that name in the given files writes into its own object."""
    for module in project.given_with("__setattr__"):
        for node in nodes_in(module.parsed.module):
            if isinstance(node, cst.FunctionDef) and node.name.value == method and node.params.params:
                own = frozenset({node.params.params[0].name.value})
                if written(project, module, body_of(node.body), own, depth + 1) is not None:
                    return True
    return False


def _root(node: cst.CSTNode) -> str | None:
    """The name that a chain of attributes, subscripts and `getattr`s starts from."""
    while True:
        if isinstance(node, cst.Attribute | cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call) and dotted(node.func) in ("getattr", "vars", "enumerate") and node.args:
            node = node.args[0].value
        else:
            return node.value if isinstance(node, cst.Name) else None
