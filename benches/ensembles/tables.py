"""Tables 4 to 7 and figure 1 of Kim and Meystre 2020 on open data, from the members' saved predictions
(docs/results/predictions).

    python3 benches/ensembles/tables.py --lethe PROGRAM --meddocan DIR --echr-es DIR --work DIR

Every figure comes from `lethe ensemble compare`, `lethe ensemble prune` and `lethe evaluate`; this script
only runs them and writes docs/results/README.md. Needs Python 3.11 or later, without packages.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import time

RESULTS = pathlib.Path("docs/results")
PREDICTIONS = RESULTS / "predictions"
NAMES = "benches/ensembles/categories.toml"
METHODS = {
    "voting": "Voting",
    "voting-pruned": "Voting pruned",
    "decision-templates": "DTM",
    "stacked-svm": "Stacked SVM",
    "stacked-searn": "Stacked SEARN",
    "stacked-lstm": "Stacked LSTM",
}
MEMBERS = {
    "lstm-crf-n": "LSTM-CRF v.N",
    "lstm-crf-l": "LSTM-CRF v.L",
    "crf": "CRF",
    "memm": "MEMM",
    "searn": "SEARN",
    "mira": "MIRA",
    "lstm-l": "LSTM v.L",
    "svm": "SVM",
    "ogd": "OGD",
    "ssvm": "Struct. SVM",
}
OUTSIDE = {"presidio": "Presidio (patterns)", "datafog": "DataFog"}
CORPORA = {"meddocan": "MEDDOCAN", "echr-es": "ECHR-es"}


class Lethe:
    """Runs the program and keeps its output in the work folder for inspection."""

    def __init__(self, options):
        self.program, self.work = options.lethe, pathlib.Path(options.work)
        self.corpora = {"meddocan": options.meddocan, "echr-es": options.echr_es}
        self.work.mkdir(parents=True, exist_ok=True)

    def gold(self, corpus, part):
        return f"{self.corpora[corpus]}/{part}.jsonl"

    def said(self, corpus, part, origins):
        """Returns arguments with the predictions of members of these origins; those of the first origin keep their names."""
        files = []
        for place, origin in enumerate(origins):
            name = "" if place == 0 or origin == "outside" else f"{origin}="
            files.append(f"{name}{PREDICTIONS}/{corpus}-{part}/{origin}.jsonl")
        return files

    def ask(self, name, *arguments):
        start = time.monotonic()
        asked = [self.program, "--log", "warn", *map(str, arguments), "--json"]
        told = subprocess.run(asked, check=True, stdout=subprocess.PIPE).stdout
        (self.work / f"{name}.json").write_bytes(told)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        return json.loads(told)

    def compare(self, corpus, origins, *more):
        """Scores the six ensembles, fitted on predictions for the training set, and their members on dev."""
        kinds = ["categories"] if "--rename" in more else []
        name = "-".join(["compare", corpus, *origins, *kinds])
        tested = []
        for file in self.said(corpus, "dev", origins):
            tested += ["--test-predictions", file]
        return self.ask(
            name, "ensemble", "compare", self.gold(corpus, "train"), *self.said(corpus, "train", origins),
            "--test", self.gold(corpus, "dev"), *tested, *more,
        )

    def prune(self, corpus, origins, *more, svg=None):
        bounds = [bound.strip("-") for bound in ("--floor", "--ceiling") if bound in more]
        name = "-".join(["prune", corpus, *origins, *bounds])
        tested = []
        for file in self.said(corpus, "dev", origins):
            tested += ["--test-predictions", file]
        drawn = ["--svg", svg] if svg else []
        return self.ask(
            name, "ensemble", "prune", self.gold(corpus, "train"), *self.said(corpus, "train", origins),
            "--test", self.gold(corpus, "dev"), *tested, *drawn, *more,
        )


def percent(value):
    return f"{100 * value:.2f}"


def f1(system):
    return system["measures"]["strict"]["f1"]


def interval(estimate):
    low, high = estimate["interval"]["low"], estimate["interval"]["high"]
    return f"{percent(estimate['value'])} ({percent(low)} to {percent(high)})"


def change(value, before):
    return f"({100 * (value - before):+.2f})".replace("-", "−")


def by_name(report):
    return {system["name"]: system for system in report["systems"]}


def p_of(report, one, other):
    """Returns p of the paired t-test between two systems of a report."""
    for pair in report["comparisons"]:
        if {pair["a"], pair["b"]} == {one, other}:
            return pair["t_test"]["p"]
    return None


def alike(report, one, other):
    """Returns whether two systems do not differ at the 95 % level. Without a test, which needs differences, they do not."""
    p = p_of(report, one, other)
    return p is None or p >= 0.05


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def best_in_bold(columns):
    """Formats columns of values, with the highest of each in bold."""
    marked = []
    for column in columns:
        best = max(value for value in column if value is not None)
        marked.append([
            "" if value is None else f"**{percent(value)}**" if value == best else percent(value) for value in column
        ])
    return marked


def table_4(reports, union):
    """Returns table 4: members of each origin on each test set."""
    columns, gains = [], []
    for corpus in CORPORA:
        systems = by_name(reports[corpus, "both"])
        both = by_name(union[corpus])
        other = next(name for name in CORPORA if name != corpus)
        values = {corpus: [], other: [], "both": []}
        for member in MEMBERS:
            values[corpus].append(f1(systems[member])["value"])
            values[other].append(f1(systems[f"{other}.{member}"])["value"])
            values["both"].append(f1(both[member])["value"])
        columns += [values[origin] for origin in (*CORPORA, "both")]
        gains.append([change(b, a) for a, b in zip(values[corpus], values["both"])])
    columns = best_in_bold(columns)
    for place, gain in zip((2, 5), gains):
        columns[place] = [f"{value} {more}" for value, more in zip(columns[place], gain)]
    rows = [[name, *values] for name, *values in zip(MEMBERS.values(), *columns)]
    for tool, name in OUTSIDE.items():
        alone = [percent(f1(by_name(reports[corpus, "both"])[tool])["value"]) for corpus in CORPORA]
        rows.append([name, alone[0], "", "", "", alone[1], ""])
    models = [f"{test}: {model}" for test in ("MEDDOCAN dev", "ECHR-es dev")
              for model in ("MEDDOCAN model", "ECHR-es model", "both")]
    return table(["Method", *models], rows)


def table_5(reports):
    """Returns table 5: ensembles of members of one origin, and of both with the external tools."""
    columns = []
    for corpus in CORPORA:
        own, both = reports[corpus, "own"], reports[corpus, "both"]
        marked = []
        for report in (own, both):
            systems = by_name(report)
            best = max(METHODS, key=lambda method: f1(systems[method])["value"])
            column = {}
            for method in METHODS:
                value = percent(f1(systems[method])["value"])
                star = "\\*" if method != best and alike(report, method, best) else ""
                column[method] = f"**{value}**" if method == best else star + value
            marked.append(column)
        before, after = by_name(own), by_name(both)
        for method in METHODS:
            gain = change(f1(after[method])["value"], f1(before[method])["value"])
            marked[1][method] += f" {gain}"
        columns += marked
    rows = [[name, *(column[method] for column in columns)] for method, name in METHODS.items()]
    head = ["Method", "MEDDOCAN dev: MEDDOCAN models", "both", "ECHR-es dev: ECHR-es models", "both"]
    return table(head, rows)


def table_6(report, method):
    """Returns table 6: one ensemble by category."""
    system = by_name(report)[method]
    rows = []
    groups = sorted(system["labels"]["groups"], key=lambda group: -group["strict"]["gold"])
    for group in groups:
        strict, token = group["strict"], group["token"]
        rows.append([group["name"].capitalize(), f"{strict['gold']:,}",
                     *(percent(strict[which]["value"]) for which in ("precision", "recall", "f1")),
                     *(percent(token[which]) for which in ("precision", "recall", "f1"))])
    strict, token = system["measures"]["strict"], system["measures"]["token"]
    rows.append(["Total", f"{strict['gold']:,}",
                 *(percent(strict[which]["value"]) for which in ("precision", "recall", "f1")),
                 *(percent(token[which]["value"]) for which in ("precision", "recall", "f1"))])
    return table(["Category", "Count", "Strict P", "R", "F1", "Token P", "R", "F1"], rows)


def table_7(report, method):
    """Returns table 7: the most frequent label confusions of correct spans."""
    taken = {}
    for case in by_name(report)[method]["errors"]["cases"]:
        gold, said = case["gold"], case["predicted"]
        if case["class"] == "label" and gold and said and (gold["start"], gold["end"]) == (said["start"], said["end"]):
            others = taken.setdefault(gold["label"], {})
            others[said["label"]] = others.get(said["label"], 0) + 1
    rows = []
    for label, others in sorted(taken.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:5]:
        three = sorted(others.items(), key=lambda item: (-item[1], item[0]))[:3]
        rows.append([f"`{label}`", *(f"`{other}` ({count})" for other, count in three), *[""] * (3 - len(three))])
    return table(["Reference", "Classified as", "", ""], rows)


def headline(report):
    """Returns ensembles and members on MEDDOCAN's own labels, with intervals and tests."""
    systems = by_name(report)
    rows = []
    best = max(MEMBERS, key=lambda member: f1(systems[member])["value"])
    order = [*METHODS, *sorted(MEMBERS, key=lambda member: -f1(systems[member])["value"])]
    for name in order:
        system = systems[name]
        strict, character = system["measures"]["strict"], system["measures"]["character"]
        tests = []
        for other in ("voting-pruned", best):
            p = None if name == other else p_of(report, name, other)
            tests.append("" if p is None else f"{p:.3f}" if p >= 0.001 else "<0.001")
        rows.append([METHODS.get(name) or MEMBERS[name], interval(strict["f1"]), percent(strict["precision"]["value"]),
                     percent(strict["recall"]["value"]), percent(character["recall"]["value"]), *tests])
    head = ["System", "Strict F1 (95 % interval)", "P", "R", "Characters covered", "p against pruned voting",
            f"p against {MEMBERS[best]}"]
    return table(head, rows)


