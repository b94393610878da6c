"""Loops of published packages, labelled by hand, against what the analysis says of them."""
