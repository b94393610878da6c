"""Run pages of docs/ and show where their outputs are no longer those that are shown: `python -m tests.pages [PAGE...]`.

`--write` writes what comes out now into the pages. Read what has changed: a proof that fails is written as any other.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.pages.blocks import blocks
from tests.pages.place import ROOT, Place, agree


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true", help="write what comes out into the pages")
    options = parser.parse_args()
    changed = 0
    for page in [path.resolve() for path in options.pages] or sorted((ROOT / "docs").rglob("*.md")):
        lines = page.read_text(encoding="utf-8").split("\n")
        found = blocks(page)
        texts: list[tuple[int, int, str]] = []
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.path[:1] = [folder]
            place = Place(Path(folder), page.name)
            for at, block in enumerate(found):
                follows = found[at + 1] if at + 1 < len(found) else None
                text = place.do(block)
                if block.language == "python" and follows and follows.language == "text" and not follows.not_run:
                    text = follows.text if agree(follows.text, place.printed) else place.printed
                    found[at + 1] = follows._replace(text=text)
                    block = follows
                if text is not None and text != block.text:
                    texts.append((block.line - 1, block.text.count("\n"), text))
                    print(f"{page.relative_to(ROOT)}:{block.line}: prints now\n{text}")
            os.chdir(ROOT)
        changed += len(texts)
        if options.write:
            for line, count, text in reversed(texts):
                lines[line : line + count] = text.removesuffix("\n").split("\n")
            page.write_text("\n".join(lines), encoding="utf-8")
    return int(bool(changed) and not options.write)


if __name__ == "__main__":
    sys.exit(main())
