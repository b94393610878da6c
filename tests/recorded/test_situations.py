"""Calls that a program makes in all sorts of surroundings are recorded, and what cannot be recorded is said."""

import os
import sys
from pathlib import Path

import jax
import pytest

from scanify.verify.profile import hooks
from tests.recorded.runs import run


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


MONITORS = [False, *([True] if hooks._MONITORS else [])]
ONE = ("x float32[4]", "start constructed", "same True")
pytestmark = pytest.mark.filterwarnings("ignore")  # programs may end in a thread, and fork beside threads


@pytest.mark.parametrize(
    ("program", "notes"),
    [
        pytest.param("net(x)", ONE, id="eager"),
        pytest.param("eqx.filter_jit(net)(x)", ONE, id="jit"),
        pytest.param("jax.jit(lambda net, x: net(x))(net, x)", ONE, id="jit that makes tracers of numbers"),
        pytest.param("eqx.filter_grad(lambda net: jnp.sum(net(x)))(net)", ONE, id="grad"),
        pytest.param("jax.vmap(net)(jnp.ones((3, 4)))", ONE, id="vmap, of one example"),
        pytest.param("jax.lax.map(net, jnp.ones((3, 4)))", ONE, id="lax.map"),
        pytest.param("jax.lax.scan(lambda c, t: (net(c), t), x, jnp.arange(3))", ONE, id="scan over time"),
        pytest.param("jax.checkpoint(lambda x: net(x))(x)", ONE, id="checkpoint"),
        pytest.param(
            """
            nets = eqx.filter_vmap(lambda key: Net(4, 3, key=key))(jax.random.split(jax.random.key(1), 2))
            eqx.filter_vmap(lambda net: net(x))(nets)
            """,
            ONE,
            id="an ensemble",
        ),
        pytest.param(
            """
            mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("batch",))
            spec = jax.sharding.PartitionSpec("batch")
            xs = jax.device_put(jnp.ones((2, 4)), jax.sharding.NamedSharding(mesh, spec))
            jax.shard_map(jax.vmap(net), mesh=mesh, in_specs=spec, out_specs=spec)(xs)
            """,
            ONE,
            id="shard_map",
        ),
        pytest.param(
            """
            cast = lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a
            eqx.filter_jit(jax.tree.map(cast, net))(x.astype(jnp.bfloat16))
            """,
            ("x bfloat16[4]", "start constructed", "same True"),
            id="bfloat16",
        ),
        pytest.param("net(x, jax.random.key(1))", ("x float32[4]", "key key<fry>[]", *ONE[1:]), id="a typed key"),
        pytest.param(
            "eqx.filter_jit(net)(x, jax.random.PRNGKey(1))", ("x float32[4]", "key uint32[2]", *ONE[1:]), id="a raw key"
        ),
        pytest.param(
            "step = eqx.filter_jit(lambda x, net: net(x), donate='all-except-first')\nstep(x, net)", ONE, id="donated"
        ),
        pytest.param(
            "import threading\nthread = threading.Thread(target=net, args=(x,))\nthread.start()\nthread.join()",
            ONE,
            id="another thread",
        ),
        pytest.param(
            "def swallow():\n    try:\n        net(x)\n    except BaseException:\n        pass\nswallow()",
            ONE,
            id="swallowed",
        ),
        pytest.param("import os\nif not os.fork():\n    os._exit(0)\nnet(x)", ONE, id="a fork before the call"),
        pytest.param("import os, tempfile\nos.chdir(tempfile.gettempdir())\nnet(x)", ONE, id="another folder"),
        pytest.param(
            "net = eqx.tree_at(lambda n: n.layers[0].linear.bias, net, x)\nnet(x)",
            ONE,
            id="changed values",
        ),
    ],
)
def test_a_call_is_recorded(program: str, notes: tuple[str, ...], tmp_path: Path) -> None:
    (result,) = run(tmp_path, program)
    assert result.error is None
    assert result.notes == notes
    assert result.variant == (("call", "Net.__call__"),)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        pytest.param(
            "",
            "ended, without a call of Net.__call__ (model.py:27), forward (model.py:33), centred (model.py:39)",
            id="never called",
        ),
        pytest.param("raise SystemExit(3)", "ended with exit code 3, without a call", id="sys.exit"),
        pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="raises"),
        pytest.param(
            "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9/', timeout=2)",
            "URLError",
            id="needs a network",
        ),
        pytest.param(
            "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])",
            "it started other processes, which are not followed",
            id="another process",
        ),
        pytest.param(
            "import os\nx = jnp.asarray(np.frombuffer(os.urandom(4), np.uint8), jnp.float32)\nnet(x)",
            "differs from itself: in a second run of the original, at call 1 of Net.__call__, `x` has other values",
            id="other values each time",
        ),
        pytest.param(
            "with jax.enable_x64(True):\n    net(jnp.ones(4, jnp.float64))",
            "expected float64[4], as the run has it, and got float32[4] outside of it",
            id="float64 for a part of the run",
            marks=pytest.mark.skipif(not hasattr(jax, "enable_x64"), reason="jax has it from 0.11 on"),
        ),
    ],
)
def test_what_cannot_be_recorded_is_said(program: str, message: str, tmp_path: Path) -> None:
    (result,) = run(tmp_path, program)
    assert message in str(result.error)


DECORATED = """
def traced(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)
    return wrapper

class Deep(Net):
    @traced
    def __call__(self, x, key=None):
        "Says what it does."
        global calls
        calls = 1
        for layer in self.layers:
            x = layer(x)
        return x
"""
OTHERS = "forward(net, x)\njax.vmap(lambda x: centred(net, x), axis_name='batch')(jnp.ones((2, 4)))\n"
GOES_ON = f"""
import threading
import time

{OTHERS}
def swallow():
    for _ in range(3000):
        try:
            net(x)
        except BaseException:
            pass
    open("went-on", "w").close()

def wait():
    for _ in range(3000):
        time.sleep(0.01)
    open("went-on", "w").close()
"""
# A copy that computes would wait for threads of jax that it has not, and hold the output of the tests open.
FORKS = "import os\nif not os.fork():\n    try:\n        net(None)\n    finally:\n        os._exit(0)\n"


