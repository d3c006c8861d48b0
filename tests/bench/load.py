# SPDX-License-Identifier: GPL-2.0
"""The loads: fio on a block device, the same for each way to the drive.

Reads only. DMA by which the drive reads the borrower's memory is a round trip for each eight bytes on the simulated
NTB, so that writes would measure nothing but that.
"""

import time

from cost import Meter
from fio import fio, ios
from stats import summary

LOADS = {
    "latency": {"bs": "4k", "iodepth": 1},
    "iops": {"bs": "4k", "iodepth": 32},
    "bandwidth": {"bs": "128k", "iodepth": 4},
}
LOG = "/tmp/bench"


def run(pair, guest, disk, load, seconds):
    """One load; its figures, and the single latencies where one I/O was under way at a time."""
    options = dict(LOADS[load], rw="randread", runtime=seconds, time_based=1, norandommap=1, randrepeat=1)
    if load == "latency":
        options.update(write_lat_log=LOG, disable_clat=1, disable_slat=1)
    with Meter(pair) as meter:
        job = fio(guest, disk, **options)
    figures = {"ios": ios(job), "seconds": job["job_runtime"] / 1000, "iops": job["read"]["iops"],
               "bytes_per_second": job["read"]["bw_bytes"], "cost": meter.cost}
    samples = None
    if load == "latency":
        # "time, latency, ..." of each I/O
        samples = [int(line.split(",")[1]) for line in guest.text(f"cat {LOG}_lat.1.log").splitlines()]
        figures["latency_ns"] = summary(samples)
    return figures, samples


def idle(pair, seconds):
    """What goes on anyway: "fixed", what the counting costs, and "quiet", so much time with nothing to do."""
    with Meter(pair) as fixed:
        pass
    with Meter(pair) as quiet:
        time.sleep(seconds)
    return {"fixed": fixed.cost, "quiet": quiet.cost}
