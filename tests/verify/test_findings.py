"""What is wrong beside the values: remat that is not there, a loop that is still a loop; and what is worth a note."""

from tests.verify.loop_model import LIST, PROVED, REWRITE, SOURCE, STACK, changed, statuses


def test_saved_bytes_tell_the_policies_apart(compare):
    result = compare(REWRITE)
    saved = {p.policy: p.measured.saved_bytes for p in result.policies}
    assert 0 < saved["nested"] < saved["none"]
    assert result.original.saved_bytes > saved["nested"]


def test_remat_that_was_dropped_is_a_finding(compare):
    result = compare(changed("'nested'", "False"))
    by_name = {p.policy: p for p in result.policies}
    assert statuses(result) == PROVED
    assert "does not: as written it saves" in by_name["nested"].findings[0]
    assert by_name["none"].findings == ()
    assert not result.good


def test_dropped_remat_is_a_finding_of_the_case_where_its_policy_is_not_compared(compare):
    result = compare(changed("'nested'", "False"), policies=("none",))
    assert "does not: as written" in result.findings[0]
    assert not result.good


def test_a_rewrite_that_scans_nothing_is_a_finding(compare):
    result = compare({}, policies=("none",), requested=None)
    assert statuses(result) == PROVED
    assert "nothing is scanned" in result.findings[0]


def test_a_stack_that_is_looped_over_is_a_finding(compare):
    result = compare({LIST: STACK}, policies=("none",), requested=None)
    assert "nothing is scanned in the rewritten version: it holds a stack of 3 layers" in result.findings[0]


def test_a_jitted_call_is_traced_anew_under_each_policy(compare):
    signature = "    def __call__(self, x, mask, *, key=None):"
    source = SOURCE.replace(signature, f"    @eqx.filter_jit\n{signature}")
    saved = {p.policy: p.measured.saved_bytes for p in compare(REWRITE, source=source).policies}
    assert saved["nested"] < saved["none"]


def test_a_policy_that_keeps_other_residuals_has_changed_something(compare):
    result = compare(REWRITE, policies=("none", "full", "nested", "save_all", None))
    changed = {p.policy: p.changed for p in result.policies}
    assert changed == {"none": False, "full": True, "nested": True, "save_all": False, "as written": True}


def test_whether_a_policy_changed_something_is_not_known_without_gradients(compare):
    source = SOURCE.replace("x * self.norm", "jax.lax.while_loop(lambda s: s[0, 0] < 0, lambda s: s * self.norm, x)")
    assert {p.changed for p in compare(REWRITE, source=source, dropout=False).policies} == {None}


def test_what_only_the_rewritten_version_donates_is_a_note(compare):
    line = "        x = x * self.norm\n"
    kept, given = (line + f"        x = jax.jit(lambda m: -m{more})(mask) + x\n" for more in ("", ", donate_argnums=0"))
    told = "the rewritten version donates mask: a call outside of `jax.jit` deletes what it was given"
    options = {"policies": ("none",), "requested": None}
    assert told in compare({kept: given}, source=SOURCE.replace(line, kept), **options).notes
    for made in (kept, given):
        assert told not in compare({}, source=SOURCE.replace(line, made), **options).notes
