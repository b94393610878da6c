"""Try every bad input and print what came out: `python -m tests.bad_inputs [WORDS]` (those whose name has the words).

Ends with 1 where one of them had a traceback, another exit code, a message that does not say it, or changed a file.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.bad_inputs.all_of_them import INPUTS
from tests.bad_inputs.bad_input import attempt


def main() -> int:
    words = " ".join(sys.argv[1:])
    chosen = [bad for bad in INPUTS if words in bad.what]
    wrong = 0
    for bad in chosen:
        folder = Path(tempfile.mkdtemp())
        try:
            outcome = attempt(bad, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        line = outcome.first_line.replace(str(folder), "FOLDER")[:90]
        print(f"{'WRONG' if outcome.wrong else 'ok':5}  {outcome.code:3}  {bad.what:55}  {line}", flush=True)
        if outcome.wrong:
            wrong += 1
            print(f"       {outcome.wrong}\n       $ {bad.run}\n{outcome.out[-1500:]}", flush=True)
    print(f"{len(chosen)} bad inputs, {wrong} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
