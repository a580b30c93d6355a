"""Writes the page docs/results/members from what benches/members left in a folder.

    python3 benches/members.py DIR [ABLATED MEMBER]...
"""
import csv
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import stream  # noqa: E402

# Rows of an ablation, by what a member has.
NETWORK = {"-plain": "words, characters and their context", "-lexical": "and word shapes and capitals", "": "and the dictionary's lists", "-pos": "and parts of speech"}
LINEAR = {"-plain": "words, affixes, word shapes and their context", "-lists": "and the dictionary's lists", "": "and the spans of rules"}


def percent(measure):
    low, high = measure["interval"]["low"], measure["interval"]["high"]
    return f"{100 * measure['value']:.2f} ({100 * low:.2f} to {100 * high:.2f})"


def main():
    folder, *ablated = sys.argv[1:]
    folder = Path(folder)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    systems = {system["name"]: system for system in report["systems"]}
    with (folder / "training.tsv").open(encoding="utf-8") as file:
        costs = {row["member"]: row for row in csv.DictReader(file, delimiter="\t")}
    f1 = {name: system["measures"]["strict"]["f1"] for name, system in systems.items()}
    parts = {name for member in ablated for name in f1 if name.startswith(f"{member}-") and name not in ablated and name.rpartition("-")[2] in ("plain", "lexical", "lists", "pos")}
    documents = next(iter(systems.values()))["leak"]["documents"]["of"]
    with stream.page("members", True):
        print("# Members\n")
        print(f"Every learner with its default settings, trained on all training documents and scored on {documents} to which nothing was fitted: strict F1 in percent with 95 % intervals over documents.")
        print("Intervals overlap where differences are small; the report of `lethe evaluate` has paired tests.\n")
        print("    benches/members --train TRAIN --test DEV --out DIR --hold-out 0 --write\n")
        print("| member | strict F1 | characters missed, % | documents with a leak | training, CPU seconds | peak memory, GB |\n|---|---|---|---|---|---|")
        for name in sorted(set(f1) - parts, key=lambda name: -f1[name]["value"]):
            leak, cost = systems[name]["leak"], costs[name]
            measures = f"{100 * leak['characters']['share']['value']:.2f} | {leak['documents']['count']}"
            print(f"| `{name}` | {percent(f1[name])} | {measures} | {float(cost['user_s']):.0f} | {float(cost['peak_kib']) / 1e6:.2f} |")
        print("\n## Without some features\n")
        print("Yang 2019 (table 3) adds linguistic features (parts of speech and word shapes) and knowledge-based ones (a dictionary). A network can go without")
        print("each; a linear member always sees word shapes, and can also read the spans of rules, which the paper does not have. Each row adds to the one")
        print("above it.\n")
        print("| member | features | strict F1 |\n|---|---|---|")
        for member in ablated:
            for end, what in (NETWORK if member.startswith("lstm-") else LINEAR).items():
                if member + end in f1:
                    print(f"| `{member}` | {what} | {percent(f1[member + end])} |")


if __name__ == "__main__":
    main()
