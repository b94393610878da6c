"""Remat policies by their names on the command line and in reports."""

from scanify.verify.programs.trace import Policy


def policy_of(name: Policy) -> Policy:
    """A policy by its name on the command line: "none" is a scan without remat, "true" the same as "full"."""
    return {"none": False, "false": False, "true": True}.get(name, name) if isinstance(name, str) else name


def policy_name(policy: Policy) -> str:
    """The name of a policy in reports; None is the version as it is written."""
    if policy is None:
        return "as written"
    return {True: "true", False: "none"}[policy] if isinstance(policy, bool) else str(policy)
