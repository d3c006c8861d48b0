# SPDX-License-Identifier: GPL-2.0
"""The devlend tool on two hosts: what an operator does from lend to reclaim, what is in use, waiting, mistakes.

Each answer is read as JSON that fits the tool's schema. How it words things is tested in tests/check/test_tool.py.
"""

import json
import subprocess
import threading

import jsonschema
import pytest

import lending
from rig import Nvme, paths

PAIR = lending.options(devices=[Nvme(size=16 << 20)])
TOOL = paths.BUILD / "tool-guest/devlend"
SCHEMA = json.loads((paths.TOP / "tools/devlend/schema.json").read_text())
WINDOWS = "/sys/kernel/debug/devlend/link0"
OK, FAILED, USAGE, MODULES, NOT_FOUND, _, BUSY, LINK, TIMEOUT, IMPOSSIBLE = range(10)


@pytest.fixture(scope="module")
def tool():
    """The tool, built for guests."""
    subprocess.run([paths.TOP / "tests/rig/build-tool.sh"], check=True)
    return TOOL


@pytest.fixture
def ready(pair, tool):
    """The pair with its links up, and the tool in both guests."""
    for guest in pair.guests:
        if guest.run("test -x /usr/local/sbin/devlend", check=False).rc:
            guest.push(tool, "/usr/local/sbin/devlend", mode=0o755)
    return lending.ready(pair)


def devlend(guest, *argv, timeout=180):
    """Run the tool with --json: (status, document)."""
    done = guest.run(f"devlend {argv[0]} --json {' '.join(argv[1:])}", timeout=timeout, check=False)
    document = json.loads(done.out)
    jsonschema.validate(document, SCHEMA)
    return done.rc, document


def one(guest, *argv, status=OK):
    """Run a verb with one device; return its result, or the message of its failure."""
    code, document = devlend(guest, *argv)
    assert code == status, document
    result = document["results"][0]
    assert result["done"] == (status == OK)
    return result["error"]["message"] if status else result


def show_and_watch(lender, borrower, bdf, lease):
    """Windows, vectors and counters are those of the kernel; rates follow what is read."""
    code, document = devlend(borrower, "show", lease["lease"])
    thing = document["things"][0]
    assert code == OK and len(document["things"]) == 1
    assert any(line.startswith("bar0: cpu_phys") for line in thing["kernel"]), thing["kernel"]
    irqs = {vector["irq"] for vector in thing["activity"]["vectors"]}
    assert irqs == {int(n) for n in borrower.text(f"ls /sys/bus/pci/devices/{lease['pci']}/msi_irqs").split()}
    assert thing["activity"]["interrupts"] > 0 and thing["activity"]["reads"] > 0
    assert any("bar 0: bus" in line for line in devlend(lender, "show", bdf)[1]["things"][0]["kernel"])
    assert devlend(lender, "show", "link0")[1]["things"][0]["kernel"][0].startswith("inbound:")
    for guest, lent, borrowed in ((lender, 1, 0), (borrower, 0, 1)):
        code, document = devlend(guest, "status")
        assert (code, document["lent_borrowed"], document["borrowed"]) == (OK, lent, borrowed), document
    job = borrower.spawn("devlend watch --json --interval 1 --count 60")
    job.wait_output('"watch"')
    borrower.text(f"dd if=/dev/{lease['disks'][0]} of=/dev/null bs=4k count=64 iflag=direct status=none")
    seen = []
    while not any(rate and rate > 0 for rate in seen):
        assert not job.done, seen
        lines = job.text().splitlines()[:-1]
        for line in lines:
            jsonschema.validate(json.loads(line), SCHEMA)
        seen = [json.loads(line)["borrowed"][0]["io_rate"] for line in lines]
    job.kill()


