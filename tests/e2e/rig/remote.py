# SPDX-License-Identifier: GPL-2.0
"""``ssh HOST COMMAND`` between guests, which have no network: for scripts that drive another machine.

A stand-in for ssh on one guest writes its command into a FIFO. A job there carries what
comes out of it to us, we run the command on the other guest through its agent, and its output
and status go back into a folder of the caller's. A network between the guests is not wanted for this: one
over the NTB would be made of what is tested, and one beside it takes key exchanges, which
cost more under emulation than what they carry.
"""

import threading

from .agent import CommandFailed, GuestGone

WHERE = "/run/remote"
TIMEOUT = 120

# Few processes, for each costs ten milliseconds. $* as ssh has it: the words joined by blanks, for
# a shell of the other side; quoted, so that a command is one line.
SSH = f"""#!/bin/bash
[ $# -ge 2 ] || exit 255
shift
mine={WHERE}/$BASHPID
mkfifo "$mine" || exit 255
printf '%s %q\\n' "$BASHPID" "$*" >{WHERE}/requests
read -r -t {TIMEOUT + 30} status <>"$mine" || exit 255
cat "$mine.out"
[ ! -s "$mine.err" ] || cat "$mine.err" >&2
rm "$mine" "$mine.out" "$mine.err"
exit "$status"
"""


class Remote:
    """Makes "ssh" of one guest run commands on the other, from start to close()."""

    def __init__(self, here, there):
        self.here, self.there = here, there
        self.commands = []		# all that was run, for those who want to look
        self.error = None
        here.run(f"mkdir {WHERE} && mkfifo {WHERE}/requests")
        here.push(SSH.encode(), "/usr/local/bin/ssh", 0o755)
        # Opened both ways, or the first caller's end would be the end of the job.
        self._job = here.spawn(f"exec cat <>{WHERE}/requests")
        self._thread = threading.Thread(target=self._serve, name="remote", daemon=True)
        self._thread.start()

    def close(self):
        """The stand-in is removed. Raises what went wrong meanwhile, if anything did."""
        try:
            self._job.kill()
            self._thread.join(TIMEOUT)
            self.here.run(f"rm -rf {WHERE} /usr/local/bin/ssh")
        except GuestGone:
            pass
        if self.error:
            raise self.error

    def _serve(self):
        agent, job, taken = self.here.agent, self._job, 0
        try:
            while True:
                with agent.changed:
                    agent.changed.wait_for(lambda: b"\n" in job.out[taken:] or job.done or job.gone)
                    end = job.out.find(b"\n", taken)
                    line = bytes(job.out[taken:end])
                if end < 0:
                    return
                taken = end + 1
                self._one(line)
        except (GuestGone, CommandFailed, TimeoutError, ValueError) as e:
            self.error = e

    def _one(self, line):
        caller, quoted = line.decode().split(" ", 1)
        self.commands.append(quoted)
        job = self.there.spawn(f"exec bash -c {quoted}")
        job.send(b"")
        status, out, err = job.wait_raw(TIMEOUT)
        if status < 0:
            status = 128 - status
        mine = f"{WHERE}/{int(caller)}"
        self.here.run(f"cat >{mine}.err", stdin=err)
        self.here.run(f"cat >{mine}.out; echo {status} >{mine}", stdin=out)
