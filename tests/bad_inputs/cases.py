"""Cases that cannot be run, and checkpoints that cannot be converted. jax is started for most of these."""

from tests.bad_inputs.bad_input import BadInput
from tests.command import MODEL

HEAD = "import jax\nimport jax.numpy as jnp\n\n\n"
GOOD = HEAD + "def f(module):\n    return module.Model(4, 3, key=jax.random.key(0)), (jnp.ones(4),)\n"


def case(what: str, text: str, says: str, run: str = "", code: int | tuple[int, ...] = 3) -> BadInput:
    run = run or "scanify rewrite model.py --case cases.py:f"
    return BadInput(what, run, code, says, {"model.py": MODEL, "cases.py": text})


CASES = [
    case("a case file that is not there", GOOD, "gone.py", "scanify rewrite model.py --case gone.py:f", 2),
    case("a case that there is none of", GOOD, "(?s)g.*f", "scanify rewrite model.py --case cases.py:g", (2, 3)),
    case("a case of no file", GOOD, "f", "scanify rewrite model.py --case f", 2),
    case("a case that raises", HEAD + "def f(module):\n    raise RuntimeError('no data here')\n", "no data here"),
    case("a case file that raises", "1 / 0\n", "division by zero"),
    case("a case file that is no Python", "def f(:\n", "cases.py"),
    case("a case file without the module it needs", "import nowhere_to_be_found\n", "nowhere_to_be_found"),
    case("a case that answers nothing", HEAD + "def f(module):\n    pass\n", "None"),
    case("a case that takes no module", "def f():\n    pass\n", "f"),
    case("a case whose arguments do not fit", GOOD.replace("jnp.ones(4)", "jnp.ones(5)"), "(?i)shape|dot|size"),
    case("a case that exits", "import sys\n\n\ndef f(module):\n    sys.exit(7)\n", "(?i)exit"),
    case(
        "a case that dies",
        "import os\n\n\ndef f(module):\n    os.kill(os.getpid(), 11)\n",
        "(?i)signal|crash|died|SEGV|11",
    ),
    case(
        "a case that never ends",
        "def f(module):\n    while True:\n        pass\n",
        "(?i)time",
        "scanify rewrite model.py --case cases.py:f --time-limit 5",
    ),
    case(
        "a case that prints megabytes",
        GOOD.replace("    return", "    print('x' * 3_000_000)\n    return"),
        "PROVED",
        "scanify verify model.py --case cases.py:f --remat none --no-measure | tail -c 2000",
        0,
    ),
    case(
        "a report into a folder that is not there",
        GOOD,
        "gone",
        "scanify verify model.py --case cases.py:f --remat none --no-measure --output gone/r.html",
        2,
    ),
    case("a checkpoint that is not there", GOOD, "old.npz", "scanify convert old.npz new.npz --stack layers", 2),
    case(
        "a checkpoint that is none",
        GOOD,
        "(?i)old.npz",
        "echo hello > /tmp/$$.npz; scanify convert cases.py new.npz --stack layers; code=$?; echo old.npz; rm /tmp/$$.npz; exit $code",
        2,
    ),
    case(
        "a checkpoint that is cut off",
        GOOD,
        "(?i)old.safetensors",
        "scanify convert old.safetensors new.safetensors --stack layers",
        2,
    ),
]
