"""Whether layers are alike, whether three of them may share a body, and whether one trace builds them all."""

from textwrap import indent

import pytest
from list_helpers import MANY, model, project_of

from scanify.analysis.alike.alike import Alike, homogeneity
from scanify.analysis.alike.gain import Gain, gain_of
from scanify.analysis.alike.one_trace import with_one_trace
from scanify.analysis.index.meaning import Definition
from scanify.analysis.obligation import Kind, Obligation
from scanify.analysis.plan import Holds
from scanify.analysis.project_facts import ProjectFacts
from scanify.analysis.stack import OneTrace, Wrap

CLASSES = """
class Rated(eqx.Module):
    linear: eqx.nn.Linear
    rate: float

    def __init__(self, dim, rate, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)
        self.rate = rate / 2

    def __call__(self, x):
        return self.linear(x) * self.rate


class Sized(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, before, after, key):
        self.linear = eqx.nn.Linear(before, after, key=key)

    def __call__(self, x):
        return self.linear(x)


class Normed(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __init__(self, dim, key):
        self.norm = eqx.nn.BatchNorm(dim, "batch")

    def __call__(self, x):
        return x


class Holder(eqx.Module):
    inner: eqx.nn.Linear
    table: object

    def __init__(self, inner, table, key):
        self.inner, self.table = inner, table

    def __call__(self, x):
        return self.inner(x)


"""


def nothing(project: ProjectFacts, cls: Definition) -> tuple[Obligation, ...]:
    return ()


def alike_in(init: str, **more: str) -> Alike:
    text = model(init, **more).replace("class Model", CLASSES + "class Model")
    project, found, _ = project_of(text)
    (layers,) = (each for each in found if each is not None)
    return homogeneity(project, layers, nothing)


def gain_in(init: str, **more: str) -> Gain:
    text = model(init, **more).replace("class Model", CLASSES + "class Model")
    project, found, _ = project_of(text)
    (layers,) = (each for each in found if each is not None)
    return gain_of(project, layers)


def test_layers_that_differ_in_their_keys_are_alike() -> None:
    for init in (
        f"self.layers = {MANY}",
        "self.layers = [Sized(n, 2 * n, jr.fold_in(key, i)) for i in range(n)]",
        "keys = iter(jr.split(key, n))\nself.layers = [Block(8, key=next(keys)) for _ in range(n)]",
        "self.layers = [eqx.nn.Linear(8, 8, key=k) for k in jr.split(key, n)]",
        "first, *rest = jr.split(key, n + 1)\nself.layers = [Block(8, key=k) for k in rest]",
        "self.layers = []\nfor _ in range(n):\n    key, inner = jr.split(key)\n    self.layers.append(Block(8, key=inner))",
    ):
        assert alike_in(init) == Alike(Holds.ARRAY_STACKED)
        assert gain_in(init) == Gain()


UNLIKE = {
    "index": ("self.layers = [Rated(8, i, key=key) for i in range(n)]", "its own value of `i`"),
    "element": ("self.layers = [Sized(d, d, key) for d in dims]", "its own value of `d`"),
    "counted": (
        "width = 8\nself.layers = []\nfor _ in range(n):\n    self.layers.append(Sized(8, width, key))\n    width *= 2",
        "its own value of `width`",
    ),
    "drawn": ("self.layers = [Rated(8, next(dims), key=key) for _ in range(n)]", "its own value of `next(dims)`"),
    "function": ("self.layers = [Rated(8, lambda x: x, key=key) for _ in range(n)]", "`lambda x: x`"),
    "classes": ("self.layers = [Block(8, key=k) if n else Other() for k in jr.split(key, n)]", "different classes"),
    "state": ("self.layers = [Normed(8, k) for k in jr.split(key, n)]", "holds a `BatchNorm`"),
    "empty": (f"self.layers = {MANY} if n else []", "may be built empty"),
    "pairs": ("self.layers = [(Block(8, key=k), Other()) for k in jr.split(key, n)]", "is not shown"),
    "not shown": ("self.layers = [make(k) for k in jr.split(key, n)]", "is not shown"),
    "condition": ("self.layers = [Block(8, key=k) for k in jr.split(key, n) if n]", "only under a condition"),
}


