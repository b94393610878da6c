"""Cases that cannot be run. jax is started for most of these."""

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
    case("a case file that raises", GOOD + "\n\n1 / 0\n", "division by zero"),
    case("a case file that is no Python", "def f(:\n", "cases.py"),
    case("a case file without the module it needs", "import nowhere_to_be_found\n" + GOOD, "nowhere_to_be_found"),
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
        "a case that removes the current folder",
        "import os\n" + GOOD.replace("    return", "    os.mkdir('d'); os.chdir('d'); os.rmdir('../d')\n    return"),
        "working directory",
    ),
    case(
        "a case that closes all streams",
        "import os\n" + GOOD.replace("    return", "    os.closerange(0, 3)\n    return"),
        "PROVED|cases.py",
        "scanify verify model.py --case cases.py:f --remat none --no-measure",
        (0, 3),
    ),
    case(
        "a case that raises what cannot be printed",
        "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\n\n\ndef f(module):\n    raise Mute\n",
        "Mute",
    ),
    case("a case that raises half a character", "def f(module):\n    raise ValueError('\\ud800')\n", "ValueError"),
    case("a case that interrupts", "def f(module):\n    raise KeyboardInterrupt\n", "(?i)interrupt"),
    case("a case that never stops calling itself", "def f(module):\n    return f(module)\n", "(?i)recursion"),
    case(
        "a case that leaves a thread running",
        "import threading\nimport time\n" + GOOD + "\n\nthreading.Thread(target=time.sleep, args=(600,)).start()\n",
        "PROVED",
        "timeout 100 bash -c 'scanify verify model.py --case cases.py:f --remat none --no-measure'",
        0,
    ),
    case("a case that is a class", "class f:\n    pass\n", "f"),
    case(
        "a case that is a folder",
        GOOD,
        "x.py",
        "mkdir x.py; scanify rewrite model.py --case x.py:f; c=$?; rmdir x.py; exit $c",
        2,
    ),
    case("a case that is a device", GOOD, "null", "scanify rewrite model.py --case /dev/null:f", (2, 3)),
    case(
        "a case with values that are still to be filled in",
        HEAD + "def f(module):\n    return module.Model(..., ..., key=jax.random.key(0)), (...,)\n",
        "(?i)ellipsis",
    ),
    case(
        "a model that is named as a library is",
        HEAD + "def f(module):\n    return module.Model(4, 3, key=jax.random.key(0)), (jnp.ones(4),)\n",
        "PROVED|jax.py",
        'cp model.py jax.py; scanify() { python3 -P -m scanify "$@"; }; scanify verify jax.py --case cases.py:f --remat none '
        "--no-measure; c=$?; rm jax.py; exit $c",
        (0, 2, 3),
    ),
    case(
        "a report into a folder that is not there",
        GOOD,
        "gone",
        "scanify verify model.py --case cases.py:f --remat none --no-measure --output gone/r.html",
        2,
    ),
]
