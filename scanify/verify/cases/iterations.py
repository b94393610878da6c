"""Count the iterations of the loops that a rewrite removes: a loop that runs once is no evidence for a scan."""

from __future__ import annotations

import dis
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from scanify.verify.cases.seen_layers import seen_layers
from scanify.verify.profile.hooks import free_tool, monitored, traced
from scanify.verify.profile.source_loops import Loop, loops_of
from scanify.verify.request import Request
from scanify.verify.verdict import LoopRun, SeenLayers


def loops_taken_out(request: Request) -> dict[str, list[Loop]]:
    """Return the loops of the original that the rewritten version lacks, by the real path of their file.

    A loop that moved into another function of the file, such as one in the body of another loop, is not included.
    """
    before = {each.path: each.original for each in request.changes}
    after = {each.path: each.rewritten for each in request.changes}
    if request.rewritten_target not in (None, request.target):
        assert request.rewritten_target is not None
        before, after = {request.target: before[request.target]}, {request.target: after[request.rewritten_target]}
    found = {os.path.realpath(path): loops_lost(text, after[path]) for path, text in before.items()}
    return {path: loops for path, loops in found.items() if loops}


def watched_loops(request: Request) -> dict[str, list[Loop]]:
    """Return the loops whose functions are watched in a run, by the real path of their file."""
    if not request.watched:
        return loops_taken_out(request)
    texts = {each.path: each.original for each in request.changes}
    found = {}
    for each in request.watched:
        loops = [loop for loop in _loops_of(texts.get(each.path)) if loop.line in each.lines]
        if request.case.command is None:  # a call over layers is reached if its line runs
            calls = sorted({*each.lines} - {loop.line for loop in loops})
            loops += [Loop(line, "", None, (line, 0), (line + 1, 0)) for line in calls]
        found[os.path.realpath(each.path)] = loops
    return found


def _loops_of(data: bytes | None) -> list[Loop]:
    return loops_of((data or b"").decode(errors="replace"))


def loops_lost(before: bytes | None, after: bytes | None) -> list[Loop]:
    """Return the loops of one text of a file that another lacks, in source order."""
    first, second = _loops_of(before), _loops_of(after)
    lost = Counter(loop.text for loop in first) - Counter(loop.text for loop in second)
    here = Counter((loop.scope, loop.text) for loop in first) - Counter((loop.scope, loop.text) for loop in second)
    return [loop for loop in first if lost[loop.text] and here[loop.scope, loop.text]]


@dataclass(frozen=True, eq=False)
class _Marks:
    """The offsets in a code object of instructions that begin a loop (True) or an iteration of one.

    `entered` are lambdas: starting the code is an iteration of the frame that called `map` or `reduce`.
    """

    code: CodeType
    at: Mapping[int, Sequence[tuple[Loop, bool]]]
    entered: Sequence[Loop]


