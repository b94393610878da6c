"""`equinox.nn.Sequential` of layers that are alike: every call of it stays, and its constructor becomes a stack's."""

from collections.abc import Iterator, Sequence

import libcst as cst

from scanify.analysis.answers import Built, DictOf, NotLayers, Unclear
from scanify.analysis.children import children
from scanify.analysis.classes import declarations
from scanify.analysis.code import code_of
from scanify.analysis.elements import Element, ElementClass, NotAModule, Shared, difference, element_class
from scanify.analysis.facts import Place
from scanify.analysis.grouping import parted_elements
from scanify.analysis.layer_class import layer_obligations, layer_problem, state_of_its_own
from scanify.analysis.layers import list_value
from scanify.analysis.plan import Annotation, Body, Called, Holds, InitStack, Kind, Plan, Refusal
from scanify.analysis.project import External, Module, Project, dotted
from scanify.analysis.searched import search_for
from scanify.analysis.sequential_uses import SEQUENTIAL, Follow, asked_for, sequentials
from scanify.analysis.stack_choice import Context
from scanify.analysis.varied import How, Varied, loops_around, varied
from scanify.analysis.where import Where, where

_FEW = 3  # below this a scan saves nothing

Reason = tuple[str, str, Place | None]


def sequential_loops(context: Context, module: Module) -> Iterator[Plan | Refusal]:
    """A plan or a refusal for each `Sequential` of a file that is built of layers that may be alike."""
    for call, arg in sequentials(context.project, module):
        decision = _decide(context, where(module, call), call, arg)
        if decision is not None and not _ignored(module, call):
            yield decision


def apart_from_sequentials(loops: Sequence[Plan | Refusal]) -> list[Plan | Refusal]:
    """The decisions, with loops refused that have a `Sequential` of a plan in them or in what their list is built of.

    The inner layers come first: they are equal where the sequences of them, as stages of a model, seldom are.
    """
    inner = [
        (site.place.path, site.place.span.start, site.argument.span.end)
        for one in loops
        if isinstance(one, Plan) and isinstance(one.stack, InitStack)
        for site in one.stack.sites
        if isinstance(site, Called)
    ]

    def around(plan: Plan) -> bool:
        sites = [site.place for site in plan.stack.sites] if isinstance(plan.stack, InitStack) else []
        return any(
            path == place.path and place.span.start < end and start < place.span.end
            for place in (plan.place, *sites)
            for path, start, end in inner
        )

    return [_given_up(one) if isinstance(one, Plan) and one.loops and around(one) else one for one in loops]


def _given_up(plan: Plan) -> Refusal:
    reason = "what it walks is built of a `Sequential` that is rewritten"
    given = (plan.kind, plan.container, plan.carry, plan.xs, plan.broadcast, plan.ys)
    return Refusal(plan.place, "SCN212", reason, *given)


def _decide(context: Context, at: Where, call: cst.Call, arg: cst.Arg) -> Plan | Refusal | None:
    project = context.project
    answer = list_value(project, at, arg.value)
    if isinstance(answer, NotLayers | DictOf):
        return None
    if not isinstance(answer, Built):
        if isinstance(answer, Unclear):
            return _refusal(at, call, (answer.rule, answer.reason, answer.at))
        return _refusal(at, call, ("SCN201", f"the layers are those of {answer.what}", None))
    if answer.others:
        return _refusal(at, call, ("SCN201", "the list is built in several places", None))
    repeated = [one for one in answer.elements if one.repeated]
    if not repeated:
        return _written_out(context, at, call, arg, answer.elements)
    loops = [loops_around(at.module, one, call) for one in repeated]
    if len(repeated) == len(answer.elements) == 1 and _few(repeated[0], loops[0]):
        return None
    differ = [found for one, around in zip(repeated, loops, strict=True) for found in varied(project, one, around)]
    reason = _speaks_against(project, at, repeated, loops, differ)
    if reason is not None:
        return _refusal(at, call, reason, Kind.GROUP)
    kinds = [element_class(project, one) for one in repeated]
    grouped = len(answer.elements) > 1 or parted_elements(project, answer.elements) is not None
    one_kind = kinds[0] if len(answer.elements) == 1 and isinstance(kinds[0], ElementClass) else None
    equal = one_kind is not None and not differ and _only_arrays_differ(project, one_kind, answer.elements)
    known = [one for one in kinds if isinstance(one, ElementClass)]
    return _plan(
        context,
        at,
        call,
        arg,
        Kind.GROUP if grouped else Kind.FOLD,
        Holds.ARRAY_STACKED if equal else Holds.BLOCK_SEQ,
        known,
        unknown=len(known) < len(kinds) or len(repeated) < len(answer.elements),
    )


