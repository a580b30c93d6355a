"""The checks of a soak test, and its page.

The first sixth of a run warms up and is not judged. Medians of the second sixth are compared with medians of the last one.
"""
import statistics
from dataclasses import dataclass

# Maximum growth of memory from the second to the last sixth, in per cent.
MEMORY = 5
# Minimum seconds of a sixth to check memory: shorter ones are still warming up.
SETTLED = 120
# Maximum growth of descriptors or threads: a file may be in progress at a sample, a connection may be reopened.
MORE = 2
# Maximum growth of lag over the run, as a share of the height of its saw-tooth.
LAG = 0.25
# How many seconds behind its clock the feed may ever have been: what it makes up for afterwards is no steady feed.
LATE = 5


VERDICTS = {True: "holds", False: "FAILS", None: "not judged"}


@dataclass
class Check:
    what: str
    holds: bool | None
    told: str

    def line(self):
        return f"{VERDICTS[self.holds]}: {self.what}: {self.told}"


def sixths(samples, key):
    """The samples' values in six parts of the run's time."""
    length = samples[-1]["seconds"] or 1
    parts = [[] for _ in range(6)]
    for sample in samples:
        parts[min(5, int(6 * sample["seconds"] / length))].append(sample[key])
    if not all(parts):
        raise SystemExit("too few samples: not one in each sixth of the run")
    return parts


def rate_of(samples):
    """Returns the records per second that became rows, over the checked part."""
    judged = [sample for sample in samples if sample["seconds"] >= samples[-1]["seconds"] / 6]
    first, last = judged[0], judged[-1]
    return (last["records"] - first["records"]) / (last["seconds"] - first["seconds"])


def slope(points):
    """The line through points by the median of all pairs' slopes (Theil, Sen), with Sen's interval of 95 %: none of a
    saw-tooth's peaks bends it."""
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] > a[0])
    n = len(points)
    reach = 1.96 * (n * (n - 1) * (2 * n + 5) / 18) ** 0.5
    low, high = (int((len(slopes) + sign * reach) / 2) for sign in (-1, 1))
    return statistics.median(slopes), slopes[max(0, low)], slopes[min(len(slopes) - 1, high)]


