"""Objects that a function makes and changes before it gives them back: new ones, or not shown to be."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal

CALL = "for layer in self.layers:\n    x = helper(layer(x))"


def with_helper(body: str) -> Plan | Refusal:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = model(CALL)
    start = text.index("def helper(x):")
    stop = text.index("\n\n\nclass Model")
    return only(f"_SAID = set()\n_ALL = []\n{text[:start]}def helper(x):\n{lines}{text[stop:]}")


@pytest.mark.parametrize(
    "body",
    [
        "out = x.__class__({}, x.dim)\nout.append(1, 2, x)\nreturn out",
        "out = type(x)({})\nfor k in range(2):\n    out.append(k, x)\nreturn out",
        "out = x\nout.append(1, 2, x)\nreturn out",
        "out = x.parts\nout.append(x)\nreturn out",
        "out = x.empty()\nout['a'] = x\nreturn out",
        "_SAID.add('slow')\nreturn x",
        "def once(what: str):\n    if what not in _SAID:\n        _SAID.add(what)\nonce('slow')\nonce('late')\nreturn x",
    ],
)
def test_changes_of_what_may_be_anothers_are_held_back(body):
    found = with_helper(body)
    assert isinstance(found, Refusal) or not found.safe, found


@pytest.mark.parametrize(
    "body",
    [
        "_ALL.append('slow')\nreturn x",
        "_ALL.add('slow')\nreturn x",
        "for i in range(3):\n    _SAID.add(str(i))\nreturn x",
        "_SAID.add(x)\nreturn x",
    ],
)
def test_what_may_be_another_s_is_a_reason_to_refuse(body):
    found = with_helper(body)
    assert isinstance(found, Refusal) and found.rule == "SCN207", found
