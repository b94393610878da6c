"""Search for a case: try sizes and candidates for the call until one traces and runs the loop."""

from __future__ import annotations

import inspect
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import equinox as eqx
import jax

from scanify.propose.draft import Draft, Written
from scanify.propose.request import Answer, Ask, Proposed
from scanify.propose.trial import Trial, Unsuitable, Wanted
from scanify.propose.uses.texts import presets
from scanify.propose.uses.use import uses
from scanify.propose.values.arguments import Arguments, candidates, is_state
from scanify.propose.values.choose import Chooser, Style, is_layer
from scanify.propose.values.expression import Text
from scanify.propose.values.names import GiveUp, follow, function_name
from scanify.propose.values.roles import ROLES
from scanify.propose.values.signature import Parameter, method_parameters
from scanify.verify.cases.case import CaseSpec
from scanify.verify.proof.words import raised

STYLES = (
    Style(),
    Style(equal=True),
    Style(shrink="depth"),
    Style(shrink="depth", equal=True),
    Style(shrink="none"),
    Style(raw_keys=True),
)
_LONG = 160
_LABEL = 80
_WIDTHS = 4
_LEARNED = 4
_UNBOUND = re.compile(r"unbound axis name:? ?(\w+)")

Files = Callable[[str], str | None]


@dataclass
class Search:
    """One search for one class, in the process that loaded its module."""

    ask: Ask
    module: ModuleType
    files: Files
    reasons: list[str] = field(default_factory=list)
    tried: set[str] = field(default_factory=set)
    written: set[tuple[type, str]] = field(default_factory=set)
    learned: list[int] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    until: float = 0.0

    def _late(self) -> bool:
        return time.monotonic() > self.until

    def answer(self) -> Answer:
        """Return the first case that works, trying the requested class first."""
        trial = Trial(self.module, Wanted(os.path.realpath(self.ask.target), self.ask.spans))
        entries = list(self._entries())
        for i, (cls, entry) in enumerate(entries):
            left = self.started + self.ask.seconds - time.monotonic()
            self.until = time.monotonic() + (left if i + 1 == len(entries) else left / 2)
            found = self._of_class(cls, entry, trial)
            if found is not None:
                return Answer(found)
        # If there are several classes, report the one that came furthest.
        built = [each for each in self.reasons if " was built, but " in each]
        return Answer(None, tuple([*built, *self.reasons][:1]))

    def _entries(self) -> Iterator[tuple[type, str]]:
        own = _find(self.module, self.ask.cls) if self.ask.cls is not None else None
        if own is not None and is_layer(own):
            yield from ((own, entry) for entry in _methods(own, self.ask.methods))
        elif self.ask.cls is not None:
            here = "is not a class of the module" if own is None else "is not an equinox.Module"
            self.reasons.append(f"{self.ask.cls} {here}, and what has no leaves cannot be compared")
        else:
            self.reasons.append("the loop is in no class: a case would call the function, and which model is not said")
        if not self.ask.others:
            return
        for each in list(vars(self.module).values()):
            if not is_layer(each) or each is own or each.__module__ != self.module.__name__:
                continue
            if own is None or issubclass(each, own):
                yield from ((each, entry) for entry in _methods(each, self.ask.methods))
            elif _mentions(each, own.__name__):
                yield from ((each, entry) for entry in _methods(each, ()))

    def _of_class(self, cls: type, entry: str, trial: Trial) -> Proposed | None:
        try:
            parameters = method_parameters(cls, entry)
        except (TypeError, ValueError) as error:
            self.reasons.append(f"the signature of {cls.__name__}.{entry} cannot be read: {error}")
            return None
        failed: dict[str, str] = {}
        for base, chooser, style in self._bases(cls, entry, parameters, failed):
            if failed and self._late():
                break
            first = style is STYLES[0] and not (base.prelude or base.pair)
            if not first and (done := self._as_written(cls, entry, trial, failed)) is not None:
                return done
            try:
                made = trial.model(base)
                if not base.state and any(map(is_state, parameters)) and has_state(made):
                    base = replace(base, state=True)
                    made = trial.model(base)
            except BaseException as error:
                failed.setdefault("", f"could not build {cls.__name__}: {self._said(error)}; write a case")
                continue
            chooser.first, chooser.state, self.learned = first_shapes(made), base.state, []
            for drafted in self._drafts(base, chooser, made):
                found = self._with_arguments(drafted, made, candidates(parameters, chooser), trial, failed)
                if found is not None:
                    return self._finished(found, cls, style, trial)
                # The project's own code is likelier than the following candidates.
                if (done := self._as_written(cls, entry, trial, failed)) is not None:
                    return done
        if (done := self._as_written(cls, entry, trial, failed)) is None:
            self.reasons += self._summed_up(cls, entry, failed)
        return done

    def _as_written(self, cls: type, entry: str, trial: Trial, failed: dict[str, str]) -> Proposed | None:
        """Return the first case that works among those whose whole body is in the project; each entry is tried once."""
        for use in uses(self.module, cls, entry) if (cls, entry) not in self.written else ():
            written = Written(function_name(cls.__name__), use.body, f"Built and called as in {use.where}.")
            if use.body and self._works(written, trial, failed):
                return Proposed(cls.__qualname__, written.function, written.text())
        self.written.add((cls, entry))
        return None

    def _drafts(self, base: Draft, chooser: Chooser, made: Any) -> Iterator[Draft]:
        """Yield the draft with the widths of its arrays, and then with numbers mentioned in errors."""
        yield from (replace(base, width=width) for width in (None, *widths(made)))
        learned = [*dict.fromkeys(self.learned)][:_LEARNED]
        yield from (replace(base, length=number) for number in learned)
        chooser.first = vectors(learned)
        yield base

    def _bases(
        self, cls: type, entry: str, parameters: tuple[Parameter, ...], failed: dict[str, str]
    ) -> Iterator[tuple[Draft, Chooser, Style]]:
        """Yield ways to build the model: with small sizes, as the project builds it, and with other styles of sizes."""
        state = any(is_state(each) and each.required for each in parameters)
        name = function_name(cls.__name__)
        for style in STYLES:
            chooser = Chooser(self.module, style)
            try:
                model = chooser.construct(cls)
            except GiveUp as error:
                failed.setdefault("", f"could not build {cls.__name__}: {error}; write a case")
            else:
                sizes, imports = chooser.sizes, frozenset(chooser.references.imports)
                declared = frozenset(sizes.variables)
                yield Draft(name, model, entry, sizes, (), state, imports, declared), chooser, style
            if style is not STYLES[0]:
                continue
            pairs = dict(presets(self.module, cls.__name__))
            for use in uses(self.module, cls, entry):
                chooser, note = Chooser(self.module, style), f"Built as in {use.where}."
                pair = pairs.get(use.model.callee.removeprefix("module."), False)
                stateful = state or use.state or pair
                base = Draft(name, use.model, entry, chooser.sizes, state=stateful, pair=pair, prelude=use.prelude)
                yield replace(base, notes=(note,)), chooser, style
            for preset, pair in pairs.items():
                chooser = Chooser(self.module, style)
                with suppress(GiveUp):
                    base = Draft(name, chooser.call(preset), entry, chooser.sizes, state=state or pair, pair=pair)
                    imports = frozenset(chooser.references.imports)
                    yield replace(base, imports=imports, notes=(f"Built by {preset}.",)), chooser, style

    def _works(self, written: Draft | Written, trial: Trial, failed: dict[str, str]) -> bool:
        """True if the case can be built and traced, and runs the loop."""
        try:
            with suppress(jax.errors.JAXTypeError):  # The constructor depends on values.
                trial.whole(written, _spec(self.ask, written), abstract=True)  # Failing cases compute no arrays.
            trial.whole(written, _spec(self.ask, written), abstract=False)
        except BaseException as error:
            failed.setdefault(written.text(), self._said(error))
            return False
        return True

    def _with_arguments(
        self, base: Draft, made: Any, tried: Iterator[Arguments], trial: Trial, failed: dict[str, str]
    ) -> Draft | None:
        try:
            for arguments in tried:
                draft = replace(base, arguments=arguments)
                if (draft.width or draft.length) and not draft.widened:
                    continue
                text = draft.text()
                if text in self.tried:  # another style that changes nothing here
                    continue
                if failed and self._late():
                    return None
                self.tried.add(text)
                try:
                    trial.call(draft, made)
                    missed = trial.whole(draft, _spec(self.ask, draft), abstract=False)
                except BaseException as error:
                    said = self._said(error)
                    self.learned += [int(each) for each in re.findall(r"\b\d{1,4}\b", str(error))]
                    mapped = replace(draft, axis=axis[1]) if (axis := _UNBOUND.search(said)) else draft
                    if mapped is draft or not self._works(mapped, trial, failed):
                        failed.setdefault(_label(arguments), said)
                        continue
                    draft, missed = mapped, ()
                notes = [
                    _first_note(draft),
                    *base.notes,
                    *(f"It does not run the loop around line {line}." for line in missed),
                ]
                return replace(draft, notes=tuple(notes))
        except GiveUp as error:
            failed.setdefault("", f"{base.model.callee} was built, but {error}; write a case")
        return None

    def _finished(self, draft: Draft, cls: type, style: Style, trial: Trial) -> Proposed:
        notes = list(draft.notes)
        if style.equal:
            notes.append("All widths are equal: with different ones it could not be built or called.")
        if style.shrink != "all":
            notes.append("Sizes with a default keep it: with small ones it could not be built or called.")
        draft = replace(draft, notes=tuple(notes))
        sweep = []
        for entry in _sweeps(draft):
            try:
                trial.whole(draft, _spec(self.ask, draft), abstract=style.shrink != "none", **entry)
            except BaseException:
                continue
            sweep.append(entry)
        draft = replace(draft, sweep=tuple(sweep))
        if {"key": None} not in sweep:  # The key is required, whatever its annotation.
            needed = [replace(each, key="needed" if each.key else None) for each in draft.arguments]
            draft = replace(draft, arguments=tuple(needed))
        return Proposed(cls.__qualname__, draft.function, draft.text(), tuple(sorted(draft.imports)))

    def _said(self, error: BaseException) -> str:
        if isinstance(error, Unsuitable):
            return str(error)
        if isinstance(error, SystemExit):
            return "it calls sys.exit"
        text = raised(error, self.files) if isinstance(error, Exception) else type(error).__name__
        first = text.strip().splitlines()[0]
        return first if len(first) <= _LONG else f"{first[: _LONG - 3]}..."

    def _summed_up(self, cls: type, entry: str, failed: dict[str, str]) -> list[str]:
        calls = {label: said for label, said in failed.items() if label}
        if not calls:
            return [failed.get("", f"could not build {cls.__name__}; write a case")]
        loop = " and runs the loop" if self.ask.spans else ""
        called = cls.__name__ if entry == "__call__" else f"{cls.__name__}.{entry}"
        # The first is the likeliest, so its error is reported.
        label, said = next(iter(calls.items()))
        label = f" with {label}" if len(label) <= _LABEL and "\n" not in label else ""
        more = f" ({len(calls) - 1} more candidates failed)" if len(calls) > 1 else ""
        no_call = f"{cls.__name__} was built, but no call of {called} was found that traces{loop}; write a case"
        return [f"{no_call}. The likeliest{label}: {said}{more}"]


