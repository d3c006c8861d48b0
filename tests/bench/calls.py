# SPDX-License-Identifier: GPL-2.0
"""How often the borrower's CPU enters devlend's code while I/O flows: the kernel's function tracer counts.

It stands for the instructions of map, unmap, doorbell and interrupt that are devlend's, which an emulated CPU has no
counters for: what is never entered costs none.
"""

import collections
import re

from fio import fio, ios

TRACING = "/sys/kernel/tracing"
MODULES = ("devlend_core", "devlend_borrower")
IOS = 500


def parse(trace):
    """How often each function was entered."""
    return dict(collections.Counter(re.findall(r": (\w+) <-\w+", trace)))


def count(guest, disk):
    """Functions of devlend that ran during some I/O, with how often."""
    guest.run(f"cd {TRACING} && echo >set_ftrace_filter && "
              + " && ".join(f"echo ':mod:{name}' >>set_ftrace_filter" for name in MODULES)
              + " && echo >trace && echo function >current_tracer")
    try:
        job = fio(guest, disk, rw="randread", bs="4k", iodepth=32, number_ios=IOS)
    finally:
        trace = guest.text(f"cd {TRACING} && cat trace && echo nop >current_tracer && echo >set_ftrace_filter",
                           timeout=120)
    return {"ios": ios(job), "seconds": job["job_runtime"] / 1000, "functions": parse(trace)}
