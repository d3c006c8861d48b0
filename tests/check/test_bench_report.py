# SPDX-License-Identifier: GPL-2.0
"""What `make bench` makes of its figures: statistics, phases, goals, text and plots. No guest runs here."""

import copy
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("bench", "e2e")]

# pylint: disable=wrong-import-position # the path comes first
import calls  # noqa: E402
import cost  # noqa: E402
import goals  # noqa: E402
import lending  # noqa: E402
import phases  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import rounds as ways  # noqa: E402
import stats  # noqa: E402

TRACE = """# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
            bash-300     [000] .....   100.000000: tracing_mark_write: bench: start
 kworker/u4:1-30      [000] .....   101.000000: devlend_request: link0 sent op 0x0102 #7, 64 bytes
 kworker/u4:1-30      [000] .....   102.000000: devlend_request: link0 came op 0x0201 #3, 90 bytes
 kworker/u4:1-30      [000] .....   103.000000: devlend_call_done: link0 op 0x0102 #7: 0
 kworker/u4:1-30      [000] .....   103.500000: devlend_request: link0 sent op 0x0104 #8, 64 bytes
 kworker/u4:1-30      [000] .....   104.000000: devlend_call_done: link0 op 0x0104 #8: 0
 kworker/u4:1-30      [000] .....   104.100000: devlend_request: link0 sent op 0x0105 #9, 64 bytes
 kworker/u4:1-30      [000] .....   104.200000: devlend_call_done: link0 op 0x0105 #9: 0
 kworker/u4:1-30      [000] .....   104.300000: devlend_request: link0 sent op 0x0105 #10, 64 bytes
 kworker/u4:1-30      [000] .....   104.500000: devlend_call_done: link0 op 0x0105 #10: 0
 kworker/u4:1-30      [000] .....   105.000000: devlend_request: link0 sent op 0x0103 #11, 0 bytes
 kworker/u4:1-30      [000] .....   106.000000: devlend_call_done: link0 op 0x0103 #11: 0
 kworker/u4:2-31      [000] .....   106.250000: driver: (nvme_probe+0x0/0x10 [nvme])
 kworker/u4:2-31      [000] .....   108.250000: disk: (nvme_alloc_ns+0x1/0x2 [nvme_core] <- device_add_disk)
"""
STAT = "cpu  10 0 20 1000 50 3 7 0 0 0\ncpu0 10 0 20 1000 50 3 7 0 0 0\nintr 4711 9 1 0\nctxt 815\nbtime 1\n"


def window(**counts):
    return dict.fromkeys(("ram_writes", "ram_reads", "message_writes", "message_reads", "msi_writes"), 0) | counts


def spent(vcpu, seconds=5.0, **lender_memory):
    """What a load cost; its borrower does as much as its lender."""
    side = {"vcpu_s": vcpu, "busy_s": vcpu, "interrupts": 100 * vcpu, "switches": 200 * vcpu, "process_s": vcpu}
    quiet = {"windows": {"bar2": window(), "bar4": window()}, "doorbells": 0, "spad_peer_writes": 10}
    busy = copy.deepcopy(quiet)
    busy["windows"]["bar4"].update(lender_memory)
    return {"seconds": seconds, "lender": dict(side), "borrower": dict(side),
            "ntb": {"lender": busy, "borrower": quiet}}


# 0.1 s for the counting, whenever it ends, and a tenth of the time that passes
IDLE = {"fixed": spent(0.1, seconds=0.0), "quiet": spent(0.6)}


def loaded(latency, iops, vcpu, **more):
    """Figures of the three loads."""
    ios = {"ios": 1000, "seconds": 5.0, "iops": iops, "bytes_per_second": iops * 4096, "cost": spent(vcpu, **more)}
    return {"latency": dict(ios, latency_ns=stats.summary(range(latency, latency + 200))), "iops": ios,
            "bandwidth": ios}


def bare(irq, poll):
    return {how: {"iops": 1000, "latency_ns": stats.summary([latency] * 9)}
            for how, latency in (("irq", irq), ("poll", poll), ("deep", irq))}


def one_round(borrowed=3000, driver=0.5):
    """A round in which borrowing adds borrowed - 1000 ns, and the fabric 2000 ns."""
    borrow = dict.fromkeys([phase for phase, _ in phases.BORROW], 0.0)
    borrow.update({"driver: controller, block device": driver, "scan, add the device": 0.25})
    return {"local": loaded(1000, 8000, 4), "borrowed": loaded(borrowed, 4000, 0.6, ram_writes=512000),
            "nvmeof": loaded(9000, 1000, 8, ram_writes=600000),
            "bare": {"local": bare(500, 400), "ntb": bare(2500, 2400)},
            "idle": {"borrowed": IDLE, "nvmeof": IDLE},
            "hotplug": {"scan, add the device": 0.25, "driver: controller, block device": 0.25}, "borrow": borrow,
            "load_average": [0.5, 1.5], "others_share": 0.25, "seconds": 100}


