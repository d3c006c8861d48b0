# SPDX-License-Identifier: GPL-2.0
"""Fixtures of the end-to-end tests: guests that live as long as a module's tests need
them, and the checks that every test gets for free.

    pair        a booted Pair, shared by a module's tests, as the module's PAIR says:
                PAIR = dict(kernel="checking", devices=[...]); a test that failed, or
                killed a guest, leaves the next one a fresh pair
    make_pair   a function: a further Pair with other options, for this test alone
    make_guest  a function: one guest without NTB, for this test alone

A test fails if a guest's kernel complained during it (complaints.py) or if ntbsim counted
an access below 1 MiB or a crossed read. Exceptions are said by marks:

    @pytest.mark.allow_complaints("regular expression", ...)
    @pytest.mark.allow_counters("crossed", ...)
"""

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import figures as summary  # noqa: E402 # the path comes first
from rig import Guest, Pair, find_complaints, paths  # noqa: E402 # the path comes first
from rig.process import clean_up_on_signals, stop_all  # noqa: E402

KEEP_RUNS = 5
_live = []	# Pairs and Singles whose guests are up


class Single:
    """One guest, with what _live wants of a Pair."""

    ntbsim = None

    def __init__(self, guest):
        self.guest, self.guests = guest, [guest]

    def check(self, allow=(), allow_counters=()):
        del allow_counters
        return self.guest.findings(allow)

    def stop(self):
        self.guest.stop()


def pytest_configure(config):
    clean_up_on_signals()
    config.addinivalue_line("markers", "allow_complaints(regex, ...): kernel messages that this test expects")
    config.addinivalue_line("markers", "allow_counters(name, ...): forbidden ntbsim counts that this test expects")
    config.addinivalue_line("markers", "checking: needs the checking kernel (tests/rig/setup.sh check)")


def pytest_unconfigure():
    stop_all()


@pytest.fixture(scope="session")
def session_dir():
    """Logs of this run; those of older runs are removed but for a few."""
    base = paths.BUILD / "e2e"
    base.mkdir(parents=True, exist_ok=True)
    for old in sorted(p for p in base.iterdir() if p.is_dir())[:-KEEP_RUNS]:
        shutil.rmtree(old, ignore_errors=True)
    mine = base / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    mine.mkdir()
    return mine


def _new_dir(session_dir, name):
    for n in range(1, 1000):
        path = session_dir / f"{name}-{n}"
        if not path.exists():
            path.mkdir()
            return path
    raise AssertionError("too many folders")


class _Holder:
    """A module's pair, booted when first wanted and again when a test has spoilt it."""

    def __init__(self, session_dir, name, options):
        self.session_dir, self.name, self.options = session_dir, name, options
        self.pair, self.spoilt = None, False

    def get(self):
        if self.pair and (self.spoilt or not all(g.running for g in self.pair.guests)
                          or (self.pair.ntbsim and not self.pair.ntbsim.running)):
            self.close()
        if not self.pair:
            self.pair = _up(Pair(_new_dir(self.session_dir, self.name), **self.options))
            self.spoilt = False
        return self.pair

    def close(self):
        if self.pair:
            _down(self.pair)
            self.pair = None


def _up(what):
    what.start()
    _live.append(what)
    return what


def _down(what):
    if what in _live:
        _live.remove(what)
    what.stop()
    for guest in what.guests:
        for path in guest.run_dir.glob("*.img"):
            path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def built(request, build_modules):
    """The modules for the kernels that the test module's KERNELS names: another of the checks may not have come to it."""
    for kernel in request.module.KERNELS:
        done, _ = build_modules(kernel)
        assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def _holder(request, session_dir):
    holder = _Holder(session_dir, request.module.__name__, getattr(request.module, "PAIR", {}))
    yield holder
    holder.close()


@pytest.fixture
def pair(request, _holder):
    """The module's pair, booted."""
    yield _holder.get()
    report = getattr(request.node, "report_call", None)
    if report is None or report.failed:
        _holder.spoilt = True


@pytest.fixture
def make_pair(request, session_dir):
    """make_pair(**options) -> a booted Pair for this test alone."""
    made = []

    def make(**options):
        made.append(_up(Pair(_new_dir(session_dir, request.node.name), **options)))
        return made[-1]
    yield make
    for one in made:
        _down(one)


@pytest.fixture
def make_guest(request, session_dir):
    """make_guest(name, **options) -> a booted Guest for this test alone."""
    made = []

    def make(name="guest", **options):
        guest = Guest(name, _new_dir(session_dir, request.node.name), **options)
        made.append(Single(guest))
        guest.start()
        _live.append(made[-1])
        return guest.wait_ready()
    yield make
    for one in made:
        _down(one)


def _marked(item, name):
    return [arg for mark in item.iter_markers(name) for arg in mark.args]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run the test, then look at what its guests and the simulator have to say."""
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    for rig in _live:
        for guest in rig.guests:
            if guest.running:
                guest.mark(f"start of {pyfuncitem.name}")
        if rig.ntbsim:
            rig.ntbsim.reset_counters()
    pyfuncitem.obj(**arguments)
    allow, counters = _marked(pyfuncitem, "allow_complaints"), _marked(pyfuncitem, "allow_counters")
    found = [line for rig in _live for line in rig.check(allow, counters)]
    if found:
        pytest.fail("\n".join(["after the test:"] + found), pytrace=False)
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.when == "call":
        item.report_call = report
    if not report.failed:
        return
    for rig in _live:
        for guest in rig.guests:
            report.sections.append((f"console of {guest.name}, all in {guest.console.log_path}", guest.console.tail(60)))
            if guest.process and not guest.running:
                report.sections.append((f"QEMU of {guest.name}", guest.process.log_text()[-3000:]))
            complaints = find_complaints(guest.console.text)
            if complaints:
                report.sections.append((f"complaints of {guest.name}", "\n\n".join(complaints[:5])))
        if rig.ntbsim:
            report.sections.append((f"ntbsim, all in {rig.ntbsim.log_path}", rig.ntbsim.log_tail()))


def pytest_terminal_summary(terminalreporter):
    """Figures that tests recorded with record_property: what was counted, beside what was asserted."""
    figures = [(report.nodeid.rsplit("/", 1)[-1], name, value)
               for reports in terminalreporter.stats.values() for report in reports
               if getattr(report, "when", None) == "call" for name, value in report.user_properties]
    if figures:
        terminalreporter.section("figures")
        for test, name, value in figures:
            terminalreporter.write_line(f"{test}: {name} = {value}")
    for title, table in (("faults and leases", summary.table(figures)), ("cost of each device", summary.costs(figures))):
        if table:
            terminalreporter.section(title)
            for line in table:
                terminalreporter.write_line(line)
