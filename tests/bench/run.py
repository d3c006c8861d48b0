#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make bench`: how fast a borrowed drive is, beside the same drive local, and over NVMe/TCP across the same NTB.

One boot, two guests, one drive. Each round measures all ways to the drive, one after the other, so that a figure is
compared with what was measured minutes before at most:

    local       fio and the bare loop on the lender's own drive; a hot-plug of it
    borrowed    lent and borrowed: the borrow's phases, fio, the bare loop through the NTB
    nvmeof      returned; exported by nvmet over ntb_netdev, across that NTB: fio

Before that, in boots of their own: what it costs to map memory, in instructions, and the modes of a lease under load.

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
import bare  # noqa: E402
import calls  # noqa: E402
import goals  # noqa: E402
import lending  # noqa: E402
import load  # noqa: E402
import maps  # noqa: E402
import modes  # noqa: E402
import nvmeof  # noqa: E402
import phases  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
from cost import host_busy  # noqa: E402
from modes import DRIVE  # noqa: E402
from rig import Nvme, Pair, paths  # noqa: E402
from rig.process import clean_up_on_signals  # noqa: E402

OUT = paths.BUILD / "bench"
START = time.monotonic()
# The first window holds the drive's registers, or the frames of ntb_transport, which must be allocated aligned to its
# size; the second reaches the peer's memory.
WINDOWS = ({"bar": 2, "size": "2M", "fast": False}, {"bar": 4, "size": "4G", "fast": False})


def say(text):
    """A line with the time since the start."""
    print(f"[{time.monotonic() - START:5.0f} s] {text}", flush=True)


def loads(pair, guest, disk, seconds):
    """All loads on a block device: (figures, latencies)."""
    made = {}
    for name in load.LOADS:
        made[name], samples = load.run(pair, guest, disk, name, seconds)
        if samples:
            latencies = samples
    return made, latencies


def bare_loops(pair, guest, bdf, seconds):
    """The bare loop both ways: (figures, latencies) by how it waits."""
    with bare.bound(guest, bdf):
        return {how: bare.run(pair, guest, bdf, how, seconds) for how in bare.HOW}


class Round:
    """One round; figures, and the latencies one by one."""

    def __init__(self, pair, seconds):
        self.pair, self.seconds = pair, seconds
        self.bdf = lending.find_pci(pair.lender, lending.NVME)
        self.figures = {"bare": {}, "idle": {}}
        self.latencies = {}
        self.calls = None

    def run(self):
        """All ways."""
        before, busy, start = os.getloadavg()[0], host_busy(), time.monotonic()
        self.local()
        self.borrowed()
        self.nvmeof()
        seconds = time.monotonic() - start
        ours = sum(cost["others_s"] for cost in self._costs())
        measured = sum(cost["seconds"] for cost in self._costs())
        self.figures.update(seconds=seconds, load_average=[before, os.getloadavg()[0]],
                            others_share=ours / (measured * os.cpu_count()), host_busy_s=host_busy() - busy)

    def _costs(self):
        yield from (figures["cost"] for way in report.WAYS for figures in self.figures[way].values())

    def _keep(self, name, made):
        self.figures[name], self.latencies[report.NAMES[name]] = made

    def _keep_bare(self, place, made):
        self.figures["bare"][place] = {how: figures for how, (figures, _) in made.items()}
        self.latencies.update({report.BARE[place, how]: made[how][1] for how in ("irq", "poll")})

    def local(self):
        """The lender's own drive."""
        guest = self.pair.lender
        say("  local: hot-plug, fio, bare loop")
        self.figures["hotplug"] = phases.hotplug(guest, self.bdf)
        self._keep("local", loads(self.pair, guest, lending.nvme_block(guest, self.bdf), self.seconds))
        self._keep_bare("local", bare_loops(self.pair, guest, self.bdf, self.seconds))
        lending.nvme_block(guest, self.bdf)

    def borrowed(self):
        """Through devlend."""
        guest = self.pair.borrower
        say("  borrowed: borrow, fio, bare loop")
        lending.lend(self.pair.lender, self.bdf)
        lease, self.figures["borrow"] = phases.borrow(guest, lending.wait_offer(guest, self.bdf))
        shadow = lending.shadow_of(guest, lease)
        disk = lending.nvme_block(guest, shadow)
        self.figures["idle"]["borrowed"] = load.idle(self.pair, self.seconds)
        self._keep("borrowed", loads(self.pair, guest, disk, self.seconds))
        self.calls = calls.count(guest, disk)
        made = bare_loops(self.pair, guest, shadow, self.seconds)
        self._keep_bare("ntb", made)
        for how, (figures, samples) in made.items():
            crossed = sum(w["bytes_written"] for w in figures["cost"]["ntb"]["lender"]["windows"].values())
            if crossed < len(samples) * bare.BYTES:
                raise lending.StepFailed(f"bare loop, {how}: {len(samples)} reads, but {crossed} bytes crossed")
        lending.nvme_block(guest, shadow)
        lending.take_down(self.pair, self.bdf)

    def nvmeof(self):
        """By NVMe/TCP."""
        say("  NVMe/TCP: fio")
        with nvmeof.exported(self.pair, self.bdf) as disk:
            self.figures["idle"]["nvmeof"] = load.idle(self.pair, self.seconds)
            self._keep("nvmeof", loads(self.pair, self.pair.borrower, disk, self.seconds))


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
            "windows": " and ".join(w["size"] for w in WINDOWS), "seconds": seconds, "wanted_rounds": rounds}


def measure(pair, seconds, rounds, minutes):
    """Round after round, as long as there is time for another."""
    made = []
    lending.ready(pair)
    while len(made) < rounds:
        if made and time.monotonic() - START + made[-1].figures["seconds"] > 60 * minutes:
            say(f"no time for round {len(made) + 1}")
            break
        say(f"round {len(made) + 1} of {rounds}")
        made.append(Round(pair, seconds))
        made[-1].run()
    return made


def write(result, latencies):
    """The report in all its forms."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "report.json").write_text(json.dumps(result, indent=1) + "\n")
    (OUT / "latencies.json").write_text(json.dumps(latencies) + "\n")
    (OUT / "report.txt").write_text(report.text(result))
    plots.draw(result, latencies[0], OUT)


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
    say("booting two guests")
    with tempfile.TemporaryDirectory(prefix="devlend-bench-") as run_dir:
        pair = Pair(Path(run_dir), **lending.options(devices=[Nvme(**DRIVE)], windows=WINDOWS, core=None))
        with pair:
            lending.fill(pair.lender.devices[0])
            made = measure(pair, seconds, rounds, minutes)
            found = complaints + more + pair.check()
            result = {"about": about(pair, seconds, rounds), "rounds": [one.figures for one in made],
                      "calls": made[-1].calls, "maps": mapped, "modes": loaded}
    result["goals"] = goals.judge(result["rounds"], mapped)
    write(result, [one.latencies for one in made])
    print("\n" + (OUT / "report.txt").read_text())
    say(f"report, figures and plots are in {OUT.relative_to(paths.TOP)}")
    if found:
        print("\nbench: a kernel complained:\n" + "\n".join(found), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
