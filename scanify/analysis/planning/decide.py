"""From facts to decisions: one plan or one refusal for each loop over modules, whatever its form."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scanify.analysis.decide.remedies import REMEDIES
from scanify.analysis.facts import Place
from scanify.analysis.framework import framework, in_call_alone, of_shared_objects
from scanify.analysis.index.meaning import Definition
from scanify.analysis.loops.declared import Reasons
from scanify.analysis.loops.fact import LoopFact
from scanify.analysis.loops.lists.layer_list import Layers, groups_of
from scanify.analysis.loops.of_sizes import made_of_sizes
from scanify.analysis.loops.stack import (
    Refused,
    StackChoice,
    assigned_elsewhere,
    changed_at,
    choose_stack,
    fields_of,
    may_be_empty,
    may_be_replaced,
)
from scanify.analysis.loops.touched import may_be_unlike
from scanify.analysis.lower.body_place import body_place
from scanify.analysis.lower.loop import Form, Loop, Order
from scanify.analysis.lower.nodes import nodes_in
from scanify.analysis.lower.scope import FUNCTIONS
from scanify.analysis.plan import (
    CallStack,
    Folded,
    Framework,
    Holds,
    InitStack,
    Kind,
    LayerCall,
    Mapped,
    Plan,
    Refusal,
)
from scanify.analysis.values.classes import dotted
from scanify.analysis.values.domain import Instance, Library
from scanify.analysis.values.run.interpreter import Interpreter

_OPEN = ("SCN201", "SCN202", "SCN203", "SCN215")
"""The rules of loops that are refused as the source shows too little of their layers, or that they differ."""


def decide_sequential(run: Interpreter, choices: "Choices", fact: LoopFact) -> Plan | Refusal | None:
    """The decision about a `Sequential`."""
    from scanify.analysis.planning.sequential import sequential

    return sequential(run, choices, fact)


@dataclass(frozen=True)
class Choices:
    """What the user asks for: how to stack, the files that may be changed, and whether lists of parameters count as
    lists of layers, and `BlockSeq`s of haliax as loops, too."""

    stack: StackChoice
    given: frozenset[Path]
    parameters: bool = False
    block_seqs: bool = False


def decide(run: Interpreter, choices: Choices, fact: LoopFact, stays: Place | None = None) -> Plan | Refusal | None:
    """The decision about one loop; None where it is not worth a word. `stays` is another loop over its list."""
    layers, loop = fact.layers, fact.loop
    if loop.ignored:
        return None
    if loop.form is Form.SEQUENTIAL:
        return decide_sequential(run, choices, fact)
    if fact.kind is Kind.MAP and loop.element is not None:
        unknown = not layers.known and layers.refusal is None and not _of_one_declared_class(run, layers)
        if layers.few is not None or constructs(loop) or unknown or made_of_sizes(run, loop, layers):
            return None
        if loop.is_statement and (fact.problems or layers.refusal is not None):
            return None
    if fact.problems:
        return refuse(fact, *fact.problems[0])
    if layers.refusal is not None:
        return replace(refuse(fact, *layers.refusal), undecided=_undecided(run, fact))
    if layers.few is not None:
        return refuse(fact, "SCN203", layers.few, None, "keep the loop")
    nnx = framework(run.classes, layers) is Framework.NNX
    stack = (
        in_call_alone(choices.stack) if nnx else choose_stack(run, loop, layers, choices.stack, choices.given, stays)
    )
    if isinstance(stack, Refused):
        return refuse(fact, stack.rule, stack.reason, stack.place, stack.remedy)
    return _plan(run, fact, stack)


def _undecided(run: Interpreter, fact: LoopFact) -> Plan | None:
    """The plan for a loop whose layers the source leaves open; None if they are known, or are no Equinox modules."""
    layers = fact.layers
    if layers.refusal is None or layers.refusal[0] not in _OPEN:
        return None
    if layers.trees or framework(run.classes, layers) is not Framework.EQUINOX:
        return None
    opened = replace(layers, refusal=None, classes=(), exact=False, cells=layers.cells if layers.of_dict else ())
    plan = _plan(run, replace(fact, layers=opened), CallStack("the source does not show the layers"))
    return replace(plan, obligations=tuple(dict.fromkeys((layers.refusal[1], *plan.obligations))))


def _of_one_declared_class(run: Interpreter, layers: Layers) -> bool:
    """Whether a module's field is declared to hold a class of another package, of which one call makes all layers."""
    field = run.classes.fields(layers.owner).get(layers.attribute or "") if layers.owner is not None else None
    if field is None or layers.owner is None or not run.classes.is_module(layers.owner):
        return False
    made = [group.node for cell in layers.cells for group in groups_of(cell) if group.repeated]
    names = {dotted(node.func) for node in made if isinstance(node, ast.Call)}
    declared = {dotted(each) for each in nodes_in(field.statement.annotation)}
    only = next(iter(names), None)
    made_alike = len(names) == 1 and len(made) == sum(len(groups_of(cell)) for cell in layers.cells)
    return made_alike and only in declared and (only or "").rpartition(".")[2][:1].isupper()


