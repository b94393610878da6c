"""Find the lists of layers among the containers that loops iterate over."""

import ast
from collections.abc import Container, Sequence
from dataclasses import replace

from scanify.analysis.flow.names import target_names
from scanify.analysis.flow.shape import shape_of
from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.lists.declared import Declared, declared_parameter
from scanify.analysis.lists.fields import field_facts
from scanify.analysis.lists.layer_list import Class, LayerList, not_shown
from scanify.analysis.lists.objects import class_of, home_of, walked_by
from scanify.analysis.lists.reader import PLAIN, Contents, ContentsReader
from scanify.analysis.lists.sites import with_sites
from scanify.analysis.lower.loop import Loop, Order, Walk
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.text import root
from scanify.analysis.obligation import Obligation
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import CallStack

_FRAMEWORKS = ("equinox", "flax")
_OF_CONTAINERS = frozenset("add append extend insert".split())  # methods of lists and sets, but not of modules


def layers_of(project: ProjectFacts, loop: Loop) -> LayerList | None:
    """Return the list of modules that a loop iterates over; None if it has no such list.

    If there are several, the first with known classes that is iterated over as a whole, else the first with known
    classes, else the first.
    """
    found = [layers for walk in loop.walks if (layers := layer_list(project, loop, walk)) is not None]
    if len(found) > 1:  # `for other, layer in zip(self.others, self.layers)`, where the body applies one of them
        found = [each for each in found if shape_of(loop, each.walk).applies_layer] or found
    known = [layers for layers in found if layers.classes]
    whole = [layers for layers in known if layers.walk.order is Order.WHOLE]
    return next(iter((*whole, *known, *found)), None)


def layer_list(project: ProjectFacts, loop: Loop, walk: Walk) -> LayerList | None:
    """Return the list of one walk of a loop, with its layers as far as the source shows them.

    None if its elements are no modules, or if no class is shown and the loop does not call an element.
    """
    if isinstance(walk.base, ast.Attribute) and walk.base.attr == "at":
        return None  # `x.at[i].set(...)`
    if walk.via in ("keys", "items") or None in map(root, walk.bases):
        return None
    parts = [layers for base in walk.bases if (layers := _of_base(project, loop, walk, base)) is not None]
    if len(parts) < len(walk.bases):
        return None
    layers = parts[0]
    if len(parts) > 1:
        layers = replace(
            _not_shown(loop, walk, walk.base, f"the loop walks several lists: `{walk.text}`"),
            made=tuple(made for each in parts for made in each.made),
            parameter=any(each.parameter for each in parts),
            open=tuple(each for part in parts for each in part.open),
        )
    by_key = walk.via == "values" or walk.element is not None
    if layers.of_dict and not by_key:
        return None  # iterating over a dict gives its keys
    if walk.via == "values" and not layers.of_dict:
        return None  # `values` may be a method of anything
    if not layers.classes and not _is_called(project, loop, walk, layers):
        return None
    return layers


def _is_called(project: ProjectFacts, loop: Loop, walk: Walk, layers: LayerList) -> bool:
    """True if the body calls an element of unknown class the way that modules are called."""
    if not layers.open and not layers.parameter:
        return False  # the list is empty
    if layers.owner is not None and not project.classes.is_module(layers.owner):
        return False
    known = layers.owner is not None or any(True for each in _FRAMEWORKS for _ in project.index.paths_with(each))
    return known and calls_element(loop, walk, but=_OF_CONTAINERS, carries=layers.owner is None)


def calls_element(loop: Loop, walk: Walk, *, but: Container[str] = (), carries: bool = False) -> bool:
    """True if the body calls an element, a part of one, or a function made from one, with arguments.

    Methods named in `but` do not count. With `carries` the call must pass a name that the body binds: `x = layer(x)`.
    """
    nodes, names = nodes_in(*loop.body), set(target_names(walk.target))
    for node in nodes if not carries else ():
        match node:
            case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value):
                names |= {
                    name for each in (value, *_given(value)) if root(each) in names for name in target_names(target)
                }
    bound = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    for call in (each for each in nodes if isinstance(each, ast.Call) and (each.args or each.keywords)):
        applied = any(root(each) in names for each in (call.func, *_given(call.func)))
        passed = not carries or any(isinstance(each, ast.Name) and each.id in bound for each in call.args)
        if applied and passed and getattr(call.func, "attr", "") not in but:
            return True
    return False


def _given(node: ast.expr) -> Sequence[ast.expr]:
    return node.args if isinstance(node, ast.Call) else ()


# -- one container -----------------------------------------------------------------------------------------------------


