"""The probe of a seed: a model, a mutation, what it does, and the names that it has."""

import ast
import random
from dataclasses import dataclass

from tests.probes.carriers import EXPRESSIONS, STATEMENTS, Carrier
from tests.probes.draft import Draft, Place, fields, filled, method, named
from tests.probes.effects import COUNTS, EFFECTS, Effect, text_of
from tests.probes.models import Model, models
from tests.probes.probe import Probe
from tests.probes.structures import STRUCTURES

TRIES = 60
FAMILIES = {"expression": 40, "statement": 14, "class": 16, "patch": 12, "default": 8, "alias": 10}
PARTS = {"layer": 12, "loop": 6, "constructor": 3, "outside": 1}
_CALLS, _OTHERS = (ast.Call,), (ast.Attribute, ast.Name, ast.Constant)
_TOUCH = ("touch", "scaled", "apply", "update", "identity", "norm", "checked", "noted", "relu", "cast")
_STATE = ("STATE", "_seen", "CACHE", "registry", "counts", "_config", "stats", "TABLE")
_FEED = ("FEED", "_feed", "settings", "META", "ops", "tracker")
_KIND = ("Feed", "Meter", "Settings", "Ops", "Module", "Config")
_METHOD = ("get", "take", "apply", "mean", "rate", "scale", "astype", "item", "init", "sum", "note", "update")
_OBJECTS = ("global", "static field", "set field", "field", "default", "attribute", "returned", "closure", "element")
_MADE = {
    "attribute": ("\n\nclass HOLDER:\n    feed = NEW\n", "HOLDER.feed"),
    "returned": ("\n\ndef FACTORY():\n    return NEW\n\n\nFEED = FACTORY()\n", "FEED"),
    "closure": ("\n\ndef FACTORY():\n    feed = NEW\n    return lambda: feed\n\n\nFEED = FACTORY()\n", "FEED()"),
    "element": ("\n\nFEED = {0: NEW}\n", "FEED[0]"),
}


@dataclass
class _Making:
    """A probe on its way: the draft of its file, the definitions and imports that it needs."""

    pick: random.Random
    model: Model
    draft: Draft
    effect: Effect
    words: dict[str, str]
    definitions: str = ""
    imports: str = ""
    how: str = ""
    poke: str = ""


def random_probe(seed: int, family: str | None = None) -> Probe:
    """Return the probe of a seed, of one family if that is given."""
    pick = random.Random(f"{seed} {family or ''}")
    for _ in range(TRIES):
        model = pick.choice(models())
        chosen = family or pick.choices(list(FAMILIES), list(FAMILIES.values()))[0]
        making = _Making(pick, model, Draft(model.files[model.target]), _effect(pick), _words(pick))
        if making.draft.model is None or not _mutated(making, chosen):
            continue
        probe = _probe(seed, making, chosen)
        try:
            compile(probe.files[probe.target], probe.target, "exec")
        except SyntaxError:
            continue
        return probe
    raise ValueError(f"no model has a place for a mutation of the family {family!r}")


def _effect(pick: random.Random) -> Effect:
    return pick.choice(COUNTS) if pick.random() < 0.5 else pick.choice(EFFECTS)


def _words(pick: random.Random) -> dict[str, str]:
    names = {"TOUCH": _TOUCH, "STATE": _STATE, "FEED": _FEED, "KIND": _KIND, "METHOD": _METHOD}
    words = {key: pick.choice(each) for key, each in names.items()}
    plain = {
        "COUNTED": "counted",
        "INSTALL": "install",
        "HOOKED": "Hooked",
        "META": "Meta",
        "MAKE": "make",
        "SPECIAL": "Special",
    }
    plain |= {"CHOOSE": "choose", "ALIAS": "first", "KEPT": "kept", "POKE": "poke", "FACTORY": "make_feed"}
    return words | plain | {f"OTHER{n}": f"Kind{n}" for n in range(7)}


def _mutated(making: _Making, family: str) -> bool:
    if family == "expression":
        return _expression(making, making.pick.choice(EXPRESSIONS))
    if family == "statement":
        return _statement(making, making.pick.choice(STATEMENTS))
    structure = making.pick.choice(STRUCTURES[family])
    more = structure.apply(making.draft, making.pick)
    if more is None:
        return False
    making.how, making.imports, making.poke = structure.name, structure.imports, structure.poke
    making.definitions = f"\n\n{more}" if more else ""
    return True


def _place(making: _Making, places: list[Place]) -> Place | None:
    parts = [each for each in PARTS if any(place.part == each for place in places)]
    if not parts:
        return None
    part = making.pick.choices(parts, [PARTS[each] for each in parts])[0]
    return making.pick.choice([each for each in places if each.part == part])