@pytest.mark.parametrize("monitors", MONITORS)
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(f"{OTHERS}eqx.filter_jit(net)(x)", id="jit"),
        pytest.param(f"{OTHERS}try:\n    net(x)\nexcept BaseException:\n    net(x)", id="called in the handler"),
        pytest.param(f"{GOES_ON}swallow()", id="swallowed again and again"),
        pytest.param(f"{GOES_ON}threading.Thread(target=net, args=(x,)).start()\nwait()", id="in a thread"),
        pytest.param(f"{OTHERS}class Other(Net):\n    pass\nOther(4, 3, key=jax.random.key(0))(x)", id="a subclass"),
        pytest.param(f"{FORKS}{OTHERS}net(x)", id="fork"),
    ],
)
def test_a_run_ends_at_the_last_call_with_and_without_sys_monitoring(
    program: str, monitors: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_MONITORS", monitors)
    *others, result = run(tmp_path, program)
    assert [each.error for each in (*others, result)] == [None] * 3
    assert result.notes[:3] == ONE
    assert not (tmp_path / "went-on").exists()


def test_functions_of_all_forms_are_watched_without_sys_monitoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_MONITORS", False)
    (result,) = run(tmp_path, f"import functools\n{DECORATED}\nDeep(4, 3, key=jax.random.key(0))(x)")
    assert (result.error, result.variant) == (None, (("call", "Deep.__call__"),))


def test_random_numbers_without_a_seed_are_drawn_again_alike(tmp_path: Path) -> None:
    (result,) = run(tmp_path, "import random\nnet(jnp.asarray(np.random.normal(size=4) + random.random()))")
    assert result.error is None
    assert "same True" in result.notes


@pytest.mark.parametrize("monitors", MONITORS)
def test_contexts_of_the_program_are_left(monitors: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "_MONITORS", monitors)
    program = """
    from contextlib import contextmanager
    from pathlib import Path

    @contextmanager
    def noted(name):
        try:
            yield
        finally:
            Path(name).write_text("left")

    forward(net, x)
    jax.vmap(lambda x: centred(net, x), axis_name="batch")(jnp.ones((2, 4)))
    with noted("outer"):
        try:
            with noted("inner"):
                net(x)
        except BaseException:
            Path("swallowed").write_text("here")
        Path("after").write_text("not here")
    """
    results = run(tmp_path, program)
    assert [result.error for result in results] == [None] * 3
    names = ("outer", "inner", "swallowed", "after")
    assert [name for name in names if (tmp_path / name).exists()] == ["outer", "inner", "swallowed"]


def test_the_run_ends_at_the_call_that_was_still_missing(tmp_path: Path) -> None:
    program = """
    from pathlib import Path
    said = Path("said")
    said.write_text(said.read_text() + "before " if said.exists() else "before ")
    net(x)
    said.write_text(said.read_text() + "between ")
    jax.vmap(lambda x: centred(net, x), axis_name="batch")(jnp.ones((2, 4)))
    forward(net, x)
    said.write_text(said.read_text() + "after ")
    """
    results = run(tmp_path, program)
    assert [dict(result.variant)["call"] for result in results] == ["Net.__call__", "centred", "forward"]
    assert (tmp_path / "said").read_text().split() == ["before", "between"] * 2


def test_a_second_call_of_another_kind_is_a_case_of_its_own(tmp_path: Path) -> None:
    results = run(tmp_path, "net(x)\nnet(x)\nnet(x, jax.random.key(0))\nforward(net, x)")
    assert [dict(result.variant)["call"] for result in results] == [
        "Net.__call__, call 1",
        "Net.__call__, call 3",
        "forward",
    ]


def test_a_loop_in_the_program_itself_and_in_a_closure(tmp_path: Path) -> None:
    program = """
    def build(scale):
        net = Net(4, 3, key=jax.random.key(2))

        def apply(y):
            for block in net.layers:
                y = block(y) * scale
            return y

        return apply

    build(jnp.ones(4))(x)
    """
    results = run(tmp_path, program)
    assert [dict(result.variant)["call"] for result in results] == ["build.apply"]
    assert results[0].notes == ("y float32[4]", "start values", "same True")


def test_the_surroundings_of_this_process_are_as_before(tmp_path: Path) -> None:
    def now() -> tuple[object, ...]:
        return list(sys.path), sys.argv, sys.modules["__main__"], sys.gettrace(), sys.getprofile(), dict(os.environ)

    before = now()
    run(tmp_path, "import os, sys\nos.environ['SET_BY_THE_PROGRAM'] = '1'\nsys.argv.append('x')\nnet(x)")
    os.environ.pop("SET_BY_THE_PROGRAM", None)
    assert now() == before


@pytest.mark.parametrize("monitors", MONITORS)
def test_what_jax_has_traced_does_not_hide_calls_of_the_next_run(
    monitors: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hooks, "_MONITORS", monitors)
    (tmp_path / "traced.py").write_text("import equinox as eqx\napply = eqx.filter_jit(lambda net, x: net(x))\n")
    program = """
    import os
    from traced import apply
    apply(net, x)
    forward(net, jnp.asarray(np.frombuffer(os.urandom(4), np.uint8), jnp.float32))
    """
    (result,) = run(tmp_path, program)
    assert "at call 1 of forward, `x` has other values" in str(result.error)
