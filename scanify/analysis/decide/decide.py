"""From facts to decisions: one plan or refusal for each loop over modules, whatever its form."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from scanify.analysis.decide.fact import LoopFact
from scanify.analysis.decide.remedies import open_rule
from scanify.analysis.decide.stack import StackChoice, choose_stack
from scanify.analysis.facts import Place
from scanify.analysis.index.meaning import External
from scanify.analysis.language.types import Array, Unknown, parts_of
from scanify.analysis.lists.find import calls_element
from scanify.analysis.lists.layer_list import LayerList, identity
from scanify.analysis.lower.body_place import body_place
from scanify.analysis.lower.loop import Loop, Order
from scanify.analysis.lower.text import dotted
from scanify.analysis.obligation import Kind as Shows
from scanify.analysis.obligation import Obligation, each_once
from scanify.analysis.plan import Framework, Holds, Kind, LayerCall, Mapped, Plan, Refusal
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import CallStack, InitStack


@dataclass(frozen=True)
class Choices:
    """The user's choices: how to stack, which files may be changed, and whether lists of parameters count as layers."""

    stack: StackChoice
    given: frozenset[Path]
    parameters: bool = False


def decide(
    project: ProjectFacts, choices: Choices, fact: LoopFact, stays: Place | None = None
) -> Plan | Refusal | None:
    """Return a plan or a refusal; None if there is nothing to report. `stays`: a loop that needs the list."""
    layers, loop = fact.layers, fact.loop
    if loop.ignored:
        return None
    refusal = fact.alike.refusal or fact.gain.refusal
    if fact.kind is Kind.MAP and loop.element is not None:
        if fact.gain.refusal is not None or constructs(loop) or not layers.classes:
            return None
        computes = any(isinstance(each, Array) for _, _, value in fact.body.ys for each in parts_of(value))
        if not computes and not calls_element(loop, layers.walk):
            return None  # `[layer.name() for layer in layers]` gives no arrays
        if loop.is_statement and refusal is not None:
            return None
    reasons = [*([refusal] if refusal is not None else []), *fact.problems]
    if reasons:
        return fact.refused(*reasons[0])
    framework = framework_of(project, layers)
    stack = choose_stack(project, fact, choices.stack, choices.given, framework, stays)
    if isinstance(stack, tuple):
        return fact.refused(*stack)
    undecided = fact.gain.undecided
    if undecided is None or fact.trees:
        return _plan(project, fact, stack, framework)
    refused = fact.refused(open_rule(layers), undecided.text, undecided.place)
    plan = _plan(project, fact, CallStack("the source does not show the layers"), framework)
    return replace(refused, undecided=replace(plan, obligations=(undecided, *plan.obligations)))


def constructs(loop: Loop) -> bool:
    """True if a loop runs in a constructor."""
    name = loop.scope.function.name if loop.scope.function is not None else ""
    return name in ("__init__", "__post_init__", "__check_init__", "init")


def framework_of(project: ProjectFacts, layers: LayerList) -> Framework:
    """Return Flax NNX if a layer or the owner of the list is an NNX module, else Equinox."""
    found = [*layers.classes, *([layers.owner] if layers.owner is not None else [])]
    return Framework.NNX if any(map(project.classes.is_nnx, found)) else Framework.EQUINOX


# -- the plan --------------------------------------------------------------------------------------------------------


def _plan(project: ProjectFacts, fact: LoopFact, stack: InitStack | CallStack, framework: Framework) -> Plan:
    loop, layers, shape = fact.loop, fact.layers, fact.shape
    in_call = isinstance(stack, CallStack)
    equal_layers = _are_equal(fact, in_call)
    alike = fact.alike.holds is Holds.ARRAY_STACKED and fact.one_body and equal_layers
    obligations = [*_of_list(project, fact, framework), *fact.obligations]
    kept = (stack.kept,) if isinstance(stack, CallStack) and stack.kept is not None else ()
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
        call=_with_owner(project, fact, in_call),
        taken=project.index.words(loop.module.path),
        obligations=each_once(obligations),
        notes=tuple(dict.fromkeys((*fact.body.notes, *kept))),
        rule=_rule(fact, alike),
        holds=Holds.ARRAY_STACKED if alike else Holds.BLOCK_SEQ,
        mapped=Mapped(loop.code(loop.element), loop.appends_to) if loop.element is not None else None,
        collections=shape.collections,
        unset=shape.unset,
        numbers=layers.walk.numbers if layers.walk.order is Order.NUMBERED and not in_call else None,
        reverse=layers.walk.order is Order.REVERSED and not in_call,
        replaced=loop.replaced,
        exits=shape.exit_words,
        bodies=fact.bodies,
        equal_layers=equal_layers,
        trees=fact.trees,
        framework=framework,
    )