def of(samples, rate, age):
    """The checks of samples. Lag swings with the age of files and with how old the program's news of the log is: `age`,
    seconds, is both together, and so may hold `rate` times as many records."""
    checks = []
    for key, what in (("rss_mib", "resident memory is flat"), ("pss_mib", "its own part of it (PSS) is flat")):
        early, late = (statistics.median(sixths(samples, key)[part]) for part in (1, 5))
        grown = 100 * (late / early - 1)
        told = f"{early:.0f} MiB in the second sixth, {late:.0f} in the last, {grown:+.1f} % (at most {MEMORY:+} %)"
        long = samples[-1]["seconds"] > 5.9 * SETTLED
        checks.append(Check(what, grown <= MEMORY if long else None, told))
    for key in ("descriptors", "threads"):
        early, late = (statistics.median(sixths(samples, key)[part]) for part in (1, 5))
        told = f"{early:g} in the second sixth, {late:g} in the last (at most {MORE} more)"
        checks.append(Check(f"{key} do not grow", late <= early + MORE, told))
    length = samples[-1]["seconds"]
    allowed = LAG * rate * age
    for key, what in (("lag_records", "lag"), ("behind_records", "what waits to be read")):
        parts = sixths(samples, key)
        early, late = statistics.median(parts[1]), statistics.median(parts[5])
        told = f"{early:,.0f} records in the second sixth, {late:,.0f} in the last (at most {allowed:,.0f} more)"
        checks.append(Check(f"{what} is no more at the end", late <= early + allowed, told))
        points = [(sample["seconds"], sample[key]) for sample in samples if sample["seconds"] >= length / 6]
        per_second, low, high = slope(points[:: max(1, len(points) // 300)])
        told = (f"{60 * per_second:+,.0f} records a minute ({60 * low:+,.0f} to {60 * high:+,.0f}), "
                f"so {per_second * length:+,.0f} over the run (at most {allowed:,.0f})")
        # Both: a slope that noise does not explain, and one that amounts to something.
        grows = low > 0 and per_second * length > allowed
        checks.append(Check(f"{what} has no upward slope", not grows, told))
    oldest = statistics.median(sixths(samples, "lag_seconds")[5])
    checks.append(Check("no note waits long", oldest <= 2 * age, f"the oldest {oldest:.1f} s in the last sixth (at most {2 * age} s)"))
    return checks


def of_the_end(fed, late, code, whole, rows, meant):
    """Returns the checks of input and output."""
    return [
        Check("the feed was steady", fed == int(meant) and late <= LATE, f"{fed:,} notes fed of {int(meant):,}, late by {late:.1f} s at most"),
        Check("the program left in order", code == 0, f"exit code {code}"),
        Check("each note is there once", whole and rows == fed, f"{rows:,} rows of {fed:,} notes; chains are {'whole' if whole else 'NOT whole'}"),
    ]


PANELS = [
    ("memory, MiB", [("rss_mib", "resident"), ("anon_mib", "anonymous"), ("held_mib", "held by lanes")]),
    ("lag, records", [("lag_records", "not durable"), ("behind_records", "not read")]),
    ("lag, seconds", [("lag_seconds", "the oldest")]),
    ("count", [("descriptors", "descriptors"), ("threads", "threads")]),
]
COLOURS = ["#2d6a9f", "#b5332e", "#777"]
WIDTH, HIGH, LEFT, GAP = 860, 130, 70, 46


def chart(samples):
    """Draws the panels below each other on one axis of minutes; the unchecked part is grey."""
    length = samples[-1]["seconds"] or 1
    x = lambda seconds: LEFT + (WIDTH - LEFT - 20) * seconds / length
    height = len(PANELS) * (HIGH + GAP) + 30
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
             '<rect width="100%" height="100%" fill="white"/>']
    for number, (title, lines) in enumerate(PANELS):
        top = 30 + number * (HIGH + GAP)
        most = 1.08 * max(1, *(sample[key] for sample in samples for key, _ in lines))
        y = lambda value: top + HIGH * (1 - value / most)
        drawn.append(f'<rect x="{LEFT}" y="{top}" width="{x(length / 6) - LEFT:.1f}" height="{HIGH}" fill="#eee"/>'
                     f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{title}</text>')
        for share in (0, 0.5, 1):
            at = y(share * most)
            drawn.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
                         f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{share * most:,.0f}</text>')
        for place, (key, name) in enumerate(lines):
            path = " ".join(f'{x(sample["seconds"]):.1f},{y(sample[key]):.1f}' for sample in samples)
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[place]}" stroke-width="1.4"/>'
                         f'<text x="{WIDTH - 20 - 120 * place}" y="{top - 8}" text-anchor="end" fill="{COLOURS[place]}">{name}</text>')
    bottom = height - GAP + 14
    for part in range(7):
        drawn.append(f'<text x="{x(part * length / 6):.1f}" y="{bottom}" text-anchor="middle">{part * length / 360:.3g}</text>')
    drawn.append(f'<text x="{LEFT + (WIDTH - LEFT) / 2}" y="{bottom + 18}" text-anchor="middle">minutes</text>')
    return "\n".join([*drawn, "</svg>\n"])


PAGE = """# Soak test

A real Kafka, {engine}, {cores} cores shared with the broker and the feeder. The maximum speed is {most} notes/s (median of three runs to
the end of a topic). The soak runs at {rate} notes/s, {share} % of that, for {minutes} minutes: {fed} notes, each of them new, in {files}
files. Samples are taken every {every} s; Lethe closes a file after {age} s. The first sixth (grey) is the warm-up and does not count;
medians of the second sixth are compared with those of the last. `benches/soak` generates this page.

![Memory, lag, descriptors and threads over the run](soak.svg)

| check | | |
|---|---|---|
{rows}

[samples.csv](samples.csv) has every sample.
"""


def write(out, samples, checks, told):
    (out / "soak.svg").write_text(chart(samples))
    rows = "\n".join(f"| {check.what} | {VERDICTS[check.holds]} | {check.told} |" for check in checks)
    (out / "README.md").write_text(PAGE.format(rows=rows, **told))
