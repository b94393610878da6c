"""`scanify rules`: every rule in one line."""

import click

from scanify.rules import RULES


@click.command("rules", short_help="List the rules.")
def command() -> None:
    """List every rule: 1xx are loops that were found, 2xx loops that are refused, 4xx what verification found."""
    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        click.echo(f"{rule.id}  {rule.name:<{width}}  {rule.page.summary}")
