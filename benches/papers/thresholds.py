"""Votes at each threshold, of all members and of those that pruning leaves, with paired tests: the figures of Kim 2019 and
Kim and Meystre 2020.

`lethe ensemble prune` finds the members and scores each vote, but keeps no decisions. This module votes again over the saved
offsets, checks that each vote has the hits and spans that the program counted, and lets `lethe evaluate` test the pairs. The
report has names and numbers, no note text.
"""
import json
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "ensembles"))
import tables  # noqa: E402

# Name: corpus, origins of the members, whether labels are the categories.
RUNS = {
    "meddocan-own-labels": ("meddocan", ["meddocan"], False),
    "meddocan-own": ("meddocan", ["meddocan"], True),
    "meddocan-own-outside": ("meddocan", ["meddocan", "outside"], True),
    "meddocan-both": ("meddocan", ["meddocan", "echr-es", "outside"], True),
    "echr-es-own": ("echr-es", ["echr-es"], True),
    "echr-es-both": ("echr-es", ["echr-es", "meddocan", "outside"], True),
}
# Votes of two runs that are compared on the same documents.
ACROSS = {
    "meddocan": [("meddocan-both", "meddocan-own"), ("meddocan-own-outside", "meddocan-own")],
    "echr-es": [("echr-es-both", "echr-es-own")],
}


def offsets(path, renamed):
    """Returns the head of a file of offsets, and each document's spans as (start, end, label) with the bits of its members."""
    head, *lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]
    documents = {}
    for line in lines:
        spans = documents.setdefault(line["doc_id"], {})
        for start, end, label, members in line["spans"]:
            name = head["labels"][label]
            name = renamed.get(name, name)
            if name:
                spans[start, end, name] = spans.get((start, end, name), 0) | members
    return head, documents


def merged(files, renamed):
    """Returns the names of the members of all files, as `lethe ensemble` has them, and their spans by document."""
    names, documents, texts = [], {}, None
    for file in files:
        prefix, path = file.split("=") if "=" in file else ("", file)
        head, more = offsets(path, renamed)
        texts = head["texts"]
        for document, spans in more.items():
            into = documents.setdefault(document, {})
            for span, members in spans.items():
                into[span] = into.get(span, 0) | members << len(names)
        names += [f"{prefix}.{name}" if prefix else name for name in head["systems"]]
    return names, documents, texts


def vote(spans, members, threshold, ranks):
    """Returns the spans with enough votes. Of overlapping ones that with most votes stays, then that of the member which ranks best
    in cross-validation, as in the paper; then the longer and the earlier one."""
    order = []
    for (start, end, label), by in spans.items():
        voters = [member for member in members if by >> member & 1]
        if len(voters) >= threshold:
            order.append((-len(voters), min(ranks[member] for member in voters), start - end, start, end, label))
    chosen = []
    for *_, start, end, label in sorted(order):
        if all(end <= other[0] or start >= other[1] for other in chosen):
            chosen.append((start, end, label))
    return sorted(chosen)


def decide(documents, members, threshold, ranks):
    return {name: vote(spans, members, threshold, ranks) for name, spans in documents.items()}


def write(path, texts, systems):
    """Writes systems' decisions as a file of offsets, which `lethe evaluate` reads."""
    labels = sorted({label for decisions in systems.values() for spans in decisions.values() for _, _, label in spans})
    head = {"format": "lethe-offsets", "version": 1, "texts": texts, "labels": labels, "systems": list(systems)}
    lines = [head]
    for name in next(iter(systems.values())):
        together = {}
        for bit, decisions in enumerate(systems.values()):
            for start, end, label in decisions[name]:
                key = (start, -end, labels.index(label))
                together[key] = together.get(key, 0) | 1 << bit
        lines.append({"doc_id": name, "spans": [[start, -end, label, by] for (start, end, label), by in sorted(together.items())]})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")


def rates(tally):
    hits = tally["hits"]
    return {
        "precision": hits / tally["predicted"] if tally["predicted"] else None,
        "recall": hits / tally["gold"],
        "f1": tables.tally_f1(tally),
    }


def pair(report, one, other):
    """Returns a system's difference of strict F1 from another, with its interval and the paired tests."""
    found = next(pair for pair in report["comparisons"] if {pair["a"], pair["b"]} == {one, other})
    sign = 1 if found["a"] == one else -1
    low, high = sorted(sign * found["difference"]["interval"][end] for end in ("low", "high"))
    tests = {test: found[test]["p"] for test in ("t_test", "wilcoxon", "randomisation")}
    return {"difference": sign * found["difference"]["value"], "low": low, "high": high, **tests}


