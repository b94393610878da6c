"""A project of a seed: a base, up to two traps, and perhaps what only looks like one."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.random_projects import draft
from tests.random_projects.builds import BUILDS, EXPRESSIONS
from tests.random_projects.draft import Base, files
from tests.random_projects.forms import FOR, FORMS, Form
from tests.random_projects.layers import LAYERS, LINEAR, Layer
from tests.random_projects.project import Project
from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps import ALONE, HARMLESS, TRAPS

TRIES = 200
_INDEPENDENT = ("helpers", "common", "use", "extra")  # slots that two traps may share


def random_project(seed: int, only: str | None = None) -> Project:
    """The project of a seed: half of them have a trap, or two. With `only`, all have one of that class."""
    pick = random.Random(f"{seed} {only or ''}")
    for _ in range(TRIES):
        chosen = _chosen(pick, only)
        variants = [variant for _, variant in chosen]
        bases = (_base(pick, variants) for _ in range(TRIES if _together(variants) else 0))
        base = next((base for base in bases if base is not None), None)
        if base is not None:
            return _project(seed, _varied(pick, base, chosen), chosen)
    raise ValueError(f"no base for {[trap.name for trap, _ in chosen]}")


def plain_project(trap: Trap, variant: Variant) -> Project | None:
    """The simplest project with one trap, None where it needs a form that no naive rewrite is written for."""
    if variant.form is not None and not variant.form.naive:
        return None
    pick = random.Random(0)
    layers = [each for each in (LINEAR, *LAYERS) if _fits(each, FOR, variant)]
    if variant.layer is None and not layers:
        return None
    build = variant.build.replace("EXPR", "[NEW EACH]") if variant.build else "self.BLOCKS = [NEW EACH]"
    base = Base(
        variant.layer or layers[0],
        variant.form or FOR,
        build,
        draft.LAYOUTS[0],
        length=variant.length or 4,
        annotation=variant.annotation or "list[LAYER]",
        body=variant.body,
    )
    return _project(pick.randrange(1), base, [(trap, variant)])


def _chosen(pick: random.Random, only: str | None) -> list[tuple[Trap, Variant]]:
    if only is not None:
        traps = [each for each in (*TRAPS, *HARMLESS) if each.name == only]
        if not traps:
            raise ValueError(f"no class of traps is named {only!r}")
        count = 1
    else:
        traps, count = pick.sample(TRAPS, 2), pick.choices([0, 1, 2], [9, 9, 2])[0]
    chosen = [(trap, pick.choice(trap.variants)) for trap in traps[:count]]
    if only is None and pick.random() < 0.4:
        trap = pick.choice(HARMLESS)
        chosen.append((trap, pick.choice(trap.variants)))
    return chosen


def _base(pick: random.Random, variants: Sequence[Variant]) -> Base | None:
    """A base that all of some variants fit, None where the draw does not."""
    form = next((variant.form for variant in variants if variant.form is not None), None) or pick.choice(FORMS)
    layer = next((variant.layer for variant in variants if variant.layer is not None), None) or pick.choice(LAYERS)
    if not all(_fits(layer, form, variant) for variant in variants):
        return None
    own = next((variant.build for variant in variants if variant.build), "")
    build = own or form.build or pick.choice(BUILDS)
    if own and form.build:
        return None
    build = build.replace("EXPR", pick.choice(EXPRESSIONS))
    kind = form.annotation or ("tuple[LAYER, ...]" if "tuple(" in build else "list[LAYER]")
    annotation = next((variant.annotation for variant in variants if variant.annotation), "")
    annotation = annotation or pick.choice([kind, kind, "list" if kind.startswith("list") else kind])
    length = next((variant.length for variant in variants if variant.length), None) or pick.choice([3, 4, 4, 5])
    body = next((variant.body for variant in variants if variant.body), "")
    if not body and "simple" in form.tags:
        body = pick.choice(["CALL", "CALL", "CALL", "x + 0.5 * CALL", "jnp.tanh(CALL)"])
    return Base(layer, form, build, draft.random_layout(pick), pick.choice(draft.NAMES), length, annotation, body)


def _varied(pick: random.Random, base: Base, chosen: Sequence[tuple[Trap, Variant]]) -> Base:
    """A base with another model beside it, where no trap looks at all models, and with names spelled otherwise."""
    beside = all(trap in ALONE for trap, _ in chosen) and pick.random() < 0.3
    return replace(
        base, bystander=beside, spelling=tuple(pick.sample(draft.SPELLINGS, 2)) if pick.random() < 0.3 else ()
    )


def _fits(layer: Layer, form: Form, variant: Variant) -> bool:
    if variant.body and "simple" not in form.tags:
        return False
    tags = layer.tags | form.tags
    return variant.needs <= tags and not variant.without & tags


def _together(variants: Sequence[Variant]) -> bool:
    """Whether no two of them want the same thing in another way."""
    for own in ("layer", "form", "build", "body", "length", "annotation"):
        if sum(bool(getattr(variant, own)) for variant in variants) > 1:
            return False
    if any(variant.alone for variant in variants) and len(variants) > 1:
        return False
    if any(variant.eager for variant in variants) and any("called" in variant.slots for variant in variants):
        return False  # each way to call the model traces it
    if any(variant.eager_init for variant in variants) and any(
        "vmap" in each.slots.get("made", "") for each in variants
    ):
        return False
    slots = [slot for variant in variants for slot in variant.slots if slot not in _INDEPENDENT]
    texts = [text for variant in variants for slot, text in variant.slots.items() if slot in _INDEPENDENT]
    defined = [name for text in texts for name in draft.defined(text)]
    return len(slots) == len(set(slots)) and len(defined) == len(set(defined))


def _project(seed: int, base: Base, chosen: Sequence[tuple[Trap, Variant]]) -> Project:
    texts, loops = files(base, _slots([variant for _, variant in chosen]))
    held = tuple(trap.name for trap, _ in chosen if trap.expect is not Expect.KEPT)
    harmless = tuple(trap.name for trap, _ in chosen if trap.expect is Expect.KEPT)
    return Project(seed, str(base), texts, loops, held, harmless, any(variant.eager for _, variant in chosen))


def _slots(variants: Sequence[Variant]) -> Mapping[str, str]:
    slots: dict[str, str] = {}
    for variant in variants:
        for slot, text in variant.slots.items():
            between = "\n\n\n" if slot in ("helpers", "common", "use") else "\n"
            slots[slot] = f"{slots[slot]}{between}{text}" if slot in slots else text
    return slots
