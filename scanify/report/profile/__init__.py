"""Profiles as text, JSON and HTML."""
