"""The table of a comparison, from `lethe evaluate --json` and each tool's cost: `table.py SCORES COSTS-FOLDER`."""
import json
import sys
from pathlib import Path

HEAD = ("tool", "version", "notes/s", "peak MB", "token R", "token P", "token F1", "character R", "character P",
        "strict R", "strict P", "strict F1")  # fmt: skip
SHOWN = (("token", "recall"), ("token", "precision"), ("token", "f1"), ("character", "recall"),
         ("character", "precision"), ("strict", "recall"), ("strict", "precision"), ("strict", "f1"))  # fmt: skip


def rate(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def main(scores, folder):
    report = json.loads(Path(scores).read_text(encoding="utf-8"))
    rows = []
    for system in report["systems"]:
        if system["missing_documents"]:
            sys.exit(f"{system['name']} lacks {system['missing_documents']} documents")
        cost = json.loads((Path(folder) / f"{system['name']}.json").read_text())
        values = [system["measures"][measure][what]["value"] for measure, what in SHOWN]
        row = [system["name"], cost["version"], rate(cost["rate"]), f"{cost['megabytes']:.0f}"]
        rows.append((values[0], row + [f"{value:.3f}" for value in values]))
    print(f"{report['documents']} notes, {report['spans']} gold spans. Notes a second of processor time, no start-up;")
    print("tokens and characters are PHI or not; strict: start, end and category.\n")
    print("| " + " | ".join(HEAD) + " |")
    print("|---|---|" + "---:|" * (len(HEAD) - 2))
    for _, row in sorted(rows, key=lambda each: -each[0]):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main(*sys.argv[1:])
