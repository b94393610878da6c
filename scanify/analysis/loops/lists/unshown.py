"""Lists of which the source does not show what they hold: whether they are listed all the same, and as what."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from scanify.analysis.index.meaning import Definition, External
from scanify.analysis.loops.applied import calls_itself
from scanify.analysis.loops.lists.given import composed, is_copy_of_given
from scanify.analysis.loops.lists.layer_list import FUNCTIONS, Layers, groups_of
from scanify.analysis.lower.loop import Form, Loop, Order
from scanify.analysis.lower.scope import ancestors
from scanify.analysis.values.calls.attributes import class_env
from scanify.analysis.values.calls.construct import any_instance
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.code.annotations import annotated
from scanify.analysis.values.domain import Instance, Listed, Mapped, Unknown, options
from scanify.analysis.values.heap import DictCell, Group, ListCell
from scanify.analysis.values.marks import Vary
from scanify.analysis.values.objects.likeness import is_layer, unlike_pair
from scanify.analysis.values.run.environment import Env
from scanify.analysis.values.run.interpreter import Interpreter

_CANNOT = "cannot tell which class the layers have"


Said = Layers | ListCell | DictCell | None  # layers, or the list that an annotation speaks of


def unclear(run: Interpreter, loop: Loop, base: Layers, unknown: Unknown, envs: Sequence[Env]) -> Said:
    """A container of which nothing is known: listed where a module's own field is applied."""
    if loop.form is Form.SEQUENTIAL:
        what = "the layers come from the caller, who may mix classes"
        text = f"{what}: nothing shows that three of them share a body"
        return replace(base, refusal=("SCN215", text, unknown.at)) if unknown.given else None
    root = (dotted(base.walk.base) or "").partition(".")
    of_self = root[0] == getattr(envs[0], "self_name", None) and bool(root[2]) if envs else False
    module = base.owner is not None and run.classes.is_module(base.owner)
    if not of_self or not module or not calls_itself(loop, base.walk):
        return None
    declared = _declared(run, base)
    if base.walk.order is Order.VALUES and declared is None:
        return None  # `values` may be a method of anything
    if unknown.given and base.owner is not None and base.attribute is not None:
        if declared is not None:
            return declared
        given = replace(base, given=unknown.why, unlike=unknown.why, hidden=unknown.why)
        return composed(run, given, ListCell(base.walk.base, loop.module, 0, given=unknown.why, why_at=unknown.at))
    return replace(base, refusal=("SCN201", f"{_CANNOT}: {unknown.why}", unknown.at))


def empty(run: Interpreter, loop: Loop, base: Layers, cell: ListCell | DictCell) -> Said:
    """A list that nothing is shown to be in."""
    given = isinstance(cell, ListCell) and cell.given and base.owner is not None and run.classes.is_module(base.owner)
    if not calls_itself(loop, base.walk):
        return None
    declared = _declared(run, base)
    if given and declared is not None:
        return declared
    if given:
        why = f"{_CANNOT}: {cell.why or cell.given}"
        return composed(run, replace(base, given=cell.given, unlike=why, hidden=why), cell)
    if declared is None:
        return None
    text = f"{_CANNOT}: the list is made empty, and nothing is shown to fill it"
    return replace(base, refusal=("SCN201", text, cell.module.place(cell.node)))


def _declared(run: Interpreter, base: Layers) -> ListCell | DictCell | None:
    """The list that the annotation of a field says it holds, where that is one of modules."""
    field = run.classes.fields(base.owner).get(base.attribute or "") if base.owner is not None else None
    if field is None:
        return None
    with run.question(), run.recording():
        what = f"the field `{field.name}`"
        said = annotated(run, class_env(run, field.owner), field.statement.annotation, what)
    cells = [value.cell for value in options(said or Unknown("")) if isinstance(value, Listed | Mapped)]
    layered = (
        cell
        for cell in cells
        if any(is_layer(run, each) for group in groups_of(cell) for each in options(group.element))
    )
    return next(layered, None)


