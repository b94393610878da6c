"""How long findings take while somebody types into a file of 1,000 lines: `python -m tests.server.latency`.

A real client types a call of `print` into the body of a loop and takes it out again, which changes what is found there. The
time is from the key to the findings of that text, found anew; and what the server and the process that analyses for it have
computed for a key, which another program on the same machine does not change.
"""

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from pathlib import Path

from tests.command import MODEL
from tests.server.client import connected

KEYS = 40
TYPED = "; print(x)"


def thousand_lines() -> str:
    head, _, classes = MODEL.partition("\n\nclass ")
    text, number = head, 0
    while text.count("\n") < 1000:
        text += f"\n\nclass {classes}".replace("Block", f"Block{number}").replace("Model", f"Model{number}")
        text += f"\n\ndef train{number}(xs):\n" + "".join(f"    y{each} = xs + {each}\n" for each in range(40))
        number += 1
    return text


async def typed(folder: Path) -> tuple[int, list[float], float]:
    """The lines of the file, the milliseconds that each key took, and those that were computed for a key."""
    text = thousand_lines()
    path = folder / "model.py"
    path.write_text(text)
    taken = []
    async with connected(folder) as client:
        uri = client.open(path)
        await client.until(lambda: client.last(uri), 120)
        rows = text.split("\n")
        row = next(at for at, line in enumerate(rows) if at > 500 and line.strip().startswith("for layer in"))

        def found() -> object:
            return next((code for code, at in client.codes(uri) or () if at == row), None)

        known, end, tail, computed = found(), len(rows[row + 1]), "", 0.0
        for key in range(KEYS):
            put, before = key % 2 == 0, tail
            tail = (TYPED if put else "") + " " * key  # no text is one that was there before
            begun = time.perf_counter()
            client.type(uri, 2 + key, row + 1, end, tail, instead_of=len(before))
            await client.until(lambda put=put: (found() != known) == put)
            taken.append(1000 * (time.perf_counter() - begun))
            if key == 9:
                computed = _computed()  # from here on: what is imported at the first keys is no more
            await asyncio.sleep(0.05)
        computed = (_computed() - computed) / (KEYS - 10)
    return len(rows), taken, computed


def _computed() -> float:
    """Milliseconds of the server's process and of its child that gives first answers; not of that for whole projects."""
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    servers = {pid: used for pid, used in _children(os.getpid()).items() if _arguments(pid)[-1] == "server"}
    total = sum(servers.values())
    for server in servers:
        children = _children(server).items()
        total += sum(used for pid, used in children if _arguments(pid)[-2:] == ["scanify.server.worker", "0"])
    return total * tick


def _children(parent: int) -> dict[int, int]:
    """The processes that one has started, with what they have computed, in ticks of the clock. Linux keeps it there."""
    found = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = each.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found[int(each.parent.name)] = int(fields[11]) + int(fields[12])
    return found


def _arguments(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").split("\0")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lines, taken, computed = asyncio.run(typed(Path(name)))
    print(
        f"{lines} lines: median {statistics.median(taken):.0f} ms, longest {max(taken):.0f} ms of {KEYS} keys; "
        f"computed for a key: {computed:.0f} ms"
    )


if __name__ == "__main__":
    main()
