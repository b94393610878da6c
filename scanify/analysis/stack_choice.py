"""Where a list is stacked: where it is built, or inside the call; and what that changes beside the loop."""

from dataclasses import dataclass, replace
from typing import Literal

import libcst as cst

from scanify.analysis.answers import Built, Elsewhere, LayerList
from scanify.analysis.classes import bases, declarations, lineage, method
from scanify.analysis.classify import LIST_TYPES, Found, element_annotation
from scanify.analysis.code import code_of
from scanify.analysis.container import unquoted
from scanify.analysis.facts import Place
from scanify.analysis.fill import changed_later
from scanify.analysis.plan import After, Annotation, CallStack, InitStack, LayerCall, Wrap
from scanify.analysis.project import Definition, External, Project, dotted
from scanify.analysis.searched import search_for
from scanify.analysis.uses import OtherUse, changed_at, may_be_replaced, other_use
from scanify.analysis.where import Where

StackChoice = Literal["init", "call"] | None


@dataclass(frozen=True, eq=False)
class Context:
    """What planning needs beside the loop: the project and the way to stack."""

    project: Project
    stack: StackChoice


def choose_stack(
    context: Context, at: Where, loop: cst.CSTNode, found: Found
) -> InitStack | CallStack | tuple[str, str, Place | None, str]:
    answer = found.layers.answer
    if context.stack == "call":
        return CallStack("asked for")
    if found.layers.of_dict and not found.layers.views:
        if context.stack == "init":
            return "SCN214", f"`{code_of(found.part.source)}` is a dict, and stays one", None, "use `--stack call`"
        return CallStack(f"the layers are the values of the dict `{code_of(found.part.source)}`")
    if found.part.form is not None and found.part.form.startswith(("`reversed", "a slice")):
        return CallStack(f"the loop walks {found.part.form} of the list")
    if found.layers.element_of is not None and context.stack is None:
        return CallStack(f"the list is an element of `{found.layers.element_of}`")
    if found.layers.views:
        return CallStack(f"`{code_of(found.part.source)}` is a part of a list, or one of several lists")
    if found.kind is None:
        return CallStack(found.unlike or "the source does not show the list")
    if isinstance(answer, Elsewhere):
        own = _own_constructor(context.project, found)
        if own is not None:
            return own
        if context.stack == "init":
            return "SCN201", f"the list is {answer.what}, built by the caller", None, "use `--stack call`"
        return CallStack(f"the list is {answer.what}")
    assert isinstance(answer, Built)
    sites: list[Wrap | After] = []
    for one in (answer, *answer.others):
        problem = _site_problem(context, at, loop, found, one.site)
        if problem is not None:
            return problem
        assert one.site is not None
        sites.append(one.site)
    held = _held(context.project, found.layers)
    if held is not None:
        return held
    use = _use_beside(context.project, found)
    if use is None:
        return InitStack(tuple(dict.fromkeys(sites)), _annotations(context.project, found.layers))
    if context.stack == "init":
        return "SCN214", use.reason, use.place, "use `--stack call`, which leaves the list as it is"
    return CallStack(use.reason, use.place)


def _own_constructor(project: Project, found: Found) -> InitStack | None:
    """The list stacked where a static or class method of the very class hands it in, as nothing else in the project.

    Not where the class inherits from one that is not in the project: what that does with a list is not shown.
    """
    layers = found.layers
    if len(found.handed) != 1 or not found.handed[0].own or layers.owner is None:
        return None
    given = found.handed[0]
    parsed = given.at.module.parsed
    known = all(_is_known(one) for owner in lineage(project, layers.owner) for one in bases(project, owner))
    if not known or given.at.module.path not in project.given or _held(project, layers) is not None:
        return None
    name = given.value.value if isinstance(given.value, cst.Name) else None
    statement = next(one for one in parsed.ancestors(given.value) if isinstance(one, cst.BaseSmallStatement))
    if name is not None and changed_later(given.at, statement, name) is not None:
        return None
    if _use_beside(project, found) is not None:
        return None
    return InitStack((Wrap(parsed.place(given.value)),), _annotations(project, layers))


def _use_beside(project: Project, found: Found) -> OtherUse | None:
    """A use of the list, or a search of whole models for what it holds, that needs each layer by itself."""
    use = other_use(project, found.layers, dotted(found.part.source) or "")
    if use is not None:
        return use
    search = search_for(project, found.kinds)
    return None if search is None else OtherUse(search.place, f"each `{search.text}` in a model is looked for")


def _is_known(base: Definition | External | None) -> bool:
    if isinstance(base, External):
        return base.qualname.partition(".")[0] in ("equinox", "abc", "typing")
    return base is not None


