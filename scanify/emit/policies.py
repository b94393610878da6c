"""Change the remat policies of existing stacks."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scanify.emit.apply import apply_all, in_order
from scanify.emit.checks import Change, check
from scanify.emit.edits import Edit
from scanify.emit.policy import policy_expression
from scanify.emit.rewrite import finished
from scanify.emit.text.house_style import house_style
from scanify.emit.unroll.stacks import Built, File, read_file

_KEYWORD = "gradient_checkpointing"
_SAME = {'"full"': "True", '"save_all"': "False"}
"""Equivalent policies of other names."""


@dataclass(frozen=True)
class NewPolicy:
    """A stack that is built with another policy: its place, and both policies in source form.

    `old` is None if none is written. If there is a reason `why`, the stack keeps its own.
    """

    path: Path
    line: int
    old: str | None
    new: str
    why: str = ""


def with_policy(texts: Mapping[Path, str], remat: str) -> tuple[dict[Path, str], tuple[NewPolicy, ...]]:
    """Return the new texts if every stack is built with a policy, and the changed stacks.

    Raises ScanifyError for an unknown policy, and CheckFailed if a check of the result fails.
    """
    new = policy_expression(remat)
    assert new is not None
    made: dict[Path, str] = {}
    found: list[NewPolicy] = []
    for path, text in sorted(texts.items()):
        file = read_file(path, text)
        if file is None:
            continue
        edits = []
        for node in ast.walk(file.parsed.tree):
            built = file.built(node)
            one = _changed(file, built, new) if built is not None else None
            if built is not None and one is not None:
                found.append(one)
                edits += [_edit(file, built, new)] if not one.why else []
        if edits:
            made[path] = _finished(path, text, edits)
    return made, tuple(sorted(found, key=lambda each: (each.path, each.line)))


def _changed(file: File, built: Built, new: str) -> NewPolicy | None:
    """Return the change of a stack's policy; None if it already has the new one."""
    old = file.parsed.code(built.policy) if built.policy is not None else None
    if _meant(old) == _meant(new):
        return None
    why = "" if built.policy is None or isinstance(built.policy, ast.Constant) else "it is computed"
    return NewPolicy(file.path, built.call.lineno, old, new, why)


def _meant(policy: str | None) -> str:
    plain = "True" if policy is None else policy.replace("'", '"')
    return _SAME.get(plain, plain)


def _edit(file: File, built: Built, new: str) -> Edit:
    parsed = file.parsed
    if built.policy is not None:
        return Edit(file.path, parsed.start(built.policy), parsed.end(built.policy), new)
    call = built.init or built.call
    last = max([*call.args, *(each.value for each in call.keywords)], key=parsed.end)
    at = parsed.end(last)
    bare = isinstance(last, ast.GeneratorExp) and parsed.text[at - 1] == ")" and at == parsed.end(call)
    if bare:  # a generator that is the only argument needs its own parentheses next to another one
        start = parsed.start(last)
        return Edit(file.path, start, at, f"({parsed.text[start:at]}, {_KEYWORD}={new})")
    closing = _behind_parentheses(parsed.text, at, parsed.end(call))
    return Edit(file.path, closing, closing, f", {_KEYWORD}={new}")


def _behind_parentheses(text: str, at: int, end: int) -> int:
    """Return the offset behind the parentheses around an argument, before the comma or the call's closing one."""
    tail = text[at : end - 1]
    return at + (tail.rfind(")") + 1 if ")" in tail and "#" not in tail else 0)


def _finished(path: Path, text: str, edits: list[Edit]) -> str:
    ordered = in_order(edits)
    planned = tuple((edit.start, edit.end) for edit in ordered)
    change = Change(path, text, apply_all({path: text}, ordered)[path], tuple(ordered), planned)
    check([change])
    return finished(change, house_style(text)).after