@dataclass(eq=False)
class Iterations:
    """Counts the iterations of loops while it watches; of a loop that runs several times, the longest run counts."""

    loops: Mapping[str, Sequence[Loop]]
    most: dict[Loop, int] = field(default_factory=dict)
    layers: dict[Loop, SeenLayers | None] = field(default_factory=dict)
    _running: dict[tuple[int, Loop], int] = field(default_factory=dict)
    _files: dict[str, Sequence[Loop]] = field(default_factory=dict)
    _marks: dict[int, _Marks] = field(default_factory=dict)

    def runs(self, shown: Callable[[str], str | None] | None, built: Iterations) -> tuple[LoopRun, ...]:
        """Return the run of each loop; `shown` returns the displayed name of a file.

        Loops that only ran to build the model (`built`) are omitted, and so are those that never ran and apply no
        element.
        """
        return tuple(
            LoopRun(
                (shown and shown(path)) or path, loop.line, loop.head, self.most.get(loop), layers=self.layers.get(loop)
            )
            for path, loops in self.loops.items()
            for loop in loops
            if loop in self.most or (loop not in built.most and loop.applies)
        )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count the iterations of this thread in the context."""
        tool = free_tool((4, 3))
        with self._tracing() if tool is None else self._monitoring(tool):
            yield

    @contextmanager
    def _monitoring(self, tool: int) -> Iterator[None]:
        monitoring = sys.monitoring
        events, codes = monitoring.events, list[CodeType]()

        def start(code: CodeType, offset: int) -> Any:
            marks = self._entered(code, sys._getframe(1))
            if marks is None:
                return monitoring.DISABLE
            if marks.at and code not in codes:
                codes.append(code)
                monitoring.set_local_events(tool, code, events.INSTRUCTION)
            return None

        callbacks = {events.PY_START: start, events.INSTRUCTION: lambda code, at: self._at(sys._getframe(1), at)}
        with monitored(tool, callbacks, events.PY_START):
            try:
                yield
            finally:
                for code in codes:
                    monitoring.set_local_events(tool, code, 0)

    @contextmanager
    def _tracing(self) -> Iterator[None]:
        def local(frame: FrameType, event: str, argument: object) -> Any:
            if event == "opcode":
                self._at(frame, frame.f_lasti)
            return local

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            marks = self._entered(frame.f_code, frame)
            if marks is None or not marks.at:
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            return local

        with traced(trace):
            yield

    def _entered(self, code: CodeType, frame: FrameType) -> _Marks | None:
        """Handle the start of a frame of this code; None if it runs no counted loop."""
        name = code.co_filename
        if name not in self._files:
            self._files[name] = self.loops.get(os.path.realpath(name), ())
        if not self._files[name]:
            return None
        if id(code) not in self._marks:  # stored with the code, so that the id is not reused
            self._marks[id(code)] = _marks(code, self._files[name])
        marks = self._marks[id(code)]
        resumed = frame.f_lasti > min(marks.at, default=frame.f_lasti)  # `settrace` is called again for a generator
        for loop in () if resumed else {loop for some in marks.at.values() for loop, _ in some}:
            self._running.pop((id(frame), loop), None)
        for loop in marks.entered:
            self._count(frame.f_back, loop)
        return marks

    def _at(self, frame: FrameType, offset: int) -> None:
        marks = self._marks.get(id(frame.f_code))
        for loop, begins in marks.at.get(offset, ()) if marks is not None else ():
            self._count(frame, loop, begins=begins)

    def _count(self, frame: FrameType | None, loop: Loop, *, begins: bool = False) -> None:
        if loop not in self.layers and frame is not None:
            self.layers[loop] = seen_layers(frame, loop)
        key = id(frame), loop
        self._running[key] = 0 if begins else self._running.get(key, 0) + 1
        self.most[loop] = max(self.most.get(loop, 0), self._running[key])


_PASSED_OVER = dis.opmap.get("CACHE", -1), dis.EXTENDED_ARG
_NEXT = dis.opmap["FOR_ITER"]


def _marks(code: CodeType, loops: Sequence[Loop]) -> _Marks:
    """Find the first instruction of each part of a loop that this code has."""
    at: defaultdict[int, list[tuple[Loop, bool]]] = defaultdict(list)
    entered = []
    places = list(_places(code))
    for loop in loops:
        begins = next((offset for offset, place in places if place == loop.walks), None)
        if begins is not None and code.co_code[begins] != _NEXT:  # generator expressions take their iterator
            at[begins].append((loop, True))
        inside = (offset for offset, place in places if loop.start <= place < loop.end)
        exact = (offset for offset, place in places if place == loop.turn)
        step = next(inside if loop.walks is None or loop.calls else exact, None)
        if loop.calls and step is not None and code.co_name == "<lambda>":
            entered.append(loop)
        elif not loop.calls and step is not None:
            at[step].append((loop, False))
    return _Marks(code, at, entered)


def _places(code: CodeType) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the offset of each instruction, and the line and column where its source begins."""
    before = -1
    for at, (line, _, column, _) in enumerate(code.co_positions()):
        operation = code.co_code[2 * at]
        if operation not in _PASSED_OVER and before != dis.EXTENDED_ARG and line is not None and column is not None:
            yield 2 * at, (line, column)
        before = operation
