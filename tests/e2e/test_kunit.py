# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites, on the checking kernel: loaded in a guest, where KASAN and lockdep
watch them."""

import pytest

from rig import ktap

MODULE = "devlend_kunit"

SAMPLE = """\
KTAP version 1
1..1
    KTAP version 1
    # Subtest: plan
    1..3
    ok 1 fits
    # align: EXPECTATION FAILED at plan_test.c:12
    not ok 2 align
    ok 3 - later # SKIP no need
not ok 1 plan
"""


def test_ktap_is_understood():
    cases = ktap.parse(SAMPLE)
    assert [(c.name, c.ok, c.skipped, c.depth) for c in cases] == [
        ("fits", True, False, 1), ("align", False, False, 1), ("later", True, True, 1), ("plan", False, False, 0)]
    assert "EXPECTATION FAILED" in cases[1].notes


@pytest.mark.checking
def test_suites(make_guest):
    guest = make_guest(kernel="checking")
    assert any(p.stem == MODULE for p in guest.kernel.built_modules), \
        f"no {MODULE}.ko: run tests/rig/build-modules.sh checking"
    before = set(ktap.suites(guest))
    guest.run(f"modprobe {MODULE}", timeout=300)
    loaded = [s for s in ktap.suites(guest) if s not in before]
    assert loaded, "the module has no suites"
    failed, passed, skipped = [], 0, 0
    for suite in loaded:
        cases = ktap.results(guest, suite)
        leaves = [c for c in cases if c.depth]
        assert leaves, f"suite {suite} ran nothing"
        failed += [f"{suite}.{c.name}:\n{c.notes}" for c in cases if not c.ok]
        passed += sum(c.ok and not c.skipped for c in leaves)
        skipped += sum(c.skipped for c in leaves)
    print(f"KUnit: {len(loaded)} suites, {passed} passed, {len(failed)} failed, {skipped} skipped")
    assert not failed, "\n".join(failed)
    guest.run(f"modprobe -r {MODULE}")