def show_config(lender, borrower, bdf, lease):
    """The real config space, what the borrower is told of it, and the shadow's, each as lspci reads it."""
    raw = bytes.fromhex(devlend(lender, "lspci", "--raw", bdf)[1]["config"])
    told = bytes.fromhex(devlend(lender, "lspci", bdf)[1]["config"])
    shadow = bytes.fromhex(devlend(borrower, "lspci", lease["lease"])[1]["config"])
    assert raw == lender.pull(f"/sys/bus/pci/devices/{bdf}/config")
    assert len(told) == 4096 and told[:4] == raw[:4] == shadow[:4] and told[8:12] == raw[8:12]
    assert told[0x10:0x18] == raw[0x10:0x18] == shadow[0x10:0x18]		# the lender's bus address
    assert raw[0x3d] and not told[0x3d] and not shadow[0x3d]		# no INTx
    for guest, argv in ((lender, f"--raw {bdf}"), (lender, bdf), (borrower, lease["lease"])):
        text = guest.text(f"devlend lspci -vv {argv}")
        assert "Non-Volatile memory controller" in text and "MSI-X: Enable" in text, text
    assert "pin A" in lender.text(f"devlend lspci -vv --raw {bdf}")
    assert "pin A" not in lender.text(f"devlend lspci -vv {bdf}")


def test_from_lend_to_reclaim(ready):
    """Both sides in list, the lease and its disk as borrow tells, each refusal while a file system is mounted."""
    lender, borrower = ready.lender, ready.borrower
    bdf = lending.find_pci(lender, lending.NVME)
    disk = lending.nvme_block(lender, bdf)
    lender.text(f"mkfs.ext4 -q -F /dev/{disk} && mkdir -p /mnt/d && mount /dev/{disk} /mnt/d && echo 1 > /mnt/d/f")
    assert f"{disk} is mounted on /mnt/d" in one(lender, "lend", bdf, status=BUSY)
    lender.text("umount /mnt/d")
    assert one(lender, "lend", f"/dev/{disk}")["lent"]["state"] == "offered"
    assert "already lent" in one(lender, "lend", bdf, status=BUSY)

    lending.wait_offer(borrower, bdf)
    offered = devlend(borrower, "list")[1]["offered"][0]
    assert (offered["device"], offered["state"], offered["link"]) == (bdf, "available", "link0")
    assert offered["ids"]["vendor"] == "1b36" and "NVM Express" in offered["name"]
    lease = one(borrower, "borrow", "--wait", bdf)["lease"]
    assert (lease["state"], lease["driver"], lease["device"]) == ("active", "nvme", bdf)
    assert "borrowed here already" in one(borrower, "borrow", bdf, status=BUSY)
    assert abs(lease["since"] - int(borrower.text("date +%s"))) < 300
    show_and_watch(lender, borrower, bdf, lease)
    show_config(lender, borrower, bdf, lease)
    lent = devlend(lender, "list", "--filter", "class=0108")[1]["lent"][0]
    assert abs(lent["since"] - int(lender.text("date +%s"))) < 300
    assert lent["isolated"] is False and devlend(borrower, "list")[1]["lent"] == []
    assert devlend(lender, "show", "link0")[1]["things"][0]["link"]["atomic_timeout_ms"] == 1000
    assert (lent["state"], lent["peer"][:8]) == ("borrowed", lender.read(f"{lending.BUS}/link0/peer_host")[:8])
    assert "return it there" in one(lender, "reclaim", bdf, status=BUSY)

    disk = lease["disks"][0]
    borrower.text(f"mkdir -p /mnt/d && mount -o ro /dev/{disk} /mnt/d && grep -q 1 /mnt/d/f")
    assert f"{disk} is mounted on /mnt/d" in one(borrower, "return", lease["lease"], status=BUSY)
    assert borrower.read(f"{lending.BUS}/{lease['lease']}/state") == "active"
    borrower.text("umount /mnt/d")
    one(borrower, "return", f"/dev/{disk}")
    assert devlend(borrower, "list")[1]["borrowed"] == []
    lending.wait_state(lender, f"lent-{bdf}", "offered")
    assert one(lender, "reclaim", bdf)["driver"] == "nvme"
    assert devlend(lender, "list")[1]["lent"] == []


BACKGROUND = ">/dev/null 2>&1 & echo $! >/tmp/pid"
STOP = "kill $(cat /tmp/pid)"
NVMET = "/sys/kernel/config/nvmet/subsystems/x"
USES = {
    "swap": ("mkswap /dev/{0} && swapon /dev/{0}", "swapoff /dev/{0}", "is swap"),
    "loop": ("modprobe loop && losetup /dev/loop0 /dev/{0}", "losetup -d /dev/loop0", "is behind loop0"),
    "nvmet": (f"modprobe nvmet && mkdir -p {NVMET}/namespaces/1 && cd {NVMET}/namespaces/1 && "
              "echo -n /dev/{0} >device_path && echo 1 >enable",
              f"echo 0 >{NVMET}/namespaces/1/enable && rmdir {NVMET}/namespaces/1 {NVMET}", "is exported by nvmet"),
    "namespace": ("unshare -m sh -c 'mount -t ext4 /dev/{0} /mnt; exec sleep 1000' " + BACKGROUND +
                  "; until grep -q {0} /proc/$(cat /tmp/pid)/mountinfo; do sleep 0.1; done", STOP, "is mounted on /mnt"),
    "disk": ("sleep 1000 </dev/{0} " + BACKGROUND, STOP, "is opened by sleep"),
    "controller": ("sleep 1000 </dev/nvme0 " + BACKGROUND, STOP, "nvme0 is opened by sleep"),
}


