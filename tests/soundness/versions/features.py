"""What a version of a model may have beside its layers: each in several values that differ, and in two spellings.

Two versions with the same values compute the same and leave the same behind, however they are spelled; with another
value of any feature something is different that a user can see.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

NUMBERS = (1.5, 2.5, 0.5)


@dataclass(frozen=True)
class Parts:
    """Text for the places of the template (`pairs.TEMPLATE`), arguments of the call, and files beside the version's."""

    top: str = ""
    fields: str = ""
    init: str = ""
    body: str = ""
    start: str = ""
    end: str = ""
    out: str = "out"
    arguments: tuple[tuple[str, str], ...] = ()
    files: dict[str, str] = field(default_factory=dict)


Make = Callable[[int, int], Parts]


@dataclass(frozen=True)
class Feature:
    """`make(value, spelling)` gives its texts. `seen`: whether running a version alone shows the value."""

    name: str
    make: Make
    values: int = 3
    seen: bool = True


FEATURES: dict[str, Feature] = {}


def feature(name: str, values: int = 3, *, seen: bool = True) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        FEATURES[name] = Feature(name, make, values, seen)
        return make

    return add


def times(name: str, spelling: int) -> str:
    return f"y = y * {name}" if spelling else f"y = {name} * y"


@feature("a number")
def number(value: int, spelling: int) -> Parts:
    return Parts(body=times(str(NUMBERS[value]), spelling))


@feature("a number of the module")
def number_of_module(value: int, spelling: int) -> Parts:
    tops = f"NUMBER = {NUMBERS[value]}", f"SETTINGS = {{'number': {NUMBERS[value]}}}"
    return Parts(top=tops[spelling], body=times(("NUMBER", "SETTINGS['number']")[spelling], 1))


@feature("a cached function")
def cached(value: int, spelling: int) -> Parts:
    return Parts(top=f"@functools.cache\ndef number():\n    return {NUMBERS[value]}", body=times("number()", spelling))


@feature("a default")
def default(value: int, spelling: int) -> Parts:
    return Parts(top=f"def scaled(z, by={NUMBERS[value]}):\n    return z * by", body="y = scaled(y)")


@feature("a static function")
def static_function(value: int, spelling: int) -> Parts:
    top = f"def sine(z):\n    return jnp.sin(z) * {NUMBERS[value]}"
    body = ("y = self.act(y)", "z = y\ny = self.act(z)")[spelling]
    return Parts(top=top, fields="act: object = eqx.field(static=True)", init="self.act = sine", body=body)


@feature("a list that is written to")
def writes_list(value: int, spelling: int) -> Parts:
    end = f"log.append(out * {NUMBERS[value]})", f"log += [{NUMBERS[value]} * out]"
    return Parts(end=end[spelling], arguments=(("log", "[]"),))


@feature("a list in an object that is written to")
def writes_inside(value: int, spelling: int) -> Parts:
    end = f"box.kept[0].append(out * {NUMBERS[value]})", f"box.kept[0].extend([{NUMBERS[value]} * out])"
    return Parts(end=end[spelling], arguments=(("box", "types.SimpleNamespace(kept=[[]])"),))


@feature("a dict that is written to")
def writes_dict(value: int, spelling: int) -> Parts:
    end = f"memo['last'] = out * {NUMBERS[value]}", f"memo.update(last={NUMBERS[value]} * out)"
    return Parts(end=end[spelling], arguments=(("memo", "{}"),))


@feature("an attribute that is written")
def writes_attribute(value: int, spelling: int) -> Parts:
    end = f"thing.seen = out * {NUMBERS[value]}", f"setattr(thing, 'seen', {NUMBERS[value]} * out)"
    return Parts(end=end[spelling], arguments=(("thing", "types.SimpleNamespace()"),))


@feature("a set that is written to")
def writes_set(value: int, spelling: int) -> Parts:
    return Parts(end=f"names.add('n{value}')", arguments=(("names", "set()"),))


@feature("a closure that is returned")
def returns_closure(value: int, spelling: int) -> Parts:
    return Parts(end=f"by = {NUMBERS[value]}\nfound = lambda z: z * by + out", out="(out, found)")


