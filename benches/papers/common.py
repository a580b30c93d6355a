"""Reads the papers' figures and the generated pages, and formats statements with their tests."""
import json
import re
import sys
import tomllib
from pathlib import Path

import exact

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "docs" / "results"
sys.path.insert(0, str(ROOT / "benches" / "ensembles"))
import tables  # noqa: E402

table = tables.table
ALPHA = 1 - exact.LEVEL
AGREES, CONTRADICTS, SMALLER, OPEN = "agrees", "**contradicts**", "**smaller**", "open"


def paper(name):
    """Returns the figures of a paper, by table."""
    return tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))


class Page:
    """A generated page of results: its tables by heading and its text."""

    def __init__(self, *path):
        self.path = RESULTS.joinpath(*path, "README.md")
        self.text = self.path.read_text(encoding="utf-8")

    def table(self, *head):
        """Returns the rows of the only table, or the first, whose heading row begins with these cells: each a dictionary. Equal
        headings are numbered."""
        lines = self.text.split("\n")
        for place, line in enumerate(lines):
            names = cells(line)
            if names[: len(head)] == list(head):
                names = [name if name not in names[:at] else f"{name}.{names[:at].count(name)}" for at, name in enumerate(names)]
                rows = []
                for row in lines[place + 2 :]:
                    if not row.startswith("|"):
                        break
                    rows.append(dict(zip(names, cells(row))))
                return rows
        raise SystemExit(f"{self.path}: no table that begins with {head}")

    def after(self, heading):
        """Returns the rest of the page from a heading or sentence on, to read one of several tables of one form."""
        if heading not in self.text:
            raise SystemExit(f"{self.path}: no {heading!r}")
        rest = Page.__new__(Page)
        rest.path, rest.text = self.path, self.text.split(heading, 1)[1]
        return rest

    def said(self, pattern):
        """Returns the text of the pattern's group, or of its groups."""
        found = re.search(pattern, self.text)
        if not found:
            raise SystemExit(f"{self.path}: nothing like {pattern!r}")
        return found.group(1) if len(found.groups()) == 1 else found.groups()


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []


def votes():
    return json.loads((RESULTS / "papers" / "votes.json").read_text(encoding="utf-8"))


def numbers(cell):
    """Returns all numbers of a cell."""
    cell = cell.replace("−", "-").replace(",", "") if not re.search(r", [+-]", cell) else cell.replace("−", "-")
    return [float(one) for one in re.findall(r"(?<![\w.])[-+]?\d+(?:\.\d+)?", cell)]


def number(cell):
    return numbers(cell)[0]


class Difference:
    """A difference in points with its 95 % interval and, where the page has them, p by test."""

    def __init__(self, value, low, high, tests=None):
        self.value, self.low, self.high, self.tests = value, low, high, tests or {}

    @classmethod
    def of(cls, pair):
        tests = {"t-test": pair["t_test"], "Wilcoxon": pair["wilcoxon"]}
        return cls(*(100 * pair[key] for key in ("difference", "low", "high")), tests)

    @classmethod
    def read(cls, cell, tests=None):
        return cls(*numbers(cell)[:3], tests)

    @property
    def significant(self):
        """All must agree: over few documents an interval alone is too narrow, and a t-test too trusting."""
        return (self.low > 0 or self.high < 0) and all(p is not None and p < ALPHA for p in self.tests.values())

    def __str__(self):
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"

    def tested(self):
        return ", ".join([f"interval {self.low:+.2f} to {self.high:+.2f}", *(f"{name} {p_of(p)}" for name, p in self.tests.items())])


def p_of(p):
    return "p undefined" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def share(count, of):
    """Formats a share with its exact interval."""
    low, high = exact.clopper_pearson(count, of)
    return f"{count} of {of} ({100 * low:.0f} to {100 * high:.0f} %)"


def cell(value, best=False):
    text = "" if value is None else f"{value:.2f}"
    return f"**{text}**" if best else text


def signed(value):
    return f"{value:+.2f}".replace("-", "−")


