"""A large checkpoint converted: how much memory that takes. The old file is sparse, the new one is written in full.

python -m tests.benchmarks.checkpoint --gigabytes 20 --folder /tmp
"""

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAYERS, ARRAYS = 80, 8
WIDE = 8192


def sparse(path: Path, gigabytes: float) -> int:
    """A safetensors file of bfloat16 arrays under `layers.0` to `layers.79`, of zeros but for a mark in each."""
    rows = max(1, int(gigabytes * 2**30 / (LAYERS * ARRAYS * WIDE * 2)))
    size = rows * WIDE * 2
    names = [f"layers.{layer}.w{array}" for layer in range(LAYERS) for array in range(ARRAYS)]
    header = {
        name: {"dtype": "BF16", "shape": [rows, WIDE], "data_offsets": [at * size, (at + 1) * size]}
        for at, name in enumerate(names)
    }
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for at in range(len(names)):
            file.seek(8 + len(text) + at * size)
            file.write(struct.pack("<I", at))
        file.truncate(8 + len(text) + len(names) * size)
    return len(names) * size


def check(path: Path) -> None:
    """Each layer's mark is in its place in the stack."""
    with path.open("rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        assert len(header) == ARRAYS
        for name, told in header.items():
            assert told["shape"][0] == LAYERS
            start, end = told["data_offsets"]
            for layer in range(LAYERS):
                file.seek(8 + length + start + layer * (end - start) // LAYERS)
                assert struct.unpack("<I", file.read(4))[0] == layer * ARRAYS + int(name[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--folder", default=None, help="where there is room for the new file")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        old, new = Path(folder, "old.safetensors"), Path(folder, "new.safetensors")
        size = sparse(old, asked.gigabytes)
        begun = time.perf_counter()
        command = [sys.executable, "-m", "scanify", "convert", str(old), str(new), "--stack", "layers", "--axis", "0"]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - begun
        check(new)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{size / 2**30:.1f} GiB of {LAYERS * ARRAYS} arrays: peak memory {used.ru_maxrss / 2**10:.0f} MiB, "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