def _written_out(
    context: Context, at: Where, call: cst.Call, arg: cst.Arg, elements: Sequence[Element]
) -> Plan | Refusal | None:
    """A display of layers: worth it where all are of one class and built alike."""
    kinds = [element_class(context.project, one) for one in elements]
    known = [one for one in kinds if isinstance(one, ElementClass)]
    if len(known) < len(kinds) or len(kinds) < _FEW or not all(one.same(known[0]) for one in known):
        return None
    if difference(context.project, elements) is not None:
        return None
    equal = all(_only_arrays_differ(context.project, one, elements) for one in known)
    return _plan(
        context, at, call, arg, Kind.FOLD, Holds.ARRAY_STACKED if equal else Holds.BLOCK_SEQ, known, unknown=False
    )


def _speaks_against(
    project: Project,
    at: Where,
    repeated: Sequence[Element],
    loops: Sequence[Sequence[cst.For | cst.While]],
    differ: Sequence[Varied],
) -> Reason | None:
    """Why layers made in a loop are not worth a stack, or not shown to be layers."""
    place = at.module.parsed.place
    for one in repeated:
        kind = element_class(project, one)
        where_ = one.at.module.parsed.place(one.node)
        if isinstance(kind, Shared):
            return "SCN204", f"every layer is the same object, `{kind.name}`", where_
        if isinstance(kind, NotAModule):
            return "SCN201", f"`{code_of(one.node)}` is not shown to be a module", where_
        if not isinstance(one.node, cst.Call | cst.IfExp):
            return "SCN201", "the class of the layers is not shown", where_
    odd = next((one for one in differ if one.how is How.OTHERWISE), None)
    if odd is not None:
        return "SCN203", f"each layer is built with its own value of `{odd.text}`", place(odd.node)
    if len(repeated) > 1:
        alternate = all(around and around == loops[0] for around in loops)
        if not alternate or differ or any(map(_conditional, (one for one in repeated), loops)):
            return (
                "SCN202",
                "the layers are made in several places, or some of them on a condition",
                place(repeated[1].node),
            )
    return None


def _conditional(element: Element, loops: Sequence[cst.For | cst.While]) -> bool:
    """Whether an element is added only in some turns of its loop."""
    for above in element.at.module.parsed.ancestors(element.node):
        if loops and above is loops[-1]:
            return False
        if isinstance(above, cst.If | cst.Try | cst.Match):
            return True
    return False


def _few(element: Element, loops: Sequence[cst.For | cst.While]) -> bool:
    """Whether there are fewer than three layers by construction: one loop over `range(2)`."""
    parent = element.at.module.parsed.parent(element.node)
    walked = [one.iter for one in loops if isinstance(one, cst.For)]
    level = parent.for_in if isinstance(parent, cst.ListComp | cst.GeneratorExp) else None
    while level is not None:
        walked.append(level.iter)
        level = level.inner_for_in
    if len(walked) != 1 or not isinstance(walked[0], cst.Call) or dotted(walked[0].func) != "range":
        return False
    count = walked[0].args[0].value if len(walked[0].args) == 1 else None
    return isinstance(count, cst.Integer) and count.evaluated_value < _FEW


def _only_arrays_differ(project: Project, kind: ElementClass, elements: Sequence[Element]) -> bool:
    """Whether layers of a class, built alike, are equal but for their arrays: none holds what is made anew for each.

    Of classes of equinox a stack of unlike layers is taken too: a pool changes the shape of what it is given.
    """
    if not kind.exact or isinstance(kind.meaning, External) or state_of_its_own(project, kind) is not None:
        return False
    return not any(map(_makes_functions, (kind.meaning.node, *(one.node for one in elements))))


def _makes_functions(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Lambda) or any(map(_makes_functions, children(node)))


# -- what is said -----------------------------------------------------------------------------------------------------


