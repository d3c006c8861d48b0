#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make bench`: how fast a borrowed drive is, beside the same drive local, and over NVMe/TCP across the same NTB.

Two guests, one drive. Each round measures all ways to the drive, one after the other, so that a figure is
compared with what was measured minutes before at most:

    local       fio and the bare loop on the lender's own drive; a hot-plug of it
    borrowed    lent and borrowed: the borrow's phases, fio, the bare loop through the NTB
    nvmeof      returned; exported by nvmet over ntb_netdev, across that NTB: fio

There are rounds in two boots: in one each eight bytes that cross are a message, in the other data crosses by memory that is
mapped through (rounds.py). Before that, in boots of their own: what it costs to map memory, in instructions, and the modes
of a lease under load.

The report goes to build/bench. No figure passes or fails anything; what does not work does. By the environment:
DEVLEND_BENCH_SECONDS for each load, DEVLEND_BENCH_ROUNDS, DEVLEND_BENCH_MINUTES, after which no round begins that would
not end by then.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "e2e"))

# pylint: disable=wrong-import-position # the path comes first
import goals  # noqa: E402
import lending  # noqa: E402
import maps  # noqa: E402
import modes  # noqa: E402
import nvmeof  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import rounds as ways  # noqa: E402
from modes import DRIVE  # noqa: E402
from rig import Nvme, Pair, paths  # noqa: E402
from rig.process import clean_up_on_signals  # noqa: E402

OUT = paths.BUILD / "bench"
START = time.monotonic()
# of the time that there is, what the boot with the messages may take, and all before it
TRAPPED_SHARE = 0.65
# of a load's time, what one takes in the other boot, where so much more is done in it
MAPPED_SECONDS = 0.6


def say(text):
    """A line with the time since the start."""
    print(f"[{time.monotonic() - START:5.0f} s] {text}", flush=True)


def about(pair, seconds, rounds):
    """What ran where."""
    qemu = subprocess.run(paths.qemu_command() + ["--version"], env=paths.qemu_environment(), capture_output=True,
                          text=True, check=True).stdout
    source = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=paths.TOP, capture_output=True, text=True,
                            check=False).stdout.strip()
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return {"date": time.strftime("%Y-%m-%d %H:%M"), "source": f"devlend {source}".strip(),
            "kernel": pair.lender.kernel.release, "qemu": qemu.splitlines()[0], "accelerator": "tcg",
            "cores": os.cpu_count(), "cpu": cpu.group(1) if cpu else platform.machine(),
            "drive": f"QEMU nvme, {DRIVE['size'] >> 20} MiB, without shadow doorbells",
            "windows": " and ".join(w["size"] for w in ways.TRAPPED), "seconds": seconds, "wanted_rounds": rounds}


def measure(kind, seconds, rounds, minutes, more=(), **options):
    """A boot, and in it round after round, as long as there is time for another; what ran where; complaints of kernels."""
    made = []
    with tempfile.TemporaryDirectory(prefix="devlend-bench-") as run_dir, Pair(
            Path(run_dir), **lending.options(devices=[Nvme(**DRIVE), *more], core=None, **options)) as pair:
        lending.fill(pair.lender.devices[0])
        lending.ready(pair)
        while len(made) < rounds:
            if made and time.monotonic() - START + made[-1].figures["seconds"] > 60 * minutes:
                say(f"no time for round {len(made) + 1}")
                break
            say(f"round {len(made) + 1} of {rounds}")
            made.append(kind(pair, seconds, say).run())
        return made, about(pair, seconds, rounds), pair.check()


def write(result, latencies):
    """The report in all its forms."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "report.json").write_text(json.dumps(result, indent=1) + "\n")
    (OUT / "latencies.json").write_text(json.dumps(latencies) + "\n")
    (OUT / "report.txt").write_text(report.text(result))
    plots.draw(result, latencies["trapped"][0], OUT)


def main():
    """Boot, measure, report."""
    clean_up_on_signals()
    seconds = int(os.environ.get("DEVLEND_BENCH_SECONDS", "5"))
    rounds = int(os.environ.get("DEVLEND_BENCH_ROUNDS", "3"))
    minutes = float(os.environ.get("DEVLEND_BENCH_MINUTES", "14"))
    say("instructions of maps and unmaps")
    mapped, complaints = maps.measure()
    say("modes of a lease")
    loaded, more = modes.measure(seconds, say)
    say("booting two guests, each 8 bytes a message")
    trapped, where, much = measure(ways.Round, seconds, rounds, TRAPPED_SHARE * minutes, windows=ways.TRAPPED)
    say("booting two guests, memory mapped through")
    through, _, most = measure(ways.MappedRound, max(1, round(seconds * MAPPED_SECONDS)), rounds, minutes, ways.BEFORE,
                               windows=ways.MAPPED, fast=True, append=nvmeof.APPEND)
    found = complaints + more + much + most
    result = {"about": where, "rounds": [one.figures for one in trapped], "mapped": [one.figures for one in through],
              "calls": trapped[-1].calls, "maps": mapped, "modes": loaded}
    result["goals"] = goals.judge(result["rounds"], result["mapped"], mapped)
    write(result, {"trapped": [one.latencies for one in trapped], "mapped": [one.latencies for one in through]})
    print("\n" + (OUT / "report.txt").read_text())
    say(f"report, figures and plots are in {OUT.relative_to(paths.TOP)}")
    if found:
        print("\nbench: a kernel complained:\n" + "\n".join(found), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