def compared(report):
    """Returns comparisons of pruned voting with its baselines, and of the best of the six with pruned voting."""
    systems = by_name(report)
    member = max(MEMBERS, key=lambda member: f1(systems[member])["value"])
    method = max(METHODS, key=lambda method: f1(systems[method])["value"])
    rows = []
    for one, other in (("voting-pruned", "voting"), ("voting-pruned", member), (method, "voting-pruned"),
                       (method, member)):
        if one == other:
            continue
        pair = next(pair for pair in report["comparisons"] if {pair["a"], pair["b"]} == {one, other})
        sign = 1 if pair["a"] == one else -1
        low, high = sorted(sign * pair["difference"]["interval"][end] for end in ("low", "high"))
        value = sign * pair["difference"]["value"]
        tests = [pair[test]["p"] for test in ("t_test", "wilcoxon", "randomisation")]
        named = {**METHODS, **MEMBERS}
        rows.append([f"{named[one]} − {named[other]}", f"{100 * value:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})",
                     *("" if p is None else f"{p:.3f}" for p in tests)])
    return table(["Difference of strict F1", "points (95 % interval)", "paired t-test", "Wilcoxon", "randomisation"], rows)


def path_of(pruned):
    """Returns the members that were dropped on the chosen threshold's path."""
    names = [member["name"] for member in pruned["members"]]
    left = [names[place] for place in pruned["chosen"]["members"]]
    dropped = [name for name in names if name not in left]
    return pruned["chosen"]["threshold"], left, dropped


