"""The process that forks children for tests: it has imported what a comparison needs, and runs nothing itself.

The descriptor of the socket, over which it is asked, and the folder of the repository are its last two arguments;
`tests/warm_children.py` starts it, asks, and says what for.
"""

import gc
import importlib
import json
import os
import socket
import sys
from contextlib import suppress
from typing import Any

_IMPORTED = (
    "jax",
    "equinox",
    "scanify.verify.children.child",
    "scanify.verify.children.alone",
    "scanify.verify.compare.compare",
    "scanify.verify.objects.statics",
    "scanify.verify.versions.settings",
)
_POLL = 0.02


def serve(asked: socket.socket) -> None:
    """Fork for each order, until nobody is left to order."""
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what each child would look through, and so copy
    from scanify.verify.children.supervise import _keep_orphans as keep_orphans

    keep_orphans()  # so that the time that they took is counted as that of a child
    running: dict[int, int] = {}  # by process, the descriptor to say on how it ended
    while True:
        asked.settimeout(_POLL if running else None)
        try:
            order, descriptors = received(asked)
        except TimeoutError:
            pass
        except EOFError:
            os._exit(0)
        else:
            *given, ended = descriptors
            running[forked(order, given, (asked.fileno(), ended, *running.values()))] = ended
            for descriptor in given:
                os.close(descriptor)
        reap(running)


def reap(running: dict[int, int]) -> None:
    """Say of each process that has ended how it did. Others are what a child has left behind."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if (ended := running.pop(found[0], None)) is not None:
                os.write(ended, os.waitstatus_to_exitcode(found[1]).to_bytes(8, "big", signed=True))
                os.close(ended)


def received(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    size, descriptors, _, _ = socket.recv_fds(asked, 8, 5)
    asked.settimeout(None)
    text = b""
    while size and len(text) < int.from_bytes(size, "big"):
        text += asked.recv(1 << 16)
    if not size:
        raise EOFError
    return json.loads(text), descriptors


def forked(order: dict[str, Any], given: list[int], not_its: tuple[int, ...]) -> int:
    """Start a child as `scanify.verify.children.process` does; its number goes to the last of `not_its` first."""
    child = os.fork()
    if child:
        os.write(not_its[1], child.to_bytes(8, "big"))
        return child
    try:
        os.setsid()
        *descriptors, output = given
        os.dup2(output, 1)
        os.dup2(output, 2)
        for descriptor in (output, *not_its):
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(order["environment"])
        os.chdir(order["directory"])
        sys.path[:0] = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        from scanify.verify.children.supervise import supervise

        supervise(descriptors[2])
        importlib.import_module(order["module"]).main(*descriptors)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


*_, _socket, _root = sys.argv
# The scanify of this checkout, whichever is installed; afterwards its folder is the last, as it is for users' cases.
sys.path.insert(0, _root)
importlib.import_module("scanify")
sys.path.append(sys.path.pop(0))
serve(socket.socket(fileno=int(_socket)))