def _site_problem(
    context: Context, at: Where, loop: cst.CSTNode, found: Found, site: Wrap | After | None
) -> tuple[str, str, Place | None, str] | None:
    """Why a list cannot be stacked where it is built."""
    if site is None:
        return "SCN201", "the list is not assigned to a name that could hold a stack", None, "use `--stack call`"
    if site.place.path not in context.project.given:
        remedy = f"give `{site.place.path}` too, or use `--stack call`"
        return "SCN201", f"the list is built in `{site.place.path}`, which was not given", site.place, remedy
    if site.place.path == at.module.path and at.function is found.layers.scope.function and at.function is not None:
        start = at.module.parsed.span(loop).start
        if isinstance(site, After) and start < site.place.span.end:
            return "SCN214", "the loop runs before the list is complete", site.place, "use `--stack call`"
    return None


def may_be_replaced_in(project: Project, found: Found, stack: InitStack | CallStack) -> bool:
    """Whether a list that is stacked in the call may hold other layers by then than those it was built of."""
    return isinstance(stack, CallStack) and may_be_replaced(project, found.layers, dotted(found.part.source) or "")


def list_obligations(project: Project, found: Found, stack: InitStack | CallStack) -> tuple[str, ...]:
    """What is taken of layers that the source does not show: a list of unknown origin may hold anything at all."""
    if found.kind is None:
        what = code_of(found.part.source)
        return (f"the elements of `{what}` are Equinox modules, and applying one has no side effects",)
    if found.hidden:
        what = code_of(found.part.source)
        return (f"what the elements of `{what}` hold beside modules is applied without side effects",)
    made = [one.through for one in found.layers.answer.elements] if isinstance(found.layers.answer, Built) else []
    if any(made):
        return (f"`{next(filter(None, made))}` gives layers of the class that it is given",)
    name = dotted(found.part.source) or ""
    place = changed_at(project, found.layers, name) if isinstance(stack, CallStack) else None
    if place is not None:
        return (f"applying one of the layers that {place} puts into the list has no side effects",)
    return ()


def told(stack: InitStack | CallStack) -> tuple[str, ...]:
    """What a user should know of a stack that is built in the call although the list is built in the project."""
    if isinstance(stack, CallStack) and stack.at is not None:
        return (f"the list stays one and is stacked in the call, as {stack.reason} ({stack.at})",)
    return ()


def _held(project: Project, layers: LayerList) -> tuple[str, str, Place | None, str] | None:
    """A field that does not keep what is assigned to it, or hides it from gradients."""
    if layers.owner is None or layers.attribute is None:
        return None
    for declared in declarations(project, layers.owner, layers.attribute):
        for arg in declared.value.args if isinstance(declared.value, cst.Call) else ():
            keyword = arg.keyword.value if arg.keyword is not None else ""
            if keyword == "converter" or (keyword == "static" and dotted(arg.value) != "False"):
                place = declared.owner.module.parsed.place(declared.value or declared.annotation)
                reason = f"the field `{layers.attribute}` has `{keyword}={code_of(arg.value)}`"
                return "SCN214", reason, place, "use `--stack call`"
    return None


def _annotations(project: Project, layers: LayerList) -> tuple[Annotation, ...]:
    if layers.owner is None or layers.attribute is None:
        return ()
    found = []
    for declared in declarations(project, layers.owner, layers.attribute):
        annotation = declared.annotation
        plain = unquoted(annotation)
        element = element_annotation(annotation)
        bare = (dotted(plain) or "").rpartition(".")[2] in LIST_TYPES
        if element is None and not bare:
            continue
        text = code_of(element) if element is not None else None
        place = declared.owner.module.parsed.place(annotation)
        found.append(Annotation(place, text, isinstance(annotation, cst.SimpleString)))
    return tuple(found)


def with_owner(
    project: Project, at: Where, call: LayerCall | None, found: Found, stack: InitStack | CallStack
) -> LayerCall | None:
    """Name the class whose method the call runs, where every layer is shown to be of exactly that class."""
    if call is None or found.kind is None or not found.kind.exact:
        return call
    if may_be_replaced_in(project, found, stack):
        return call
    meaning = found.kind.meaning
    if isinstance(meaning, Definition):
        if call.method != "__call__" and not _is_plain_method(project, meaning, call.method):
            return call
        owner = project.name_for(at.module, meaning, at.locals)
        return replace(call, owner=owner)
    if call.method != "__call__":
        return call
    assert isinstance(found.layers.answer, Built)
    node = found.layers.answer.elements[0].node
    name = dotted(node.func) if isinstance(node, cst.Call) else None
    if name is not None and name.partition(".")[0] not in at.locals and project.resolve(at.module, name) == meaning:
        return replace(call, owner=name)
    return call


def _is_plain_method(project: Project, owner: Definition, name: str) -> bool:
    found = method(project, owner, name)
    if found is None:
        return False
    decorators = [dotted(one.decorator) or "" for one in found[1].decorators]
    return not any(one.rpartition(".")[2] in ("staticmethod", "classmethod", "property") for one in decorators)
