"""Stacks made at random, held against the plain loop: nestings, arguments, policies and transformations."""