def set_of_all(pruned):
    """Returns all members at their best threshold."""
    return max((path["start"] for path in pruned["paths"]), key=lambda point: point["value"])


def costed(chosen, cheap):
    """Returns cost and scores of all members, and of the remaining ones, in a vote."""
    everyone = set_of_all(chosen)
    held = {at["threshold"]: at for at in chosen["held_out"]["thresholds"]}
    rows = []

    def row(ensemble, names, cost, train_f1, dev_f1, covered):
        listed = "all ten" if len(names) == len(chosen["members"]) else ", ".join(names)
        share = f"{cost:.2f} ({100 * cost / everyone['cost']:.0f} %)"
        rows.append([ensemble, listed, share, percent(train_f1), percent(dev_f1), percent(covered)])

    for ensemble, point, dev in (
        ("Voting", everyone, held[everyone["threshold"]]["all"]),
        ("Voting pruned", chosen["chosen"], chosen["held_out"]["chosen"]),
        ("Voting pruned, at most half the cost", cheap["chosen"], cheap["held_out"]["chosen"]),
    ):
        names = [chosen["members"][place]["name"] for place in point["members"]]
        row(f"{ensemble} ({point['threshold']} votes)", names, point["cost"], tally_f1(point["tally"]), tally_f1(dev),
            dev["covered"] / dev["characters"])
    head = ["Ensemble", "Members", "µs per token", "F1, train cross-validated", "F1, dev", "Characters covered, dev"]
    return table(head, rows)


def votes(count):
    return "one vote" if count == 1 else f"{count} votes"


def tally_f1(tally):
    return 2 * tally["hits"] / (tally["predicted"] + tally["gold"])


def shared(pruned):
    """Returns the errors that all members share, by label."""
    errors = pruned["all"]["shared_errors"]
    rows = []
    for one in errors["labels"]:
        cases = [case for case in errors["cases"] if case["label"] == one["label"]]
        kinds = {kind: sum(case["missed"] == kind for case in cases)
                 for kind in ("nothing", "other_label", "other_boundaries")}
        leaks = sum(case["leaks"] for case in cases)
        rows.append([f"`{one['label']}`", *(str(kinds[kind]) for kind in kinds), str(leaks)])
    return table(["Label", "nothing there", "another label", "other boundaries", "leaks"], rows)


