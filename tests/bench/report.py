# SPDX-License-Identifier: GPL-2.0
"""The report as text, from what the rounds measured. Pure.

Times and rates appear as ratios to something measured in the same round, counts as counts. What a ratio is to stands
above its table.
"""

import statistics

import goals
from cost import messages, per_io
from stats import ratio, spread

# share of the CPUs that others may take before times mean little
NOISY = 0.1
WAYS = ("local", "borrowed", "nvmeof")
NAMES = {"local": "a  local", "borrowed": "b  borrowed", "nvmeof": "c  NVMe/TCP"}
BARE = {("local", "irq"): "d  bare loop, local, interrupt", ("ntb", "irq"): "d  bare loop, NTB, interrupt",
        ("local", "poll"): "d  bare loop, local, polling", ("ntb", "poll"): "d  bare loop, NTB, polling"}


def number(value):
    """Three digits that matter."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3}f}"


def of_rounds(values):
    """Median, and in brackets the lowest and the highest."""
    values = spread(values)
    if values is None:
        return "-"
    return range_text(values)


def range_text(values):
    """A spread as text."""
    return f"{number(values['median'])} ({number(values['low'])} to {number(values['high'])})"


def table(title, head, rows):
    """Aligned columns below a title."""
    lines = [head] + rows
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([title, ""] + ["    " + line for line in text]) + "\n"


def latencies(one):
    """(name, figures) of all that has latencies."""
    yield from ((NAMES[way], one[way]["latency"]) for way in WAYS)
    yield from ((name, one["bare"][place][how]) for (place, how), name in BARE.items())


def latency_table(rounds):
    """One read of 4 KiB at a time."""
    base = [goals.median(one["local"]["latency"]) for one in rounds]
    rows = []
    for n, (name, _) in enumerate(latencies(rounds[0])):
        figures = [list(latencies(one))[n][1]["latency_ns"] for one in rounds]
        rows.append([name] + [of_rounds([ratio(f[what], b) for f, b in zip(figures, base)])
                              for what in ("median", "p99")])
    return table("Latency, reads of 4 KiB, one at a time; the median of (a) is 1", ["", "median", "99th percentile"],
                 rows)


def throughput_table(rounds):
    """IOPS and bandwidth."""
    rows = []
    for way in WAYS:
        made = [of_rounds([ratio(r[way][load][figure], r["local"][load][figure]) for r in rounds])
                for load, figure in (("iops", "iops"), ("bandwidth", "bytes_per_second"))]
        rows.append([NAMES[way]] + made)
    for place in ("local", "ntb") if "deep" in rounds[0]["bare"]["local"] else ():
        rows.append([BARE[place, "irq"], of_rounds([ratio(r["bare"][place]["deep"]["iops"], r["local"]["iops"]["iops"])
                                                    for r in rounds]), ""])
    return table("Throughput; (a) is 1", ["", "IOPS, 4 KiB, 32 under way", "bandwidth, 128 KiB, 4 under way"], rows)


def host_table(rounds, host):
    """What a host's software did for each I/O."""
    rows = []
    for way in ("borrowed", "nvmeof"):
        costs = [per_io(r[way]["iops"]["cost"], r["idle"][way], r[way]["iops"]["ios"])[host] for r in rounds]
        base = [per_io(r["nvmeof"]["iops"]["cost"], r["idle"]["nvmeof"], r["nvmeof"]["iops"]["ios"])[host]["vcpu_s"]
                for r in rounds]
        rows.append([NAMES[way], of_rounds([ratio(c["vcpu_s"], b) for c, b in zip(costs, base)])]
                    + [of_rounds([c[what] for c in costs]) for what in ("interrupts", "switches")])
    return table(f"What each I/O costs the {host}'s software (4 KiB, 32 under way), beyond what goes on anyway;\n"
                 "CPU time of (c) is 1", ["", "CPU time", "interrupts", "context switches"], rows)


def message_table(rounds):
    """What crossed for each I/O."""
    rows = []
    for sender in ("lender", "borrower"):
        for kind in messages(rounds[0]["borrowed"]["iops"]["cost"])[sender]:
            counts = [[messages(r[way]["iops"]["cost"])[sender][kind] / r[way]["iops"]["ios"] for r in rounds]
                      for way in ("borrowed", "nvmeof")]
            if any(map(any, counts)):
                rows.append([f"{sender}: {kind}"] + [of_rounds(c) for c in counts])
    return table("NTB messages for each I/O (4 KiB, 32 under way), by who sent them, the link's beat included",
                 ["", NAMES["borrowed"], NAMES["nvmeof"]], rows)


def phase_table(rounds, what, title):
    """Where the time to a block device goes."""
    whole = [goals.total(one["hotplug"]) for one in rounds]
    rows = [[phase, of_rounds([ratio(one[what][phase], w) for one, w in zip(rounds, whole)])]
            for phase in rounds[0][what]]
    rows.append(["all", of_rounds([ratio(goals.total(one[what]), w) for one, w in zip(rounds, whole)])])
    return table(title, ["phase", "time"], rows)


