# SPDX-License-Identifier: GPL-2.0
"""Children that never outlive us.

The kernel kills them when we die however we die (setpriv --pdeathsig), and stop_all()
ends those still running at exit. Only processes started here are ever signalled, by pid.
Start children from the main thread: the kernel's rule is about the thread that forked.
"""

import atexit
import signal
import subprocess

_running = []


class Child:
    """A running program whose output goes to a file."""

    def __init__(self, argv, log, core=None, env=None, stdout=None):
        prefix = ["setpriv", "--pdeathsig", "KILL", "--"]
        if core is not None:
            prefix = ["taskset", "-c", str(core)] + prefix
        self.log_path = log
        self._log = open(log, "ab")
        # Its own session: a Ctrl-C at the terminal is for the harness, which then stops it.
        self.proc = subprocess.Popen(prefix + argv, stdin=subprocess.DEVNULL, stdout=stdout or self._log,
                                     stderr=self._log, env=env, start_new_session=True)
        _running.append(self)

    @property
    def pid(self):
        return self.proc.pid

    @property
    def running(self):
        return self.proc.poll() is None

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def kill(self):
        """At once, like a power cut."""
        if self.running:
            self.proc.kill()
        self._done(10)

    def stop(self, timeout=5):
        """Asked first, then killed."""
        if self.running:
            self.proc.terminate()
        try:
            self._done(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait(self, timeout):
        self._done(timeout)
        return self.proc.returncode

    def _done(self, timeout):
        self.proc.wait(timeout)
        self._log.close()
        if self in _running:
            _running.remove(self)


def stop_all():
    for child in list(_running):
        child.kill()


def _on_signal(_signum, _frame):
    # Unwinds the stack, so that fixtures and finally clauses run; then atexit.
    raise KeyboardInterrupt


def clean_up_on_signals():
    """SIGTERM and SIGHUP end us as Ctrl-C does. For programs and conftest to call once."""
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGHUP, _on_signal)


atexit.register(stop_all)
