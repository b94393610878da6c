"""Carries that begin as whole numbers of Python, which are as large as they get: in a scan they have 32 bits."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan, Refusal
from tests.texts import texts

LOOP = (
    "for layer in self.layers:\n    state = (state * 48271 + 11) % 2147483647\n    x = layer(x) * (state / 2147483647)"
)
INIT = "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]\nself.seed = depth"
DTYPE = "`state` keeps its dtype, though it starts as a Python number"


def carried(start: str, field: str = "seed: int = eqx.field(static=True)") -> Plan | Refusal:
    text = model(LOOP, init=INIT, before=f"state = {start}")
    return only(text.replace("layers: list[Block]\n", f"layers: list[Block]\n    {field}\n", 1))


@pytest.mark.parametrize("start", ["self.seed", "42", "int(self.seed)", "len(self.layers)"])
def test_a_whole_number_of_python_is_said_to_be_one(start: str) -> None:
    found = carried(start)
    assert isinstance(found, Plan) and DTYPE in texts(found.obligations)
