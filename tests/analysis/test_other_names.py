"""Containers that get elements under other names before the loop reads them."""

import pytest
from helpers import decide, model, only

from scanify.analysis.plan import Plan
from scanify.pipeline import Project

CLASSES = """\
SEEN = []


class Noisy(eqx.Module):
    def __call__(self, x):
        SEEN.append(1)
        return x


def fill(layers):
    layers.append(Noisy())


def adds(layers):
    fill(layers)
    return lambda function: function


class Keeper:
    def __init__(self, layers):
        self.layers = layers


class Model("""
FILLER = """\
class Filler:
    def __getitem__(self, layers):
        fill(layers)

    def __matmul__(self, layers):
        fill(layers)

    def __setattr__(self, name, layers):
        fill(layers)


"""
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
Filler()[functions]
Filler() @ functions
filler = Filler(); filler.value = functions
keeper = Keeper(functions); keeper.layers.append(Noisy())
functools.reduce(lambda held, added: held.append(added) or held, [Noisy()], functions)
[functions.append(Noisy()) for _ in range(1)]
sum(1 for _ in [functions.append(Noisy())])
max([functions], key=len).append(Noisy())
""".splitlines()
BLOCKS = [
    "for other in [functions]:\n    other.append(Noisy())",
    "def add():\n    functions.append(Noisy())\nadd()",
    "class Inner:\n    functions.append(Noisy())",
    "@adds(functions)\ndef inner(x):\n    return x",
    "@functions.append\ndef inner(x):\n    return Noisy()(x)",
    "with fill(functions):\n    pass",
    "try:\n    functions.append(Noisy())\nexcept ValueError:\n    pass",
    "match x:\n    case _:\n        functions.append(Noisy())",
]


@pytest.mark.parametrize("change", [*CHANGES, *BLOCKS])
def test_what_a_list_gets_under_another_name_is_not_forgotten(change):
    text = model(LOOP, before=f"functions = [Other()]\n{change}")
    text = text.replace("class Model(", (FILLER if "Filler" in change else "") + CLASSES)
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


SHARED = """\
class Shared:
    held = [jnp.sin]

    @classmethod
    def add(cls, function):
        cls.held.append(function)


def noisy(x):
    SEEN.append(1)
    return x


"""


@pytest.mark.parametrize(
    "change", ["Shared.held.append(noisy)", "Shared.add(noisy)", "held = Shared.held\nheld.append(noisy)"]
)
def test_what_a_list_of_a_class_gets_is_not_forgotten(change):
    code = CLASSES.replace("class Model(", f"{SHARED}{change}\n\n\nclass Model(")
    found = only(model("for layer in self.layers:\n    x = Shared.held[-1](layer(x))").replace("class Model(", code))
    assert not (isinstance(found, Plan) and found.safe)


def test_an_object_that_keeps_a_list_sees_what_is_added_later():
    before = "functions = [Other()]\nkeeper = Keeper(functions)\nfunctions.append(Noisy())"
    text = model("for layer in self.layers:\n    x = keeper.layers[-1](layer(x))", before=before)
    found = only(text.replace("class Model(", CLASSES))
    assert not (isinstance(found, Plan) and found.safe)


TABLE = """\
SEEN = []


def noisy(x):
    SEEN.append(1)
    return x


TABLE = {"sin": jnp.sin}
"""
TABLES = [
    "TABLE['sin'] = noisy",
    "TABLE.update(sin=noisy)",
    "TABLE.__setitem__('sin', noisy)",
    "TABLE |= {'sin': noisy}",
    "def add():\n    TABLE['sin'] = noisy",
    "def add():\n    global TABLE\n    TABLE = {}",
    "def get():\n    return TABLE",
    "def add(table=TABLE):\n    table['sin'] = noisy",
    "other = TABLE\nother['sin'] = noisy",
    "held = [TABLE]\nheld[0]['sin'] = noisy",
    "class Held:\n    table = TABLE",
    "globals()['TABLE']['sin'] = noisy",
    "exec('TABLE[1] = 2')",
    "import sys\nsys.modules[__name__].TABLE['sin'] = noisy",
    "for TABLE['sin'] in [noisy]:\n    pass",
    "a, TABLE['sin'] = 1, noisy",
]


def table_of(code: str) -> str:
    text = model("for layer in self.layers:\n    x = TABLE['sin'](layer(x))")
    return text.replace("class Block(", f"{TABLE}{code}\n\n\nclass Block(", 1)


@pytest.mark.parametrize("code", TABLES)
def test_a_table_of_a_module_that_code_may_change_is_not_known(code):
    found = [each for each in decide(table_of(code)) if each.container == "self.layers"]
    assert not any(isinstance(each, Plan) and each.safe for each in found)


@pytest.mark.parametrize("other", ["from model import TABLE\nTABLE['a'] = 1\n", "import model\nmodel.TABLE['a'] = 1\n"])
def test_a_table_that_another_file_names_is_not_known(other, tmp_path):
    (tmp_path / "model.py").write_text(table_of(""))
    (tmp_path / "other.py").write_text(other)
    (found,) = Project.load([tmp_path]).analyse().loops
    assert isinstance(found, Plan) and not found.safe