def _are_equal(fact: LoopFact, in_call: bool) -> bool:
    """True if the stack holds exactly the layers with which the list was built."""
    layers = fact.layers
    whole = (Order.WHOLE, Order.NUMBERED) if in_call else (Order.WHOLE, Order.REVERSED, Order.NUMBERED)
    if layers.walk.order not in whole or len(layers.walk.bases) > 1:
        return False
    if layers.of_dict or layers.parameter:
        return False
    return not (in_call and (layers.open or fact.uses.changes is not None or layers.optional))


def _rule(fact: LoopFact, alike: bool) -> str:
    """Return the rule for a loop that can be rewritten."""
    if fact.trees:
        return "SCN106"
    if fact.loop.element is not None or not fact.shape.carry:
        return "SCN104"
    if fact.shape.collections:
        return "SCN105"
    return "SCN101" if alike else "SCN102"


def _target(loop: Loop, target: ast.expr) -> str:
    """Return the target of the layers as written; a target made by lowering has no source text."""
    if isinstance(target, ast.Name):
        return target.id
    return loop.module.code(target) if hasattr(target, "lineno") else ast.unparse(target)


def _container(loop: Loop, layers: LayerList, in_call: bool) -> str:
    walk = layers.walk
    if walk.order not in (Order.WHOLE, Order.REVERSED, Order.NUMBERED) or len(walk.bases) > 1 or layers.of_dict:
        return walk.text
    if walk.order is not Order.WHOLE and in_call:
        return walk.text
    return loop.module.code(walk.base)


def _of_list(project: ProjectFacts, fact: LoopFact, framework: Framework) -> Iterator[Obligation]:
    """Yield the conditions on layers that the source does not show."""
    layers = fact.layers
    name = fact.loop.code(layers.walk.base)
    if fact.trees:
        name = layers.walk.text if layers.walk.element is not None else name
        text = f"the elements of `{name}` hold nothing but arrays, and differ in the values of these alone"
        yield Obligation(Shows.LAYERS, text, fact.loop.place)
        return
    if not layers.classes or fact.body.opaque:
        text = f"the elements of `{name}` are {framework.value} modules, and applying one has no side effects"
        element = fact.body.layers
        why = element.why if isinstance(element, Unknown) else layers.open[0].text if layers.open else ""
        yield Obligation(Shows.LAYERS, f"{text}: {why}" if why else text, fact.loop.place)
    elif layers.made:
        yield from layers.open
    yield from fact.alike.obligations
    if layers.may_be_empty:
        yield Obligation(Shows.LAYERS, f"there is at least one layer in `{name}`", fact.loop.place)


def _with_owner(project: ProjectFacts, fact: LoopFact, in_call: bool) -> LayerCall | None:
    """Add the class whose method the call runs, if every layer is shown to be of exactly that class."""
    call, layers = fact.shape.call, fact.layers
    if call is None or not layers.exact:
        return call
    if in_call and layers.parameter:
        return call
    return replace(call, owner=_owner(project, fact.loop, layers, call.method))


def _owner(project: ProjectFacts, loop: Loop, layers: LayerList, method: str) -> str | None:
    """Return a name for the layers' class in scope at the loop; None without one, or if `method` is no plain method."""
    cls, node = layers.classes[0], layers.made[0].node
    if isinstance(cls, External):
        names = [dotted(node.func) or ""] if method == "__call__" and isinstance(node, ast.Call) else []
    else:
        found = project.classes.method(cls, method)
        if method != "__call__" and (found is None or found[1].decorator_list):
            return None
        imports = list(loop.module.imports)
        names = [cls.name, *imports, *(f"{name}.{cls.name}" for name in imports)]
    for name in names:
        binding = loop.scope.binding(name.partition(".")[0])
        in_module = binding is None or binding.parent is None
        if name and in_module and identity(project.index.resolve(loop.module, name)) == identity(cls):  # type: ignore[arg-type]
            return name
    return None
