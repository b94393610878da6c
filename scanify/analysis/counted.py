"""The layers' numbers: which of them a loop walks, and its index as one more xs."""

import libcst as cst

from scanify.analysis.children import all_of
from scanify.analysis.classify import Found
from scanify.analysis.code import code_of
from scanify.analysis.header import NUMBERED, REVERSED, VALUES, Header, Part
from scanify.analysis.objections import reads_index
from scanify.analysis.plan import CallStack, InitStack, PerLayer
from scanify.analysis.project import dotted
from scanify.analysis.where import Where, assignments


def in_another_form(found: Found) -> bool:
    """Whether the loop walks a part of the list or the values of a dict, or walks it backwards."""
    form = found.part.form
    return (
        bool(found.layers.views)
        or found.layers.of_dict
        or (form is not None and form.startswith(("`reversed", "a slice")))
    )


def in_part(found: Found) -> bool:
    """Whether the loop walks a slice of its list: what is walked beside it may have an element for each of the list."""
    return isinstance(found.part.counted, cst.Subscript)


def walked(found: Found, stack: InitStack | CallStack) -> str:
    """What is stacked in the call, or the list that is stacked where it is built."""
    numbered = found.part.form == NUMBERED and isinstance(stack, CallStack)
    return code_of(found.part.whole if in_another_form(found) or numbered else found.part.source)


def numbers(found: Found, stack: InitStack | CallStack) -> str | None:
    """The numbers of the layers that are applied, as an expression; None where those are all, in their order."""
    if found.part.form != NUMBERED or isinstance(stack, CallStack):
        return None
    whole = found.part.whole
    assert isinstance(whole, cst.ListComp) and isinstance(whole.elt, cst.Subscript)
    inner = whole.elt.slice[0].slice
    assert isinstance(inner, cst.Index)
    if dotted(inner.value) == dotted(whole.for_in.target):
        return code_of(whole.for_in.iter)
    return code_of(cst.ListComp(inner.value, whole.for_in))


def beside(part: Part) -> str:
    """What is walked beside the layers. A scan asks it for its length, and slices it: `reversed(...)` has neither, and
    the values of a dict cannot be sliced."""
    called = dotted(part.whole.func) or "" if isinstance(part.whole, cst.Call) else ""
    once = (part.form == REVERSED and called == "reversed") or (part.form == VALUES and called.endswith(".values"))
    return f"list({code_of(part.whole)})" if once else code_of(part.whole)


def per_layer(at: Where, head: Header, found: Found) -> tuple[PerLayer, ...]:
    """What is walked beside the layers. Of what a `zip` may leave a rest of, as many as there are layers."""
    walked = []
    for part in (one for one in head.parts if one is not found.part):
        source = beside(part)
        of_all = in_part(found) and isinstance(part.whole, cst.Name | cst.Attribute)  # `zip(layers[:-1], keys)`
        longer = part.cut and (of_all or may_be_longer(at, part.whole))
        if longer and not {"len"} & (at.locals | set(at.module.bindings)):
            source = f"{source}[: len({at.code(found.part.counted)})]"
        walked.append(PerLayer(at.code(part.target), source))
    return tuple(walked)


def may_be_longer(at: Where, walked: cst.BaseExpression) -> bool:
    """Whether a name holds what an unpacking left, or keys of a number that is computed: `first, *keys = ...`,
    `split(key, depth + 1)`."""
    name = dotted(walked)
    bound = assignments(at.body(), name) if isinstance(walked, cst.Name) and name is not None else ()
    for statement in bound:
        if isinstance(statement, cst.Assign):
            starred = all_of(cst.StarredElement, *(one.target for one in statement.targets))
            if any(dotted(one.value) == name for one in starred):
                return True
            if any(_computed(call) for call in all_of(cst.Call, statement.value)):
                return True
    return False


def _computed(call: cst.Call) -> bool:
    """Whether a call splits a key into a number of keys that is a sum or a product."""
    if (dotted(call.func) or "").rpartition(".")[2] != "split":
        return False
    counts = [arg.value for at, arg in enumerate(call.args) if (at == 1 if arg.keyword is None else _is_num(arg))]
    return any(
        isinstance(one, cst.BinaryOperation) and isinstance(one.operator, cst.Add | cst.Multiply) for one in counts
    )


def _is_num(arg: cst.Arg) -> bool:
    return arg.keyword is not None and arg.keyword.value == "num"


def index_walked(head: Header, found: Found, loop: cst.For) -> tuple[PerLayer, ...]:
    """The layer's number as one more xs. A `BlockSeq` gives each layer its own as a plain int, as the loop does.

    Where nobody reads it, it still says how many turns there are, unless the layers are taken by these very numbers.
    """
    if head.index is None:
        return ()
    if head.numbers is not None:
        count = code_of(head.numbers)
        source = code_of(found.part.source)
        exact = found.part.form == NUMBERED or count in (f"range(len({source}))", f"list({source})")
        return () if exact and not reads_index(head, loop) else (PerLayer(code_of(head.index), _again(head.numbers)),)
    if not reads_index(head, loop):
        return ()
    count = f"len({code_of(found.part.counted)})"
    if head.first is None:
        return (PerLayer(code_of(head.index), f"range({count})"),)
    first = code_of(head.first)
    return (PerLayer(code_of(head.index), f"range({first}, {first} + {count})"),)


def _again(numbers: cst.BaseExpression) -> str:
    """The numbers as a sequence: `reversed(range(n))` can be walked only once."""
    match numbers:
        case cst.Call(func=cst.Name(value="reversed"), args=[cst.Arg(value=inner)]):
            return f"{code_of(inner)}[::-1]"
        case _:
            return code_of(numbers)