def _spec(ask: Ask, draft: Draft | Written) -> CaseSpec:
    return CaseSpec(ask.target, draft.function, f"the proposed case {draft.function}")


def widths(made: Any) -> list[int]:
    """Return the likeliest input widths of a model, from its first arrays: `in` of shapes `(out, in, *kernel)`."""
    shapes = [each.shape for each in jax.tree.leaves(made) if hasattr(each, "shape")]
    found = [shape[1] if len(shape) > 1 else shape[0] for shape in sorted(shapes, key=lambda s: len(s) < 2) if shape]
    return list(dict.fromkeys(found))[:_WIDTHS]


def first_shapes(made: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the kinds and shapes of inputs for the first convolution or embedding of the model."""
    kinds = (eqx.nn.Conv, eqx.nn.Embedding)
    layers = jax.tree.leaves(made, is_leaf=lambda each: isinstance(each, kinds))
    first = next((each for each in layers if isinstance(each, kinds)), None)
    if isinstance(first, eqx.nn.Conv):
        sizes = ("size", "2 * size", "4 * size")
        return tuple(("float", (str(first.in_channels), *((size,) * first.num_spatial_dims))) for size in sizes)
    return () if first is None else (("int", ("length",)),)


def has_state(made: Any) -> bool:
    """True if the model has an index into an `eqx.nn.State`."""

    def is_index(each: Any) -> bool:
        return isinstance(each, eqx.nn.StateIndex)

    return any(map(is_index, jax.tree.leaves(made, is_leaf=is_index)))


def vectors(widths: Iterable[int]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return for each width a vector, a sequence of vectors, and `width` vectors of the model's width."""
    forms = [form for width in map(str, widths) for form in ((width,), ("length", width), (width, "dim"))]
    return tuple(("float", form) for form in forms)


def _methods(cls: type, methods: tuple[str, ...]) -> list[str]:
    """Return the methods to call: `__call__`, then those that contain the loops."""
    there = [name for name in ("__call__", *methods) if any(name in vars(base) for base in cls.__mro__)]
    return [name for name in dict.fromkeys(there) if name not in ("__init__", "__post_init__", "__check_init__")]


def _mentions(cls: type, name: str) -> bool:
    """True if a class names another one in its fields or methods; otherwise it cannot run the other's loop."""
    codes = [inspect.unwrap(value) for value in vars(cls).values() if callable(value)]
    names = {each for code in codes for each in getattr(getattr(code, "__code__", None), "co_names", ())}
    return name in names or any(re.search(rf"\b{name}\b", str(each)) for each in inspect.get_annotations(cls).values())


def _find(module: ModuleType, qualname: str) -> type | None:
    found = follow(module, qualname)
    return found if isinstance(found, type) else None


def _label(arguments: Arguments) -> str:
    parts = []
    for each in arguments:
        if each.key is not None or each.state:
            continue
        value = each.value
        what = (value.label or value.text) if isinstance(value, Text) else value.callee
        parts.append(f"{each.name} {what}")
    return ", ".join(parts) or "no arguments"


def _first_note(draft: Draft) -> str:
    called = draft.model.callee if draft.entry == "__call__" else f"{draft.model.callee}.{draft.entry}"
    key = " and a key" if draft.key is not None else ""
    label = _label(draft.arguments)
    return f"{called} on {label if len(label) <= _LABEL else f'{len(draft.arguments)} arguments'}{key}."


def _sweeps(draft: Draft) -> list[dict[str, Any]]:
    """Return variations: as many tokens as layers, so that shapes coincide; a single example; and no key."""
    there = draft.variables
    found: list[dict[str, Any]] = []
    if "length" in there:
        layers = there["depth"].value if "depth" in there else ROLES["depth"].value
        found.append({"length": layers if layers != there["length"].value else layers + 1})
    if "batch" in there:
        found.append({"batch": 1})
    if "key" in there:
        found.append({"key": None})
    return found
