"""What effects of a loop's body say of it: problems, obligations and notes."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from scanify.analysis.facts import Place
from scanify.analysis.loops.declared import Reasons
from scanify.analysis.loops.lists.layer_list import Reason
from scanify.analysis.lower.loop import Loop
from scanify.analysis.lower.nodes import nodes_below, nodes_in
from scanify.analysis.values.objects.form import Form
from scanify.analysis.values.run.effects import Act, Effect
from scanify.analysis.values.run.interpreter import Interpreter

_SUPER = "`super()` without arguments does not work in the function of a scan"


@dataclass
class Body:
    """What speaks against running the body once for all layers, what a run must show, and what should be known.

    `unknown` are the operations of which the source does not show what they do. `branches` is a condition on a field
    that differs between the layers, "" where there is none. `function` is what a layer gives and is one; `arrays` says
    that the element of a comprehension is shown to be an array. `complex` are the carries that a layer makes complex,
    `weak` those that it leaves without a dtype of their own, `swapped` those that take the place of another, `forms`
    the tuples, lists and dicts that it makes of carries, `settings` the static fields of carried modules that it gives
    another value, `casts` the dtypes of carries after it, where it casts them, `whole` the carries
    that it makes of themselves and of whole numbers alone.
    """

    problems: list[Reason] = field(default_factory=list)
    obligations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    applied: set[str] = field(default_factory=set)
    unclear: bool = False
    branches: str = ""
    function: ast.expr | None = None
    arrays: bool = True
    unknown: list[Effect] = field(default_factory=list)
    complex: set[str] = field(default_factory=set)
    weak: set[str] = field(default_factory=set)
    swapped: set[tuple[str, str]] = field(default_factory=set)
    forms: dict[str, set[Form]] = field(default_factory=dict)
    settings: set[tuple[str, str]] = field(default_factory=set)
    casts: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    def oblige(self, text: str) -> None:
        """Add an obligation, once."""
        if text not in self.obligations:
            self.obligations.append(text)

    def oblige_unknown(self, run: Interpreter, loop: Loop) -> None:
        """Add obligations about operations that are not understood; of nested ones the innermost is named, and none on
        what another one gives. Those that are not understood for one reason are one obligation."""
        calls = {each.what: each for each in self.unknown if is_call(each)}
        first = [each for each in self.unknown if is_call(each) or not each.guess] or self.unknown
        nodes = {each.node for each in first}
        inner = [each for each in first if len(nodes & nodes_below(each.node)) == 1]
        called = {each.node for each in calls.values()}
        rest = {each.what: each for each in inner if each.what not in calls and each.node not in called}
        named: dict[str, list[str]] = {}
        for what, effect in (calls | rest).items():
            reason = Reasons(run, loop.module).of_effect(effect, call=what in calls)
            named.setdefault(reason, []).append(f"`{what}`" if what in rest or " " in what else f"`{what}()`")
        for reason, (*others, last) in named.items():
            verb = f"{', '.join(others)} and {last} are" if others else f"{last} is"
            self.oblige(f"{verb} not understood: {reason}")

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def is_call(effect: Effect) -> bool:
    """True if the effect is a call of something unknown; its text is that of what is called."""
    return isinstance(effect.node, ast.Call) and not effect.what.endswith(")")


def order_of(loop: Loop, rule: str, place: Place | None) -> tuple[bool, str, str, int]:
    """What the body itself does comes first, then what it calls, in source order."""
    if place is None or _stands_in(loop, place):
        return False, "", "", place.span.start if place is not None else 0
    return True, rule, str(place.path), place.span.start


def matters(effect: Effect, told: set[ast.AST], loops: Sequence[int]) -> bool:
    """Whether a string that is made of what may be a tracer is for more than to be said, and of an iteration's own."""
    return effect.node not in told and (not effect.marks or any(mark.loop in loops for mark in effect.marks))


def _stands_in(loop: Loop, place: Place) -> bool:
    """Whether something stands in the loop itself, be it in a function that is made there."""
    span = loop.place.span
    return place.path == loop.place.path and span.start <= place.span.start < span.end


def _is_own_variable(run: Interpreter, effect: Effect) -> bool:
    """Whether a method of a module of Flax NNX writes to a variable of its object: `self.mean.value = ...`, or
    `self.mean[...] = ...`. A scan gives such a variable back; to one of an object beside the layers it is an error."""
    meaning = run.index.resolve(effect.module, effect.inside.rpartition(".")[0]) if "." in effect.inside else None
    if not effect.what.startswith("self.") or not run.classes.is_nnx(meaning):
        return False
    subscripts = (each for each in nodes_in(effect.node) if isinstance(each, ast.Subscript))
    whole = any(isinstance(each.slice, ast.Constant) and each.slice.value is Ellipsis for each in subscripts)
    return effect.what.endswith(".value") if effect.act is Act.WRITE else whole


