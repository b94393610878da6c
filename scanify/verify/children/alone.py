"""Run each version in a process of its own, to check that it is the same without the other one.

A version's effects on jax, a registry or a setting reach everything that runs after it in one process. So each is
loaded, built and traced once more in a process that has imported jax and nothing of the user's, forked before the
user's code runs; it answers digests. If one differs from the compared program, there is no verdict.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import jax

from scanify.errors import ScanifyError
from scanify.jaxpr.reading.neutral import digest
from scanify.verify.cases.build import Built, build
from scanify.verify.children.codec import from_json, to_json
from scanify.verify.children.in_child import end_with_parent
from scanify.verify.leaves.correspond import Correspondence, Recipe
from scanify.verify.linen.streams import Streams
from scanify.verify.programs.programs import Job, traced_digest
from scanify.verify.programs.trace import version
from scanify.verify.programs.witness import RAISED
from scanify.verify.values.arrays import plain, struct

NAMES = ("original", "rewritten")
# Returns the function that builds variants of a version's case, by number, for `compare_case`.
Load = Callable[[str], Callable[[int], Any]]


class Alone:
    """The `Witness` of a comparison: sends requests to both processes.

    Creating one forks, so it must be created before the user's code runs.
    """

    def __init__(self, load: Load, *, abstract: bool, lifeline: int) -> None:
        self._ends: dict[str, socket.socket] = {}
        self._files: dict[str, Any] = {}
        self._asked: dict[str, list[tuple[str, str]]] = {name: [] for name in NAMES}
        self._variant = 0
        for name in NAMES:
            self._ends[name] = self._start(name, load, abstract, lifeline)
            self._files[name] = self._ends[name].makefile("r", encoding="utf-8")

    def _start(self, name: str, load: Load, abstract: bool, lifeline: int) -> socket.socket:
        here, there = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # by jax about threads: no backend has been started
            sys.stdout.flush()
            sys.stderr.flush()
            child = os.fork()
        if child:
            there.close()
            return here
        try:
            here.close()
            for other in self._ends.values():
                other.close()
            threading.Thread(target=end_with_parent, args=(lifeline,), daemon=True).start()
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            _serve(there, load, name, abstract)
        finally:
            os._exit(0)

    def variant(self, number: int) -> None:
        """Set the number of the variant of the case that is compared next."""
        self._variant = number
        self._asked = {name: [] for name in NAMES}

    def built(self, before: Built, after: Built) -> None:
        """Let both versions build the variant, one after the other, since they may write to the same file."""
        for name, each in zip(NAMES, (before, after), strict=True):
            streams = None if each.streams is None else to_json(each.streams)
            request = {"build": self._variant, "streams": streams}
            self._ask(name, "what the constructor gives", built_digest(each), request)
            self._answer(name)

    def matched(self, found: Correspondence, avals: Sequence[Any]) -> None:
        # The leaves of the original are mostly its own.
        shared = [_spelled(aval) for aval in avals]
        for name, recipes in zip(NAMES, (found.before, found.recipes), strict=True):
            if recipes is not None:
                made = [list(map(list, (recipe.sources, recipe.lead, recipe.axes))) for recipe in recipes]
                self._send(name, {"recipes": made, "avals": shared})

    def saw(self, version: str, job: Job, digest: str) -> None:
        """Request the digest of a program of a version; the answers are read at the end."""
        request = {"job": to_json(job)}
        self._ask(version, _WHAT[job.kind], digest, request)

    def difference(self) -> str | None:
        for name in NAMES:
            for at in range(len(self._asked[name])):
                odd = self._compared(name, at)
                if odd is not None:
                    return odd
        return None

    def _ask(self, name: str, what: str, expected: str, request: dict[str, Any]) -> None:
        self._asked[name].append((what, expected))
        self._send(name, request)

    def _send(self, name: str, request: dict[str, Any]) -> None:
        with suppress(OSError):  # a process that is gone does not answer, either
            self._ends[name].sendall(json.dumps(request).encode() + b"\n")

    def _answer(self, name: str) -> None:
        what, expected = self._asked[name][-1]
        line = self._files[name].readline()
        self._asked[name][-1] = (what, _said(line, expected))

    def _compared(self, name: str, at: int) -> str | None:
        what, expected = self._asked[name][at]
        if at:  # the first one, for the build, has been answered
            expected = _said(self._files[name].readline(), expected)
        if not expected.startswith(_ODD):
            return None
        said = expected.removeprefix(_ODD)
        which = "original" if name == "original" else "rewritten version"
        if said:
            return f"the {which} alone in a process, without the other version, {said}"
        return (
            f"{what} is another where the {which} is alone in a process, without the other version: one of the two "
            "changes something outside of itself that both use (a library that is patched, a registry, a setting, a "
            "context that is entered), or does something else each time; so they cannot be compared"
        )


_ODD = "odd: "
_WHAT = {
    "call": "what the call is traced to",
    "gradient": "what the gradients are traced to",
    "second": "what second derivatives are traced to",
    "step": "what one step of training is traced to",
    "jvp": "what forward derivatives are traced to",
    "vmap": "what the call under vmap is traced to",
}


def _said(line: str, expected: str) -> str:
    """Return `expected` if that was the answer; otherwise `_ODD`, and the error in place of an answer."""
    try:
        answer = json.loads(line)
    except ValueError:
        return f"{_ODD}ended without an answer"
    if "raised" in answer and expected != RAISED:
        return f"{_ODD}raised {answer['raised']}"
    return expected if answer.get("digest", RAISED) == expected else _ODD


def built_digest(built: Built) -> str:
    """Return the digest of the arrays of a case, or of the program that computes them."""
    if built.constructor is not None:
        return digest(built.constructor)
    return digest(tuple(plain(leaf) for leaf in built.arrays), tuple(str(struct(leaf)) for leaf in built.arrays))


def _spelled(aval: Any) -> list[Any]:
    """Return an aval as JSON: shape, the name of the dtype or of a key's implementation, and whether it is weak."""
    key = bool(jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key))
    name = str(aval.dtype._impl.name) if key else str(aval.dtype)
    return [list(aval.shape), name, key, bool(getattr(aval, "weak_type", False))]


