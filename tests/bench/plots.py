# SPDX-License-Identifier: GPL-2.0
"""The report's plots: SVG, drawn by gnuplot from a script that is made here. Making the scripts is pure."""

import subprocess

import goals
import report
from cost import messages
from stats import distribution, ratio, spread

HEAD = """set terminal svg size 900,{height} font "sans-serif,14" background "white"
set output "{output}"
set title "{title}"
set key below
set grid ytics
set linetype 9 lc rgb "#999999"
"""
BARS = """set style data histograms
set style histogram errorbars gap 1 lw 1
set style fill solid 0.6 border -1
set yrange [*<0:*]
set xtics rotate by -15
"""


def quoted(text):
    """A string of gnuplot's."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def rows(name, lines):
    """A block of data for the script."""
    return f"${name} << EOD\n" + "".join(" ".join(map(str, line)) + "\n" for line in lines) + "EOD\n"


def triple(values):
    """Median, lowest and highest, as error bars want them."""
    found = spread(values) or {"median": 0, "low": 0, "high": 0}
    return found["median"], found["low"], found["high"]


def curves(samples, local):
    """Distribution of the latencies of the first round."""
    names = sorted(samples)
    blocks = "".join(rows(f"d{n}", [(value / local, share) for share, value in distribution(samples[name])])
                     for n, name in enumerate(names))
    lines = ", ".join(f"$d{n} using 1:2 with lines lw 2 title {quoted(name)}" for n, name in enumerate(names))
    return (blocks + 'set logscale x\nset xlabel "latency; the median of (a) is 1"\nset ylabel "share of reads"\n'
            f"plot {lines}\n")


def bars(series, labels, ylabel, log=False):
    """Groups of bars: series is name -> one triple for each label."""
    data = [[quoted(label)] + [x for values in series.values() for x in values[n]] for n, label in enumerate(labels)]
    plots = ", ".join(f"$bars using {3 * n + 2}:{3 * n + 3}:{3 * n + 4}:xtic(1) title {quoted(name)}"
                      for n, name in enumerate(series))
    scale = "set logscale y\nset yrange [*:*]\n" if log else ""
    return rows("bars", data) + BARS + scale + f"set ylabel {quoted(ylabel)}\nplot {plots}\n"


def throughput(trapped, mapped):
    """IOPS and bandwidth of (b) and (c), in both boots."""
    def of(rounds, load, figure, way):
        return triple([ratio(one[way][load][figure], one["local"][load][figure]) for one in rounds])
    kinds = {"IOPS": ("iops", "iops"), "bandwidth": ("bandwidth", "bytes_per_second")}
    boots = ((trapped, goals.TRAPPED), (mapped, goals.MAPPED))
    return bars({report.NAMES[way]: [of(rounds, *kind, way) for rounds, _ in boots for kind in kinds.values()]
                 for way in report.WAYS}, [f"{kind}; {where}" for _, where in boots for kind in kinds], "(a) is 1", log=True)


def lender(rounds):
    """What an I/O costs the lender, (b) to (c)."""
    def of(way, what):
        return triple([ratio(goals.lender_cost(one, way)[what], goals.lender_cost(one, "nvmeof")[what])
                       for one in rounds])
    kinds = {"vcpu_s": "CPU time", "interrupts": "interrupts", "switches": "context switches"}
    return bars({report.NAMES[way]: [of(way, what) for what in kinds] for way in ("borrowed", "nvmeof")},
                list(kinds.values()), "for each I/O; (c) is 1")


def crossing(rounds):
    """NTB messages for each I/O, both directions."""
    def of(way, kind):
        return triple([sum(side[kind] for side in messages(one[way]["iops"]["cost"]).values()) / one[way]["iops"]["ios"]
                       for one in rounds])
    kinds = list(messages(rounds[0]["borrowed"]["iops"]["cost"])["lender"])
    return bars({report.NAMES[way]: [of(way, kind) for kind in kinds] for way in ("borrowed", "nvmeof")},
                kinds, "messages for each I/O", log=True)


def borrow(rounds):
    """Phases of a borrow, and the same of a hot-plug."""
    whole = [goals.total(one["hotplug"]) for one in rounds]
    names = list(rounds[0]["borrow"])
    def of(what, phase):
        return spread([ratio(one[what].get(phase, 0), w) for one, w in zip(rounds, whole)])["median"]
    data = [[quoted(label)] + [of(what, phase) for phase in names]
            for label, what in (("local hot-plug", "hotplug"), ("borrow", "borrow"))]
    plots = ", ".join(f"$bars using {n + 2}:xtic(1) title {quoted(name)}" for n, name in enumerate(names))
    return (rows("bars", data) + "set style data histograms\nset style histogram rowstacked\nset boxwidth 0.5\n"
            'set style fill solid 0.7 border -1\nset yrange [0:*]\nset ylabel "the local hot-plug is 1"\n'
            f"plot {plots}\n")


def scripts(result, samples):
    """Name -> gnuplot script."""
    rounds = result["rounds"]
    local = goals.median(rounds[0]["local"]["latency"])
    bodies = {"latency": ("Latency of reads of 4 KiB, one at a time (first round)", curves(samples, local)),
              "throughput": ("IOPS of 4 KiB, 32 under way, and bandwidth of 128 KiB", throughput(rounds, result["mapped"])),
              "lender": ("What an I/O costs the lender", lender(rounds)),
              "messages": ("What crosses the NTB", crossing(rounds)),
              "borrow": ("From the operator's word to a block device", borrow(rounds))}
    return {name: HEAD.format(height=560, output=f"{name}.svg", title=title) + body
            for name, (title, body) in bodies.items()}


def draw(result, samples, folder):
    """All plots into a folder."""
    for script in scripts(result, samples).values():
        subprocess.run(["gnuplot", "-"], input=script, text=True, cwd=folder, check=True)
