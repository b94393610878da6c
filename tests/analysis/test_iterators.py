"""Loops beside whose layers something is walked, or counted from, that may be an iterator."""

import pytest
from helpers import model, only, refused

from scanify.analysis.plan import Plan, Refusal


@pytest.mark.parametrize(
    "chosen",
    [
        "chosen = reversed(keys)",
        "chosen = reversed(keys) if x.ndim else keys",
        "chosen = x.ndim and iter(keys) or keys",
        "ks = reversed(keys)\nchosen = ks",
        "chosen, count = reversed(keys), 1",
        "if x.ndim:\n    chosen = keys\nelse:\n    chosen = (k for k in keys)",
    ],
)
def test_what_may_be_an_iterator_is_not_walked_beside_the_layers(chosen):
    refused("SCN213", model("for layer, k in zip(self.layers, chosen):\n    x = layer(x, k)", before=chosen))


@pytest.mark.parametrize("first", ["next(keys)", "mask.pop()", "int(keys[0])", "(n := 2)"])
def test_where_an_enumerate_begins_to_count_is_asked_once(first):
    for body in ("x = layer(x)", "x = layer(x) * i"):
        refused("SCN208", model(f"for i, layer in enumerate(self.layers, {first}):\n    {body}"))
    plan = only(model("for i, layer in enumerate(self.layers, start=len(keys) - 1):\n    x = layer(x) * i"))
    assert isinstance(plan, Plan) and plan.xs[0].source == "range(len(keys) - 1, len(keys) - 1 + len(self.layers))"


@pytest.mark.parametrize("start", ["", ", start=len(chosen)"])
def test_an_iterator_has_no_length_to_count_from(start):
    before = "chosen = reversed(self.layers) if x.ndim else self.layers"
    found = only(model(f"for _, layer in enumerate(chosen{start}):\n    x = layer(x)", before=before))
    assert isinstance(found, Refusal) and found.rule == "SCN213", found


def test_an_object_that_is_its_own_iterator_ends_the_search_for_one(tmp_path):
    from scanify.pipeline import Project

    text = model("for layer in self.layers:\n    x = layer(x)\nfor each in Chained(Chained(None)):\n    x = each(x)")
    path = tmp_path / "model.py"
    path.write_text(
        f"{text}\n\n"
        "class Chained:\n"
        "    def __init__(self, inner):\n"
        "        self.inner = inner if inner is not None else self\n\n"
        "    def __iter__(self):\n"
        "        return self.inner if self.inner else Walked(self)\n\n\n"
        "class Walked:\n"
        "    def __init__(self, inner):\n"
        "        self.inner = inner\n\n"
        "    def __iter__(self):\n"
        "        return self\n"
    )
    (plan,) = Project.load([path]).analyse().loops
    assert isinstance(plan, Plan)


@pytest.mark.parametrize(
    "gains",
    ["map(float, keys)", "{'a': 1.0, 'b': 2.0}.values()", "zip(keys, keys)", "filter(None, keys)"],
)
def test_what_a_name_has_from_elsewhere_may_be_an_iterator(gains):
    """A generator of the project goes on where the loop before has left it; no call before a loop shows that."""
    whole = model("for layer, k in zip(self.layers, chosen):\n    x = layer(x, k)", before=f"chosen = pick({gains})")
    functions = "def gains():\n    while True:\n        yield 1.0\n\n\ndef pick(chosen):\n    return chosen\n\n\n"
    found = only(whole.replace("class Model(", functions + "class Model("))
    assert not found.safe and "`pick()` may return an iterator" in str(found.obligations[0])


def test_numbers_that_a_name_has_are_no_iterator():
    before = "chosen = range(len(self.layers))"
    plan = only(model("for layer, i in zip(self.layers, chosen):\n    x = layer(x) * i", before=before))
    assert isinstance(plan, Plan), plan


@pytest.mark.parametrize(
    ("walked", "decided"),
    [
        ("iter([2.0])", Plan),
        ("reversed([2.0])", Plan),
        ("iter({'a': 2.0}.values())", Plan),
        ("drawn", Refusal),
        ("iter(drawn)", Refusal),
        ("zip(range(1), drawn)", Refusal),
    ],
)
def test_a_body_that_draws_from_an_iterator_of_its_own_is_for_a_case(walked, decided):
    loop = f"for layer in self.layers:\n    first = next({walked})\n    x = layer(x) * first"
    found = only(model(loop, before="drawn = iter([1.0, 2.0, 3.0, 4.0])"))
    assert isinstance(found, decided), found
    assert not found.safe if isinstance(found, Plan) else found.rule == "SCN207"
