"""Covers: the scans, periods and single layers that make up a sequence of layers, and their application."""
