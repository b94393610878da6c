"""The colours of the page: readable in light and dark."""

import re
from pathlib import Path

import pytest

import scanify.report.page as page

CSS = Path(page.__file__).with_name("page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    for block in CSS.split("@media (prefers-color-scheme: dark)")[:2]
)
TEXT = [
    *((ink, ground) for ink in ("text", "muted", "link") for ground in ("page", "panel")),
    *((kind, f"{kind}-back") for kind in ("proved", "tested", "failed", "not-run")),
    *(("text", f"{kind}-back") for kind in ("proved", "failed")),
    *((kind, "panel") for kind in ("failed",)),
]  # fmt: skip
SHAPES = [(name, "page") for name in ("loop", "bar", "s0", "s1", "s2", "s3", "s4", "s5", "s6")]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_has_a_contrast_of_four_and_a_half_and_shapes_of_three(colours: dict[str, str]) -> None:
    for pairs, least in ((TEXT, 4.5), (SHAPES, 3.0)):
        found = {(ink, ground): contrast(colours[ink], colours[ground]) for ink, ground in pairs}
        assert {pair: round(value, 2) for pair, value in found.items() if value < least} == {}


def test_both_schemes_have_every_colour_and_there_are_no_others() -> None:
    assert LIGHT.keys() == DARK.keys() >= {name for pair in (*TEXT, *SHAPES) for name in pair}
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) <= LIGHT.keys()
    rules = re.sub(r":root \{[^}]*\}", "", CSS)
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|rgb\(|hsl\(", rules)
