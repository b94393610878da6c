"""Containers that get elements under other names before the loop reads them."""

import pytest
from helpers import model, only

from scanify.analysis.plan import Plan

CLASSES = """\
SEEN = []


class Noisy(eqx.Module):
    def __call__(self, x):
        SEEN.append(1)
        return x


def fill(layers):
    layers.append(Noisy())


class Model("""
LOOP = "for layer in self.layers:\n    x = functions[-1](layer(x))"
CHANGES = """\
other = functions; other.append(Noisy())
other = functions; other[0] = Noisy()
other = functions; other[:] = [Noisy()]
other = functions if x.ndim else []; other.append(Noisy())
other = functions or []; other += [Noisy()]
(other := functions).append(Noisy())
[functions][0].append(Noisy())
held = (functions,); held[0].append(Noisy())
held = dict(first=functions); held["first"].append(Noisy())
self.norm = functions; self.norm.append(Noisy())
add = functions.append; add(Noisy())
list.append(functions, Noisy())
list(map(functions.append, [Noisy()]))
[other.append(Noisy()) for other in [functions]]
functions.__setitem__(0, Noisy())
functions.__iadd__([Noisy()])
fill(functions)
fill(layers=functions)
fill(*[functions])
other = functions; fill(other)
functools.partial(fill, functions)()
filled = functools.partial(fill, functions); filled()
jax.jit(fill)(functions)
self.unknown(functions)
y = x[fill(functions)]
y = (lambda: functions.append(Noisy()))()
if fill(functions): pass
assert fill(functions) is None
functions.append(Noisy()); del functions[0]
""".splitlines()
BLOCKS = [
    "for other in [functions]:\n    other.append(Noisy())",
    "def add():\n    functions.append(Noisy())\nadd()",
    "class Inner:\n    functions.append(Noisy())",
    "with fill(functions):\n    pass",
    "try:\n    functions.append(Noisy())\nexcept ValueError:\n    pass",
    "match x:\n    case _:\n        functions.append(Noisy())",
]


@pytest.mark.parametrize("change", [*CHANGES, *BLOCKS])
def test_what_a_list_gets_under_another_name_is_not_forgotten(change):
    text = model(LOOP, before=f"functions = [Other()]\n{change}").replace("class Model(", CLASSES)
    found = only(text)
    assert not (isinstance(found, Plan) and found.safe)


def test_what_a_list_gets_under_its_own_name_is_read():
    text = model(LOOP, before="functions = []\nfunctions.append(Other())").replace("class Model(", CLASSES)
    assert only(text).safe
    assert only(text.replace("append(Other())", "append(Noisy())")).rule == "SCN207"