def mapped_round(iops=16000):
    """A round in the boot where data crosses without messages."""
    made = one_round() | {"borrowed": loaded(3000, iops, 0.6)}
    made["bare"] = {place: {how: made["bare"][place][how] for how in ways.MappedRound.bare} for place in made["bare"]}
    return made


MAPS = {group_type: {"local": {"page": [[100, 50]] * 3, "sg": [[20, 10]]},
                     "borrowed": {"page": [[110, 55], [120, 55], [110, 55]], "sg": [[20, 11.5]]}}
        for group_type in goals.MAP_GOALS}


MODES = [{"dma": dma, "irq": irq, "figures": loaded(3000, iops, vcpu)["iops"], "start": spent(0.6),
          "idle": IDLE}
         for dma, irq, iops, vcpu in (("direct", "direct", 4000, 0.7), ("IOMMU, strict", "doorbell", 2000, 0.8))]


def result(*rounds):
    rounds = list(rounds) or [one_round()]
    about = {"date": "today", "source": "devlend", "kernel": "6.12", "qemu": "QEMU", "cores": 2, "cpu": "a CPU",
             "drive": "nvme", "windows": "2M and 4G", "seconds": 5, "wanted_rounds": 3}
    mapped = [mapped_round() | {"others_share": rounds[0]["others_share"]}]
    return {"about": about, "rounds": rounds, "mapped": mapped, "goals": goals.judge(rounds, mapped, MAPS), "maps": MAPS,
            "modes": MODES,
            "calls": {"ios": 500, "seconds": 1, "functions": {"beat_tick": 2}}}


def test_percentiles():
    """The nearest rank; what one sample says is that sample."""
    assert stats.summary(range(1, 101)) == {"count": 100, "min": 1, "median": 50, "p99": 99, "max": 100, "mean": 50.5}
    assert stats.summary([7])["p99"] == stats.summary([7])["median"] == 7
    assert stats.distribution(range(1, 1001), 4) == [(0, 1), (0.25, 250), (0.5, 500), (0.75, 750), (1, 1000)]
    with pytest.raises(ValueError):
        stats.summary([])
    assert stats.spread([3, None, 1, 2]) == {"median": 2, "low": 1, "high": 3}
    assert stats.spread([None]) is None and stats.ratio(1, 0) is None


def test_phases_of_a_borrow():
    """Each phase ends where the next begins, and together they are all of it. Requests of the peer end none."""
    made = phases.split(phases.events(TRACE), phases.BORROW)
    assert list(made.values()) == pytest.approx([1, 2, 0.5, 0.5, 0.5, 0.5, 1, 0.25, 2])
    assert goals.total(made) == pytest.approx(8.25)
    with pytest.raises(ValueError, match="interrupt domain"):
        phases.split(phases.events(TRACE.replace("0x0103", "0x0106")), phases.BORROW)


def test_costs():
    """What goes on anyway is taken away; waiting for a disk is not being busy."""
    assert cost.parse_stat(STAT) == {"interrupts": 4711, "switches": 815, "busy_s": 0.4}
    net = cost.per_io(spent(3.1, seconds=10.0), IDLE, 1000)
    assert net["lender"]["vcpu_s"] == pytest.approx(0.002)
    assert net["borrower"]["interrupts"] == pytest.approx(0.2)
    assert cost.messages(spent(1, ram_writes=5, msi_writes=2))["lender"]["interrupt messages"] == 2


def test_entered_functions():
    """The function tracer's lines, counted by function."""
    trace = ("  <idle>-0  [000] d.h2.  9.1: beat_tick <-call_timer_fn\n" * 3
             + "  x-1 [000] ..... 9.2: spad_read <-beat_tick\n")
    assert calls.parse(trace) == {"beat_tick": 3, "spad_read": 1}


