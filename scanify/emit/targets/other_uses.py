"""Other uses in the project of a list that is to be built stacked, for targets whose stack is not a sequence."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from scanify.analysis.plan import Plan
from scanify.analysis.stack import After, InitStack
from scanify.emit.loops.enclosing import Module, module
from scanify.emit.loops.local_list import local_list
from scanify.emit.text.loop_text import with_replacements

_FIELD = re.compile(r"self\.([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Length:
    """The place of a `len(self.layers)`."""

    path: Path
    start: int
    end: int


@dataclass(frozen=True)
class OtherUse:
    """A use that only a list supports, in words and with its place."""

    what: str


def lengths(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> list[Length] | OtherUse:
    """Return each `len(...)` of the plan's list outside of its loops, or the first other use of it as a list."""
    found: list[Length] = []
    for use in _uses(plan, plans, texts):
        if isinstance(use, OtherUse):
            return use
        found.append(use)
    return found


def _uses(plan: Plan, plans: Sequence[Plan], texts: Mapping[Path, str]) -> Iterator[Length | OtherUse]:
    field = _FIELD.fullmatch(plan.container)
    if field is None or not isinstance(plan.stack, InitStack):
        yield OtherUse(f"the list is reached as {plan.container}, not as a field of self")
        return
    together = [
        one for one in plans if isinstance(one.stack, InitStack) and set(one.stack.sites) & set(plan.stack.sites)
    ]
    for one in together:
        if one.container != plan.container or one.numbers is not None or one.reverse:
            yield OtherUse(f"the loop at {one.place.named} walks {one.container} in another way")
        elif _reads_itself(one, texts):
            yield OtherUse(f"the loop at {one.place.named} reads {one.container} in its body")
    for path, text in sorted(texts.items()):
        if field[1] in text:
            parsed = module(text)
            if parsed is None:
                yield OtherUse(f"{path.name} has syntax that this Python does not know")
            else:
                yield from _in_file(path, parsed, field[1], together, texts)


def _reads_itself(plan: Plan, texts: Mapping[Path, str]) -> bool:
    """True if a loop reads more of its list than its layers and length."""
    text, span = texts[plan.place.path], plan.body.span
    body = plan.mapped.element if plan.mapped is not None else with_replacements(plan, text, span.start, span.end)
    pieces = [*(one.source for one in plan.xs), body]
    known = f"len({plan.container})"
    return any(re.search(rf"{re.escape(plan.container)}\b", piece.replace(known, "")) for piece in pieces)


def _in_file(
    path: Path, parsed: Module, field: str, plans: Sequence[Plan], texts: Mapping[Path, str]
) -> Iterator[Length | OtherUse]:
    owners = _classes(plans, texts)
    allowed = _allowed(path, parsed, plans)
    parents = {child: node for node in ast.walk(parsed.tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.Constant) and node.value == field:
            yield OtherUse(f"{path.name}:{node.lineno} names {field!r} in a string")
        if not isinstance(node, ast.Attribute) or node.attr != field:
            continue
        start, end = parsed.start(node), parsed.end(node)
        holder = _class_around(node, parents)
        own = parsed.code(node) == f"self.{field}" and holder is not None
        ours = own and holder is not None and (path, holder.name) in owners
        if own and not ours and holder is not None and _has_another(holder, field, {name for _, name in owners}):
            continue
        if any(first <= start and end <= last for first, last in allowed):
            continue
        above = parents.get(node)
        match above:
            case ast.Call(func=ast.Name(id="len"), args=[only], keywords=[]) if ours and only is node:
                yield Length(path, parsed.start(above), parsed.end(above))
                continue
        yield OtherUse(f"{path.name}:{node.lineno} uses {parsed.code(node)} as a list")


def _classes(plans: Sequence[Plan], texts: Mapping[Path, str]) -> set[tuple[Path, str]]:
    """Return the classes that contain the loops and build the list."""
    places = [plan.place for plan in plans]
    places += [site.place for plan in plans if isinstance(plan.stack, InitStack) for site in plan.stack.sites]
    found = set()
    for place in places:
        parsed = module(texts[place.path])
        around = parsed.around(place.span.start, place.span.start + 1) if parsed is not None else []
        found |= {(place.path, node.name) for node in around if isinstance(node, ast.ClassDef)}
    return found


def _allowed(path: Path, parsed: Module, plans: Sequence[Plan]) -> list[tuple[int, int]]:
    """Return the stretches in which a mention belongs to the loop, or sets the field."""
    found = []
    for plan in plans:
        if plan.place.path == path:
            found.append((plan.place.span.start, max(plan.place.span.end, plan.body.span.end)))
        for site in plan.stack.sites if isinstance(plan.stack, InitStack) else ():
            if site.place.path != path:
                continue
            if isinstance(site, After):
                found += (local_list(site, parsed.text) or ("", []))[1]
                continue
            around = parsed.around(site.place.span.start, site.place.span.end)
            for node in around:
                match node:
                    case (
                        ast.Assign(targets=[ast.Attribute() as target])
                        | ast.AnnAssign(target=ast.Attribute() as target)
                    ):
                        found.append((parsed.start(target), parsed.end(target)))
    return found


def _class_around(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> ast.ClassDef | None:
    above = parents.get(node)
    while above is not None and not isinstance(above, ast.ClassDef):
        above = parents.get(above)
    return above


def _has_another(holder: ast.ClassDef, field: str, owners: Set[str]) -> bool:
    """True if a class that does not inherit from the owners declares a field of the name itself."""
    declared = {
        one.target.id for one in holder.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    return field in declared and not any(_last(base) in owners for base in holder.bases)


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last(value)
    return ""
