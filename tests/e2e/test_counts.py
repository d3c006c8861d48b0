# SPDX-License-Identifier: GPL-2.0
"""What crosses the NTB: counts, as ntbsim and the guests' kernels see them."""

import json

import lending

BEAT_WORD = 2


def control_writes(counters, port):
    """Scratchpad words that a port wrote to its peer, but for the beat."""
    words = counters["ports"][port]["spad_peer_writes_by_index"]
    return sum(count for index, count in enumerate(words) if index != BEAT_WORD)


def fio(guest, disk, timeout=300, **options):
    """Run fio with JSON output; return the job's report. An error of any kind raises."""
    args = " ".join(f"--{key}={value}" for key, value in options.items())
    out = lending.sh(guest, f"fio --name=j --filename=/dev/{disk} --ioengine=libaio "
                     f"--direct=1 --output-format=json {args}", timeout=timeout)
    job = json.loads(out[out.index("{"):])["jobs"][0]
    assert job["error"] == 0
    return job


def test_no_software_on_the_lender(pair, lease):
    """10,000 I/Os: no message, no interrupt and no switch on the lender, no read across."""
    pair.ntbsim.assert_slow()
    guest = pair.borrower
    disk = lending.nvme_block(guest, lending.shadow_of(guest, lease))
    fio(guest, disk, rw="randread", bs="4k", iodepth=1, number_ios=100)
    irqs = ("awk '/ntb|devlend/ {for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) s += $i} "
            "END {print s + 0}' /proc/interrupts")
    before = int(lending.sh(pair.lender, irqs))
    pair.ntbsim.reset()
    job = fio(guest, disk, rw="randrw", bs="4k", iodepth=32, number_ios=10000)
    counters = pair.ntbsim.counters()
    after = int(lending.sh(pair.lender, irqs))
    done = job["read"]["total_ios"] + job["write"]["total_ios"]
    assert done >= 10000
    assert control_writes(counters, "lender") == 0
    assert control_writes(counters, "borrower") == 0
    assert after - before == 0
    print(f"{done} I/Os, counters {json.dumps(counters)}")