def test_goals():
    """Met, missed, both in one run, and nothing to say."""
    said = goals.judge([one_round()], [mapped_round()], MAPS)
    irq, poll, iops, cpu, plug = said[:10:2]
    strict, _, direct = said[10:]
    assert irq["value"]["median"] == poll["value"]["median"] == 1.0 and irq["verdict"] == "met"
    assert iops["value"]["median"] == 4.0 and iops["met"]
    assert cpu["value"]["median"] == pytest.approx(0) and cpu["met"]
    assert plug["value"]["median"] == 1.5 and plug["met"]
    # the unmap of a list is the dearest
    assert strict["value"]["median"] == 1.15 and strict["verdict"] == "met" and direct["verdict"] == "MISSED"

    # each boot by itself, and both are told
    assert said[5]["value"]["median"] == 16.0
    assert [goal["goal"].split("; ")[-1] for goal in said[4:6]] == [goals.TRAPPED, goals.MAPPED]
    slow_there = goals.judge([one_round()], [mapped_round(iops=2000)], MAPS)
    assert [goal["verdict"] for goal in slow_there[4:6]] == ["met", "MISSED"]

    slow = one_round(borrowed=3300, driver=5)
    slow["borrowed"]["iops"].update(iops=2000, cost=spent(1.5))
    assert [goal["verdict"] for goal in goals.judge([slow], [mapped_round()], MAPS)[:10:2]] == ["MISSED"] * 5
    mixed = goals.judge([one_round(), one_round(), slow], [mapped_round()], MAPS)
    assert [goal["verdict"] for goal in mixed[:10:2]] == ["met, but rounds lie on both sides"] * 5

    blind = one_round()
    blind["bare"]["ntb"] = blind["bare"]["local"]
    said = goals.judge([blind], [mapped_round()], MAPS)
    assert [goal["met"] for goal in said[:4]] == [None, True, None, True]
    assert said[0]["verdict"] == "not measured"


def test_mapped_rounds_look():
    """Data that crossed by message where it should not is an error: what the round says would be another thing."""
    ways.refuse_messages("nvmeof, iops", {"ios": 1000, "cost": spent(1, ram_writes=10)})
    with pytest.raises(lending.StepFailed, match="nvmeof, iops: data crossed by message, 1.0 an I/O"):
        ways.refuse_messages("nvmeof, iops", {"ios": 1000, "cost": spent(1, ram_writes=1000)})


TIMES = {"seconds", "min", "median", "p99", "max", "mean"} | {phase for phase, _ in phases.BORROW}
RATES = {"iops", "bytes_per_second"}


def slower(value, times, name=""):
    """A round's figures on a machine that is so many times slower."""
    if isinstance(value, dict):
        return {key: slower(part, times, key) for key, part in value.items()}
    if name in TIMES or name.endswith("_s"):
        return value * times
    return value / times if name in RATES else value


def test_text_has_ratios_only():
    """The same run on a machine that is seven times slower reads the same."""
    slow = slower(one_round(), 7)
    assert goals.median(slow["local"]["latency"]) == 7 * goals.median(one_round()["local"]["latency"])
    slow["load_average"], slow["others_share"] = one_round()["load_average"], one_round()["others_share"]
    assert report.text(result(slow)) == report.text(result(one_round()))


def test_text_is_complete():
    """Goals with their verdicts, each way to the drive, counts, noise, rounds that were not run."""
    text = report.text(result(one_round(), one_round(driver=5)))
    assert "wanted at most 1.50, found 6.00 (1.50 to 10.5): MISSED, but rounds lie on both sides" in text
    assert "load average 0.5 to 1.5; of the CPUs' time 25 to 25 %" in text
    assert "settle nothing by its times" in text
    assert f"rounds, of 3: 2, {goals.TRAPPED}; 1, {goals.MAPPED}: there was no time for more" in text
    for name in [*report.NAMES.values(), *report.BARE.values(), "beat_tick  2"]:
        assert name in text
    assert re.search("IOMMU, strict; doorbell +0.500 +2.00 +2.00 ", text)
    row = re.search("IOMMU, strict: a list of 16, each page +(.*)", text)[1]
    assert re.split("  +", row) == ["20.0", "20.0", "1.00 (1.00 to 1.00)", "10.0", "11.5", "1.15 (1.15 to 1.15)"]
    assert "settle nothing" not in report.text(result(one_round() | {"others_share": 0.05}))
    trapped, mapped = text.split(f"How data crosses: {goals.MAPPED}\n")
    assert "How data crosses: " + goals.TRAPPED in trapped and "lender: memory writes " in mapped
    for part, iops in ((trapped, "0.500"), (mapped, "2.00")):
        assert re.search(rf"IOPS.*bandwidth.*\n +a .*\n +b  borrowed +{iops} \(", part)
    lines = {line.split("  ")[0]: line for line in trapped.replace("    ", "").splitlines()}
    assert "512 (512 to 512)" in lines["lender: memory writes"] and "600 (600 to 600)" in lines["lender: memory writes"]


def test_plots(tmp_path):
    """gnuplot takes each script, and what it draws is SVG that says what is meant."""
    samples = {name: list(range(1000, 2000)) for name in [*report.NAMES.values(), *report.BARE.values()]}
    plots.draw(result(), samples, tmp_path)
    texts = {path.stem: " ".join(ElementTree.parse(path).getroot().itertext()) for path in tmp_path.glob("*.svg")}
    assert set(texts) == {"latency", "throughput", "lender", "messages", "borrow"}
    assert "b  borrowed" in texts["latency"].replace("\u00a0", " ")
    assert "CONFIG: config space comes" in texts["borrow"].replace("\u00a0", " ")