def _aval(spelled: list[Any]) -> jax.ShapeDtypeStruct:
    shape, name, key, weak = spelled
    dtype = jax.eval_shape(lambda: jax.random.key(0, impl=name)).dtype if key else jax.numpy.dtype(name)
    return jax.ShapeDtypeStruct(tuple(shape), dtype, weak_type=weak)


def _serve(there: socket.socket, load: Load, name: str, abstract: bool) -> None:
    """Answer requests until the other end closes."""
    answerer = _Answerer(load, name, abstract)
    with there.makefile("r", encoding="utf-8") as asked:
        for line in asked:
            for answer in answerer.answers(json.loads(line)):
                there.sendall(json.dumps(answer).encode() + b"\n")


class _Answerer:
    def __init__(self, load: Load, name: str, abstract: bool) -> None:
        self.load, self.name, self.abstract = load, name, abstract
        self.cases: Callable[[int], Any] | None = None
        self.built: Any = None
        self.program: Any = None
        self.avals: list[jax.ShapeDtypeStruct] = []

    def answers(self, request: dict[str, Any]) -> Iterator[dict[str, str]]:
        try:
            if "recipes" in request:
                recipes = [Recipe(*map(tuple, parts)) for parts in request["recipes"]]
                self.avals = [_aval(spelled) for spelled in request["avals"]]
                self.program = version(self.built, recipes)
                return
            yield {"digest": self._built(request) if "build" in request else self._traced(request["job"])}
        except BaseException as error:
            text = str(error).strip().splitlines()
            yield {"raised": f"{type(error).__name__}: {text[0] if text else ''}"}

    def _built(self, request: dict[str, Any]) -> str:
        self.cases = self.cases or self.load(self.name)
        streams = None if request["streams"] is None else from_json(Streams, request["streams"])
        self.built = build(self.cases(request["build"]), abstract=self.abstract, streams=streams)
        if self.name == "original":
            self.program, self.avals = version(self.built), [struct(leaf) for leaf in self.built.arrays]
        return built_digest(self.built)

    def _traced(self, job: Any) -> str:
        if self.program is None:
            raise ScanifyError("expected the recipes of the leaves first")
        return traced_digest(self.program, self.avals, from_json(Job, job))
