#!/usr/bin/env python3
"""Writes the index page of a folder of `lethe adapt incremental` studies: the results of all in one table.

    incremental_index.py DIR
"""
import json
import pathlib
import sys

WORDS = """# Incremental learning

Singh et al. 2020 (incremental learning ensemble) on open data: a model, naive Bayes that learns from each batch of
labelled sentences as it arrives, and a mixture of both, whose weight is estimated on each batch before it is learnt.
One command writes all of it, including this page:

    benches/adapt/incremental --meddocan DIR --echr-es DIR --grascco DIR --wikigold DIR --btc DIR --wnut17 DIR

F1 is strict micro-F1 in per cent. "At least the better" counts the increments at which the mixture's mean F1, over the
orders, is no lower than that of the better learner; "below" names the others, with the points lost. Each study's own page has
the curves, the intervals, the tests and the weight. The confidence of naive Bayes is calibrated like the weight, on each batch
before it is learnt.
"""


DISTRIBUTION = """The gain of the mixture's mean F1 over the better of the two learners, in points, at the increments of all studies. The better
learner is the one that is better at that increment, which nobody knows beforehand.
"""
TEST = """Increments of a study follow from each other and are no independent cases, so the test is over the studies' mean gains
(Wilcoxon's signed ranks, exact, two-sided). Three data sets occur in several studies.
"""


def percent(share):
    return f"{100 * share:.2f}"


def below(told):
    listed = [f"{one['after']} ({100 * one['by']:.2f})" for one in told["below"]]
    return ", ".join(listed) or "nowhere"


def p(test):
    value = test["p"]
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def quantile(ascending, share):
    at = share * (len(ascending) - 1)
    low = int(at)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (at - low) * (ascending[high] - ascending[low])


def signed_rank(values):
    """Returns the exact two-sided p of Wilcoxon's signed-rank test against no difference, by all signs of the ranks."""
    ranks = sorted((abs(value), value > 0) for value in values if value)
    mean_ranks = [
        sum(at for at, other in enumerate(ranks, 1) if other[0] == one[0]) / sum(other[0] == one[0] for other in ranks) for one in ranks
    ]
    whole = sum(mean_ranks)
    extreme = abs(2 * sum(rank for rank, (_, positive) in zip(mean_ranks, ranks) if positive) - whole)
    sums = [0.0]
    for rank in mean_ranks:
        sums = [value + sign * rank for value in sums for sign in (1, -1)]
    return sum(abs(value) >= extreme - 1e-9 for value in sums) / len(sums)


def gains(studies, ways):
    """Yields, for each way of estimating the weight, the gain over the better learner by study and increment."""
    for at, way in enumerate(ways):
        by_study = {
            name: [one["mixture"][at]["mean"] - max(one["first"]["mean"], one["second"]["mean"]) for one in study["increments"]]
            for name, study in studies.items()
        }
        yield way, by_study


def distribution(studies, ways):
    """Returns the table of all increments, and that of the test over studies."""
    rows, tests = [], []
    for way, by_study in gains(studies, ways):
        each = sorted(100 * gain for study in by_study.values() for gain in study)
        at_least = sum(gain >= 0 for gain in each)
        shares = [f"{quantile(each, share):+.2f}" for share in (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)]
        rows.append([way, f"{at_least} of {len(each)}", f"{sum(each) / len(each):+.2f}", *shares])
        means = [100 * sum(study) / len(study) for study in by_study.values()]
        better = sum(mean > 0 for mean in means)
        tests.append([way, f"{better} of {len(means)}", f"{quantile(sorted(means), 0.5):+.2f}", f"{signed_rank(means):.3f}"])
    head = ["weight by", "at least the better", "mean", "least", "10 %", "25 %", "median", "75 %", "90 %", "most"]
    return table(head, rows) + "\n" + TEST + "\n" + table(["weight by", "studies with a mean gain", "median of the means", "p"], tests)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def main(folder):
    studies = {}
    for path in sorted(folder.glob("*/study.json")):
        studies[path.parent.name] = json.loads(path.read_text(encoding="utf-8"))
    ways = [
        f"{'Brier' if told['how']['loss'] == 'brier' else 'log loss'}, "
        f"{'latest batch' if told['how']['over'] == 'latest' else 'all batches'}"
        for told in next(iter(studies.values()))["told"]
    ]
    rows = []
    for name, study in studies.items():
        for way, told in zip(ways, study["told"]):
            rows.append([
                f"[{name}]({name}/README.md)", way, f"{told['at_least']} of {told['of']}", f"{100 * told['gain']:+.2f}",
                below(told),
            ])
    out = [WORDS, "## Where the mixture is below the better learner\n"]
    out.append(table(["Study", "weight by", "at least the better", "mean gain, points", "below it after (by points)"], rows))
    rows = []
    for name, study in studies.items():
        first, last = study["increments"][0], study["increments"][-1]
        crossings = [
            f"{'model' if one['to_first'] else 'naive Bayes'} ahead from {one['after']}" for one in study["crossings"]
        ]
        figures = [
            " / ".join(percent(one[who]["mean"]) for who in ("first", "second")) + " / " + percent(one["mixture"][0]["mean"])
            for one in (first, last)
        ]
        rows.append([
            f"[{name}]({name}/README.md)", f"{study['repeats']}", f"{study['batch']}", f"{first['after']} to {last['after']}",
            *figures, "; ".join(crossings) or "none",
        ])
    out.append("## The gain over all increments\n")
    out.append(DISTRIBUTION)
    out.append(distribution(studies, ways))
    out.append("## Curves\n")
    out.append("F1 of the model, of naive Bayes, and of the mixture (Brier, all batches).\n")
    out.append(table(
        ["Study", "orders", "batch", "increments", "F1 at the first", "F1 at the last", "the learners' curves cross"], rows))
    out.append("## Stationary: three quarters of the stream learnt, the weight estimated on the rest (figure 2, table III)\n")
    rows = []
    for name, study in studies.items():
        one = study["stationary"]
        mixture, against = one["mixture"][0], one["against"][0]
        rows.append([
            f"[{name}]({name}/README.md)",
            *(f"{percent(who['mean'])} ± {percent(who['deviation'])}" for who in (one["first"], one["second"], mixture)),
            f"{one['weight'][0]['mean']:.3f}", f"{one['weight'][1]['mean']:.3f}", p(against["first"]), p(against["second"]),
        ])
    out.append(table(
        ["Study", "model", "naive Bayes", "mixture, Brier", "weight, Brier", "weight, log loss", "p, mixture against model",
         "p, mixture against naive Bayes"], rows))
    (folder / "README.md").write_text("\n".join(out), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