def nothing_shown(
    run: Interpreter, loop: Loop, base: Layers, cell: ListCell | DictCell, groups: Sequence[Group], hidden: str
) -> Said:
    """A list of elements of unknown classes: likely to be alike where one expression makes them all."""
    sequential = loop.form is Form.SEQUENTIAL
    if not hidden or hidden == FUNCTIONS:
        return None
    if not sequential and (base.owner is None or not calls_itself(loop, base.walk)):
        return None
    one = next((group for group in groups if _is_one_object(group)), None)
    if one is not None:
        text = f"every layer is the same object, `{one.module.code(one.node)}`"
        return replace(base, refusal=("SCN204", text, one.module.place(one.node)))
    given = next((each.element for each in groups if isinstance(each.element, Unknown) and each.element.given), None)
    if given is not None and base.owner is not None and base.attribute is not None:
        said = _declared(run, base)
        if said is not None:
            return said
        of_callers = replace(base, given=given.why, unlike=given.why, hidden=given.why)
        return composed(run, of_callers, cell)
    declared = (option for group in groups for option in options(group.element) if isinstance(option, Instance))
    if cell.given and base.attribute is not None and any(says_no_class(run, each) for each in declared):
        return composed(run, replace(base, given=cell.given, unlike=hidden, hidden=hidden), cell)
    if any(each.repeated for each in groups) and not any(_shaped(each) for each in groups):
        why = f"{_CANNOT}: {hidden}"
        return replace(base, given=cell.given, unlike=why, hidden=why, grouped=_apart(groups))
    if sequential:
        return None
    at = next((each.element.at for each in groups if isinstance(each.element, Unknown)), None)
    if cell.given:
        return replace(base, given=cell.given, unlike=hidden, hidden=hidden)
    module, node = (groups[0].module, groups[0].node) if groups else (cell.module, cell.node)
    return replace(base, refusal=("SCN201", f"{_CANNOT}: {hidden}", at or module.place(node)))


def _apart(groups: Sequence[Group]) -> str | None:
    """Why layers of unknown classes are equal only in parts, where that shows."""
    marks = (mark for each in groups for mark in each.element.marks)
    chosen = next((mark.via for mark in marks if mark.how in (Vary.CHOICE, Vary.LISTED)), None)
    if chosen is not None:
        return f"a condition on `{chosen}` decides what a layer is"
    if any(unlike_pair(groups[0], each) is not None for each in groups[1:]):
        return "some layers are built apart from the others"
    return None


def _is_one_object(group: Group) -> bool:
    """Whether a loop adds what one name stands for in all of its iterations."""
    named = isinstance(group.node, ast.Name | ast.Attribute) and bool(group.loops) and not group.spread
    return named and not any(mark.loop in group.loops for mark in group.element.marks) and not _bound_in_loop(group)


def _bound_in_loop(group: Group) -> bool:
    """Whether the loop that adds what a name stands for binds the name too: `block = make(i)`, `append(block)`."""
    assert isinstance(group.node, ast.Name | ast.Attribute)
    name = dotted(group.node)
    loops = (each for each in ancestors(group.module, group.node) if isinstance(each, ast.For | ast.While))
    return any(dotted(each) == name for loop in loops for each in ast.walk(loop) if _is_bound(each))


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)


def _shaped(group: Group) -> bool:
    return any(mark.how in (Vary.SHAPE, Vary.OTHER) and mark.loop in group.loops for mark in group.element.marks)


def shown_of(
    run: Interpreter, base: Layers, cells: list[ListCell | DictCell]
) -> tuple[Layers, list[ListCell | DictCell]]:
    """Of several lists those that the source shows something of; the others are layers that are not shown."""
    copies = [cell for cell in cells if is_copy_of_given(cell)]
    declared = _declared(run, base) if copies and len(cells) > len(copies) else None
    if declared is not None:
        cells = [declared, *(cell for cell in cells if cell not in copies)]
    blank = [cell for cell in cells if groups_of(cell) and all(_is_blank(group) for group in groups_of(cell))]
    if not blank or len(blank) == len(cells):
        return base, cells
    why = next(option.why for option in options(groups_of(blank[0])[0].element) if isinstance(option, Unknown))
    kept = [cell for cell in cells if cell not in blank]
    return replace(base, hidden=why, unlike=f"some of the lists are not shown: {why}"), kept


def _is_blank(group: Group) -> bool:
    return all(isinstance(option, Unknown) for option in options(group.element))


# -- elements that need not be modules -------------------------------------------------------------------------------


def modules_among(run: Interpreter, element: Instance) -> list[Instance]:
    """The modules among the classes that inherit from what an element is declared to be."""
    heirs = run.classes.heirs(element.cls) if isinstance(element.cls, Definition) and not element.exact else ()
    found = [any_instance(run, heir, element.origin) for heir in heirs if run.classes.is_module(heir)]
    return [each for each in found if isinstance(each, Instance)]


def says_no_class(run: Interpreter, element: Instance) -> bool:
    """Whether a declared class leaves open what an element is: a protocol, or one whose base is not shown."""
    if not isinstance(element.cls, Definition) or element.exact:
        return False
    bases = [base for owner in run.classes.lineage(element.cls) for base in run.classes.bases(owner)]
    protocol = any(isinstance(base, External) and base.qualname.endswith(".Protocol") for base in bases)
    return protocol or not run.classes.known_bases(element.cls)
