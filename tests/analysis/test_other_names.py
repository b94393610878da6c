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


HOLDER = """\
class Holder:
    def __init__(self):
        self.held = [Other()]

    def add(self, function):
        self.held.append(function)


"""


@pytest.mark.parametrize("change", ["holder.add(Noisy())", "holder.held.append(Noisy())"])
def test_what_a_method_puts_into_an_object_is_not_forgotten(change):
    loop = "for layer in self.layers:\n    x = holder.held[-1](layer(x))"
    found = only(model(loop, before=f"holder = Holder()\n{change}").replace("class Model(", HOLDER + CLASSES))
    assert not (isinstance(found, Plan) and found.safe)


REPLACED = [
    "apply.__defaults__ = (noisy,)",
    "apply.__code__ = noisy.__code__",
    "apply.__globals__['jnp'] = noisy",
    "object.__setattr__(apply, '__code__', noisy.__code__)",
    "listed.__defaults__[0].append(noisy)",
]


@pytest.mark.parametrize("change", REPLACED)
@pytest.mark.parametrize("where", ["before the loop", "in the module"])
def test_code_and_defaults_that_are_replaced_are_not_forgotten(change, where):
    code = CLASSES.replace("class Model(", "def noisy(x):\n    SEEN.append(1)\n    return x\n\n\n")
    code += "def apply(x, function=jnp.sin):\n    return function(x)\n\n\n"
    code += "def listed(x, functions=[jnp.sin]):\n    return functions[-1](x)\n\n\n"
    before = change if where == "before the loop" else ""
    code += f"{change}\n\n\n" if where == "in the module" else ""
    name = change.partition(".")[0] if change.startswith("listed") else "apply"
    text = model(f"for layer in self.layers:\n    x = {name}(layer(x))", before=before)
    found = only(text.replace("class Model(", f"{code}class Model("))
    assert not (isinstance(found, Plan) and found.safe)
