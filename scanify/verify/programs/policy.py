"""Remat policies by their names on the command line and in reports."""

from collections.abc import Sequence

from scanify.verify.programs.trace import Policy

# All policies of the command line, which are the default.
EVERY = ("none", "full", "nested", "offload", "save_all", "dots")


def is_asked_for(policy: Policy, policies: Sequence[Policy], requested: Policy) -> bool:
    """True if this policy was named explicitly, so that it must hold: not if all `policies` are checked by default."""
    if policy is None or (requested is not None and policy_of(policy) == policy_of(requested)):
        return True
    return not {policy_of(each) for each in EVERY} <= {policy_of(each) for each in policies}


def policy_of(name: Policy) -> Policy:
    """Return a policy by its name on the command line: "none" is a scan without remat, "true" the same as "full"."""
    return {"none": False, "false": False, "true": True}.get(name, name) if isinstance(name, str) else name


def policy_name(policy: Policy) -> str:
    """Return the name of a policy in reports; None is the version as written."""
    if policy is None:
        return "as written"
    return {True: "true", False: "none"}[policy] if isinstance(policy, bool) else str(policy)