def list_shared(pruned, path):
    """Writes every error that all members share: its place and class, without text."""
    lines = ["document\tstart\tend\tlabel\tmissed\tas\tleaks"]
    for case in pruned["all"]["shared_errors"]["cases"]:
        lines.append("\t".join([case["id"], str(case["start"]), str(case["end"]), case["label"], case["missed"],
                                ",".join(case["as_labels"]), "yes" if case["leaks"] else "no"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def under_floor(pruned):
    """Returns the best precision under a floor on recall, on the training set and on dev."""
    chosen, held = pruned["chosen"], pruned["held_out"]["chosen"]
    rows = []
    for where, tally in (("train, cross-validated", chosen["tally"]), ("dev", held)):
        hits, predicted, gold = tally["hits"], tally["predicted"], tally["gold"]
        rows.append([where, percent(tally["covered"] / tally["characters"]), percent(hits / predicted),
                     percent(hits / gold), percent(tally_f1(tally))])
    return table(["Documents", "Characters covered", "Precision", "Recall", "F1"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--lethe", "--meddocan", "--echr-es", "--work"):
        parser.add_argument(name, required=True)
    lethe = Lethe(parser.parse_args())
    categories = ("--rename", NAMES)
    costs = ("--costs", RESULTS / "costs.json")
    # Two at a time, the longest first; each uses one core most of the time.
    with concurrent.futures.ThreadPoolExecutor(2) as two:
        asked = {}
        for corpus, other in (("meddocan", "echr-es"), ("echr-es", "meddocan")):
            both = [corpus, other, "outside"]
            asked[corpus, "both"] = two.submit(lethe.compare, corpus, both, *categories)
            asked[corpus, "own"] = two.submit(lethe.compare, corpus, [corpus], *categories)
            asked[corpus, "union"] = two.submit(
                lethe.ask, f"evaluate-{corpus}-union", "evaluate", lethe.gold(corpus, "dev"),
                PREDICTIONS / f"{corpus}-dev" / "both.jsonl", *categories)
            asked[corpus, "pruned"] = two.submit(
                lethe.prune, corpus, both, *categories, svg=RESULTS / f"figure-1-{corpus}.svg")
            if corpus == "meddocan":
                asked["own"] = two.submit(lethe.compare, corpus, [corpus])
        asked["chosen"] = two.submit(
            lethe.prune, "meddocan", ["meddocan"], *costs, svg=RESULTS / "thresholds-meddocan.svg")
        asked["floor"] = two.submit(
            lethe.prune, "meddocan", ["meddocan"], *costs, "--every-set", "--redact-uncovered", "--measure", "precision",
            "--floor", "characters:0.99")
        half = set_of_all(asked["chosen"].result())["cost"] / 2
        ceiling = ("--ceiling", f"{half:.4f}")
        asked["cheap"] = two.submit(lethe.prune, "meddocan", ["meddocan"], *costs, *ceiling)
    told = {name: answer.result() for name, answer in asked.items()}
    reports = {(corpus, which): told[corpus, which] for corpus in CORPORA for which in ("own", "both")}
    union = {corpus: told[corpus, "union"] for corpus in CORPORA}
    own, chosen, floor, cheap = told["own"], told["chosen"], told["floor"], told["cheap"]
    threshold, left, dropped = path_of(chosen)
    list_shared(chosen, RESULTS / "shared-errors.tsv")
    text = (RESULTS / "template.md").read_text(encoding="utf-8").format(
        headline=headline(own),
        compared=compared(own),
        votes=threshold,
        left_count=len(left) + len(dropped),
        left_count_left=len(left),
        left=", ".join(left),
        dropped=", ".join(dropped) or "none",
        shared_count=len(chosen["all"]["shared_errors"]["cases"]),
        shared_of=f"{chosen['all']['shared_errors']['gold']:,}",
        shared=shared(chosen),
        floor=under_floor(floor),
        floor_votes=votes(floor["chosen"]["threshold"]),
        floor_left=", ".join(path_of(floor)[1]),
        floor_met="" if floor["chosen"]["meets"] else "No set of members covers as much; this is the nearest to it. ",
        table_4=table_4(reports, union),
        table_5=table_5(reports),
        table_6=table_6(reports["meddocan", "own"], "stacked-svm"),
        table_7=table_7(own, "stacked-svm"),
        cost=costed(chosen, cheap),
    )
    (RESULTS / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
