"""Where the layers of a loop are stacked: where their list is built, if a stack serves every use of it; else in the
call."""

from typing import Literal

from scanify.analysis.alike.one_trace import with_one_trace
from scanify.analysis.decide.fact import LoopFact, unfinished
from scanify.analysis.facts import Place
from scanify.analysis.language.constructor import obligations_of
from scanify.analysis.lists.layer_list import LayerList, Reason
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
    """Return where the layers of a loop are stacked.

    `given` are the files that may be changed, `stays` is another loop over the list that is not rewritten.
    """
    layers = fact.layers
    if choice == "call":
        return CallStack()
    if framework is Framework.NNX:
        if choice == "init":
            reason = "a list of modules of Flax NNX stays as it is and is stacked in the call"
            return "SCN217", reason, None, _IN_CALL
        return CallStack("it holds modules of Flax NNX, which keep their state")
    if fact.trees:
        return CallStack("a list of parameters stays one: who has it may save it, and update it")
    if not layers.sites:
        return _nowhere(layers, choice)
    outside = next((site.place for site in layers.sites if site.place.path not in given), None)
    if outside is not None:
        reason = f"the list is built in `{outside.path}`, which was not given"
        if choice == "init":
            return "SCN201", reason, outside, f"give `{outside.path}` too, or use `--stack call`"
        return CallStack(reason, outside)
    stack = fact.uses.in_call
    if stack is None and (place := unfinished(fact.loop, layers)) is not None:
        stack = CallStack("the loop runs before the list is finished", place)
    if stack is None and stays is not None:
        stack = CallStack("another loop over it stays as it is", stays)  # and would take a stack apart in each call
    if stack is not None:
        if choice == "init":
            return "SCN214", stack.reason, stack.at
        return stack
    if fact.alike.holds is Holds.ARRAY_STACKED:
        layers = with_one_trace(project, layers, obligations_of)
    return InitStack(tuple(dict.fromkeys(layers.sites)), tuple(dict.fromkeys(layers.annotations)))


def _nowhere(layers: LayerList, choice: StackChoice) -> CallStack | Reason:
    stack = layers.in_call or CallStack("the source does not show the list")
    if choice == "init":
        if layers.of_dict:
            return "SCN214", f"`{layers.name}` is a dict, which no stack can replace", None, _IN_CALL
        if layers.walk.order.value not in ("reversed", "slice", "other") and len(layers.walk.bases) == 1:
            return stack.rule or "SCN201", stack.reason, stack.at, _IN_CALL
    return stack
