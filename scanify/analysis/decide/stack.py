"""Whether layers are stacked where their list is built, which takes a stack that serves every use, or in the call."""

from typing import Literal

from scanify.analysis.alike.one_trace import with_one_trace
from scanify.analysis.decide.fact import LoopFact
from scanify.analysis.facts import Place
from scanify.analysis.language.constructor import obligations_of
from scanify.analysis.lists.layer_list import Reason
from scanify.analysis.lower.loop import Order
from scanify.analysis.plan import Framework, Holds
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import CallStack, InitStack

StackChoice = Literal["init", "call"] | None
_IN_CALL = "use `--stack call`"


def choose_stack(
    project: ProjectFacts,
    fact: LoopFact,
    choice: StackChoice,
    given: frozenset[object],
    framework: Framework,
    stays: Place | None,
) -> InitStack | CallStack | Reason:
    """Return where the layers of a loop are stacked, or the reason to refuse the loop.

    `given` are the files that may be changed; `stays` is another loop over the list that is not rewritten.
    """
    if choice == "call":
        return CallStack()
    kept = _kept(fact, given, framework, stays)
    if kept is not None:
        stack, rule, remedy = kept
        return (rule, stack.reason, stack.at, remedy) if choice == "init" and rule else stack
    layers = fact.layers
    if fact.alike.holds is Holds.ARRAY_STACKED:
        layers = with_one_trace(project, layers, obligations_of)
    return InitStack(tuple(dict.fromkeys(layers.sites)), tuple(dict.fromkeys(layers.annotations)))


def _kept(
    fact: LoopFact, given: frozenset[object], framework: Framework, stays: Place | None
) -> tuple[CallStack, str, str] | None:
    """Return why the list stays, with the rule and the remedy for a refusal under `--stack init`.

    The rule is empty if the loop is rewritten even then. None if the list can be stacked where it is built.
    """
    layers = fact.layers
    if framework is Framework.NNX:
        return CallStack("the list holds modules of Flax NNX, which keep their state"), "SCN217", _IN_CALL
    if fact.trees:
        return CallStack("a list of parameters stays one: who has it may save it, and update it"), "", ""
    if not layers.sites:
        stack = layers.in_call or CallStack("the source does not show the list")
        if layers.of_dict:
            return stack, "SCN214", _IN_CALL
        whole = layers.walk.order not in (Order.REVERSED, Order.SLICE, Order.OTHER) and len(layers.walk.bases) == 1
        return stack, (stack.rule or "SCN201") if whole else "", _IN_CALL
    for place in (site.place for site in layers.sites if site.place.path not in given):
        stack = CallStack(f"the list is built in `{place.path}`, which was not given", place)
        return stack, "SCN201", f"give `{place.path}` too, or use `--stack call`"
    if fact.uses.in_call is not None:
        return fact.uses.in_call, "SCN214", ""
    if stays is not None:  # that loop would take a stack apart in each call
        return CallStack("another loop over it stays as it is", stays), "SCN214", ""
    return None