def mode_cost(one):
    """What an I/O cost each host in a mode, the start of fio not counted."""
    whole, start = (per_io(cost, one["idle"], one["figures"]["ios"]) for cost in (one["figures"]["cost"], one["start"]))
    return {host: {what: whole[host][what] - start[host][what] for what in whole[host]} for host in whole}


def mode_table(modes):
    """What the modes of a lease cost under load."""
    costs = [mode_cost(one) for one in modes]
    iops, cpu = modes[0]["figures"]["iops"], costs[0]["borrower"]["vcpu_s"]
    rows = [[f"{one['dma']}; {one['irq']}", number(ratio(one["figures"]["iops"], iops))]
            + [number(ratio(cost[host]["vcpu_s"], cpu)) for host in ("borrower", "lender")]
            + [number(cost[host]["interrupts"]) for host in ("borrower", "lender")]
            for one, cost in zip(modes, costs)]
    return table("Modes of a lease (4 KiB, 32 under way, measured once); IOPS and the borrower's CPU time for each I/O are 1\n"
                 "with DMA and interrupts direct", ["DMA; interrupts", "IOPS", "CPU time: borrower", "lender",
                                                   "interrupts: borrower", "lender"], rows)


def map_table(maps):
    """What it costs to map and to unmap."""
    names = {group_type: goal.text.rsplit("local, ", 1)[1] for group_type, goal in goals.MAP_GOALS.items()}
    shapes = {"page": "a page", "sg": "a list of 16, each page"}
    rows = []
    for group_type, places in maps.items():
        for shape, shape_name in shapes.items():
            row = [f"{names[group_type]}: {shape_name}"]
            for step in (0, 1):
                row += [number(statistics.median(run[step] for run in places[place][shape]))
                        for place in ("local", "borrowed")]
                row.append(of_rounds(goals.map_ratios(places, shape, step)))
            rows.append(row)
    return table("Instructions of the borrower's CPU to map memory and to unmap it, for a local device and for a borrowed one",
                 ["", "map: local", "borrowed", "ratio", "unmap: local", "borrowed", "ratio"], rows)


def calls_text(calls):
    """What of devlend ran on the borrower while I/O flowed."""
    lines = [f"Functions of devlend that the borrower's CPU entered during {calls['ios']} reads, and how often: "
             + ("none" if not calls["functions"] else "")]
    lines += [f"    {name}  {times}" for name, times in sorted(calls["functions"].items(), key=lambda f: -f[1])]
    return "\n".join(lines) + "\n"


def goal_text(goal):
    """One goal, and what became of it."""
    bound = f"{'at most' if goal['at_most'] else 'at least'} {number(goal['bound'])}"
    value = goal["value"]
    found = "-" if value is None else range_text(value)
    return f"    {goal['goal']}\n        wanted {bound}, found {found}: {goal['verdict']}\n"


def about_text(about, rounds, mapped):
    """What ran where, and how noisy it was."""
    noise = [n for one in rounds + mapped for n in one["load_average"]]
    others = [one["others_share"] for one in rounds + mapped]
    most = about["wanted_rounds"]
    noisy = ["The machine was busy with other things: of this run trust the counts, and settle nothing by its times."]
    return "\n".join([
        f"{about['date']}, {about['source']}, kernel {about['kernel']}",
        f"{about['qemu']}; {about['cores']} cores, {about['cpu']}",
        f"drive: {about['drive']}; windows {about['windows']}; {about['seconds']} s for each load",
        f"rounds, of {most}: {len(rounds)}, {goals.TRAPPED}; {len(mapped)}, {goals.MAPPED}"
        + (": there was no time for more" if min(len(rounds), len(mapped)) < most else ""),
        f"noise: load average {min(noise):.1f} to {max(noise):.1f}; of the CPUs' time {100 * min(others):.0f} to "
        f"{100 * max(others):.0f} % went to what is no part of this run"]
        + (noisy if max(others) > NOISY else []) + [""])


def boot_tables(rounds, where):
    """What the rounds of one boot found."""
    title = f"How data crosses: {where}"
    return [title + "\n" + "=" * len(title) + "\n",
            latency_table(rounds), throughput_table(rounds),
            host_table(rounds, "lender"), host_table(rounds, "borrower"),
            message_table(rounds),
            phase_table(rounds, "borrow", "A borrow, from the word to the block device; the local hot-plug is 1"),
            phase_table(rounds, "hotplug", "The local hot-plug (off the bus and found again)")]


def text(result):
    """The whole report."""
    rounds, mapped = result["rounds"], result["mapped"]
    parts = ["devlend: benchmarks on the rig. Emulated: compare, and trust no absolute figure.\n",
             about_text(result["about"], rounds, mapped),
             "Goals\n\n" + "".join(goal_text(goal) for goal in result["goals"]),
             *boot_tables(rounds, goals.TRAPPED), *boot_tables(mapped, goals.MAPPED),
             map_table(result["maps"]), mode_table(result["modes"]), calls_text(result["calls"]),
             "Each figure is the median of the rounds, in brackets the lowest and the highest.\n"
             "Documentation/benchmarks.rst says how to read them; report.json has all figures, absolute ones too.\n"]
    return "\n".join(parts)
