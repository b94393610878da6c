"""Covers: which scans, periods and single layers make up a sequence of layers, and how they are applied."""
