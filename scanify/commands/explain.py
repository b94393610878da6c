"""`scanify explain`: the page of a rule."""

import sys

import click

from scanify.rules import find_rule


@click.command("explain", short_help="Explain a rule, with examples.")
@click.argument("rule")
def command(rule: str) -> None:
    """Explain RULE, an id or a name, such as SCN205 or early-exit."""
    page = find_rule(rule).page
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(page.text))
    else:
        click.echo(page.text, nl=False)
