"""The loop's body as a function of one layer, verbatim: only the header changes, and a `return` is added."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import libcst as cst

from scanify.analysis.plan import Plan
from scanify.emit.loops.collecting import appended, renamed
from scanify.emit.loops.early_exits import body_of_function
from scanify.emit.loops.outputs import Outputs, outputs_of, outputs_of_appended
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text import layout
from scanify.emit.text.loop_text import LoopText


@dataclass(frozen=True)
class Function:
    """The function's text from `def` on, without its last line end, and the outputs it returns."""

    text: str
    outputs: Outputs


def function_over_layer(
    plan: Plan,
    loop: LoopText,
    name: str,
    parameters: Sequence[str],
    unpacking: Sequence[str],
    given: Set[str],
    *,
    pair: bool = False,
    fills: bool = False,
) -> Function:
    """Write the function with these parameters, and lines that unpack them into the loop's names.

    It returns the carry and, next to it, the outputs of the layer; with `pair`, None if there are no outputs.
    Independent layers have no carry. `fills`: the loop fills one list that is empty before it.
    """
    newline, taken = loop.style.newline, plan.taken | given
    carry = layout.pattern(plan.carry) if plan.carry else ""
    state = f"({carry})" if len(plan.carry) > 1 else carry
    lists = appended(plan, loop, taken) if plan.collections else None
    comment = ""
    if lists is not None:
        outputs = outputs_of_appended(plan.collections, lists.values, state, taken, fills=fills)
        body, comment = lists.body, f"  {lists.comment}" if lists.comment else ""
    else:
        inner = {one.name: fresh(f"layer_{one.name.lstrip('_')}", taken) for one in plan.collections}
        renamed_body = renamed(loop.body, inner) if inner else None
        inner = inner if renamed_body is not None else {}
        outputs = outputs_of(plan.collections, plan.exits, carry, state, taken, inner)
        if pair and not plan.collections:
            outputs = replace(outputs, returned=f"{state}, None")
        source = loop if renamed_body is None else replace(loop, body=renamed_body)
        body = body_of_function(plan, source, outputs, state)
    lines = [
        f"def {name}({', '.join(parameters)}):{loop.after_colon}",
        *(f"{loop.indent}{line}" for line in (*unpacking, *outputs.begin)),
    ]
    return Function(f"{newline.join(lines)}{newline}{body}{loop.indent}return {outputs.returned}{comment}", outputs)


def flat(target: str) -> str:
    """Remove the outer parentheses of a tuple pattern, as in an assignment."""
    if "\n" in target or "\r" in target:
        return target
    node = cst.parse_expression(target)
    if isinstance(node, cst.Tuple) and len(node.lpar) == 1 and node.elements:
        return cst.Module([]).code_for_node(node.with_changes(lpar=[], rpar=[])).strip()
    return target
