"""What pruning did to a pool of candidates, as tables: from a report of `lethe ensemble prune --test ... --json`."""

MEASURES = ["precision", "recall", "strict F1", "characters covered", "documents with a leak"]


def table(head, rows):
    """The lines of a table, with an empty one after it."""
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(map(str, row))} |" for row in rows), ""]


def share(part, whole):
    return f"{100 * part / max(whole, 1):.2f}"


def tallied(tally):
    precision, recall = share(tally["hits"], tally["predicted"]), share(tally["hits"], tally["gold"])
    f1 = share(2 * tally["hits"], tally["predicted"] + tally["gold"])
    return precision, recall, f1, share(tally["covered"], tally["characters"]), tally["documents"] - tally["intact"]


def f4(tally):
    recall, precision = tally["covered"] / tally["characters"], tally["covered"] / max(tally["marked"], 1)
    return 17 * recall * precision / max(16 * precision + recall, 1e-9)


def votes(count):
    return "one vote" if count == 1 else f"{count} votes"


def cost(member):
    return f"{member['cost']['own']:.2f}" if member["cost"] else ""


def price(left):
    return f"{left['cost']:.2f}" if left["cost"] else ""


def candidates(report):
    """What each candidate finds, alone and beyond the others, and what it costs."""
    everything = report["all"]
    whole = next(path["start"]["tally"] for path in report["paths"] if path["threshold"] == 1)
    rows = []
    for at, member in enumerate(report["members"]):
        without = everything["without"][at]["tally"] if everything["without"] else None
        lost = whole["intact"] - without["intact"] if without else ""
        rows.append((f"`{member['name']}`", member["rank"] + 1, *tallied(member["tally"]), everything["alone"][at]["spans"], lost, cost(member)))
    return table(["candidate", "rank", *MEASURES, "spans that it alone finds", "more documents with a leak without it", "own cost, µs per token"], rows)


def steps(report):
    """The order in which members fell at the threshold that was chosen."""
    path = next(path for path in report["paths"] if path["threshold"] == report["chosen"]["threshold"])
    rows = [("all", *tallied(path["start"]["tally"]), price(path["start"]))]
    rows += [(f"without `{step['name']}`", *tallied(step["left"]["tally"]), price(step["left"])) for step in path["steps"][: path["stop"]]]
    return table(["members", *MEASURES, "cost, µs per token"], rows)


def gains(report):
    """What is left, compared with all candidates and with the best single one, on the held-out documents."""
    chosen, held = report["chosen"], report["held_out"]
    path = next(path for path in report["paths"] if path["threshold"] == chosen["threshold"])
    every = next(at["all"] for at in held["thresholds"] if at["threshold"] == chosen["threshold"])
    best = max(range(len(report["members"])), key=lambda at: f4(report["members"][at]["tally"]))
    one = report["members"][best]
    rows = [
        (f"all, {votes(chosen['threshold'])}", *tallied(every), price(path["start"])),
        (f"pruned, {votes(chosen['threshold'])}", *tallied(held["chosen"]), price(chosen)),
        (f"best single candidate, `{one['name']}`", *tallied(held["members"][best]), cost(one)),
    ]
    return table(["members", *MEASURES, "cost, µs per token"], rows)


def tables(report, held_out):
    """All of them, with a sentence before each but the first."""
    return [
        *candidates(report),
        "How pruning proceeds at the threshold that it chooses:\n", *steps(report),
        f"What pruning gains on the {held_out}:\n", *gains(report),
    ]
