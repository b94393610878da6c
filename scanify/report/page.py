"""A self-contained HTML page: no scripts, no network access, inline style."""

from pathlib import Path

from scanify.report.verification.markup import Markup, tag

_STYLE = Path(__file__).with_name("page.css")


def page(title: str, body: Markup) -> str:
    """Render a page with a title and a body."""
    # A second defence if a text is not escaped: the page may load and run nothing.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    style = Markup(_STYLE.read_text(encoding="utf-8"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("title", title),
        tag("style", style),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body), lang='en')}"