class Study:
    """One set of members on one corpus."""

    def __init__(self, lethe, name):
        self.lethe, self.name = lethe, name
        self.corpus, origins, categories = RUNS[name]
        self.more = ("--rename", tables.NAMES) if categories else ()
        self.pruned = lethe.prune(self.corpus, origins, *self.more)
        renamed = tomllib.loads(Path(tables.NAMES).read_text(encoding="utf-8"))["labels"] if categories else {}
        names, self.documents, self.texts = merged(lethe.said(self.corpus, "dev", origins), renamed)
        members = self.pruned["members"]
        if names != [member["name"] for member in members]:
            raise SystemExit(f"{name}: the program has other members: {members}")
        self.ranks = {place: member["rank"] for place, member in enumerate(members)}
        self.best = min(self.ranks, key=self.ranks.get)

    def name_of(self, member):
        return self.pruned["members"][member]["name"]

    def left(self, path):
        return (path["steps"][path["stop"] - 1]["left"] if path["stop"] else path["start"])["members"]

    def decide(self, members, threshold):
        return decide(self.documents, members, threshold, self.ranks)

    def checked(self, decisions, tally, what):
        spans = sum(map(len, decisions.values()))
        if spans != tally["predicted"]:
            raise SystemExit(f"{self.name}, {what}: {spans} spans here, {tally['predicted']} counted by the program")
        return decisions

    def evaluate(self, name, systems):
        path = self.lethe.work / f"{self.name}-{name}.jsonl"
        write(path, self.texts, systems)
        gold = self.lethe.gold(self.corpus, "dev")
        return self.lethe.ask(f"evaluate-{self.name}-{name}", "evaluate", gold, path, *self.more)

    def threshold(self, path, held):
        """Returns one threshold of the figure."""
        votes, everyone, left = path["threshold"], path["start"]["members"], self.left(path)
        row = {"threshold": votes, "left": [self.name_of(member) for member in left], "all": rates(held["all"]),
               "pruned": rates(held["pruned"])}
        if not held["all"]["predicted"] or not held["pruned"]["predicted"]:
            return row
        systems = {
            "pruned": self.checked(self.decide(left, votes), held["pruned"], f"{votes} votes, pruned"),
            "all": self.checked(self.decide(everyone, votes), held["all"], f"{votes} votes, all"),
            "best": self.decide([self.best], 1),
        }
        report = self.evaluate(str(votes), systems)
        scored = tables.by_name(report)
        for which in ("pruned", "all"):
            if abs(tables.f1(scored[which])["value"] - row[which]["f1"]) > 1e-9:
                raise SystemExit(f"{self.name}, {votes} votes, {which}: this vote is not the program's")
        if len(left) < len(everyone):
            row["pruned_less_all"] = pair(report, "pruned", "all")
        row["pruned_less_best"] = pair(report, "pruned", "best")
        return row

    def chosen(self):
        """Returns the decisions of pruned voting, of all members at the threshold that is best on the training set, and of the best
        member."""
        point, everyone = self.pruned["chosen"], tables.set_of_all(self.pruned)
        return {
            "pruned": self.decide(point["members"], point["threshold"]),
            "voting": self.decide(everyone["members"], everyone["threshold"]),
            "best": self.decide([self.best], 1),
        }

    def report(self):
        held = {at["threshold"]: at for at in self.pruned["held_out"]["thresholds"]}
        chosen = self.evaluate("chosen", self.chosen())
        point = self.pruned["chosen"]
        return {
            "corpus": self.corpus,
            "documents": self.pruned["held_out"]["documents"],
            "gold": next(iter(held.values()))["all"]["gold"],
            "members": [member["name"] for member in self.pruned["members"]],
            "best": self.name_of(self.best),
            "best_rates": rates(self.pruned["held_out"]["members"][self.best]),
            "votes": tables.set_of_all(self.pruned)["threshold"],
            "votes_pruned": point["threshold"],
            "left": [self.name_of(member) for member in point["members"]],
            "f1": {system["name"]: tables.f1(system)["value"] for system in chosen["systems"]},
            "pruned_less_voting": pair(chosen, "pruned", "voting"),
            "pruned_less_best": pair(chosen, "pruned", "best"),
            "thresholds": [self.threshold(path, held[path["threshold"]]) for path in self.pruned["paths"]],
        }


def counts(study):
    """Returns the gold documents, spans by category, and tokens of spans of a corpus."""
    report = study.evaluate("counts", {"best": study.decide([study.best], 1)})
    system = report["systems"][0]
    return {
        "documents": report["documents"],
        "spans": {group["name"].lower(): group["strict"]["gold"] for group in system["labels"]["groups"]},
        "tokens of spans": system["measures"]["token"]["gold"],
    }


def compute(lethe, work, corpora):
    """Returns the report of all runs. Minutes, with one processor; the program's own votes are asserted."""
    options = SimpleNamespace(lethe=lethe, work=str(work), **{name.replace("-", "_"): folder for name, folder in corpora.items()})
    program = tables.Lethe(options)
    studies = {name: Study(program, name) for name in RUNS}
    out = {"made_by": "benches/papers/run", "counts": {}, "runs": {name: study.report() for name, study in studies.items()}, "across": {}}
    for corpus, pairs in ACROSS.items():
        out["counts"][corpus] = counts(studies[f"{corpus}-own"])
        for one, other in pairs:
            systems = {"pruned": studies[one].chosen()["pruned"], **{f"own {name}": decisions for name, decisions in
                                                                     studies[other].chosen().items()}}
            report = studies[one].evaluate(f"across-{other}", systems)
            out["across"][one] = {"than": other, **{name: pair(report, "pruned", f"own {name}") for name in ("pruned", "voting", "best")}}
    return out


def rounded(value):
    """Figures to six digits: more would only differ between machines."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def save(report, path):
    """Writes the report with one threshold a line."""
    def put(value, indent):
        flat = json.dumps(value)
        if len(flat) < 900:
            return flat
        inner = " " * (indent + 1)
        if isinstance(value, dict):
            body = f",\n{inner}".join(f"{json.dumps(key)}: {put(one, indent + 1)}" for key, one in value.items())
            return f"{{\n{inner}{body}\n{' ' * indent}}}"
        body = f",\n{inner}".join(put(one, indent + 1) for one in value)
        return f"[\n{inner}{body}\n{' ' * indent}]"

    path.write_text(put(rounded(report), 0) + "\n", encoding="utf-8")
