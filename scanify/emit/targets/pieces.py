"""Code shared by the targets that write out what our own containers do."""

import builtins
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.plan import Mapped, Plan
from scanify.analysis.stack import InitStack
from scanify.emit.edits import Edit
from scanify.emit.loops.comments import comments_of, without
from scanify.emit.loops.function import Function
from scanify.emit.loops.local_function import blank_line_before, scope_start
from scanify.emit.loops.sites import Stacking, site_edits
from scanify.emit.names.fresh_name import fresh
from scanify.emit.names.unbound import names_of
from scanify.emit.target import Context
from scanify.emit.targets.other_uses import OtherUse, lengths
from scanify.emit.text import layout
from scanify.emit.text.loop_text import LoopText

Length = Callable[[str, Mapping[str, str]], str]
"""Writes the number of layers of a stack, from the stack's text and the names in its file."""

# Matches `_` in places where it may be read: not the target of a `for` or an assignment, nor a parameter.
_MAY_BE_READ = re.compile(r"(?<![\w.])_(?!\w)(?!\s*(?:in\b|=(?!=)|,[^()\[\]]*(?:=(?!=)|\bin\b)))")

ENDS_EARLY = "every layer is applied, and this loop may end before its last one"


def refusal(plan: Plan, library: str) -> str | None:
    """Return why a scan of a library cannot express a loop; the scan applies all layers and carries arrays."""
    targets = [plan.layer, *(xs.target for xs in plan.xs)]
    if plan.ends_early:
        return f"with {library} {ENDS_EARLY}"
    if plan.mapped is not None and not (all(map(str.isidentifier, targets)) and len(set(targets)) == len(targets)):
        return f"the layers of an expression are the arguments of a function, and `{', '.join(targets)}` are no names"
    if plan.mapped is None and not plan.carry:
        return (
            f"{library} hands a value from layer to layer, and these are independent: collect them in a comprehension"
        )
    if plan.unset:
        return f"{library} carries arrays, and {plan.unset[0]} has no value when the loop begins"
    if plan.bodies.several is not None:
        return f"with {library} one body is applied to all layers, and {plan.bodies.several}"
    return None


def unstackable(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> str | None:
    """Return why a list cannot be one layer with longer arrays: uses of it as a list would fail."""
    if not plan.equal_layers or plan.bodies.unlike is not None:
        return "the source does not show that its layers differ in the values of arrays alone"
    found = lengths(plan, plans, texts)
    return found.what if isinstance(found, OtherUse) else None


def edits_of(
    plans: Sequence[Plan],
    context: Context,
    of_loop: Callable[[Plan, Context, set[str]], list[Edit]],
    of_map: Callable[[Plan, Context, Mapped], Edit],
    stacking: Callable[[Path], Stacking],
    length: Length,
) -> list[Edit]:
    """Return the edits of all plans: of loops and maps, and where lists are built."""
    made: list[Edit] = []
    given: dict[tuple[Path, int], set[str]] = {}  # the names already given in each scope
    for plan in plans:
        scope = scope_start(context.texts[plan.place.path], plan.place.span.start)
        if plan.mapped is not None:
            mine = [of_map(plan, context, plan.mapped)]
        else:
            mine = of_loop(plan, context, given.setdefault((plan.place.path, scope), set()))
        made += [*with_lengths(mine, plan, context, length), *site_edits(plan, context, stacking)]
    return made


def lengths_elsewhere(plans: Sequence[Plan], context: Context, length: Length) -> list[Edit]:
    """Replace `len` of a list by the length of the stack."""
    made = []
    for plan in (one for one in plans if isinstance(one.stack, InitStack)):
        found = lengths(plan, plans, context.texts)
        assert not isinstance(found, OtherUse)  # `unstackable` has checked this
        made += [Edit(one.path, one.start, one.end, length(plan.container, context.names[one.path])) for one in found]
    return made


def with_lengths(edits: Sequence[Edit], plan: Plan, context: Context, length: Length) -> list[Edit]:
    """Replace `len` of the list by the length of the stack in the edits of a loop."""
    if not isinstance(plan.stack, InitStack):
        return list(edits)
    asked = length(plan.container, context.names[plan.place.path])
    return [replace(edit, new=edit.new.replace(f"len({plan.container})", asked)) for edit in edits]


class NewNames:
    """Names that are unused in a file, for the code that replaces a loop. They are added to `given`, per scope."""

    def __init__(self, text: str, given: set[str]) -> None:
        known = names_of(text)
        self.taken = known.bound | known.unbound | set(dir(builtins))
        self.given = given
        self.throwaway = "_" not in self.taken or _MAY_BE_READ.search(text) is None

    def __call__(self, wanted: str) -> str:
        name = fresh(wanted, self.taken | self.given)
        self.given.add(name)
        return name

    def unread(self) -> str:
        """Return a name for a value that is not read."""
        return "_" if self.throwaway else fresh("unread", self.taken)


def in_place_of_loop(
    plan: Plan, loop: LoopText, text: str, begin: Sequence[str], function: Function, after: Sequence[str]
) -> list[Edit]:
    """Replace the loop by statements, the function over one layer, and more statements; keep the loop's comments."""
    newline, indent = loop.style.newline, loop.style.indent
    below = newline + indent
    blank = newline * (1 if indent else 2)
    called = f"{function.text}{newline}{blank}{indent}{below.join(after)}"
    above = without(list(loop.comments), comments_of(called, indent))
    first = [*above, *begin]
    whole = f"{below.join(first)}{newline}{blank}{indent}{called}" if first else called
    made = [Edit(plan.place.path, loop.start, loop.end, whole)]
    at = None if first else blank_line_before(text, loop)
    return made if at is None else [Edit(plan.place.path, at, at, blank), *made]


def layers_of(plan: Plan) -> str:
    """Return the layers that a loop iterates over, for a list that is stacked in the call."""
    if plan.numbers is None:
        return layout.as_argument(plan.container, alone=False)
    number = fresh("number", plan.taken)
    return f"[{layout.attribute_of(plan.container)}[{number}] for {number} in {plan.numbers}]"


def counted(plan: Plan) -> tuple[str, ...]:
    """Return the names of layer numbers, which are arrays in a scan and Python numbers in the loop."""
    return tuple(xs.target for xs in plan.xs if xs.source.startswith("range("))


def sources_of(plan: Plan, jax: str) -> list[str]:
    """Return the xs of a loop, each with the layers along axis 0."""
    texts = [layout.as_argument(xs.source, alone=False) for xs in plan.xs]
    return [
        text if xs.axis == 0 else f"{jax}.numpy.moveaxis({text}, {xs.axis}, 0)"
        for text, xs in zip(texts, plan.xs, strict=True)
    ]
