"""A profile as text: one table of the programs of a case, and for each program the loops that it comes from."""

from io import StringIO

from rich.console import Console
from rich.text import Text

from scanify.report.profile.profile import Profile, part
from scanify.report.tables import print_line, print_table, table_for
from scanify.report.verification.summary import in_seconds
from scanify.report.visible import visible
from scanify.verify.children.limits import human_bytes
from scanify.verify.profile.startup import Program, Share, Startup


def print_profile(profile: Profile, console: Console) -> None:
    """Print the report, in colour on a terminal and as plain ASCII elsewhere."""
    for case in profile.cases:
        print_line(console, Text(case.name, style="bold"))
        if case.startup is None:
            print_line(console, Text.assemble("  ", ("could not be profiled", "bold red")))
            for line in (case.error or "").splitlines():
                print_line(console, Text(f"    {visible(line)}"))
        else:
            _print_programs(case.startup, console)
            for program in case.startup.programs:
                _print_loops(profile, program, console)
            for note in case.startup.notes:
                print_line(console, Text.assemble("  ", ("note", "cyan"), f"  {visible(note)}"))
        print_line(console, Text(""))
    ran_on = ", ".join(f"{name} {version}" for name, version in profile.versions)
    print_line(console, Text(ran_on, style="dim"))
    for sentence in profile.over():
        print_line(console, Text.assemble(("over budget", "bold red"), f"  {sentence}"))


def profile_text(profile: Profile, width: int = 100) -> str:
    """Render the report as plain text."""
    stream = StringIO()
    print_profile(profile, Console(file=stream, width=width, force_terminal=False, color_system=None))
    return stream.getvalue()


def _print_programs(startup: Startup, console: Console) -> None:
    after = {program.name: program for program in startup.rewritten}
    table = table_for(console)
    table.add_column("program", no_wrap=True)
    headings = ["StableHLO lines", "trace", "lower"]
    compiled = any(program.compile_seconds is not None for program in startup.programs)
    headings += ["compile", "temporaries"] if compiled else []
    headings += ["lines if rewritten"] if after else []
    headings += ["compile then"] if after and compiled else []
    for heading in headings:
        table.add_column(heading, justify="right")
    for program in startup.programs:
        cells = [f"{program.lines:,}", seconds(program.trace_seconds), seconds(program.lower_seconds)]
        if compiled:
            cells += [seconds(program.compile_seconds), size(program.temp_bytes)]
        if after:
            then = after.get(program.name)
            cells.append("-" if then is None else f"{then.lines:,}")
            if compiled:
                cells.append("-" if then is None else seconds(then.compile_seconds))
        table.add_row(program.name, *cells)
    print_table(table, console)


def _print_loops(profile: Profile, program: Program, console: Console) -> None:
    print_line(console, Text(""))
    if not program.shares:
        print_line(console, Text(f"  {program.name}: no loop of the source makes a notable part of it"))
        return
    print_line(console, Text(f"  {program.name}, by the loops that it was traced in"))
    table = table_for(console)
    for heading in ("lines", "part", "turns", "a scan saves"):
        table.add_column(heading, justify="right")
    table.add_column("loop")
    for share in program.shares:
        place = f"{'  ' * share.depth}{share.loop.file}:{share.loop.line}: {share.loop.head}"
        advice = profile.advice(share.loop)
        cell = Text.assemble(visible(place), *((("\n" + "  " * share.depth + advice), "cyan"),) if advice else ())
        table.add_row(f"{share.lines:,}", part(share, program), f"{share.turns:,}", saved(profile, share), cell)
    rest = f"{100 * program.outside / program.lines:.0f} %"
    table.add_row(f"{program.outside:,}", rest, "", "", "in no such loop")
    print_table(table, console)


def saved(profile: Profile, share: Share) -> str:
    """How many lines a rewrite saves in a loop, or - for a loop that it leaves as it is."""
    lines = profile.saves(share)
    return "-" if lines is None else f"{lines:,}"


def seconds(value: float | None) -> str:
    """A time, or - if it was not measured."""
    return "-" if value is None else in_seconds(value)


def size(value: int | None) -> str:
    """A size in binary units, or - if it was not measured."""
    return "-" if value is None else human_bytes(value)
