# SPDX-License-Identifier: GPL-2.0
"""The KUnit suites, on the checking kernel; one test for each case."""

import ktap
import pytest
from rig import Guest, paths

CASES = ktap.cases_in_sources(paths.TOP / "tests/kunit")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(results, complaints) of loading the suites once."""
    guest = Guest("kunit", tmp_path_factory.mktemp("kunit"), kernel="checking")
    guest.start()
    try:
        guest.wait_ready()
        guest.modprobe("devlend_kunit")
        guest.run("rmmod devlend_kunit")
        log, findings = guest.dmesg(), guest.findings()
    finally:
        guest.stop()
    return ktap.results_in_log(log), findings


@pytest.mark.parametrize("suite, case", CASES, ids=[f"{suite}-{case}" for suite, case in CASES])
def test_case(run, suite, case):
    results, _ = run
    assert (suite, case) in results, "did not run"
    passed, said = results[suite, case]
    assert passed, "\n".join(said)


def test_nothing_unknown_ran(run):
    results, _ = run
    assert set(results) == set(CASES)


def test_no_complaints(run):
    _, findings = run
    assert not findings, "\n".join(findings)