class Statements:
    """The statements of a page with their verdicts, by table; each that does not hold needs a sentence why."""

    def __init__(self, figures):
        self.why, self.used, self.verdicts, self.contradicted = figures["why"], set(), [], []
        self.rows, self.reasons = [], []

    def add(self, key, statement, paper_has, here, test, verdict):
        self.rows.append([str(len(self.rows) + 1), statement, paper_has, here, test, verdict])
        self.verdicts.append(verdict)
        if verdict in (CONTRADICTS, SMALLER):
            self.contradicted.append((statement, here, test))
        if verdict != AGREES:
            if key not in self.why:
                raise SystemExit(f"{statement!r} is {verdict}: {key!r} needs a sentence in [why]; {paper_has}; {here}; {test}")
            self.used.add(key)
            self.reasons.append((str(len(self.rows)), self.why[key]))

    def order(self, key, what, theirs, ours):
        """The order of the same systems."""
        found = exact.kendall(theirs, ours)
        of = found.alike + found.opposed + found.tied
        verdict = OPEN if found.p >= ALPHA else AGREES if found.tau > 0 else CONTRADICTS
        interval = f"interval {found.low:+.2f} to {found.high:+.2f}" if found.low is not None else "no interval"
        self.add(key, f"order: {what}", "the paper's order", f"{found.alike} of {of} pairs alike" +
                 (f", {found.tied} tied" if found.tied else ""), f"τ = {found.tau:+.2f}, {interval}, {p_of(found.p)}", verdict)

    def signs(self, key, what, paper_has, values):
        """A sign that the paper finds: how many differences have it here. Equal values are left out."""
        above, below = sum(value > 0 for value in values), sum(value < 0 for value in values)
        p = exact.sign_test(above, below)
        verdict = OPEN if p is None or p >= ALPHA else AGREES if above > below else CONTRADICTS
        equal = len(values) - above - below
        here = share(above, above + below) if above + below else "no difference"
        self.add(key, what, paper_has, here + (f", {equal} equal" if equal else ""), f"sign test {p_of(p)}", verdict)

    def difference(self, key, what, expected, ours, significant=True):
        """A difference that the paper finds significant, or only reports."""
        inside = ours.low <= expected <= ours.high
        if ours.significant:
            verdict = AGREES if ours.value * expected > 0 else CONTRADICTS
        else:
            verdict = OPEN if inside or abs(ours.value) > abs(expected) else SMALLER
        paper_has = f"{expected:+.2f}" + (", significant" if significant else "")
        self.add(key, what, paper_has, f"{ours.value:+.2f}",
                 ours.tested() + f", which {'includes' if inside else 'excludes'} the paper's", verdict)

    def compared(self, key, what, paper_has, ours):
        """A difference that the paper finds above 0, without its size."""
        verdict = OPEN if not ours.significant else AGREES if ours.value > 0 else CONTRADICTS
        self.add(key, what, paper_has, f"{ours.value:+.2f}", ours.tested(), verdict)

    def exactly(self, key, what, paper_has, here, test, holds, tested=True):
        """A statement with a test of its own."""
        self.add(key, what, paper_has, here, test, AGREES if holds and tested else CONTRADICTS if tested else OPEN)

    def take(self):
        """Returns the statements since the last call as text, and begins the next table."""
        head = ["", "Statement", "Paper", "Here", "Test", "Verdict"]
        text = table(head, self.rows)
        together = {}
        for place, why in self.reasons:
            together.setdefault(why, []).append(place)
        if together:
            text += "\nWhy they differ or stay open:\n\n" + "\n".join(f"- {', '.join(places)}: {why}" for why, places in together.items()) + "\n"
        self.rows, self.reasons = [], []
        return text

    def finish(self):
        left = set(self.why) - self.used
        if left:
            raise SystemExit(f"sentences in [why] that no statement needs: {', '.join(sorted(left))}")


def overview(figures, values):
    """Returns the list of a paper's tables, with what is missing."""
    rows = [[one["name"], one["status"], one["missing"].format(**values) or "nothing"] for one in figures["tables"]]
    return table(["Of the paper", "Here", "Missing"], rows)
