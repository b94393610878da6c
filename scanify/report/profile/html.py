"""A profile as a self-contained page: the programs of each case, and bars for the loops they come from."""

from collections.abc import Iterator, Sequence

from scanify.report.page import page
from scanify.report.profile.profile import Profile, part
from scanify.report.profile.text import saved, seconds, size
from scanify.report.verification.html import scrolled
from scanify.report.verification.markup import Markup, join, tag
from scanify.report.verification.plots_svg import Bar, bars
from scanify.verify.profile.startup import Program, Startup
from scanify.verify.verdict import CaseResult


def profile_html(profile: Profile) -> str:
    """Render the page, to be written as UTF-8."""
    over = list(profile.over())
    ran_on = ", ".join(f"{name} {version}" for name, version in profile.versions)
    title = "over budget" if over else "could not be profiled" if profile.failed else _title(profile)
    banner = tag(
        "header",
        tag("p", "scanify profile", class_="eyebrow"),
        tag("h1", title),
        *(tag("p", sentence, class_="lead") for sentence in over),
        tag("p", ran_on, class_="muted"),
        class_="bad" if over or profile.failed else "good",
    )
    sections = [_case(profile, number, case) for number, case in enumerate(profile.cases, 1)]
    return page(f"{title}: scanify profile", tag("main", join([banner, *sections], "\n"))) + "\n"


def _title(profile: Profile) -> str:
    programs = [program for case in profile.cases if case.startup is not None for program in case.startup.programs]
    return f"{sum(program.lines for program in programs):,} StableHLO lines to compile"


def _case(profile: Profile, number: int, case: CaseResult) -> Markup:
    parts: list[Markup] = [tag("h2", case.name, id=f"case-{number}")]
    if case.startup is None:
        parts.append(tag("pre", case.error or ""))
    else:
        parts.append(_programs(case.startup))
        for program in case.startup.programs:
            parts += _loops(profile, program, f"plot-{number}-{program.name}")
        parts += [tag("p", note, class_="muted") for note in case.startup.notes]
    return tag("section", *parts, aria_labelledby=f"case-{number}")


def _programs(startup: Startup) -> Markup:
    after = {program.name: program for program in startup.rewritten}
    heads = ["program", "StableHLO lines", "trace", "lower", "compile", "temporaries", "lines if rewritten"]
    rows = []
    for program in startup.programs:
        then = after.get(program.name)
        rows.append(
            [
                program.name,
                f"{program.lines:,}",
                seconds(program.trace_seconds),
                seconds(program.lower_seconds),
                seconds(program.compile_seconds),
                size(program.temp_bytes),
                "-" if then is None else f"{then.lines:,}",
            ]
        )
    return _table("The programs and their sizes", heads, rows)


def _loops(profile: Profile, program: Program, ident: str) -> Iterator[Markup]:
    yield tag("h3", f"{program.name}, by the loops that it was traced in")
    outer = [share for share in program.shares if not share.depth]
    if not outer:
        yield tag("p", "No loop of the source makes a notable part of it.", class_="muted")
        return
    rows = [
        Bar(f"{_stem(share.loop.file)}:{share.loop.line}", share.lines, f"{share.lines:,}")
        for share in sorted(outer, key=lambda share: -share.lines)
    ]
    rows.append(Bar("in no loop", program.outside, f"{program.outside:,}", reference=True))
    yield bars(ident, f"StableHLO lines of the {program.name} by loop", rows)
    cells = [
        [
            f"{'- ' * share.depth}{share.loop.file}:{share.loop.line}",
            share.loop.head,
            f"{share.lines:,}",
            part(share, program),
            f"{share.turns:,}",
            saved(profile, share),
            profile.advice(share.loop),
        ]
        for share in program.shares
    ]
    heads = ["loop", "", "lines", "part", "turns", "a scan saves", "scanify says"]
    yield _table(f"The loops of the {program.name}", heads, cells)


def _stem(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    table = tag(
        "table",
        tag("caption", caption, class_="hidden"),
        tag("thead", tag("tr", *(tag("th", head, scope="col") for head in heads))),
        tag(
            "tbody",
            *(tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows),
        ),
    )
    return scrolled(table, caption)
