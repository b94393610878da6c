"""Scans in place of repetitions: planning a program, the body of each scan, and running both."""
