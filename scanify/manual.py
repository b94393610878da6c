"""Create the manual page from the help texts: `python -m scanify.manual > scanify.1`."""

import re

import click

import scanify
from scanify.cli import COMMANDS, cli


def page() -> str:
    """Return the page in the format of `man`, with a section per command."""
    context = click.Context(cli, info_name="scanify")
    lines = [
        f'.TH SCANIFY 1 "" "scanify {scanify.__version__}" "User Commands"',
        ".nh",  # no hyphenation
        ".ad l",
        ".SH NAME",
        "scanify \\- rewrite Python loops over Equinox layers to scans, and prove that nothing changed",
        ".SH SYNOPSIS",
        ".B scanify",
        "COMMAND [OPTIONS] [ARGUMENTS]...",
        ".SH DESCRIPTION",
        *_prose(cli.help or ""),
    ]
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        lines += _command(command, click.Context(command, info_name=name, parent=context))
    lines += [
        ".SH ENVIRONMENT",
        *_item("NO_COLOR", "No colours, not on a terminal either."),
        *_item("FORCE_COLOR", "Colours, in a pipe too."),
        *_item("SCANIFY_CACHE_DIR", "The folder of results, in place of .scanify_cache of the project."),
        *_item("CI", "Without SCANIFY_CACHE_DIR, nothing is kept between runs."),
        ".SH FILES",
        *_item("pyproject.toml", "The settings, in [tool.scanify]; `scanify config` shows those that hold."),
    ]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, context: click.Context) -> list[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f'.SH "{(command.name or "").upper()}"', f".B scanify {command.name}", _plain(usage), ".PP"]
    lines += _prose(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            lines += _item(*record)
    return lines


def _item(term: str, text: str) -> list[str]:
    return [".TP", f".B {_plain(term)}", *_prose(text)]


def _prose(text: str) -> list[str]:
    """Convert paragraphs; lines are kept if they are marked for click."""
    lines: list[str] = []
    for paragraph in filter(None, re.split(r"\n[ \t]*\n", text.strip())):
        rows = [row.strip() for row in paragraph.splitlines()]
        kept = rows[0] == "\b"
        lines += [".PP" if lines else "", *([".nf"] if kept else [])]
        lines += [_plain(row) for row in rows[1 if kept else 0 :]]
        lines += [".fi"] if kept else []
    return [line for line in lines if line]


def _plain(text: str) -> str:
    """Escape a line for `man`."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    print(page(), end="")