@feature("a partial that is returned")
def returns_partial(value: int, spelling: int) -> Parts:
    top = f"def scaled_by(add, z):\n    return z * {NUMBERS[value]} + add"
    return Parts(top=top, out="(out, functools.partial(scaled_by, out))")


@feature("a module that is returned")
def returns_module(value: int, spelling: int) -> Parts:
    body = (f"z * {NUMBERS[value]} + self.b", f"{NUMBERS[value]} * z + self.b")[spelling]
    top = f"class Head(eqx.Module):\n    b: jax.Array\n\n    def __call__(self, z):\n        return {body}"
    return Parts(top=top, out="(out, Head(out))")


@feature("an object that is returned")
def returns_object(value: int, spelling: int) -> Parts:
    top = "@dataclasses.dataclass\nclass Out:\n    value: object\n    note: object"
    return Parts(top=top, out=(f"Out(out, {NUMBERS[value]})", f"Out(note={NUMBERS[value]}, value=out)")[spelling])


@feature("a structure that is returned")
def structure(value: int, spelling: int) -> Parts:
    return Parts(out=("(out, out)", "[out, out]", "{'a': out, 'b': out}")[value])


@feature("a dtype that is returned")
def dtype(value: int, spelling: int) -> Parts:
    name = ("float32", "bfloat16", "float16")[value]
    return Parts(out=(f"out.astype(jnp.{name})", f"jax.lax.convert_element_type(out, jnp.{name})")[spelling])


@feature("a patch of jax.nn")
def patch_function(value: int, spelling: int) -> Parts:
    top = f"jax.nn.softplus = lambda z: jnp.logaddexp(z, 0.0) * {NUMBERS[value]}"
    return Parts(top=top, body=("y = y + jax.nn.softplus(y)", "y = jax.nn.softplus(y) + y")[spelling])


@feature("a patch of an initializer")
def patch_initializer(value: int, spelling: int) -> Parts:
    top = f"jax.nn.initializers.zeros = lambda key, shape: jnp.full(shape, {NUMBERS[value]})"
    init = "self.b = jax.nn.initializers.zeros(key, (3,))"
    return Parts(top=top, fields="b: jax.Array", init=init, body=("y = y + self.b", "y = self.b + y")[spelling])


@feature("a patch of NumPy")
def patch_numpy(value: int, spelling: int) -> Parts:
    return Parts(top=f"np.sinc = lambda z: z * {NUMBERS[value]}", body=times("np.float32(np.sinc(1.0))", spelling))


@feature("a method of equinox that is replaced")
def patch_equinox(value: int, spelling: int) -> Parts:
    top = f"eqx.nn.Identity.__call__ = lambda self, z, *, key=None: z * {NUMBERS[value]}"
    return Parts(top=top, body=("y = eqx.nn.Identity()(y)", "same = eqx.nn.Identity()\ny = same(y)")[spelling])


@feature("a registry that keeps the first")
def registry(value: int, spelling: int) -> Parts:
    top = f"eqx.found = getattr(eqx, 'found', None) or {{}}\neqx.found.setdefault('by', {NUMBERS[value]})"
    return Parts(top=top, body=times("eqx.found['by']", spelling))


@feature("a variable of the environment")
def environment(value: int, spelling: int) -> Parts:
    return Parts(
        top=f"os.environ['SCALE_OF_LAYER'] = '{NUMBERS[value]}'",
        body=times("float(os.environ['SCALE_OF_LAYER'])", spelling),
    )


@feature("a data file")
def data_file(value: int, spelling: int) -> Parts:
    path = "Path(__file__).with_suffix('.json')"
    tops = f"NUMBERS = json.loads({path}.read_text())", f"with open({path}) as file:\n    NUMBERS = json.load(file)"
    return Parts(top=tops[spelling], body=times("NUMBERS[0]", 1), files={".json": f"[{NUMBERS[value]}]"})


