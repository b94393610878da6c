"""Expressions and statements, by kind of node."""
