"""The body of a function for a loop with early exits: each `continue`, `break` and `return` is a `return`."""

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from scanify.analysis.plan import Plan
from scanify.emit.loops.leaving import Leaving, leaving
from scanify.emit.loops.outputs import Outputs
from scanify.emit.text import layout
from scanify.emit.text.loop_text import LoopText


def body_of_function(plan: Plan, loop: LoopText, outputs: Outputs, state: str) -> str:
    """Return the loop's body, verbatim except for its early exits."""
    if not plan.exits:
        return loop.body
    head = f"for _ in _:{loop.style.newline}"
    wrapper = MetadataWrapper(cst.parse_module(head + loop.body), unsafe_skip_copy=True)
    spans = wrapper.resolve(ByteSpanPositionProvider)
    statement = wrapper.module.body[0]
    assert isinstance(statement, cst.For)
    text = (head + loop.body).encode()
    found = [(spans[node], _exit(wrapper.module, node, outputs, state)) for node in leaving(statement.body.body)]
    for span, new in sorted(found, key=lambda one: one[0].start, reverse=True):
        text = text[: span.start] + new.encode() + text[span.start + span.length :]
    return text.decode().removeprefix(head)


def _exit(module: cst.Module, node: Leaving, outputs: Outputs, state: str) -> str:
    """Return the replacement of an early exit; a layer that ends the loop gives a tuple next to the carry."""
    match node:
        case cst.Continue():
            return f"return {outputs.returned}"
        case cst.Break():
            return f"return {outputs.ended}"
        case cst.Return():
            value = "None" if node.value is None else layout.as_argument(module.code_for_node(node.value), alone=False)
            return f"return {state}, ({value},)"