@pytest.mark.parametrize(("init", "text"), UNLIKE.values(), ids=UNLIKE)
def test_layers_that_may_differ_are_held_as_they_are(init: str, text: str) -> None:
    found = alike_in(init)
    assert found.holds is Holds.BLOCK_SEQ and found.refusal is None
    assert found.unlike is not None and text in found.unlike


def test_a_constructor_that_is_not_understood_may_make_other_layers() -> None:
    project, found, _ = project_of(model(f"self.layers = {MANY}"))
    (layers,) = (each for each in found if each is not None)
    counted = Obligation(Kind.BODY, "`count` is not understood")
    alike = homogeneity(project, layers, lambda project, cls: (counted,))
    assert alike.holds is Holds.BLOCK_SEQ and "`count` is not understood" in str(alike.unlike)


@pytest.mark.parametrize(
    ("init", "text"),
    [
        ("self.layers = [Block(8, key=key)] * n", "several layers may be one object, `Block(8, key=key)`"),
        ("block = Block(8, key=key)\nself.layers = [block for _ in range(n)]", "several layers may be one object"),
        ("block = Block(8, key=key)\nself.layers = [block, Other(), block]", "several layers may be one object"),
        (
            f"pool = {MANY}\nself.layers = [pool[i % 2] for i in range(n)]",
            "several layers may be one object, `pool[i % 2]`",
        ),
        (
            "inner = eqx.nn.Linear(8, 8, key=key)\nself.layers = [Holder(inner, 1, k) for k in jr.split(key, n)]",
            "every layer is given the same module, `inner`",
        ),
        (
            "table = jnp.ones(8)\nself.layers = [Holder(1, table, k) for k in jr.split(key, n)]",
            "every layer is given the same array, `table`",
        ),
    ],
)
def test_one_object_in_several_layers_is_refused(init: str, text: str) -> None:
    found = alike_in(init)
    assert found.refusal is not None and found.refusal[0] == "SCN204" and text in found.refusal[1]


def test_an_argument_that_is_no_array_is_not_shared() -> None:
    assert alike_in("self.layers = [Holder(1, dims, k) for k in jr.split(key, n)]").obligations == ()


OFFERED = {
    "rate": "self.layers = [Rated(8, 0.1 * i, key=k) for i, k in enumerate(jr.split(key, n))]",
    "first is another": "self.layers = [Sized(4 if i == 0 else 8, 8, key) for i in range(n)]",
    "every other": "self.layers = [Sized(8, 8 + i % 2, key) for i in range(n)]",
    "two kinds": "self.layers = [Other() if i % 3 else Block(8, key=key) for i in range(n)]",
    "written out": "self.layers = [Block(8, key=key), Block(8, key=n), Block(8, key=dims)]",
    "three in a row": "self.layers = [Sized(1, 8, key), *[], Other(), Other(), Other()]",
    "function of the project": "self.layers = [build(8, k) for k in jr.split(key, n)]",
}


@pytest.mark.parametrize("init", OFFERED.values(), ids=OFFERED)
def test_three_layers_of_one_constructor_may_share_a_body(init: str) -> None:
    assert gain_in(init) == Gain()


UNDECIDED = {
    "carried": (
        "width = 4\nself.layers = []\nfor k in jr.split(key, n):\n    self.layers.append(Sized(width, 8, k))\n    width = 8",
        "its own `width`",
    ),
    "sizes": ("self.layers = [Sized(a, b, key) for a, b in zip(dims, dims[1:])]", "its own `a`"),
    "doubled": ("self.layers = [Sized(2 ** i, 8, key) for i in range(n)]", "its own `2 ** i`"),
    "helper": ("self.layers = make(n, key)", "gives is not shown"),
    "caller": ("self.layers = dims", "gets `dims` from its caller"),
    "other functions": ("self.layers = [make(k) for make, k in zip(dims, jr.split(key, n))]", "its own `make`"),
}


@pytest.mark.parametrize(("init", "text"), UNDECIDED.values(), ids=UNDECIDED)
def test_nothing_shows_whether_three_layers_share_a_body(init: str, text: str) -> None:
    found = gain_in(init)
    assert found.refusal is None and found.undecided is not None and text in found.undecided.text
    assert found.undecided.kind is Kind.LAYERS and found.undecided.place is not None


