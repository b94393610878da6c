"""Watch a run: functions with candidate loops are recorded when they are entered."""

from __future__ import annotations

import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FrameType
from typing import Any

import equinox as eqx

from scanify.verify.profile.hooks import free_tool, monitored
from scanify.verify.recorded.call import Construction, RecordedCall, constructed, recorded
from scanify.verify.recorded.functions import Function, function_of
from scanify.verify.recorded.inserted import calls_inserted, constructions_seen, lines_followed
from scanify.verify.versions.loaded import Version

MOST = 3  # recorded calls per function
LEAST = 3  # iterations to wait for: a scan over fewer saves nothing
_HANDLER = dis.opmap["PUSH_EXC_INFO"]  # the first instruction of a handler
CONSTRUCTIONS = 16  # recorded constructions per class
_CONSTRUCTOR: CodeType = type(eqx.Module).__call__.__code__


class Ended(SystemExit):
    """Ends a run when everything needed has been recorded. Threads and event loops let it pass silently."""


def _passes(frame: FrameType) -> bool:
    """True if this thread handles an `Ended`, or the frame is about to handle one."""
    if frame.f_code.co_code[frame.f_lasti] == _HANDLER:
        return True
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Ended):
        error = error.__context__
    return error is not None


@dataclass(eq=False)
class Watcher:
    """Records the first calls of each kind of the wanted `functions`, and the constructions of the user's modules.

    `is_users` is true for the `co_filename` of the user's code. With `numbers`, exactly the calls with these numbers,
    counted from 0 for each function, are recorded: those recorded in another version's run. `lines` are the lines of
    the heads of a function's loops and the first ones of their bodies; for each such function, a call that runs `LEAST`
    iterations is recorded, if there is one, and replaces earlier calls.
    """

    functions: Set[Function]
    is_users: Callable[[str], bool]
    numbers: Mapping[Function, Sequence[int]] | None = None
    lines: Mapping[Function, tuple[Set[int], Set[int]]] = field(default_factory=dict)
    calls: list[RecordedCall] = field(default_factory=list)
    constructions: dict[type, list[Construction]] = field(default_factory=dict)
    entered: dict[Function, int] = field(default_factory=dict)
    unreadable: dict[Function, str] = field(default_factory=dict)
    _iterations: dict[Function, int] = field(default_factory=dict)
    _most: dict[Function, int] = field(default_factory=dict)
    _at_head: set[Function] = field(default_factory=set)
    _ended: bool = False
    _process: int = field(default_factory=os.getpid)
    _busy: threading.local = field(default_factory=threading.local)

    @contextmanager
    def watching(self, version: Version) -> Iterator[None]:
        """Watch all threads that run this version in the context; none of its files may be loaded yet."""
        tool = free_tool((4, 3, 5))
        with self._inserting(version) if tool is None else self._monitoring(tool):
            yield

    @contextmanager
    def _monitoring(self, tool: int) -> Iterator[None]:
        monitoring = sys.monitoring
        events, codes = monitoring.events, list[CodeType]()

        def start(code: CodeType, offset: int) -> Any:
            if self._ended:
                return self._end(sys._getframe(1)) if self.is_users(code.co_filename) else monitoring.DISABLE
            if code is _CONSTRUCTOR:
                values = sys._getframe(1).f_locals
                self._unwatched(self._construct, values["cls"], values["args"], values["kwargs"])
                return None
            if function_of(code) not in self.functions:
                return monitoring.DISABLE
            if self._enter(sys._getframe(1)):
                end()
            elif self._waits(function_of(code)):
                monitoring.set_local_events(tool, code, events.LINE)
                codes.append(code)
            return None

        def end() -> None:
            monitoring.set_events(tool, events.PY_START | events.LINE)
            monitoring.restart_events()
            raise Ended

        def line(code: CodeType, number: int) -> Any:
            if self._ended:
                return self._end(sys._getframe(1)) if self.is_users(code.co_filename) else monitoring.DISABLE
            if self._iterate(code, number):
                end()
            elif any(number in some for some in self.lines[function_of(code)]):
                return None
            return monitoring.DISABLE

        with monitored(tool, {events.PY_START: start, events.LINE: line}, events.PY_START):
            try:
                yield
            finally:
                for code in codes:  # the next run of this version runs it
                    monitoring.set_local_events(tool, code, 0)

    @contextmanager
    def _inserting(self, version: Version) -> Iterator[None]:
        def reached(frame: FrameType, iterates: bool) -> None:
            function = function_of(frame.f_code)
            if self._ended:
                self._end(frame)
            elif function in self.functions and (self._counted(function) if iterates else self._enter(frame)):
                follow()
                raise Ended

        calls = calls_inserted(version, self.functions, self.lines, reached)
        see = partial(self._unwatched, self._construct)
        with lines_followed(self._end) as follow, constructions_seen(see), calls:
            yield

    def _end(self, frame: FrameType) -> None:
        """Raise in the user's code; code that swallowed the exception meets it again at the next line.

        While it passes, the user's code runs: `with` statements leave their contexts, and `finally` blocks do their
        work.
        """
        if self.is_users(frame.f_code.co_filename) and not _passes(frame):
            raise Ended

    def _enter(self, frame: FrameType) -> bool:
        """Record an entered function. True if nothing is left to be recorded."""
        self._ended |= self._unwatched(self._record, function_of(frame.f_code), frame) and self._complete()
        return self._ended

    def _unwatched(self, record: Callable[..., None], *arguments: Any) -> bool:
        """Run `record`; False within another recording, and in a copy that the program forked."""
        if getattr(self._busy, "now", False) or os.getpid() != self._process:
            return False
        self._busy.now = True
        try:
            record(*arguments)
        finally:
            self._busy.now = False
        return True

    def _construct(self, cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        module = sys.modules.get(cls.__module__)
        if self.is_users(str(getattr(module, "__file__", ""))):
            found = self.constructions.setdefault(cls, [])
            if len(found) < CONSTRUCTIONS:
                found.append(constructed(cls, args, kwargs))

    def _record(self, function: Function, frame: FrameType) -> None:
        number = self.entered.get(function, 0)
        self.entered[function] = number + 1
        self._iterations[function] = 0
        mine = [call for call in self.calls if call.function == function]
        if self.numbers is not None:
            if number not in self.numbers[function]:
                return
        elif len(mine) >= MOST and not self._waits(function):
            return
        try:
            call = recorded(function, number, frame, self.constructions)
        except Exception as error:  # the user's pytrees may raise anything
            self.unreadable.setdefault(function, f"{type(error).__name__}: {error}")
            return
        if self.numbers is not None or all(call.form != other.form for other in mine):
            self.calls = [other for other in self.calls if other not in mine[MOST - 1 :]] + [call]

    def _waits(self, function: Function) -> bool:
        """True if no call of a function has run enough iterations of its loops yet."""
        return function in self.lines and self._most.get(function, 0) < LEAST

    def _iterate(self, code: CodeType, line: int) -> bool:
        """Count an iteration at the first line of a body that follows a head. True if nothing is left to record."""
        function = function_of(code)
        heads, bodies = self.lines.get(function, ((), ()))
        if line in heads:
            self._at_head.add(function)
        elif line in bodies and function in self._at_head:
            self._at_head.remove(function)
            return self._counted(function)
        return False

    def _counted(self, function: Function) -> bool:
        """Count an iteration, and drop the calls with fewer. True if nothing is left to record."""
        if os.getpid() != self._process or not self._waits(function):
            return False
        self._iterations[function] += 1
        count, last = self._iterations[function], self.entered[function] - 1
        if count > self._most.get(function, 0):
            self._most[function] = count
            if any((call.function, call.number) == (function, last) for call in self.calls):
                self.calls = [call for call in self.calls if call.function != function or call.number == last]
        self._ended = self._complete()
        return self._ended

    def _complete(self) -> bool:
        if self.numbers is None:
            return all(each in self.entered and not self._waits(each) for each in self.functions)
        return all(self.entered.get(each, 0) > max(numbers) for each, numbers in self.numbers.items())
