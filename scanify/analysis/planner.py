"""From one loop to a plan, to a refusal, or to nothing where the loop is not over modules."""

from collections.abc import Sequence

import libcst as cst

from scanify.analysis.answers import Elsewhere
from scanify.analysis.body import BodyFacts, body_facts
from scanify.analysis.children import children
from scanify.analysis.classify import Found, classify, layers_of
from scanify.analysis.code import code_of
from scanify.analysis.container import walked_list
from scanify.analysis.counted import in_another_form, index_walked, numbers, per_layer, walked
from scanify.analysis.facts import Place, Span
from scanify.analysis.few import turns_few
from scanify.analysis.grouping import parted
from scanify.analysis.header import NUMBERED, Header, Part, header
from scanify.analysis.keys import is_keys
from scanify.analysis.layer_class import layer_obligations, layer_problem, methods_called, state_of_any
from scanify.analysis.names import body_of, reads, target_names
from scanify.analysis.objections import branches_beside, first_problem, head_problem, walks_other_layers
from scanify.analysis.plan import Body, CallStack, Holds, InitStack, Kind, Plan, Refusal
from scanify.analysis.project import Module, Project, dotted
from scanify.analysis.stack_choice import Context, choose_stack, list_obligations, may_be_replaced_in, told, with_owner
from scanify.analysis.stages import element_names
from scanify.analysis.sums import only_sums
from scanify.analysis.where import Where, where

FEW_TURNS = ("SCN203", "the list is built with fewer than three layers, over which a scan saves nothing", None)


def plan_loop(context: Context, module: Module, loop: cst.For) -> Plan | Refusal | None:
    """Decide about one loop. None: it is not over modules, or asks to be left alone."""
    at = where(module, loop)
    head = header(context.project, at, loop)
    found = layers_of(context.project, at, head, loop)
    if found is None:
        return _indexed(context, at, loop, head)
    layers = frozenset(target_names(found.part.target))
    facts = body_facts(context.project, at, loop, head, layers)
    if not layers or not facts.applies_layer:
        return None
    problem = (
        head_problem(context.project, at, head, found, loop)
        or first_problem(facts, found)
        or layer_problem(context.project, found.kinds, _methods(loop, found))
        or (FEW_TURNS if turns_few(found) else None)
    )
    if problem is not None:
        return _refusal(context.project, at, loop, head, found, facts, *problem)
    return _plan(context, at, loop, head, found, facts)


def _methods(loop: cst.For, found: Found) -> tuple[str, ...]:
    """What the body calls of a layer; of a tuple of layers by number, as `pair[0](x)`, it may be any of them."""
    return (
        *methods_called(loop, *element_names(loop, found.part.target)),
        *(("__call__",) if found.several is not None else ()),
    )


def _refusal(
    project: Project,
    at: Where,
    loop: cst.For,
    head: Header,
    found: Found,
    facts: BodyFacts,
    rule: str,
    reason: str,
    place: Place | None,
    remedy: str = "",
) -> Refusal:
    if place is None and facts.problems and facts.problems[0].reason == reason:
        place = at.module.parsed.place(facts.problems[0].node)
    collects = bool(facts.collected.collections) or any(one.rule == "SCN206" for one in facts.problems)
    return Refusal(
        place=at.module.parsed.place(loop),
        rule=rule,
        reason=reason,
        kind=_kind(project, at, loop, head, found, facts, collects),
        container=at.module.parsed.code(found.part.source),
        carry=facts.carry,
        xs=per_layer(at, head, found),
        broadcast=facts.broadcast,
        ys=facts.collected.names,
        at=place,
        remedy=remedy,
    )


def _kind(
    project: Project, at: Where, loop: cst.For, head: Header, found: Found, facts: BodyFacts, collects: bool
) -> Kind:
    if only_sums(loop, facts.carry):
        return Kind.MAP  # independent layers, whatever is done with what they give
    if parted(project, at, head, found, loop, facts.carry) is not None:
        return Kind.GROUP
    return Kind.SCAN if collects else Kind.FOLD


def _indexed(context: Context, at: Where, loop: cst.For, head: Header) -> Refusal | None:
    """`for i in range(n): x = self.layers[i](x)`: a loop over modules, by index; over those of a dict, by name."""
    targets = [one.target for one in head.parts] if head.parts else [head.index]
    index = targets[0] if len(targets) == 1 else None
    if not isinstance(index, cst.Name):
        return None
    for node in _subscripts(loop.body, index.value):
        part = Part(node, node.value, node.value, node.value, NUMBERED)
        layers = walked_list(context.project, at, part)
        found = classify(context.project, part, layers)
        if found is not None and found.kind is not None and (layers.of_dict or not head.parts):
            facts = body_facts(context.project, at, loop, head, frozenset((index.value,)))
            if layers.of_dict and not facts.carry:
                continue
            what = at.module.parsed.code(node)
            reason = f"the layers are taken by number, and `{what}` may be beyond the list in some turns"
            if layers.of_dict:
                reason = f"the layers are taken from a dict by name, and `{what}` may be none of it in some turns"
            return _refusal(
                context.project, at, loop, Header(()), found, facts, "SCN208", reason, at.module.parsed.place(node)
            )
    return None


