"""Scans in place of what repeats: what becomes of a program, the body of each scan, and running both."""