def judge(run: Interpreter, loop: Loop, body: Body, effect: Effect, clock: int, ys: frozenset[str]) -> None:
    """Note what one effect of the body means for a scan. What was made since `clock` is new in each iteration."""
    fresh = run.is_fresh(effect.born, clock)
    inside = f"`{effect.inside}` has a side effect: " if effect.inside and not _stands_in(loop, effect.place) else ""
    what = f"`{effect.what}`"
    match effect.act:
        case Act.OWN:
            body.oblige(f"{what} changes nothing else than an object that is new in each iteration")
        case Act.WRITE | Act.COLLECT | Act.AGAIN if fresh:
            if effect.guess:
                body.oblige(f"{what} changes nothing else than an object that is new in each iteration")
        case Act.CONCRETE if fresh:
            return
        case Act.COLLECT if not inside:
            root = effect.what.partition(".")[0].partition("[")[0]
            if root not in ys and root != loop.appends_to:
                reason = f"{what} keeps a value of every layer in a way that a scan cannot give back"
                body.problems.append(("SCN206", reason, effect.place))
        case Act.WRITE | Act.COLLECT if _is_own_variable(run, effect):
            body.oblige(f"{what} in `{effect.inside}` is a variable of a layer, and of no object beside the layers")
        case Act.WRITE | Act.COLLECT:
            reason = f"{what} changes an object that lives outside of the loop"
            body.problems.append(("SCN207", inside + reason, effect.place))
        case Act.OUTSIDE if inside and effect.conditional and effect.what == "print":
            body.oblige(f"{what} in `{effect.inside}`, which stands under a condition, may run once for all layers")
        case Act.OUTSIDE:
            reason = f"{what} has a side effect: a scan would run it once, not once per layer"
            body.problems.append(
                ("SCN207", reason if not inside else f"{inside}{what} would run once, not once per layer", effect.place)
            )
        case Act.UNKNOWN:
            body.unknown.append(effect)
        case Act.CONCRETE:
            reason = f"{what} needs a concrete value; in a scan it is a tracer"
            remedy = "compute with `jax.numpy` alone, `jnp.where` in place of `if`, or keep the loop"
            body.problems.append(("SCN208", reason, effect.place, remedy))
        case Act.TEXT:
            reason = f"{what} makes a string of an array or a module; in a scan it is a tracer"
            body.problems.append(("SCN207", reason, effect.place))
        case Act.IDENTITY:
            where = f" in `{effect.inside}`" if inside else ""
            reason = f"{what}{where} compares object identity; in a scan every iteration sees the same tracer"
            remedy = "ask for the index: `for i, layer in enumerate(layers)`, `if i == 0`"
            body.problems.append(("SCN207", reason, effect.place, remedy))
        case Act.SUPER if not inside:
            body.problems.append(("SCN212", _SUPER, effect.place, "call `super()` before the loop"))
        case _:
            _ask(body, effect)


def _ask(body: Body, effect: Effect) -> None:
    """Oblige a run to show what the source does not, and note what does no harm and should be known."""
    what = f"`{effect.what}`"
    match effect.act:
        case Act.AGAIN:
            body.oblige(f"{what} may run once instead of once per layer")
        case Act.ORDER:
            body.oblige(
                f"{what} may walk its dict with the keys sorted: a stack holds dicts as `jax.jit` and `jax.tree.map` "
                "hand them on, not as they were made"
            )
        case Act.REMEMBERS:
            body.oblige(f"the arrays that {what} keeps are of no use behind the loop, where they are tracers of a scan")
        case Act.CALLBACK:
            body.oblige(f"{what} may run again: with remat the backward pass runs each layer once more")
        case Act.IN_PLACE:
            where = f", in `{effect.inside}`" if effect.inside else ""
            body.oblige(f"{what} is no array of numpy, which `+=` would change for the caller too{where}")
        case Act.TELLS:
            body.note(f"{what} runs when the layer is traced, not once per layer")
        case Act.DEBUG:
            body.note(f"with remat {what} prints once more per layer, in the backward pass")
        case Act.CHECKPOINT:
            body.note(f"the body has its own {what}, which then stands inside the remat of the stack")
        case _:
            return