REFUSED = {
    "two": ("self.layers = [Other(), Other()]", "SCN203", "the list has 2 layers"),
    "counted": ("self.layers = [Block(8, key=k) for k in jr.split(key, 2)]", "SCN203", "the list has 2 layers"),
    "classes": (
        "self.layers = [Block(8, key=key), Other(), Sized(4, 8, key)]",
        "SCN202",
        "no three of the 3 layers are built alike",
    ),
    "sizes": (
        "self.layers = [Sized(3, 64, key), Sized(64, 128, key), Sized(128, 10, key)]",
        "SCN203",
        "no three of the 3 layers are built alike",
    ),
}


@pytest.mark.parametrize(("init", "rule", "text"), REFUSED.values(), ids=REFUSED)
def test_no_three_layers_share_a_body(init: str, rule: str, text: str) -> None:
    found = gain_in(init)
    assert found.refusal is not None and found.refusal[0] == rule and text in found.refusal[1]


# -- one trace -------------------------------------------------------------------------------------------------------


def traced(init: str, parameters: str = "n: int, key, dims", before: str = "", **more: str) -> OneTrace | None:
    text = model(init, parameters=parameters, **more).replace("class Model", before + CLASSES + "class Model")
    project, found, _ = project_of(text)
    (layers,) = (each for each in found if each is not None)
    (site,) = with_one_trace(project, layers, nothing).sites
    assert isinstance(site, Wrap)
    return site.built


def test_one_call_builds_layers_that_differ_in_their_keys() -> None:
    assert traced(f"self.layers = {MANY}") == OneTrace("n", "Block", ("8", "key=jr.split(key, n)"))
    kept = OneTrace("len(keys)", "Block", ("n", "key=keys"))
    assert traced("keys = jr.split(key, n)\nself.layers = [Block(n, key=k) for k in keys]") == kept


def test_an_argument_that_may_be_an_array_is_given_to_all() -> None:
    found = traced("self.layers = [Block(dims, key=k) for k in jr.split(key, n)]")
    assert found == OneTrace("n", "Block", ("dims", "key=jr.split(key, n)"), keys_alone=True)


@pytest.mark.parametrize(
    "init",
    [
        "self.layers = [Block(i, key=k) for i, k in enumerate(jr.split(key, n))]",
        "self.layers = [Block(make(), key=k) for k in jr.split(key, n)]",
        "self.layers = [Block(*dims, key=k) for k in jr.split(key, n)]",
        "self.layers = [Block(8, key=jr.fold_in(key, i)) for i in range(n)]",
        "self.layers = [Block(8, key=k) for k in jr.split(key, n) if n]",
        "self.layers = [\n    Block(8, key=k)  # one\n    for k in jr.split(key, n)\n]",
        "self.layers = tuple(Block(8, key=k) for k in jr.split(key, n))",
        "self.layers = [Block(8, key=k) for k in dims]",
        "keys = jr.split(key, n)\nself.layers = [Block(8, key=keys[i]) for i in range(n)]",
        "made = Block\nself.layers = [made(8, key=k) for k in jr.split(key, n)]",
    ],
)
def test_layers_that_one_call_may_not_build(init: str) -> None:
    assert traced(init) is None


def test_a_constructor_that_does_more_is_called_for_each_layer() -> None:
    project, found, _ = project_of(model(f"self.layers = {MANY}"))
    (layers,) = (each for each in found if each is not None)
    counted = Obligation(Kind.BODY, "`count` is not understood")
    assert with_one_trace(project, layers, lambda project, cls: (counted,)).sites[0].built is None  # type: ignore[union-attr]


def test_a_static_field_that_may_hold_an_array_is_made_for_each_layer() -> None:
    for value, same in (("jnp.ones(3)", False), ("dim", True), ("2 * dim", True)):
        before = "class Static(eqx.Module):\n    size: object = eqx.field(static=True)\n\n    def __init__(self, dim, key):\n"
        before += indent(f"self.size = {value}\n\ndef __call__(self, x):\n    return x\n\n\n", "        ").replace(
            "        def", "    def"
        )
        found = traced("self.layers = [Static(n, k) for k in jr.split(key, n)]", before=before)
        assert (found is not None) is same


def test_code_of_the_project_in_an_argument_runs_for_each_layer() -> None:
    before = "class Config:\n    @property\n    def dim(self):\n        count.append(1)\n        return 8\n\n\n"
    init = "self.layers = [Block(dims.dim, key=k) for k in jr.split(key, n)]"
    assert traced(init) is not None
    assert traced(init, before=before) is None
