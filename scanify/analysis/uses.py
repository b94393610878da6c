"""The other uses of a list that is to be stacked, and whether a stack, which behaves as a sequence, serves them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from scanify.analysis.answers import Built, LayerList
from scanify.analysis.children import all_of, children
from scanify.analysis.classes import lineage
from scanify.analysis.code import code_of
from scanify.analysis.container import class_of
from scanify.analysis.effects import dotted_or
from scanify.analysis.facts import Place
from scanify.analysis.fill import GROWS
from scanify.analysis.identity import compared
from scanify.analysis.mentions import mentions
from scanify.analysis.names import body_of, parameter_names, target_names
from scanify.analysis.project import Definition, Module, Project, dotted
from scanify.analysis.replaced import in_tree_at
from scanify.analysis.walking_calls import walking
from scanify.analysis.where import Where, where
from scanify.analysis.written import written, written_part

_CHANGERS = frozenset(
    "pop remove clear reverse sort __setitem__ __delitem__ update setdefault popitem move_to_end".split()
)
_SEQUENCE_READERS = frozenset("len list tuple enumerate zip reversed iter sum any all min max sorted next".split())


@dataclass(frozen=True)
class OtherUse:
    """A use that a stack cannot serve. `changes` says that other layers may be in the list after it."""

    place: Place
    reason: str
    changes: bool = False


def other_use(project: Project, layers: LayerList, name: str) -> OtherUse | None:
    """The first use of a list in the given files, beside the place where it is built, that needs a Python list."""
    return next(_other_uses(project, layers, name), None)


def changed_at(project: Project, layers: LayerList, name: str) -> Place | None:
    """Where the given files put other layers into a list than those it was built of; None where nothing does."""
    return next((one.place for one in _other_uses(project, layers, name) if one.changes), None)


def may_be_replaced(project: Project, layers: LayerList, name: str) -> bool:
    """Whether the given files put other layers in place of those that the class builds: then their class is unknown."""
    if changed_at(project, layers, name) is not None:
        return True
    return layers.attribute is not None and any(
        in_tree_at(project, module, node) is not None
        for module in project.given_with(f".{layers.attribute}")
        for node in attributes(module.parsed.module, layers.attribute)
    )


def _other_uses(project: Project, layers: LayerList, name: str) -> Iterator[OtherUse]:
    if layers.owner is not None and layers.attribute is not None:
        yield from _attribute_uses(project, layers, layers.owner, layers.attribute)
        yield from _named_uses(project, layers.owner, layers.attribute)
        return
    function = layers.scope.function
    root = function if function is not None else layers.scope.module.parsed.module
    yield from _name_uses(project, layers.scope.module, root, name)


def _attribute_uses(project: Project, layers: LayerList, owner: Definition, attribute: str) -> Iterator[OtherUse]:
    placed = isinstance(layers.answer, Built) and layers.answer.placed
    for module in project.given_with(f".{attribute}"):
        for node in attributes(module.parsed.module, attribute):
            at = where(module, node)
            relation = related(project, at, node, owner)
            if relation == "other":
                continue
            reason = _bad(project, module, node)
            elsewhere = at.function is not layers.scope.function
            if reason is None and relation == "ours" and elsewhere and assigned(module, node):
                reason = f"`{dotted(node)}` is assigned here too"
            if reason is None and relation == "ours" and elsewhere and _grows(module, node):
                reason = "the list is made longer after it was built"
            if reason is not None and not (placed and not elsewhere and _stores(module, node)):
                changes = _stores(module, node) or (elsewhere and (assigned(module, node) or _grows(module, node)))
                yield OtherUse(module.parsed.place(node), reason, changes)
            alias = _alias(module, node) if relation == "ours" else None
            if alias is not None and at.function is not None:
                yield from _name_uses(project, module, at.function, alias, alias=True)


def _named_uses(project: Project, owner: Definition, attribute: str) -> Iterator[OtherUse]:
    """Calls that put another list in place of an attribute by its name: `replace(model, layers=...)`, `setattr`."""
    for module in project.given_with(attribute):
        for call in all_of(cst.Call, module.parsed.module):
            name = (dotted(call.func) or "").rpartition(".")[2]
            if name in ("setattr", "__setattr__") and len(call.args) == 3:
                by_name = isinstance(call.args[1].value, cst.SimpleString)
                named = by_name and call.args[1].value.evaluated_value == attribute  # type: ignore[attr-defined]
            else:
                named = name == "replace" and any(
                    arg.keyword is not None and arg.keyword.value == attribute for arg in call.args
                )
            if named and _may_be(project, where(module, call), call.args[0].value, owner):
                yield OtherUse(module.parsed.place(call), f"`{dotted(call.func)}` puts another list in its place", True)


def _may_be(project: Project, at: Where, node: cst.BaseExpression, owner: Definition) -> bool:
    found = class_of(project, at, node)
    return found is None or owner.node in [one.node for one in lineage(project, found)]


def related(project: Project, at: Where, node: cst.Attribute, owner: Definition) -> str:
    """Whether an attribute is that of our class ("ours"), surely that of another ("other"), or cannot be told."""
    found = class_of(project, at, node.value)
    if found is None:
        root = (dotted(node.value) or "").partition(".")[0]
        return "other" if root not in at.locals and project.is_import(at.module, root) else "unknown"
    mine = [one.node for one in lineage(project, found)]
    theirs = [one.node for one in lineage(project, owner)]
    return "ours" if owner.node in mine or found.node in theirs else "other"


def attributes(node: cst.CSTNode, attribute: str) -> Iterator[cst.Attribute]:
    if isinstance(node, cst.Attribute) and node.attr.value == attribute:
        yield node
    for child in children(node) if not isinstance(node, cst.Import | cst.ImportFrom) else ():
        yield from attributes(child, attribute)


def _name_uses(
    project: Project, module: Module, root: cst.CSTNode, name: str, *, alias: bool = False
) -> Iterator[OtherUse]:
    for node in mentions(root, name):
        reason = _bad(project, module, node)
        if reason is None and alias and _grows(module, node):
            reason = "the list is made longer under another name"
        if reason is not None:
            yield OtherUse(module.parsed.place(node), reason, _stores(module, node) or (alias and _grows(module, node)))


def _alias(module: Module, node: cst.CSTNode) -> str | None:
    parent = module.parsed.parent(node)
    if isinstance(parent, cst.Assign) and parent.value is node and len(parent.targets) == 1:
        return dotted(parent.targets[0].target)
    return None


def _bad(project: Project, module: Module, node: cst.CSTNode) -> str | None:
    """Why a stack cannot serve this use; None where it can, or where the use is the building of the list itself."""
    parent = module.parsed.parent(node)
    if assigned(module, node):
        return None
    if (found := in_tree_at(project, module, node)) is not None:
        return found
    if (found := told_apart(project, module, node)) is not None:
        return found
    match parent:
        case cst.Subscript():
            return _stored(module, parent, "an element of the list is assigned")
        case cst.For() | cst.CompFor() | cst.StarredElement() | cst.AssignTarget() | cst.AnnAssign():
            return None
        case cst.If() | cst.IfExp() | cst.While() | cst.Assert() | cst.UnaryOperation():
            return None if getattr(parent, "test", node) is node else "the list itself is a value here"
        case cst.Arg():
            return _argument(project, module, parent)
        case cst.Attribute():
            return None if parent.attr.value in GROWS else f"`.{parent.attr.value}` of a list is used"
        case cst.AugAssign() if parent.target is node and isinstance(parent.operator, cst.AddAssign):
            return None
        case cst.ComparisonTarget() | cst.Comparison():
            return None if is_none_test(module, parent) else "the list is compared"
        case cst.Assign():
            unpacked = all(isinstance(one.target, cst.Tuple | cst.List) for one in parent.targets)
            held = unpacked or _alias(module, node) is not None
            return None if held else "the list is assigned to something else"
        case cst.Return():
            return "the list itself is returned"
        case _:
            return "the list itself is a value here"


def assigned(module: Module, node: cst.CSTNode) -> bool:
    """Whether a statement assigns to it, alone or as one of several targets."""
    parent = module.parsed.parent(node)
    while isinstance(parent, cst.Element | cst.Tuple | cst.List):
        node, parent = parent, module.parsed.parent(parent)
    return isinstance(parent, cst.AssignTarget | cst.AnnAssign) and parent.target is node


def told_apart(project: Project, module: Module, node: cst.CSTNode) -> str | None:
    """Whether code asks which object a layer is, or writes into it: `layer is self.layers[-1]`, and loops that compare
    their layer. A stack makes its layers anew."""
    below = node
    for above in module.parsed.ancestors(node):
        if isinstance(above, cst.Call) and dotted(above.func) == "len":
            return None  # how many there are is no layer
        call = module.parsed.parent(above) if isinstance(above, cst.Arg) else None
        if isinstance(above, cst.Arg) and (given := walking(project, where(module, above), above, call)) is not None:
            own = frozenset(parameter_names(given.params))
            if (reason := _told_in(project, given.module, given.code, own, pairs=True)) is not None:
                return reason
        if isinstance(above, cst.BaseStatement | cst.SimpleStatementLine | cst.CompFor):
            body: list[cst.CSTNode] = []
            if isinstance(above, cst.For) and below is above.iter:
                body = [above.body]
            elif isinstance(above, cst.CompFor) and (whole := module.parsed.parent(above)) is not None:
                body = [child for child in children(whole) if child is not above] + list(above.ifs)
            names = _bound_to_elements(module, above, node) if isinstance(above, cst.For | cst.CompFor) else []
            if (reason := _told_in(project, module, body, frozenset(names))) is not None:
                return reason
            into = _written_by_name(project, module, above, below)
            return f"`{into}` writes into a layer" if into is not None else None
        if isinstance(below, cst.Subscript) and below.value is node:
            if (into := written_part(module, below)) is not None:
                return f"`{into}` writes into a layer"
            one = isinstance(above, cst.Comparison | cst.ComparisonTarget)
            call = module.parsed.parent(above) if isinstance(above, cst.Arg) else None
            if one or (isinstance(call, cst.Call) and dotted(call.func) == "id"):
                return "an element of the list is compared as an object"
        below = above
    return None


def _told_in(
    project: Project, module: Module, body: Sequence[cst.CSTNode], names: frozenset[str], *, pairs: bool = False
) -> str | None:
    """Why code that has some names for the elements of a list, or for pairs of them with others, needs these as they
    are."""
    if (found := compared(body, names, pairs=pairs)) is not None:
        return f"`{code_of(found)}` compares layers as objects"
    into = written(project, module, body, names)
    return f"`{into}` writes into a layer" if into is not None else None


def _written_by_name(project: Project, module: Module, line: cst.CSTNode, part: cst.CSTNode) -> str | None:
    """The write into a layer that a statement gives a name: `layer = model.layers[0]`, and later `layer.weight = w`."""
    small = part if isinstance(part, cst.Assign) else None
    value = small.value if small is not None else None
    while isinstance(value, cst.Attribute):
        value = value.value
    taken = isinstance(value, cst.Subscript) and isinstance(line, cst.SimpleStatementLine)
    function = next((one for one in module.parsed.ancestors(line) if isinstance(one, cst.FunctionDef)), None)
    if small is None or not taken or function is None:
        return None
    names = frozenset(name for target in small.targets for name in target_names(target.target))
    return written(project, module, body_of(function.body), names)


def _bound_to_elements(module: Module, walk: cst.For | cst.CompFor, node: cst.CSTNode) -> list[str]:
    """The names that a walk binds to the elements of `node`: not what `enumerate` counts, nor what stands beside."""
    around = [node, *module.parsed.ancestors(node)]

    def bound(target: cst.BaseExpression, walked: cst.BaseExpression) -> list[str]:
        name = dotted(walked.func) if isinstance(walked, cst.Call) else None
        if isinstance(walked, cst.Call) and isinstance(target, cst.Tuple | cst.List):
            targets, values = target.elements, [arg.value for arg in walked.args if arg.keyword is None]
            if name == "enumerate" and len(targets) == 2:
                return bound(targets[1].value, values[0])
            if name == "zip" and len(targets) == len(values) and not any(arg.star for arg in walked.args):
                pairs = zip(targets, values, strict=True)
                return [found for one, value in pairs if value in around for found in bound(one.value, value)]
        return target_names(target)

    return bound(walk.target, walk.iter)


def _grows(module: Module, node: cst.CSTNode) -> bool:
    parent = module.parsed.parent(node)
    return isinstance(parent, cst.AugAssign) or (isinstance(parent, cst.Attribute) and parent.attr.value in GROWS)


def _stores(module: Module, node: cst.CSTNode) -> bool:
    """`self.layers[i] = layer`, `del self.layers[0]`, `self.layers.pop()`."""
    parent = module.parsed.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _CHANGERS
    above = module.parsed.parent(parent) if isinstance(parent, cst.Subscript) else None
    return isinstance(above, cst.AssignTarget | cst.AugAssign | cst.Del)


def _stored(module: Module, node: cst.CSTNode, reason: str) -> str | None:
    parent = module.parsed.parent(node)
    if isinstance(parent, cst.AssignTarget | cst.AugAssign | cst.Del):
        return reason
    return None


def _argument(project: Project, module: Module, arg: cst.Arg) -> str | None:
    if arg.star == "*":
        return None
    call = module.parsed.parent(arg)
    name = dotted(call.func) if isinstance(call, cst.Call) else None
    if name in _SEQUENCE_READERS or walking(project, where(module, arg), arg, call) is not None:
        return None
    what = dotted_or(call.func) if isinstance(call, cst.Call) else "a call"
    return f"the list itself is given to `{what}`"


def is_none_test(module: Module, parent: cst.CSTNode) -> bool:
    comparison = parent if isinstance(parent, cst.Comparison) else module.parsed.parent(parent)
    return isinstance(comparison, cst.Comparison) and all(
        isinstance(target.operator, cst.Is | cst.IsNot) for target in comparison.comparisons
    )
