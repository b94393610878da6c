"""Expressions and statements, each by its kind of node."""
