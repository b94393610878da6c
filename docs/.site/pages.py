"""What mkdocs makes of this repository's pages, which are written to be read as files, too.

- The rules, the changelog and other pages outside of `docs/` are pages of the site, and links to them lead there.
- A link to any other file of the repository is shown as that file's path.
- A fence may carry a word for the tests behind its language, which the site does not show.
"""

import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
# Where pages from outside of `docs/` are on the site.
OUTSIDE = {
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    **{f"rules/{page.name}": f"rules/{page.name}" for page in sorted((ROOT / "rules").glob("*.md"))},
}
HIDDEN = {"README.md"}  # the site's first page says the same
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^(\s*`{3,})(\w+)[ ]+([^\n`]+)$", re.MULTILINE)
_TITLE = re.compile(r'(?:file=|title=)"?([^"\s]+)"?')
_CODE = re.compile(r"(^\s*```.*?^\s*```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, page in OUTSIDE.items():
        if path not in HIDDEN and (ROOT / path).exists():
            files.append(File.generated(config, page, content=(ROOT / path).read_text(encoding="utf-8")))
    files.append(File.generated(config, "rules/index.md", content=_rules()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri
    sources = {there: path for path, there in OUTSIDE.items()}
    source = PurePosixPath(sources.get(here, f"docs/{here}"))
    if here == "rules/index.md":
        source = PurePosixPath("rules/index.md")
    text = _FENCE.sub(_plain, markdown)
    pieces = _CODE.split(text)
    for at in range(0, len(pieces), 2):  # between code
        pieces[at] = _LINK.sub(lambda link: _linked(link, source, here), pieces[at])
    return "".join(pieces)


def _rules() -> str:
    """The list of rules, with the sentence that each page begins with."""
    rows = []
    for page in sorted((ROOT / "rules").glob("*.md")):
        title, _, summary, *_ = page.read_text(encoding="utf-8").split("\n")
        rows.append(f"| [{title.removeprefix('# ')}]({page.name}) | {summary} |")
    head = "`scanify rules` lists them, `scanify explain SCN205` prints the page of one. Their examples are tests."
    return "\n".join(["# Rules", "", head, "", "| rule | what it says |", "|---|---|", *rows, ""])


def _plain(fence: re.Match[str]) -> str:
    ticks, language, words = fence.groups()
    title = _TITLE.search(words)
    return f'{ticks}{language} title="{title[1]}"' if title else f"{ticks}{language}"


def _linked(link: re.Match[str], source: PurePosixPath, here: str) -> str:
    """A link between files of the repository as one between pages of the site."""
    image, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    if ":" in target:
        return link[0]
    path = _normal(source.parent / target)
    if path.startswith("docs/"):
        there = path.removeprefix("docs/")
        if (ROOT / path).is_dir() or not (ROOT / path).exists():
            return link[0] if not (ROOT / path).exists() else text
    elif path in ("README.md", "docs"):
        there = "index.md"
    elif path == "rules" or path == "rules/index.md":
        there = "rules/index.md"
    elif path in OUTSIDE:
        there = OUTSIDE[path]
    else:
        return f"{text} (`{path}`)" if text.strip("`") != path else f"`{path}`"
    ups = len(PurePosixPath(here).parent.parts)
    return f"{image}[{text}]({'../' * ups}{there}{anchor})"


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
