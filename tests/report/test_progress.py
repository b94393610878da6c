"""Progress: a line on a terminal, nothing in a log."""

from io import StringIO

from rich.console import Console

from scanify.report.progress import progress


def test_a_log_gets_nothing() -> None:
    stream = StringIO()
    with progress(Console(file=stream, force_terminal=False)) as notify:
        notify("verifying cases.py:gpt")
    assert stream.getvalue() == ""


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_step_as_it_is_written() -> None:
    stream = Terminal()
    console = Console(file=stream, force_terminal=True, width=80, legacy_windows=False)
    with progress(console) as notify:
        notify("verifying cases[1].py:gpt")
        console.print("", end="")
    assert "verifying cases[1].py:gpt" in stream.getvalue()