def constructs(loop: Loop) -> bool:
    """Whether a loop runs while an object is made."""
    name = loop.scope.function.name if loop.scope.function is not None else ""
    return name in ("__init__", "__post_init__", "__check_init__", "init")


def refuse(fact: LoopFact, rule: str, reason: str, at: Place | None, remedy: str = "") -> Refusal:
    """The refusal of a loop."""
    shape = fact.shape
    return Refusal(
        place=fact.loop.place,
        rule=rule,
        reason=reason,
        kind=fact.kind,
        container=fact.loop.code(fact.layers.walk.base),
        carry=shape.carry,
        xs=shape.xs,
        broadcast=shape.broadcast,
        ys=tuple(each.name for each in shape.collections),
        at=at,
        remedy=remedy or REMEDIES.get(rule, ""),
    )


# -- the plan --------------------------------------------------------------------------------------------------------


def _plan(run: Interpreter, fact: LoopFact, stack: InitStack | CallStack) -> Plan:
    loop, layers, shape = fact.loop, fact.layers, fact.shape
    module = loop.module
    in_call = isinstance(stack, CallStack)
    equal_layers = (
        layers.walk.order in (Order.WHOLE, Order.NUMBERED)
        and not layers.of_dict
        and not layers.given
        and not layers.view
        and not (
            in_call
            and (
                may_be_replaced(run, layers)
                or assigned_elsewhere(run, layers)
                or may_be_unlike(run, layers)
                or not fields_of(run, layers)
                or layers.optional
            )
        )
        and len(layers.walk.bases) == 1
    )
    alike = fact.alike and equal_layers
    shared = of_shared_objects(fact) if framework(run.classes, layers) is Framework.NNX else ()
    elsewhere = tuple(_elsewhere(run, fact, stack))
    return Plan(
        place=loop.place,
        kind=fact.kind,
        container=_container(loop, layers, in_call),
        layer=_target(loop, layers.walk.target),
        carry=shape.carry,
        body=body_place(loop),
        stack=stack,
        xs=shape.xs,
        broadcast=tuple(name for name in shape.broadcast if name != loop.appends_to),
        ys=(loop.appends_to,) if loop.appends_to else tuple(each.name for each in shape.collections),
        call=_with_owner(run, fact, stack),
        taken=run.index.words(module.path),
        obligations=tuple(dict.fromkeys((*_of_list(run, fact), *fact.obligations, *shared, *fact.cost, *elsewhere))),
        elsewhere=elsewhere,
        cost=fact.cost,
        notes=tuple(dict.fromkeys((*shape.notes, *fact.body.notes, *_told(stack)))),
        rule=_rule(fact, alike),
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
        mapped=Mapped(loop.code(loop.element), loop.appends_to) if loop.element is not None else None,
        folded=_folded(loop),
        collections=shape.collections,
        unset=shape.unset,
        numbers=layers.walk.numbers if layers.walk.order is Order.NUMBERED and not in_call else None,
        replaced=loop.replaced,
        ahead=loop.ahead,
        exits=shape.exit_words,
        bodies=fact.bodies,
        equal_layers=equal_layers,
        trees=layers.trees,
        framework=framework(run.classes, layers),
    )


def _rule(fact: LoopFact, alike: bool) -> str:
    """The rule of a loop that can be rewritten."""
    if fact.layers.trees:
        return "SCN106"
    if fact.loop.element is not None or not fact.shape.carry:
        return "SCN104"
    if fact.shape.collections:
        return "SCN105"
    return "SCN101" if alike else "SCN102"


def _target(loop: Loop, target: ast.expr) -> str:
    """The target of the layers as it is written; one that lowering has made stands nowhere."""
    if isinstance(target, ast.Name):
        return target.id
    return loop.module.code(target) if hasattr(target, "lineno") else ast.unparse(target)


def _container(loop: Loop, layers: Layers, in_call: bool) -> str:
    walk = layers.walk
    if walk.order not in (Order.WHOLE, Order.NUMBERED) or len(walk.bases) > 1 or layers.of_dict:
        return walk.text
    if walk.order is Order.NUMBERED and in_call:
        return walk.text
    return loop.module.code(walk.base)


def _folded(loop: Loop) -> Folded | None:
    if loop.form is not Form.REDUCE or loop.start is None:
        return None
    update = loop.body[0]
    assert isinstance(update, ast.Assign)
    return Folded(loop.code(update.value), loop.module.code(loop.start))


