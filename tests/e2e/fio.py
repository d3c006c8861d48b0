# SPDX-License-Identifier: GPL-2.0
"""fio in a guest, with its report as Python data."""

import json


def fio(guest, disk, timeout=400, **options):
    """Run one fio job on a disk; return its report. An error of any kind raises."""
    words = " ".join(f"--{name}={value}" for name, value in options.items())
    out = guest.text(f"fio --name=job --filename=/dev/{disk} --ioengine=libaio --direct=1 "
                     f"--output-format=json {words}", timeout=timeout)
    job = json.loads(out[out.index("{"):])["jobs"][0]
    assert job["error"] == 0, job
    return job


def ios(job):
    """Reads and writes that a job has done."""
    return job["read"]["total_ios"] + job["write"]["total_ios"]


def works_by_interrupts(guest, disk):
    """Write, verify, read; no command's end is found by polling."""
    job = fio(guest, disk, rw="randwrite", bs="4k", iodepth=4, size="128k", verify="crc32c", do_verify=1, verify_fatal=1)
    assert job["read"]["total_ios"] == job["write"]["total_ios"] == 32
    assert ios(fio(guest, disk, rw="randread", bs="512", iodepth=4, number_ios=200)) >= 200
    log = guest.text("dmesg | grep 'nvme nvme' || true")
    assert "polled" not in log and "timeout" not in log