def _subscripts(node: cst.CSTNode, index: str) -> list[cst.Subscript]:
    found: list[cst.Subscript] = []
    if isinstance(node, cst.Subscript) and dotted(node.value) is not None and len(node.slice) == 1:
        inner = node.slice[0].slice
        if isinstance(inner, cst.Index) and index in reads(inner.value):
            found.append(node)
    for child in children(node):
        found.extend(_subscripts(child, index))
    return found


# -- the plan -----------------------------------------------------------------------------------------------------


def _plan(context: Context, at: Where, loop: cst.For, head: Header, found: Found, facts: BodyFacts) -> Plan | Refusal:
    stack = choose_stack(context, at, loop, found)
    if not isinstance(stack, InitStack | CallStack):
        rule, reason, place, remedy = stack
        return _refusal(context.project, at, loop, head, found, facts, rule, reason, place, remedy)
    index = index_walked(head, found, loop)
    alike = are_alike(context.project, at, loop, head, found, stack) and not facts.changes and not facts.exits.ends
    alike = alike and not _collects_per_layer(context, at, head, found, facts)
    return Plan(
        place=at.module.parsed.place(loop),
        kind=_kind(context.project, at, loop, head, found, facts, bool(facts.collected.collections)),
        container=walked(found, stack),
        numbers=numbers(found, stack),
        layer=code_of(found.part.target),
        carry=facts.carry,
        body=_body(at, loop),
        stack=stack,
        xs=(*index, *per_layer(at, head, found)),
        unset=facts.last.unset,
        exits=facts.exits.words,
        broadcast=facts.broadcast,
        ys=facts.collected.names,
        collections=facts.collected.collections,
        call=with_owner(context.project, at, facts.call, found, stack),
        taken=frozenset(_all_names(at.module.parsed.module)),
        obligations=(
            *list_obligations(context.project, found, stack),
            *layer_obligations(context.project, found.kinds, _methods(loop, found)),
            *facts.obligations,
        ),
        notes=(*facts.notes, *told(stack)),
        replaced=at.module.parsed.replaced_in(at.module.parsed.span(loop)),
        ahead=at.module.parsed.ahead_of(loop),
        rule="SCN105" if facts.collected.collections else "SCN101" if alike else "SCN102",
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
    )


def are_alike(
    project: Project, at: Where, loop: cst.For, head: Header, found: Found, stack: InitStack | CallStack
) -> bool:
    """Whether the source shows that the layers differ only in arrays, and so does what is walked beside them."""
    unlike = found.unlike or state_of_any(project, found.kinds)
    return (
        unlike is None
        and not index_walked(head, found, loop)
        and not in_another_form(found)
        and not (isinstance(found.layers.answer, Elsewhere) and isinstance(stack, CallStack))
        and found.layers.element_of is None
        and not may_be_replaced_in(project, found, stack)
        and not branches_beside(head, found, loop)
        and not walks_other_layers(project, at, head, found)
    )


def _collects_per_layer(context: Context, at: Where, head: Header, found: Found, facts: BodyFacts) -> bool:
    """Whether layers that are equal may still collect different things: by name, or numbers that are walked beside.

    A stack would make arrays of such numbers; PRNG keys are arrays in any case.
    """
    collected = facts.collected
    others = any(not is_keys(context.project, at, part.whole) for part in head.parts if part is not found.part)
    return bool(collected.collections) and (collected.keyed or others)


def _body(at: Where, loop: cst.For) -> Body:
    parsed = at.module.parsed
    text = parsed.source.text
    line = parsed.line_start(parsed.span(loop).line)
    loop_indent = text[line : parsed.span(loop).start]
    statements = body_of(loop.body)
    first, last = parsed.span(statements[0]), parsed.span(statements[-1])
    if isinstance(loop.body, cst.SimpleStatementSuite):
        return Body(Span(first.start, last.end, first.line, last.end_line), "", loop_indent, inline=True)
    head_end = parsed.span(loop.iter).end_line
    start = parsed.line_start(_line_after_colon(parsed.span(loop.iter).end, text, head_end))
    end = parsed.line_start(last.end_line + 1)
    indent_start = parsed.line_start(first.line)
    indent = text[indent_start : first.start]
    return Body(Span(start, end, first.line, last.end_line), indent, loop_indent)


def _line_after_colon(after_iter: int, text: str, line: int) -> int:
    """The line below the one that the head's colon stands on; between the two there may be a closing parenthesis."""
    colon = text.index(":", after_iter)
    return line + text.count("\n", after_iter, colon) + 1


def _all_names(node: cst.CSTNode) -> set[str]:
    found: set[str] = {node.value} if isinstance(node, cst.Name) else set()
    for child in children(node):
        found |= _all_names(child)
    return found


def loops_of(node: cst.CSTNode) -> Sequence[cst.For]:
    """Every `for` statement of a file, in source order."""
    found: list[cst.For] = [node] if isinstance(node, cst.For) else []
    for child in children(node):
        found.extend(loops_of(child))
    return found
