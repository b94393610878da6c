"""Where a list could be stacked, and why it stays a list where it could not."""

import pytest
from list_helpers import LOOP, MANY, PRELUDE, layers_in, model, project_of

from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.stack import After


def sites_in(init: str, loop: str = LOOP, **more: str) -> list[str]:
    """The texts at the sites of such a model's list."""
    text = model(init, loop, **more)
    layers = [each for each in project_of(text)[1] if each is not None][-1]
    return [text[each.place.span.start : each.place.span.end] for each in layers.sites]


def in_call(layers: LayerList | None) -> str:
    assert layers is not None and not layers.sites and layers.in_call is not None
    return layers.in_call.reason


def test_the_expression_that_is_assigned_is_wrapped() -> None:
    assert sites_in(f"self.layers = {MANY}") == [MANY]
    assert sites_in(f"layers = {MANY}\nself.layers = tuple(layers)") == ["tuple(layers)"]
    assert sites_in("self.layers = make(n, key)") == ["make(n, key)"]


def test_either_list_of_two_is_wrapped_unless_one_is_none() -> None:
    assert in_call(layers_in(f"self.layers = {MANY} if n else None")) == "the list may be None"
    assert sites_in(f"self.layers = {MANY} if n else []") == [f"{MANY} if n else []"]


def test_a_field_that_grows_is_stacked_after_its_loop() -> None:
    layers = layers_in("self.layers = []\nfor k in jr.split(key, n):\n    self.layers.append(Block(8, key=k))")
    assert layers is not None
    (site,) = layers.sites
    assert isinstance(site, After) and site.target == "self.layers" and site.indent == " " * 8


def test_the_annotation_of_the_field_changes_with_it() -> None:
    for field, element in (
        ("layers: list[Block]", "Block"),
        ("layers: tuple[Block, ...]", "Block"),
        ("layers: 'list[Block]'", "Block"),
        ("layers: list", None),
        ("layers: eqx.Module", "-"),
    ):
        layers = layers_in(f"self.layers = {MANY}", field=field)
        assert layers is not None and [each.element for each in layers.annotations] == [element][: element != "-"]


CALL = {
    "parameter": ("self.layers = layers", LOOP, "callers of `Model` give the list"),
    "a part reversed": (
        f"self.layers = {MANY}",
        LOOP.replace("self.layers", "reversed(self.layers[1:])"),
        "in another order",
    ),
    "reversed beside keys": (
        f"self.layers = {MANY}",
        "for layer, k in zip(reversed(self.layers), keys):\n    x = layer(x, k)\nreturn x",
        "in another order",
    ),
    "slice": (f"self.layers = {MANY}", LOOP.replace("self.layers", "self.layers[1:]"), "a part of the list"),
    "two lists": (f"self.layers = {MANY}", LOOP.replace("self.layers", "self.layers + self.layers"), "several lists"),
    "local": (
        "self.layers = None",
        f"layers = {MANY}\nfor layer in layers:\n    x = layer(x)\nreturn x",
        "in no field",
    ),
    "stage": (
        "self.layers = [[Block(8, key=k)] for k in jr.split(key, n)]",
        "for stage in self.layers:\n    for layer in stage:\n        x = layer(x)\nreturn x",
        "one of several lists",
    ),
    "other name": (f"layers = {MANY}\nself.layers = layers\nlayers.append(Other())", LOOP, "under another name"),
    "given away": (f"self.layers = {MANY}\nregister(self.layers)", LOOP, "`register(self.layers)` may change"),
    "other block": (
        "if n:\n    self.layers = []\nfor k in jr.split(key, n):\n    self.layers.append(Block(8, key=k))",
        LOOP,
        "in another: there is no one place",
    ),
}


@pytest.mark.parametrize(("init", "loop", "reason"), CALL.values(), ids=CALL)
def test_a_list_that_stays_one(init: str, loop: str, reason: str) -> None:
    parameters = "n, key, layers" if reason.startswith("callers") else "n, key"
    assert reason in in_call(layers_in(init, loop, parameters=parameters))


def test_a_subclass_that_adds_to_the_field() -> None:
    heir = "class Deep(Model):\n    def __init__(self, n, key):\n        super().__init__(n, key)\n        self.layers.append(1)\n"
    layers = project_of(f"{model(f'self.layers = {MANY}')}\n\n\n{heir}")[1][0]
    assert layers is not None and not layers.sites and "of `Deep` fills the list, too" in in_call(layers)


def test_a_method_that_fills_the_field_later() -> None:
    text = f"{model('self.layers = []')}\n    def fill(self, n, key):\n        self.layers = {MANY}\n"
    (layers,) = project_of(text)[1]
    assert "`fill` of `Model` fills the list, too" in in_call(layers)
    text = (
        f"{model(f'self.layers = {MANY}')}\n    def grow(self, key):\n        self.layers.append(Block(8, key=key))\n"
    )
    (layers,) = project_of(text)[1]
    assert layers.in_call.rule == "SCN214" and "`grow` of `Model`" in in_call(layers)


def test_a_field_that_keeps_something_else() -> None:
    static = layers_in(f"self.layers = {MANY}", field="layers: list = eqx.field(static=True)")
    assert static is not None and static.refusal is not None and static.refusal[0] == "SCN214"
    copied = layers_in(f"self.layers = {MANY}", field="layers: list = eqx.field(converter=tuple)")
    assert copied is not None and copied.refusal is not None and "converter=tuple" in copied.refusal[1]


def test_a_field_that_two_classes_fill_has_no_site() -> None:
    text = f"""{PRELUDE}
class Base(eqx.Module):
    layers: list

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class First(Base):
    def __init__(self, n, key):
        self.layers = {MANY}


class Second(Base):
    def __init__(self, n, key):
        self.layers = [Other(), Other(), Other()]
"""
    (layers,) = project_of(text)[1]
    assert layers is not None and not layers.sites and "`__init__` of `Second` fills the list, too" in in_call(layers)
    assert "of `Second` fills the list, too" in "; ".join(each.text for each in layers.open)
