"""`scanify rules`: every rule in one line."""

import json

import click

from scanify.report.terminal import tell
from scanify.rules import RULES


@click.command("rules", short_help="List the rules.")
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(form: str) -> None:
    """List every rule: 1xx rewritable loops, 2xx refused loops, 3xx comments and stacks, 4xx verification."""
    if form == "json":
        rules = [
            {"id": rule.id, "name": rule.name, "summary": rule.page.summary, "explanation": rule.page.text}
            for rule in RULES
        ]
        click.echo(json.dumps(rules, indent=2, ensure_ascii=False))
        return
    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        tell(f"{rule.id}  {rule.name:<{width}}  {rule.page.summary}", hang=width + 10)