def _of_list(run: Interpreter, fact: LoopFact) -> Sequence[str]:
    """What is taken of layers that the source does not show: a list of unknown origin may hold anything at all."""
    layers = fact.layers
    what = fact.loop.code(layers.walk.base)
    if layers.trees:
        what = layers.walk.text if layers.walk.element is not None else what
        return (f"the elements of `{what}` hold nothing but arrays, and differ in the values of these alone",)
    if not layers.known:
        kind = framework(run.classes, layers).value
        reason = Reasons(run, fact.loop.module).of_value(fact.loop.module, layers.walk.base, bare=True)
        text = f"the elements of `{what}` are {kind} modules, and applying one has no side effects"
        return (f"{text}: {reason}" if reason else text,)
    if layers.guessed:
        attribute = layers.attribute
        return (f"`{layers.guessed}` is one of the project's modules that hold their layers in `{attribute}`",)
    if may_be_empty(layers):
        return (f"there is at least one layer in `{what}`",)
    if layers.hidden:
        return (f"what `{what}` holds beside the layers that are shown is applied without side effects",)
    return ()


def _elsewhere(run: Interpreter, fact: LoopFact, stack: InitStack | CallStack) -> Iterator[str]:
    """Obligations about other code that uses the list: code that may put layers into it, and functions that name the
    list and are too long to be run to their end, so that they may need a list."""
    layers, name = fact.layers, fact.layers.attribute
    yield from (f"{text}: code beyond that does nothing to the list or its layers" for text in run.capped)
    if isinstance(stack, CallStack):
        replaced = assigned_elsewhere(run, layers)
        place = changed_at(run, layers) or (replaced and replaced[1])
        if place is not None and not layers.trees and not _of_list(run, fact):
            yield f"the layers that {place} may put into the list are applied without side effects"
        return
    if name is None:
        return
    for node in run.unfollowed:
        if any(name in (getattr(each, "attr", None), getattr(each, "value", None)) for each in nodes_in(node)):
            what = f"`{node.name}`" if isinstance(node, FUNCTIONS) else "a statement"
            yield f"{what} (line {getattr(node, 'lineno', 0)}), too long to be followed, needs no list of `{name}`"


def _told(stack: InitStack | CallStack) -> Sequence[str]:
    return (stack.kept,) if isinstance(stack, CallStack) and stack.kept is not None else ()


# -- the class whose method is called --------------------------------------------------------------------------------


def _with_owner(run: Interpreter, fact: LoopFact, stack: InitStack | CallStack) -> LayerCall | None:
    """Name the class whose method the call runs, where every layer is shown to be of exactly that class."""
    call, layers, loop = fact.shape.call, fact.layers, fact.loop
    if call is None or not layers.exact or layers.several:
        return call
    others = may_be_replaced(run, layers) or assigned_elsewhere(run, layers) or may_be_unlike(run, layers)
    if isinstance(stack, CallStack) and others:
        return call
    layer = layers.classes[0]
    if isinstance(layer.cls, Library):
        return replace(call, owner=_library_name(run, loop, layer)) if call.method == "__call__" else call
    if call.method != "__call__" and not _plain_method(run, layer.cls, call.method):
        return call
    return replace(call, owner=name_for(run, loop, layer.cls))


def _plain_method(run: Interpreter, owner: Definition, name: str) -> bool:
    found = run.classes.method(owner, name)
    if found is None:
        return False
    names = {(dotted(each) or "").rpartition(".")[2] for each in found[1].decorator_list}
    return not names & {"staticmethod", "classmethod", "property"}


def _library_name(run: Interpreter, loop: Loop, layer: Instance) -> str | None:
    """The name by which the constructor was called, where it means the same in the loop's file."""
    name = dotted(layer.node.func) if isinstance(layer.node, ast.Call) else None
    if name is None or loop.scope.binding(name.partition(".")[0]) not in (None, _module_scope(loop)):
        return None
    meaning = run.index.resolve(loop.module, name)
    return name if getattr(meaning, "qualname", None) == layer.name else None


def _module_scope(loop: Loop) -> object:
    scope = loop.scope
    while scope.parent is not None:
        scope = scope.parent
    return scope


def name_for(run: Interpreter, loop: Loop, definition: Definition) -> str | None:
    """A name that stands for a class of the project in the loop's file."""
    module = loop.module
    names = [definition.name, *(name for name in module.imports)] if definition.node else []
    for name in names:
        if loop.scope.binding(name) not in (None, _module_scope(loop)):
            continue
        meaning = run.index.resolve(module, name)
        if isinstance(meaning, Definition) and meaning.node is definition.node:
            return name
    for name in module.imports:
        dotted_name = f"{name}.{definition.name}"
        meaning = run.index.resolve(module, dotted_name)
        if isinstance(meaning, Definition) and meaning.node is definition.node:
            return dotted_name
    return None
