"""The body of a collecting loop: the function returns what a layer appends, next to the carry."""

import ast
from collections.abc import Sequence, Set
from dataclasses import dataclass

from scanify.analysis.flow.statements import appended_to
from scanify.analysis.plan import Adds, Plan
from scanify.emit.loops.enclosing import FUNCTIONS, Module, module
from scanify.emit.loops.loops_around import stores
from scanify.emit.names.fresh_name import fresh
from scanify.emit.text.loop_text import LoopText
from scanify.emit.text.newlines import line_start, next_line

_HEAD = "if True:\n"
_PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Load)


@dataclass(frozen=True)
class Appended:
    """A body without its appends, of which each list had exactly one, and the appended values.

    `comment` is a comment behind a removed append.
    """

    body: str
    values: tuple[str, ...]
    comment: str = ""


def appended(plan: Plan, loop: LoopText, taken: Set[str]) -> Appended | None:
    """Take the appends out of the body; None unless each list gets one element per iteration."""
    if plan.exits or any(one.adds is not Adds.LIST or not one.surely for one in plan.collections):
        return None
    parsed = module(_HEAD + loop.body)
    block = getattr(parsed.tree.body[0], "body", []) if parsed is not None else []
    if parsed is None or (len(block) <= len(plan.collections) and not _names_the_carry(block, plan)):
        return None
    used = set(taken) | {node.id for node in ast.walk(parsed.tree) if isinstance(node, ast.Name)}
    edits: list[tuple[int, int, str]] = []
    values, comment = [], ""
    for one in plan.collections:
        appends = [each for each in block if appended_to(each, one.name) is not None]
        mentions = [node for node in ast.walk(parsed.tree) if isinstance(node, ast.Name) and node.id == one.name]
        if len(appends) != 1 or len(mentions) != 1:
            return None
        made = _taken_out(parsed, block, appends[0], one.name, used, plan)
        if made is None:
            return None
        edit, value, behind = made
        edits.append(edit)
        values.append(value)
        used.add(value)
        if behind and comment:
            return None
        comment = comment or behind
    body = parsed.text
    for start, stop, new in sorted(edits, reverse=True):
        body = body[:start] + new + body[stop:]
    return Appended(body.removeprefix(_HEAD), tuple(values), comment)


def _names_the_carry(block: Sequence[ast.stmt], plan: Plan) -> bool:
    values = [appended_to(block[0], one.name) for one in plan.collections] if len(block) == 1 else []
    return any(isinstance(value, ast.NamedExpr) for value in values)


def _taken_out(
    parsed: Module, block: Sequence[ast.stmt], statement: ast.stmt, name: str, used: Set[str], plan: Plan
) -> tuple[tuple[int, int, str], str, str] | None:
    """Return the edit that removes an append, the appended value, and a comment that is left over."""
    value = appended_to(statement, name)
    assert value is not None
    text, start, end = parsed.text, parsed.start(statement), parsed.end(statement)
    line, stop = line_start(text, start), next_line(text, end)
    behind, old = text[end:stop].strip(), parsed.code(value)
    if text[line:start].strip() or (behind and not behind.startswith("#")) or "#" in text[start:end]:
        return None
    later = block[list(block).index(statement) + 1 :]
    rebound = {each for one in later for each in stores(one)}
    if isinstance(value, ast.NamedExpr) and not rebound:
        assert isinstance(value.target, ast.Name)
        return (start, end, f"{value.target.id} = {parsed.code(value.value)}"), value.target.id, ""
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(value)):
        return None
    if not later and "\n" not in old and not isinstance(value, ast.Yield | ast.Await):
        whole = f"({old})" if isinstance(value, ast.Lambda | ast.GeneratorExp | ast.IfExp) else old
        return (line, stop, ""), whole, behind
    if isinstance(value, ast.Name) and value.id not in rebound and not behind:
        return (line, stop, ""), value.id, ""
    own = fresh(_one_of(name), used | set(plan.carry))
    return (start, end, f"{own} = {old}"), own, ""


def _one_of(name: str) -> str:
    """Name an element of a list: `hidden_state` for `hidden_states`."""
    plain = name.lstrip("_")
    if plain.endswith("ies"):
        return f"{plain[:-3]}y"
    if plain.endswith(("ses", "xes", "ches")) and not plain.endswith("ases"):
        return plain[:-2]
    if plain.endswith("s") and not plain.endswith("ss") and len(plain) > 2:
        return plain[:-1]
    return f"new_{plain}"


def one_of_each(names: Sequence[str], taken: Set[str]) -> list[str]:
    """Name the elements of each list, with distinct names."""
    made: list[str] = []
    for name in names:
        made.append(fresh(_one_of(name), taken | set(made) | set(names)))
    return made


def renamed(body: str, names: dict[str, str]) -> str | None:
    """Rename the collections in a body; None if one of the names may mean something else in it.

    Tests for the presence of a collection keep the outer name: `if caches is not None`.
    """
    parsed = module(_HEAD + body)
    if parsed is None:
        return None
    for node in ast.walk(parsed.tree):
        if isinstance(node, ast.JoinedStr) and any(
            isinstance(each, ast.Name) and each.id in names for each in ast.walk(node)
        ):
            return None
        if isinstance(node, FUNCTIONS) and any(arg.arg in names for arg in ast.walk(node) if isinstance(arg, ast.arg)):
            return None
    asked = {
        node.left
        for node in ast.walk(parsed.tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
    }
    found = [node for node in ast.walk(parsed.tree) if isinstance(node, ast.Name) and node.id in names]
    found = [node for node in found if node not in asked]
    text = parsed.text
    for node in sorted(found, key=parsed.start, reverse=True):
        text = text[: parsed.start(node)] + names[node.id] + text[parsed.end(node) :]
    return text.removeprefix(_HEAD)