@feature("a data file that is read when it is called")
def data_file_late(value: int, spelling: int) -> Parts:
    read = "json.loads(Path(__file__).with_suffix('.late.json').read_text())"
    return Parts(body=times(read, spelling), files={".late.json": f"{NUMBERS[value]}"})


@feature("a file that is there or not", 2)
def file_exists(value: int, spelling: int) -> Parts:
    asks = "Path(__file__).with_suffix('.flag').exists()", "os.path.exists(Path(__file__).with_suffix('.flag'))"
    return Parts(body=f"y = y * (2.5 if {asks[spelling]} else 1.5)", files={".flag": ""} if value else {})


@feature("a key of the constructor")
def constructor_key(value: int, spelling: int) -> Parts:
    key = ("key", "jax.random.fold_in(key, 1)", "jax.random.fold_in(key, 2)")[value]
    init = f"self.b = jax.random.normal({key}, (3,))", f"own = {key}\nself.b = jax.random.normal(own, (3,))"
    return Parts(fields="b: jax.Array", init=init[spelling], body="y = y + self.b")


@feature("a constructor that does not read its key", 2)
def constructor_ignores(value: int, spelling: int) -> Parts:
    return Parts(start="key = jax.random.key(0)" if value else ("key = key", "")[spelling])


@feature("an array of NumPy or a parameter", 2)
def buffer(value: int, spelling: int) -> Parts:
    init = f"self.b = {('np', 'jnp')[value]}.full(3, 1.5, {('np', 'jnp')[value]}.float32)"
    return Parts(fields="b: jax.Array", init=init, body=("y = y + self.b", "y = self.b + y")[spelling])


@feature("a key of the call")
def call_key(value: int, spelling: int) -> Parts:
    key = ("key", "jax.random.fold_in(key, 1)", "jax.random.split(key)[0]")[value]
    ends = f"out = out * jax.random.normal({key}, (3,))", f"noise = jax.random.normal({key}, (3,))\nout = noise * out"
    return Parts(end=ends[spelling], arguments=(("key", "jax.random.key(5)"),))


CUSTOM = """
@jax.custom_vjp
def special(z):
    return jnp.sin(z)


def special_fwd(z):
    return {0} * jnp.sin(z), jnp.cos(z)


special.defvjp(special_fwd, lambda kept, ct: ({1} * ct * kept,))
"""


@feature("a derivative by hand")
def custom(value: int, spelling: int) -> Parts:
    factors = ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5))[value]
    return Parts(top=CUSTOM.format(*factors), body=("y = y + special(y)", "y = special(y) + y")[spelling])


ASKS = """
@jax.custom_vjp
def asked(z, by):
    return z * by


def asked_fwd(z, by):
    return z.value * by.value, (z.value, by.value, {1})


def asked_bwd(kept, ct):
    z, by, some = kept
    factor = {0} if some else 1.0
    return factor * ct * by, factor * ct * z


asked.defvjp(asked_fwd, asked_bwd, symbolic_zeros=True)
"""


@feature("a derivative that asks what moves")
def asks(value: int, spelling: int) -> Parts:
    which = ("z.perturbed and not by.perturbed", "not z.perturbed and by.perturbed", "False")[value]
    return Parts(top=ASKS.format(0.5, which), end="out = asked(x0, self.layers[0].w[0]) + out")


@feature("a callback")
def callback(value: int, spelling: int) -> Parts:
    top = f"def told(z):\n    return np.float32({NUMBERS[value]}) * z"
    end = "held = jax.lax.stop_gradient(out)\nnoted = jax.pure_callback(told, held, held, vmap_method='sequential')"
    return Parts(top=top, end=end, out="(out, noted)")


@feature("what is printed", seen=False)
def printed(value: int, spelling: int) -> Parts:
    return Parts(end=f"jax.debug.print('{NUMBERS[value]} {{}}', out)")


@feature("a module of its own")
def helper(value: int, spelling: int) -> Parts:
    return Parts(
        top=("from HELPER import by", "import HELPER as helped\nby = helped.by")[spelling],
        body=times("by", 1),
        files={"_helper.py": f"by = {NUMBERS[value]}\n"},
    )
