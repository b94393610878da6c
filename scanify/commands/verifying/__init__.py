"""Shared code of the commands that run cases: which cases, on which versions, with which extra measurements."""
