"""Statements and expressions: what running them over abstract values gives, and does."""
