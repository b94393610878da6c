"""The configuration of a project: settings, the choice of rules, and comments that suppress findings."""
