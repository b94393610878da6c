"""Remat policies by their names on the command line and in reports."""

from collections.abc import Sequence

from scanify.verify.programs.trace import Policy

# All policies that the command line has: who names none of them is given these.
EVERY = ("none", "full", "nested", "offload", "save_all", "dots")


def is_asked_for(policy: Policy, policies: Sequence[Policy], requested: Policy) -> bool:
    """Whether somebody named this policy, so that it must hold: not where all `policies` are looked at by default."""
    if policy is None or (requested is not None and policy_of(policy) == policy_of(requested)):
        return True
    return not {policy_of(each) for each in EVERY} <= {policy_of(each) for each in policies}


def policy_of(name: Policy) -> Policy:
    """A policy by its name on the command line: "none" is a scan without remat, "true" the same as "full"."""
    return {"none": False, "false": False, "true": True}.get(name, name) if isinstance(name, str) else name


def policy_name(policy: Policy) -> str:
    """The name of a policy in reports; None is the version as it is written."""
    if policy is None:
        return "as written"
    return {True: "true", False: "none"}[policy] if isinstance(policy, bool) else str(policy)