def _expression(making: _Making, carrier: Carrier) -> bool:
    kinds = _CALLS if making.pick.random() < 0.75 else _OTHERS
    place = _place(making, making.draft.expressions(kinds))
    if place is None:
        return False
    source = making.draft.source(place.node)
    text = filled(carrier.text, source)
    text, where = _with_object(making, carrier, text, place)
    making.draft.replace(place.node, text)
    making.how = f"{carrier.name}{where}, in the {place.part}"
    making.imports += f"\n{carrier.imports}"
    return True


def _statement(making: _Making, carrier: Carrier) -> bool:
    place = _place(making, making.draft.statements())
    if place is None:
        return False
    assert isinstance(place.node, ast.stmt)
    text, where = _with_object(making, carrier, carrier.text, place)
    making.draft.before(place.node, text)
    making.how = f"{carrier.name}{where}, in the {place.part}"
    making.imports += f"\n{carrier.imports}"
    return True


# -- the object of a carrier ---------------------------------------------------------------------------------------------


def _with_object(making: _Making, carrier: Carrier, text: str, place: Place) -> tuple[str, str]:
    """Return the text with the object that it names, which is defined where the probe says, and where that is."""
    if not carrier.kind:
        return text, ""
    meta = "__instancecheck__" in carrier.kind
    making.definitions += f"\n\nclass KIND{'(type)' if meta else ''}:\n{carrier.kind}\n"
    made = 'KIND("Checked", (), {})' if meta else "KIND()"
    where = "global" if carrier.own or meta else making.pick.choice(_OBJECTS)
    placed = _placed(making, where, made, place) if where != "global" else None
    if placed is None:
        making.definitions += f"\n\nFEED = {made}\n"
        where, placed = "global", "FEED"
    return text.replace("OBJ", placed), f", object: {where}"


def _placed(making: _Making, where: str, made: str, place: Place) -> str | None:
    """Return how the place reads the object, and define it; None if it cannot be there."""
    if where in _MADE:
        definitions, text = _MADE[where]
        making.definitions += definitions.replace("NEW", made)
        return text
    draft, cls = making.draft, place.cls
    init = method(cls, "__init__") if cls is not None else None
    if cls is None or init is None or place.part == "constructor" or not fields(cls):
        return None
    making.definitions += f"\n\nFEED = {made}\n"
    making.imports += "\nimport typing"
    kinds = ["object", "typing.Any", "KIND", '"KIND"']  # an annotation that lies is no probe
    kind = making.pick.choice([*kinds, "typing.Callable"] if "__call__" in making.definitions else kinds)
    last = draft.line_end(fields(cls)[-1])
    if where == "field":
        draft.insert(last, f"    feed: {kind} = FEED\n")
    elif where == "default":
        draft.insert(last, f"    feed: {kind} = eqx.field(static=True, default=FEED)\n")
    else:
        static = " = eqx.field(static=True)" if where == "static field" else ""
        draft.insert(last, f"    feed: {kind}{static}\n")
        draft.before(init.body[-1], "self.feed = FEED")
    return "self.feed"


# -- the text ------------------------------------------------------------------------------------------------------------


def _probe(seed: int, making: _Making, family: str) -> Probe:
    """Put the definitions in the file of the model, or in one of its own that it imports."""
    effect, words, model = making.effect, making.words, making.model
    lines = sorted({*effect.imports.splitlines(), *making.imports.splitlines()} - {""})
    known = {line for line in model.files[model.target].splitlines() if line.startswith(("import ", "from "))}
    files, watched = dict(model.files), model.target
    texts = making.definitions + making.draft.result()
    own = "\n".join(line for line in lines if line not in known)
    definitions = text_of(effect)
    if effect.name == "cache, lru":
        definitions = definitions.replace("_factor", "_factor_of")
    if making.pick.random() < 0.25 and "STATE" not in texts and "global STATE" not in definitions:
        files["support.py"], watched = named(_file(effect, definitions), words), "support.py"
        own += "\nfrom support import TOUCH"
        definitions = ""
    head = f"{own}\n\n\n{definitions}{making.definitions}\n\n".lstrip("\n")
    making.draft.insert(making.draft.head, head if head.strip() else "")
    files[model.target] = named(making.draft.result(), words)
    watch = named(effect.watch, words)
    return Probe(
        seed, model.name, files, model.target, model.case_text, model.case, family, making.how, effect.name,
        watch, watched, named(making.poke, words),
    )  # fmt: skip


def _file(effect: Effect, definitions: str) -> str:
    return f"{effect.imports}\n\n\n{definitions}".lstrip("\n")
