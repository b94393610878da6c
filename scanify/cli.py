"""The command line: `main` maps every way in which a command can end to an exit code and a message."""

import gc
import importlib
import sys
from pathlib import Path

import click

import scanify
from scanify.crash import bug_report
from scanify.errors import CheckFailed, Exit, ScanifyError
from scanify.report.sentences import shorten
from scanify.report.terminal import tell
from scanify.surroundings import in_the_way, ready_streams

COMMANDS = (
    "check",
    "rewrite",
    "unroll",
    "verify",
    "profile",
    "reroll",
    "case",
    "convert",
    "config",
    "explain",
    "rules",
    "server",
    "completion",
)

DEEPEST = 12_000

HELP = """Rewrite Python loops over Equinox layers to scans over stacked layers, and prove that nothing changed.

\b
Exit codes: 0 done and nothing to report, 1 findings, or changes that were only
asked about (--check, --diff), 2 wrong usage or configuration, 3 verification
failed, 4 internal error, 130 interrupted.
"""


class Commands(click.Group):
    """The commands, each a module of `scanify.commands` that is imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"scanify.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(scanify.__version__, prog_name="scanify")
def cli() -> None:
    """The group of all commands."""


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. User errors are shown as a message, defects as a bug report."""
    try:
        return int(cli.main(args=arguments, prog_name="scanify", standalone_mode=False) or Exit.OK)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.Abort:
        click.echo("scanify: interrupted; no file was changed", err=True)
        return Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return Exit.USAGE
    except Exception as error:
        if isinstance(error, ScanifyError) and not isinstance(error, CheckFailed):
            tell(f"scanify: {shorten(str(error), Path.cwd())}", err=True)
            return error.exit_code
        told = in_the_way(error)
        if told is not None:
            click.echo(f"scanify: {told}", err=True)
            return Exit.USAGE
        click.echo(bug_report(error, arguments), err=True)
        return Exit.INTERNAL


def main() -> None:
    """The entry point of the `scanify` command."""
    ready_streams()
    # Trees and values live until the command ends; collecting garbage took a third of the time.
    gc.set_threshold(200_000, 50, 50)
    # Generated code has sums of a thousand terms; each is a level of the tree and takes several calls.
    sys.setrecursionlimit(max(DEEPEST, sys.getrecursionlimit()))
    sys.exit(run(sys.argv[1:]))