@pytest.mark.parametrize("kind", USES)
def test_drive_in_use(ready, kind):
    """Refused with the reason, without a change; not refused once that has ended."""
    use, end, text = USES[kind]
    guest = ready.lender
    bdf = lending.find_pci(guest, lending.NVME)
    disk = lending.nvme_block(guest, bdf)
    if kind == "namespace":
        guest.text(f"mkfs.ext4 -q -F /dev/{disk}")
    guest.text(use.format(disk))
    try:
        message = one(guest, "lend", bdf, status=BUSY)
        assert text in message and "--force" in message
        assert lending.driver_of(guest, bdf) == "nvme"
    finally:
        guest.text(end.format(disk))
    one(guest, "lend", "--dry-run", "--wait=30", bdf)


def test_waiting(ready):
    """borrow waits for the offer, reclaim for the return; each goes on by an event, and says what it waits for."""
    lender, borrower = ready.lender, ready.borrower
    bdf = lending.find_pci(lender, lending.NVME)
    job = borrower.spawn(f"devlend borrow --wait=120 {bdf} 2>&1")
    job.wait_output("waiting: no such offer")
    one(lender, "lend", bdf)
    rc, out = job.wait(180)
    assert rc == OK and f"{bdf}: borrowed as 8000:00:00.0, driver nvme, /dev/nvme" in out, out
    job = lender.spawn(f"devlend reclaim --wait=120 {bdf} 2>&1")
    job.wait_output("waiting: in use by host")
    one(borrower, "return", "8000:00:00.0")
    rc, out = job.wait(180)
    assert rc == OK and f"{bdf}: reclaimed, driver nvme" in out, out


def test_revoke(ready):
    """A borrowed drive is taken back when that is wanted; its borrower lets go in order."""
    bdf, _, _ = lending.borrowed_drive(ready)
    assert one(ready.lender, "reclaim", "--revoke", bdf)["driver"] == "nvme"
    assert lending.names(ready.borrower, "lease") == []


def checks(guest, *argv, status=OK):
    """Run preflight: ({(about, check): results}, {about: verdict})."""
    code, document = devlend(guest, "preflight", *argv)
    assert code == status, [one for one in document["checks"] if one["result"] == "fail"]
    found = {}
    for one in document["checks"]:
        found.setdefault((one["about"], one["check"]), []).append(one["result"])
    return found, {one["about"]: one["result"] for one in document["verdicts"]}


def test_preflight(ready):
    """On both hosts, before a lend, while borrowed and of what cannot be lent: as the kernel then does."""
    lender, borrower = ready.lender, ready.borrower
    bdf = lending.find_pci(lender, lending.NVME)
    for guest in ready.guests:
        found, _ = checks(guest)
        assert found["link0", "link"] == found["link0", "windows"] == found["link0", "memory"] == ["pass"], found
        assert found["link0", "bounce"] == ["pass"] and found["link0", "iommu"] == ["pass", "warn"], found
        assert not any("fail" in results for results in found.values()), found
    found, verdicts = checks(lender, bdf)
    assert all(found[bdf, check] == ["pass"] for check in ("bars", "interrupts", "reset", "width")), found
    assert found[bdf, "iommu"] == found[bdf, "path"] == ["warn"] and verdicts == {bdf: "warn"}
    assert checks(lender, "0000:00:1f.2", status=IMPOSSIBLE)[0]["0000:00:1f.2", "reset"] == ["fail"]

    bdf, lease, disk = lending.borrowed_drive(ready)
    reads = lending.start_reads(borrower, disk)
    found, verdicts = checks(lender)
    assert found[bdf, "bars"] == ["skip"] and found[bdf, "use"] == ["pass"] and verdicts == {bdf: "warn"}, found
    offer = f"offer-{borrower.read(f'{lending.BUS}/link0/peer_host')[:8]}-{bdf}"
    found, verdicts = checks(borrower)
    assert found[offer, "bars"] == ["pass"] and found["link0", "memory"] == ["pass"], found
    assert borrower.read(f"{lending.BUS}/{lease}/state") == "active" and not reads.done
    reads.kill()
    lending.take_down(ready, bdf)


