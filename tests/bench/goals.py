# SPDX-License-Identifier: GPL-2.0
"""The project's goals for speed, and what a run says of them. Pure."""

import statistics
from dataclasses import dataclass
from typing import Callable

from cost import per_io
from stats import ratio, spread


def total(phases):
    """Seconds of all phases."""
    return sum(phases.values())


def median(figures):
    """Median latency of a load or a bare loop."""
    return figures["latency_ns"]["median"]


def added_latency(one, how):
    """What borrowing adds to the median latency, to what the way through the NTB adds to that of the bare loop."""
    added = median(one["borrowed"]["latency"]) - median(one["local"]["latency"])
    return ratio(added, median(one["bare"]["ntb"][how]) - median(one["bare"]["local"][how]))


def iops(one):
    """IOPS of the borrowed drive to those over NVMe/TCP."""
    return ratio(one["borrowed"]["iops"]["iops"], one["nvmeof"]["iops"]["iops"])


def lender_cost(one, way):
    """What the lender's software did for each I/O of 4 KiB, 32 under way."""
    figures = one[way]["iops"]
    return per_io(figures["cost"], one["idle"][way], figures["ios"])["lender"]


def lender_cpu(one):
    """The lender's CPU time for each I/O, borrowed to NVMe/TCP."""
    return ratio(lender_cost(one, "borrowed")["vcpu_s"], lender_cost(one, "nvmeof")["vcpu_s"])


def hotplug(one):
    """From the operator's word to a block device, borrowed to local."""
    return ratio(total(one["borrow"]), total(one["hotplug"]))


@dataclass(frozen=True)
class Goal:
    """What is wanted of a figure that each round gives."""

    text: str
    bound: float
    at_most: bool
    figure: Callable

    def judge(self, rounds, where):
        """What the rounds of a boot say. A round that cannot say anything gives None."""
        said = self.verdict([self.figure(one) for one in rounds])
        return dict(said, goal=f"{said['goal']}; {where}")

    def verdict(self, figures):
        """What some figures say."""
        values = spread(figures)
        if values is None:
            return {"goal": self.text, "bound": self.bound, "at_most": self.at_most, "value": None, "met": None,
                    "verdict": "not measured"}
        good = [self._good(values[which]) for which in ("median", "low", "high")]
        verdict = "met" if good[0] else "MISSED"
        if len(set(good)) > 1:
            verdict += ", but rounds lie on both sides"
        return {"goal": self.text, "bound": self.bound, "at_most": self.at_most, "value": values, "met": good[0],
                "verdict": verdict}

    def _good(self, value):
        return value <= self.bound if self.at_most else value >= self.bound


# how data crosses in a boot
TRAPPED, MAPPED = "each 8 bytes a message", "memory mapped through"

GOALS = (
    Goal("latency that borrowing adds / that the fabric adds (loop that sleeps until the interrupt)", 1.1, True,
         lambda one: added_latency(one, "irq")),
    Goal("latency that borrowing adds / that the fabric adds (loop that polls)", 1.1, True,
         lambda one: added_latency(one, "poll")),
    Goal("IOPS, 32 under way: borrowed / NVMe/TCP", 3, False, iops),
    Goal("lender's CPU time for each I/O: borrowed / NVMe/TCP (\"none\": at most 0.02)", 0.02, True, lender_cpu),
    Goal("operator's word to block device: borrow / local hot-plug", 1.5, True, hotplug),
)


def map_ratios(of_type, shape, step):
    """Instructions of a map (step 0) or an unmap (1), borrowed to local, of each run."""
    local = statistics.median(run[step] for run in of_type["local"][shape])
    return [ratio(run[step], local) for run in of_type["borrowed"][shape]]


def dearest_map(of_type):
    """The ratios of that shape and step which borrowing makes dearest."""
    return max((map_ratios(of_type, shape, step) for shape in of_type["local"] for step in (0, 1)),
               key=statistics.median)


MAP_GOALS = {
    group_type: Goal(f"instructions of a map, of an unmap (the dearest of the table): borrowed / local, {name}", bound,
                     True, dearest_map)
    for group_type, name, bound in (("DMA", "IOMMU, strict", 1.2), ("DMA-FQ", "IOMMU, lazy", 1.2),
                                    ("identity", "no translation", 1))
}


def judge(rounds, mapped, maps):
    """All goals; those that rounds tell of in both boots."""
    return ([goal.judge(made, where) for goal in GOALS for made, where in ((rounds, TRAPPED), (mapped, MAPPED))]
            + [goal.verdict(goal.figure(maps[group_type])) for group_type, goal in MAP_GOALS.items()])