def _plan(
    context: Context,
    at: Where,
    call: cst.Call,
    arg: cst.Arg,
    kind: Kind,
    holds: Holds,
    classes: Sequence[ElementClass],
    *,
    unknown: bool,
) -> Plan | Refusal:
    project = context.project
    if at.enclosed:
        return _refusal(at, call, ("SCN201", "it is made in a class body, or in a class inside a function", None), kind)
    if context.stack == "call":
        return _refusal(at, call, ("SCN213", "a `Sequential` is built stacked or not at all", None), kind)
    for one in classes:
        problem = layer_problem(project, (one,), ("__call__",))
        if problem is not None:
            return _refusal(at, call, problem, kind)
    follow = Follow(project)
    use = follow.value(at.module, call)
    if use is not None:
        return _refusal(at, call, ("SCN214", use.reason, use.place), kind)
    annotations = _annotations(project, follow)
    if annotations is None:
        reason = "the field that holds it is static or has a converter, or is annotated with a text that names it"
        return _refusal(at, call, ("SCN214", reason, None), kind)
    parsed = at.module.parsed
    applied = next((one for one in follow.calls if one.path == at.module.path), parsed.place(call))
    return Plan(
        place=parsed.place(call),
        kind=kind,
        container=_text(at, call),
        layer="",
        carry=(),
        body=Body(applied.span, "", "", inline=True),
        stack=InitStack((Called(parsed.place(call.func), parsed.place(arg.value)),), annotations),
        obligations=tuple(_obligations(project, follow, classes, unknown=unknown)),
        rule="SCN103",
        holds=holds,
    )


def _obligations(project: Project, follow: Follow, classes: Sequence[ElementClass], *, unknown: bool) -> Iterator[str]:
    if unknown:
        yield "applying a layer has no side effects"
    yield from layer_obligations(project, classes, ("__call__",))
    for use in follow.doubts:
        yield f"what {use.place} speaks of is another one: {use.reason}"
    for place in asked_for(project):
        yield f"`isinstance(..., Sequential)` is not asked of it, as {place} may do"
    search = search_for(project, () if unknown else classes)
    if search is not None:
        yield f"what looks for each `{search.text}` in a model ({search.place}) may find one in place of many"


def _annotations(project: Project, follow: Follow) -> tuple[Annotation, ...] | None:
    """The annotations of the fields that hold it; None where a field does not keep what it is given as it is."""
    found = []
    for owner, attribute in follow.holders:
        for declared in declarations(project, owner, attribute):
            home = Where(declared.owner.module)
            named = list(_named(project, home, declared.annotation))
            given = declared.value.args if isinstance(declared.value, cst.Call) else ()
            changed = any(one.keyword is not None and one.keyword.value in ("converter", "static") for one in given)
            if changed or (not named and "Sequential" in code_of(declared.annotation)):
                return None
            found += [Annotation(home.module.parsed.place(one), None) for one in named]
    return tuple(found)


def _named(project: Project, at: Where, annotation: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """`equinox.nn.Sequential` in an annotation, by itself or in a union."""
    name = dotted(annotation)
    meaning = project.resolve(at.module, name) if name is not None else None
    if isinstance(meaning, External) and meaning.qualname in SEQUENTIAL:
        yield annotation
    for child in children(annotation) if name is None else ():
        yield from _named(project, at, child)


def _refusal(at: Where, call: cst.Call, reason: Reason, kind: Kind = Kind.FOLD) -> Refusal:
    rule, text, place = reason
    remedy = "give the project without `--stack call`" if rule == "SCN213" else ""
    return Refusal(at.module.parsed.place(call), rule, text, kind, _text(at, call), at=place, remedy=remedy)


def _text(at: Where, call: cst.Call) -> str:
    code = at.module.parsed.code(call)
    return code if "\n" not in code and len(code) <= 80 else f"{dotted(call.func)}([...])"


def _ignored(module: Module, call: cst.Call) -> bool:
    """Whether the line of the call, or a comment right above it, says `# scanify: ignore`."""
    lines = module.parsed.source.text.splitlines()
    at = module.parsed.span(call).line - 1
    marked = [lines[at]]
    while at > 0 and lines[at - 1].lstrip().startswith("#"):
        at -= 1
        marked.append(lines[at])
    return any("scanify: ignore" in line.partition("#")[2] for line in marked)
