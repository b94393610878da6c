"""Limits on rewrites of notebooks: a statement must not cross cells, and only IPython understands magics."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from scanify.analysis.decide.remedies import refused
from scanify.analysis.facts import Cell, Place
from scanify.analysis.index.parse import Problem, parse
from scanify.analysis.obligation import Kind, Obligation, each_once
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import InitStack
from scanify.source.notebook.magics import MARK, original, unclear
from scanify.source.notebook.text import Cells, is_notebook


def as_cells_allow(loops: Sequence[Plan | Refusal], text_of: Callable[[Path], str]) -> tuple[Plan | Refusal, ...]:
    """Refuse plans that a notebook does not allow, and make plans unsafe if a magic may do anything."""
    known: dict[Path, _Notebook] = {}
    return tuple(_allowed(loop, known, text_of) if isinstance(loop, Plan) else loop for loop in loops)


def _allowed(plan: Plan, known: dict[Path, "_Notebook"], text_of: Callable[[Path], str]) -> Plan | Refusal:
    places = [plan.place]
    if isinstance(plan.stack, InitStack):
        places += [each.place for each in (*plan.stack.sites, *plan.stack.annotations)]
    unclear: list[Obligation] = []
    for place in places:
        if is_notebook(place.path):
            if place.path not in known:
                known[place.path] = _Notebook(place.path, text_of(place.path))
            reason = known[place.path].against(place)
            if reason is not None:
                return refused(plan, "SCN212", reason, "put it into a cell of its own, in plain Python")
            unclear += known[place.path].unclear
    return replace(plan, obligations=each_once((*plan.obligations, *unclear))) if unclear else plan


class _Notebook:
    """One notebook's text: its statements, cells and magics. `unclear` are the conditions on its magics."""

    def __init__(self, path: Path, text: str) -> None:
        self.lines = text.split("\n")
        self.cells = Cells(text)
        tree = parse(text)
        self.statements = [] if isinstance(tree, Problem) else [_lines_of(each) for each in tree.body]
        magics = [(magic, at) for at, line in enumerate(self.lines, start=1) if (magic := unclear(line)) is not None]
        texts = [f"`{magic}` ({path}:{self._where(at)}) changes nothing that the loop uses" for magic, at in magics]
        self.unclear = [Obligation(Kind.BODY, text) for text in texts]

    def against(self, place: Place) -> str | None:
        """Return why the module-level statement around a place must not change; None if it may."""
        line = place.span.line
        first, last = next((each for each in self.statements if each[0] <= line <= each[1]), (line, line))
        crossed = self.cells.crosses(first, last)
        if crossed is not None:
            return f"a statement around it goes on in cell {crossed}"
        for number in range(first, last + 1):
            if MARK in self.lines[number - 1]:
                magic = original(self.lines[number - 1]).strip()
                return f"`{magic}` stands in the same statement ({self._where(number)}), which only IPython reads"
        return None

    def _where(self, number: int) -> str:
        cell: Cell | None = self.cells.at(number, number)
        return f"cell {cell.number}:{cell.line}" if cell is not None else f"{number}"


def _lines_of(statement: ast.stmt) -> tuple[int, int]:
    above = [each.lineno for each in getattr(statement, "decorator_list", ())]
    return min([statement.lineno, *above]), statement.end_lineno or statement.lineno