def test_preflight_test(ready):
    """Both directions of both windows and a message; one in use is left alone; a way that is shut is told."""
    for guest in ready.guests:
        before = guest.read(f"{WINDOWS}/windows")
        found, _ = checks(guest, "--test")
        assert found["link0", "pattern"] == ["pass", "pass"] and found["link0", "message"] == ["pass"], (
            found, guest.read(f"{WINDOWS}/test"))
        assert guest.read(f"{WINDOWS}/windows") == before.replace("unknown", "closed")
    bdf, lease, disk = lending.borrowed_drive(ready)
    reads = lending.start_reads(ready.borrower, disk)
    for guest in ready.guests:
        found, _ = checks(guest, "--test")
        assert sorted(found["link0", "pattern"]) == ["pass", "skip"], found
    assert ready.borrower.read(f"{lending.BUS}/{lease}/state") == "active" and not reads.done
    reads.kill()
    lending.take_down(ready, bdf)
    guest = ready.lender
    guest.text("setpci -s 00:05.0 COMMAND=0:4")		# no bus mastering: what is for this host's memory stays out
    found, _ = checks(guest, "--test", status=FAILED)
    guest.text("setpci -s 00:05.0 COMMAND=4:4")
    assert found["link0", "pattern"] == ["fail", "fail"] and found["link0", "ntb"] == ["fail"], found
    assert checks(guest, "--test")[0]["link0", "pattern"] == ["pass", "pass"]


def test_mistakes(ready):
    """Each is one line and a status of its own; the kernel's own reason where it has one."""
    lender, borrower = ready.lender, ready.borrower
    ntb = lending.find_pci(lender, "8086:201c")
    assert "it is the NTB" in one(lender, "lend", ntb, status=IMPOSSIBLE)
    assert "--no-reset" in one(lender, "lend", "0000:00:1f.2", status=IMPOSSIBLE)
    one(lender, "lend", "0000:00:1e.7", status=NOT_FOUND)
    one(lender, "lend", "0000:00:20.0", status=USAGE)
    one(borrower, "borrow", "0000:00:06.0", status=NOT_FOUND)
    assert "not within 1 s" in one(borrower, "borrow", "--wait=1", "0000:00:06.0", status=TIMEOUT)
    done = lender.run("devlend lend 0000:00:1e.7", check=False)
    assert (done.rc, done.out, done.err.count("\n")) == (NOT_FOUND, "", 1)


def test_without_link_or_modules(ready):
    """What is missing is told, with the remedy; and all is well when it is there again."""
    lender, borrower = ready.lender, ready.borrower
    lender.run("modprobe -r devlend_lender devlend_borrower devlend_core")
    lending.wait(borrower, f'[ "$(cat {lending.BUS}/link0/state)" != up ]', 120)
    one(borrower, "borrow", "0000:00:06.0", status=LINK)
    code, document = devlend(lender, "lend", "0000:00:06.0")
    assert code == MODULES and "modprobe devlend_lender" in document["error"]["message"]
    code, document = devlend(lender, "list")
    assert code == MODULES
    lender.run("modprobe ntb_transport")
    lender.run("modprobe -a devlend_core devlend_lender devlend_borrower")
    said = one(lender, "borrow", "0000:00:06.0", status=LINK)
    assert "ntb_transport has the NTB; rmmod ntb_transport, modprobe -r devlend, modprobe devlend" in said
    lender.run("rmmod ntb_transport && modprobe -r devlend && modprobe devlend")		# as it says there
    lending.ready(ready)


def test_both_at_once(ready):
    """Two tools that borrow the same offer: one has it, the other is told so."""
    bdf = lending.lent_drive(ready)
    lending.wait_offer(ready.borrower, bdf)
    codes = []

    def borrow():
        codes.append(devlend(ready.borrower, "borrow", bdf)[0])
    threads = [threading.Thread(target=borrow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [OK, BUSY]
    lending.take_down(ready, bdf)