def _of_base(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.expr) -> LayerList | None:
    home = home_of(project, loop.module, base)
    element = isinstance(base, ast.Name) and walked_by(home, base) is not None
    if element or (isinstance(base, ast.Subscript) and not isinstance(base.slice, ast.Slice)):
        return _not_shown(loop, walk, base, f"`{loop.code(base)}` is one of several lists")  # `for a in self.stages`
    if isinstance(base, ast.Attribute):
        return _of_field(project, loop, walk, base)
    named = base.func if isinstance(base, ast.Call) else base
    match home.meaning(named):
        case External() | Definition(node=ast.ClassDef()) if isinstance(named, ast.Name):
            return None
        case Definition(node=ast.FunctionDef()) if named is base:
            return None
    is_self = isinstance(named, ast.Name) and named.id == loop.scope.self_name
    return None if is_self else _of_local(project, loop, walk, base)


def _not_shown(loop: Loop, walk: Walk, base: ast.expr, text: str) -> LayerList:
    attribute = base.attr if isinstance(base, ast.Attribute) else None
    open_ = (_open(loop, base, text),)
    return LayerList(walk, loop.code(base), attribute=attribute, in_call=CallStack(text), open=open_)


def _of_field(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.Attribute) -> LayerList | None:
    owner = class_of(project, loop.module, base.value)
    if owner is None:
        return _not_shown(loop, walk, base, f"which class `{loop.code(base.value)}` is of is not shown")
    if not isinstance(owner, Definition):
        return None  # fields of library modules are not read
    facts = field_facts(project, owner, base.attr)
    layers = _of_contents(project, loop, walk, base, facts.contents, facts.declared)
    if layers is None:
        return None
    layers = replace(layers, owner=owner, attribute=base.attr, parameter=facts.parameter)
    return with_sites(replace(layers, in_call=_walked_in_call(loop, layers)), facts)


def _of_local(project: ProjectFacts, loop: Loop, walk: Walk, base: ast.expr) -> LayerList | None:
    """Return the list under a local name or a parameter."""
    home = home_of(project, loop.module, base)
    match home.values_of(base.id) if isinstance(base, ast.Name) and home.is_local(base) else []:
        case [(_, ast.Attribute() as field)]:  # another name for the list in a field
            layers = _of_base(project, loop, walk, field)
            return layers and replace(layers, name=loop.code(base))
    reader = ContentsReader(project)
    reader.value(home, base, PLAIN)
    contents, said = reader.contents, Declared()
    for where, given in contents.parameters:
        said = said if said.cls is not None else declared_parameter(project, where.module, where.function, given)
        contents.open.append(_open(loop, base, f"the caller gives `{given}`"))
    layers = _of_contents(project, loop, walk, base, contents, said)
    if layers is None:
        return None
    layers = replace(layers, parameter=bool(contents.parameters))
    text = f"the list is the parameter `{loop.code(base)}`" if layers.parameter else "the list is kept in no field"
    return replace(layers, in_call=_walked_in_call(loop, layers) or CallStack(text))


def _of_contents(
    project: ProjectFacts, loop: Loop, walk: Walk, base: ast.expr, contents: Contents, said: Declared
) -> LayerList | None:
    """Return the list with its contents; None if the elements are shown to be no modules."""
    known = any(each.cls is not None for each in contents.made)
    plain = said.cls is not None and not any(map(project.classes.is_module, (said.cls, *_heirs(project, said.cls))))
    if not known and (contents.data or (said.listed and plain)):
        return None
    if contents.data:
        contents.open.append(_open(loop, base, f"an element may be {contents.data}, which is no module"))
    return LayerList(
        walk=walk,
        name=loop.code(base),
        made=tuple(contents.made),
        declared=said.cls if said.listed and project.classes.is_module(said.cls) else None,
        optional=contents.optional or said.optional,
        of_dict=contents.of_dict or (said.of_dict and not contents.made),
        may_be_empty=contents.may_be_empty,
        open=tuple(dict.fromkeys(contents.open)),
    )


def _heirs(project: ProjectFacts, cls: Class) -> Sequence[Definition]:
    return project.classes.heirs(cls) if isinstance(cls, Definition) else ()


def _walked_in_call(loop: Loop, layers: LayerList) -> CallStack | None:
    """Return why the loop does not iterate over the original list; None if it does."""
    walk = layers.walk
    base = loop.code(walk.base) if walk.element is None else walk.text
    if layers.of_dict:
        return CallStack(f"the layers are the values of the dict `{base}`")
    if walk.order in (Order.SLICE, Order.OTHER) or _only_in_call(loop, walk):
        return CallStack(f"the loop walks a part of the list, or in another order: `{walk.text}`")
    return CallStack(f"`{base}` may be None") if layers.optional and layers.owner is None else None


def _only_in_call(loop: Loop, walk: Walk) -> bool:
    """True if a loop goes backwards and has more than a carry: a reverse scan would reverse xs and ys, too."""
    if walk.order is not Order.REVERSED:
        return False
    shape = shape_of(loop, walk)
    return bool(shape.xs or shape.collections or shape.exit_words) or loop.element is not None


def _open(loop: Loop, base: ast.expr, text: str) -> Obligation:
    return not_shown(text, loop.module.place(base) if hasattr(base, "lineno") else loop.place)
