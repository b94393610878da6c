"""How long findings take while somebody types into a file of 1,000 lines: `python -m tests.server.latency`.

A real client types blanks into a loop; the time is from the key to the findings of that version of the text.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tests.command import MODEL
from tests.server.client import connected

KEYS = 30


async def milliseconds(folder: Path) -> tuple[int, list[float]]:
    head, _, classes = MODEL.partition("\n\nclass ")
    text, number = head, 0
    while text.count("\n") < 1000:
        text += f"\n\nclass {classes}".replace("Block", f"Block{number}").replace("Model", f"Model{number}")
        text += f"\n\ndef train{number}(xs):\n" + "".join(f"    y{each} = xs + {each}\n" for each in range(40))
        number += 1
    path = folder / "model.py"
    path.write_text(text)
    taken = []
    async with connected(folder) as client:
        uri = client.open(path)
        await client.until(lambda: client.last(uri), 120)
        rows = text.split("\n")
        row = next(at for at, line in enumerate(rows) if at > 500 and line.strip().startswith("for layer in"))
        for version in range(2, 2 + KEYS):
            begun = time.perf_counter()
            client.type(uri, version, row, len(rows[row]), " ")
            await client.until(lambda version=version: (last := client.last(uri)) and last.version == version)
            taken.append(1000 * (time.perf_counter() - begun))
            await asyncio.sleep(0.05)
    return text.count("\n"), taken


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        lines, taken = asyncio.run(milliseconds(Path(name)))
    print(f"{lines} lines: median {statistics.median(taken):.0f} ms, longest {max(taken):.0f} ms of {KEYS} keys")


if __name__ == "__main__":
    main()
