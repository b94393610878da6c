"""The rule catalogue: ids and names, and the page of each rule, whose examples are tests.

1xx: a loop that can be rewritten; 2xx: a loop that is refused; 3xx: a comment without effect, code around stacks (31x)
and scans (33x) that is probably a mistake; 4xx: results of verification. A page is one Markdown file,
`rules/SCN205-early-exit.md`. One file per rule with runnable examples follows ruff's mdtest.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scanify.errors import ScanifyError


@dataclass(frozen=True)
class Fence:
    """A fenced block: the words of its info string after `python`, its code, and the line of the page it starts on.

    ```` ```python before stack=call unsafe ```` gives `role="before"`, `rule=None` and `options={"stack": "call",
    "unsafe": ""}`; ```` ```python refused SCN205 ```` gives `role="refused"` and `rule="SCN205"`.
    """

    role: str
    code: str
    line: int
    rule: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """Return the value of `name=value` in the info string, "" for a bare `name`, and None if it is missing."""
        return dict(self.options).get(name)


@dataclass(frozen=True)
class Example:
    """A `###` title, a sentence, and the fences under it, which share one project: see CONTRIBUTING.md."""

    title: str
    fences: tuple[Fence, ...]


@dataclass(frozen=True)
class Page:
    """The page of a rule. `sections` are its `##` headings with their text, in order."""

    title: str
    summary: str
    sections: tuple[tuple[str, str], ...]
    examples: tuple[Example, ...]
    text: str


@dataclass(frozen=True)
class Rule:
    """One rule: its id, and a name in kebab case that describes the pattern, not the fix."""

    id: str
    name: str

    @property
    def filename(self) -> str:
        return f"{self.id}-{self.name}.md"

    @cached_property
    def page(self) -> Page:
        """The page of the rule. Raises FileNotFoundError if the installation is broken."""
        return parse_page((pages_folder() / self.filename).read_text(encoding="utf-8"))


RULES: tuple[Rule, ...] = (
    Rule("SCN101", "python-layer-loop"),
    Rule("SCN102", "loop-over-unlike-layers"),
    Rule("SCN104", "independent-layers"),
    Rule("SCN105", "loop-that-collects"),
    Rule("SCN106", "loop-over-parameters"),
    Rule("SCN201", "unresolved-layers"),
    Rule("SCN202", "mixed-layer-classes"),
    Rule("SCN203", "layers-built-differently"),
    Rule("SCN204", "shared-layer"),
    Rule("SCN205", "early-exit"),
    Rule("SCN206", "collected-outputs"),
    Rule("SCN207", "side-effect"),
    Rule("SCN208", "layer-index"),
    Rule("SCN209", "value-used-after-loop"),
    Rule("SCN210", "no-carry"),
    Rule("SCN211", "captured-carry"),
    Rule("SCN212", "unsupported-statement"),
    Rule("SCN213", "unsupported-iteration"),
    Rule("SCN214", "other-use-of-list"),
    Rule("SCN215", "composed-by-caller"),
    Rule("SCN217", "beyond-the-target"),
    Rule("SCN301", "unused-ignore"),
    Rule("SCN302", "unknown-code"),
    Rule("SCN310", "rank-of-each-leaf"),
    Rule("SCN311", "norm-of-each-leaf"),
    Rule("SCN312", "shape-of-each-leaf"),
    Rule("SCN313", "path-of-each-leaf"),
    Rule("SCN314", "key-for-each-leaf"),
    Rule("SCN315", "modules-looked-for"),
    Rule("SCN316", "layer-of-a-stack-replaced"),
    Rule("SCN317", "leaf-after-leaf"),
    Rule("SCN318", "fields-walked"),
    Rule("SCN319", "leaves-saved-without-layout"),
    Rule("SCN320", "program-read"),
    Rule("SCN330", "one-key-for-all-layers"),
    Rule("SCN331", "shared-argument-sliced"),
    Rule("SCN332", "remat-around-the-scan"),
    Rule("SCN335", "policy-of-unknown-names"),
    Rule("SCN336", "one-weight-for-all-layers"),
    Rule("SCN337", "fewer-keys-than-layers"),
    Rule("SCN338", "graph-definitions-not-compared"),
    Rule("SCN401", "outputs-differ"),
    Rule("SCN402", "gradients-differ"),
    Rule("SCN403", "remat-without-effect"),
    Rule("SCN404", "parameters-differ"),
    Rule("SCN405", "not-proved"),
)


def find_rule(name: str) -> Rule:
    """Find a rule by id or name, ignoring case. Raises ScanifyError if it does not exist."""
    wanted = name.strip().lower()
    for rule in RULES:
        if wanted in (rule.id.lower(), rule.name):
            return rule
    raise ScanifyError(
        f"expected a rule such as SCN101 or python-layer-loop, got {name!r}; `scanify rules` lists them all"
    )


def pages_folder() -> Path:
    """Return the folder of the pages: inside an installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_pages"
    return installed if installed.is_dir() else package.parent / "rules"


_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>.*)$")
_RULE_ID = re.compile(r"^SCN\d{3}$")


def parse_page(text: str) -> Page:
    """Parse a page. Raises ValueError with the line if it does not follow CONTRIBUTING.md."""
    title, summary = "", []
    sections: list[tuple[str, list[str]]] = []
    examples: list[tuple[str, list[Fence]]] = []
    for line, content, fence in _lines_and_fences(text):
        if fence is not None:
            if examples:
                examples[-1][1].append(fence)
            if sections:
                sections[-1][1].append(content)
        elif content.startswith("# "):
            if title:
                raise ValueError(f"line {line}: expected one `# ` heading, got a second one")
            title = content[2:].strip()
        elif content.startswith("## "):
            sections.append((content[3:].strip(), []))
        else:
            if content.startswith("### "):
                examples.append((content[4:].strip(), []))
            if sections:
                sections[-1][1].append(content)
            elif title and content.strip():
                summary.append(content.strip())
    return Page(
        title=title,
        summary=" ".join(summary),
        sections=tuple((heading, "\n".join(body).strip()) for heading, body in sections),
        examples=tuple(Example(name, tuple(fences)) for name, fences in examples),
        text=text,
    )


def _lines_and_fences(text: str) -> Iterator[tuple[int, str, Fence | None]]:
    """Yield each line outside fences, and each fence as one item, with the number of its first line (from 1)."""
    opened: tuple[int, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        if opened is None:
            if match is None:
                yield number, line, None
            else:
                opened, body = (number, match["ticks"], match["info"].strip()), []
        elif match is not None and match["ticks"] == opened[1] and not match["info"].strip():
            start, ticks, info = opened
            code = "".join(f"{each}\n" for each in body)
            yield start, f"{ticks}{info}\n{code}{ticks}", _fence(start, info, code)
            opened = None
        else:
            body.append(line)
    if opened is not None:
        raise ValueError(f"line {opened[0]}: the fence is never closed")


def _fence(line: int, info: str, code: str) -> Fence:
    words = info.split()
    if not words or words[0] != "python":  # not code to test: a shell command, an error message
        return Fence("text", code, line)
    role = words[1] if len(words) > 1 and "=" not in words[1] else "file"
    rest = words[2:] if role != "file" else words[1:]
    rule = next((word for word in rest if _RULE_ID.match(word)), None)
    options = tuple((name, value) for name, _, value in (word.partition("=") for word in rest) if name != rule)
    return Fence(role, code, line, rule, options)
