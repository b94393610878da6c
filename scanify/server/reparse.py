"""Incremental parsing while the user types: unchanged statements are taken from the previous tree."""

import ast

from scanify.analysis.index.parse import Problem, parse


def reparsed(text: str, earlier: tuple[str, ast.Module] | None) -> ast.Module | Problem:
    """Parse a text, reusing statements of the `earlier` tree.

    Top-level statements whose lines and line numbers are unchanged are the same objects, with any data cached on them.
    """
    made = _around(text, *earlier) if earlier is not None else None
    return made if made is not None else parse(text)


def _around(text: str, old: str, tree: ast.Module) -> ast.Module | None:
    """Parse only the changed lines and combine them with the old tree; None if they cannot be parsed by themselves."""
    if "\r" in text or "\r" in old:
        return None  # Python's line numbers may differ from a split at "\n"
    before, after = old.split("\n"), text.split("\n")
    most = min(len(before), len(after))
    above = next((at for at in range(most) if before[at] != after[at]), most)
    same = next((at for at in range(most - above) if before[-1 - at] != after[-1 - at]), most - above)
    body = tree.body
    first = sum(1 for each in body if _last(each) <= above)
    while first and first < len(body) and _first(body[first]) == _last(body[first - 1]):
        first -= 1  # two statements on one line
    last = len(body)
    while len(before) == len(after) and last > first and _first(body[last - 1]) > len(before) - same:
        last -= 1
    while last < len(body) and body[last].col_offset:
        last += 1
    start = _last(body[first - 1]) if first else 0
    end = _first(body[last]) - 1 if last < len(body) else len(after)
    if start and after[start - 1].endswith("\\"):
        return None  # the statement above continues
    part = parse("\n" * start + "\n".join(after[start:end]))
    if isinstance(part, Problem):
        return None  # for example, an unfinished string or an `else`: parse the whole text
    return ast.Module([*body[:first], *part.body, *body[last:]], [])


def _first(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", ())
    return min(statement.lineno, *(each.lineno for each in decorators)) if decorators else statement.lineno


def _last(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno
