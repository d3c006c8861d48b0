# SPDX-License-Identifier: GPL-2.0
"""What a host is asked to find out whether anything was left behind."""

# pages in flight between the kernel's caches; a leak of one page in ten cycles is above
SLACK_KB = 512
# KASAN keeps what was freed for a while, up to megabytes: shrinking a cache lets go of it
SHRINK = "sync; echo 3 > /proc/sys/vm/drop_caches; for c in /sys/kernel/slab/*/shrink; do echo 1 > $c; done"


def footprint(guest):
    """What must be the same before and after: domains, interrupts, windows; and memory in use, kB."""
    things = guest.text(
        "ls /sys/bus/pci/devices /sys/bus/devlend/devices; awk '/:/ {print $NF}' /proc/interrupts | sort; "
        "ls /sys/kernel/irq | wc -l; grep -i devlend /proc/iomem; cat /sys/kernel/debug/devlend/link0/windows")
    guest.run(SHRINK)
    used = int(guest.text("awk '/^(Slab|VmallocUsed|PageTables|Percpu):/ {n += $2} END {print n}' /proc/meminfo"))
    return things, used


def scan_for_leaks(guest):
    """What kmemleak finds that devlend allocated."""
    for _ in range(2):		# an object must be seen unreferenced twice
        guest.run("echo scan > /sys/kernel/debug/kmemleak", timeout=300)
    report = guest.text("cat /sys/kernel/debug/kmemleak")
    return [r for r in report.split("unreferenced object") if "devlend" in r]
