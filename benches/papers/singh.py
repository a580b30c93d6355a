"""The page of Singh 2020, from the studies of `lethe adapt incremental`."""
import json

import exact
from common import AGREES, CONTRADICTS, OPEN, RESULTS, Statements, overview, p_of, paper, table

# Ways to estimate the weight, by their places in a study: on all batches so far, which the tests of the studies use, and on the latest
# batch, which is the paper's.
BRIER, LATEST = 0, 1


def percent(value):
    return f"{100 * value:.2f}"


def mean(one):
    return f"{percent(one['mean'])} ({percent(one['low'])} to {percent(one['high'])})"


def interval(one):
    return f"{one['mean']:.3f} ({one['low']:.3f} to {one['high']:.3f})"


def studies():
    return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted((RESULTS / "incremental").glob("*/study.json"))}


def gain(one, way=BRIER):
    """Returns the mixture's gain over the better learner, in points."""
    return 100 * (one["mixture"][way]["mean"] - max(one["first"]["mean"], one["second"]["mean"]))


def against(one, which):
    """Returns the mixture's gain over a learner and p."""
    pair = one["against"][BRIER] if isinstance(one["against"], list) else one["against"]
    return 100 * (one["mixture"][BRIER]["mean"] - one[which]["mean"]), pair[which]["p"]


def stationary(figures, found, say):
    rows = []
    for name, pair in figures["table_III"].items():
        one = found[figures["here"][name]]["stationary"]
        for which, learner, p_paper in (("first", "CRF", pair[0]), ("second", "naive Bayes", pair[1])):
            points, p = against(one, which)
            verdict = OPEN if p >= 0.05 else AGREES if points > 0 else CONTRADICTS
            say.add("table-III", f"mixture above {learner}, {name} ({figures['here'][name]} here)", p_of(p_paper) + ", one-sided", f"{points:+.2f}",
                    f"Wilcoxon {p_of(p)}", verdict)
    every = [against(one["stationary"], which)[0] for one in found.values() for which in ("first", "second")]
    tests = 2 * len(figures["table_III"])
    say.signs("stationary-all", "the mixture above each learner, all studies", f"{tests} of {tests} tests", every)
    gaps = [abs(one["stationary"]["first"]["mean"] - one["stationary"]["second"]["mean"]) for one in found.values()]
    result = exact.kendall([-gap for gap in gaps], [gain(one["stationary"]) for one in found.values()])
    say.exactly("matched", "the gain is larger where the learners are closer, all studies", "described", f"{result.alike} of "
                f"{result.alike + result.opposed} pairs of studies", f"τ = {result.tau:+.2f}, interval {result.low:+.2f} to {result.high:+.2f}, "
                f"{p_of(result.p)}", result.tau > 0, result.p < 0.05)
    pairs = [(name, name.replace("hipaa", "direct-quasi")) for name in found if "hipaa" in name]
    say.signs("direct", "F1 of the Direct/Quasi view above that of the HIPAA view", "in all experiments",
              [found[other]["stationary"]["mixture"][BRIER]["mean"] - found[one]["stationary"]["mixture"][BRIER]["mean"] for one, other in pairs])
    for name, one in found.items():
        part = one["stationary"]
        rows.append([name, *(mean(part[which]) for which in ("first", "second")), mean(part["mixture"][BRIER]),
                     *(f"{points:+.2f}, {p_of(p)}" for points, p in (against(part, which) for which in ("first", "second")))])
    head = ["Study", "Model (95 % interval)", "Naive Bayes", "Mixture", "Mixture − model", "Mixture − naive Bayes"]
    paper_rows = [[name, *(f"{value:.2g}" for value in pair)] for name, pair in figures["table_III"].items()]
    return table(["Data", "p, CRF", "p, naive Bayes"], paper_rows), table(head, rows)


def below(one):
    """Returns the increments at which the mixture is significantly below the better learner."""
    out = []
    for step in one["increments"]:
        which = max(("first", "second"), key=lambda name: step[name]["mean"])
        points, p = against(step, which)
        if points < 0 and p is not None and p < 0.05:
            out.append(step["after"])
    return out


def curve(found, names, say, key=None):
    """Returns the curves of studies in one table, and states with a key whether the mixture is above both learners."""
    rows = []
    for name in names:
        one = found[name]
        steps = [step for step in one["increments"] if step["second"]["mean"]]
        if [told["how"] for told in one["told"][:2]] != [{"loss": "brier", "over": "all"}, {"loss": "brier", "over": "latest"}]:
            raise SystemExit(f"{name}: other ways to estimate the weight: {one['told'][:2]}")
        latest, every = ([gain(step, way) for step in steps] for way in (LATEST, BRIER))
        if key:
            above = sum(value > 0 for value in every)
            say.signs(key, f"the mixture above the better learner, by increment, {name} (weight estimated on all batches: {above} of {len(every)})",
                      "always", latest)
        lost = below(one)
        crossings = [f"{'model' if at['to_first'] else 'naive Bayes'} ahead from {at['after']}" for at in one["crossings"]]
        first, last = one["increments"][0], one["increments"][-1]
        means = [sum(values) / len(values) for values in zip(*([step["first"]["mean"], step["second"]["mean"], step["mixture"][LATEST]["mean"]]
                                                               for step in steps))]
        rows.append([f"[{name}](../incremental/{name}/README.md)", str(one["batch"]), str(one["repeats"]), str(len(steps)),
                     *(" / ".join([percent(at["first"]["mean"]), percent(at["second"]["mean"]), percent(at["mixture"][LATEST]["mean"])])
                       for at in (first, last)), " / ".join(map(percent, means)),
                     "; ".join(crossings) or "none", ", ".join(map(str, lost)) or "nowhere"])
    return table(["Study", "Batch", "Orders", "Increments", "Model / naive Bayes / mixture at the first", "at the last",
                  "mean after the first batch", "Curves cross", "Significantly below the better after (Wilcoxon, all batches)"], rows)


def weights(found, say):
    rows = []
    for name, one in found.items():
        steps = [step for step in one["increments"] if step["second"]["mean"]]
        gap = [step["first"]["mean"] - step["second"]["mean"] for step in steps]
        weight = [step["weight"][LATEST]["mean"] for step in steps]
        result = exact.kendall(gap, weight)
        verdict = OPEN if result.p >= 0.05 else AGREES if result.tau > 0 else CONTRADICTS
        say.add("weight-warm" if name.endswith("warm") else "weight", f"the weight follows the difference of the learners, {name}", "described",
                f"{result.alike} of {result.alike + result.opposed + result.tied} pairs of increments",
                f"τ = {result.tau:+.2f}, {p_of(result.p)}", verdict)
        rows.append([name, *(interval(step["weight"][LATEST])
                             for step in (steps[0], steps[-1])), *(f"{100 * value:+.2f}" for value in (gap[0], gap[-1]))])
    return table(["Study", "Weight of the model at the first batch", "at the last", "Model − naive Bayes, F1 at the first", "at the last"], rows)


def landscape(found):
    """Returns the F1 on the test set with the estimated weight, and the best that any weight gives (first order)."""
    rows, losses = [], []
    for name, one in found.items():
        points = one["landscape"]["points"]
        best = max(points, key=lambda point: point["f1"])
        estimated = min(points, key=lambda point: abs(point["weight"] - one["landscape"]["brier"]))
        losses.append(100 * (best["f1"] - estimated["f1"]))
        rows.append([name, f"{one['landscape']['brier']:.3f}", percent(estimated["f1"]), f"{best['weight']:.2f}", percent(best["f1"]),
                     f"{losses[-1]:.2f}"])
    head = ["Study", "Estimated weight", "F1 with it", "Best weight on the test set", "F1 with that", "Points lost"]
    return table(head, rows), f"{max(losses):.2f}"


def singh_2020():
    figures, found = paper("singh-2020"), studies()
    say = Statements(figures)
    values = dict(figures["setup"])
    values["table_III"], values["stationary"] = stationary(figures, found, say)
    values["statements_stationary"] = say.take()
    large, small = (sorted(name for name in found if name.startswith(of)) for of in ("meddocan", "grascco"))
    warm = sorted(name for name in found if name.endswith("warm"))
    fixed = [name for name in found if name not in large + small + warm]
    for key, names in (("large", large), ("small", small), ("warm", warm), ("fixed", fixed)):
        values[key] = curve(found, names, say, key if key != "fixed" else None)
        if key == "warm":
            # Without the model there is only naive Bayes: the paper's question is whether the model helps at first.
            for name in names:
                gaps = [step["mixture"][LATEST]["mean"] - step["second"]["mean"] for step in found[name]["increments"] if step["second"]["mean"]]
                order = exact.kendall(range(len(gaps)), gaps)
                say.exactly("head-start", f"what the model adds to naive Bayes falls with the increments, {name}", "described",
                            f"{100 * gaps[0]:+.1f} points at the first batch, {100 * gaps[-1]:+.1f} at the last",
                            f"τ = {order.tau:+.2f}, {p_of(order.p)}", order.tau < 0, order.p < 0.05)
        if key != "fixed":
            values[f"statements_{key}"] = say.take()
    values["weights"] = weights(found, say)
    values["statements_weights"] = say.take()
    values["landscape"], values["most_lost"] = landscape(found)
    rows = [[name, str(one["setup"]["stream_documents"]), f"{one['setup']['stream_spans']:,}", f"{one['units']:,}",
             str(one["setup"]["test_documents"]), f"{one['setup']['test_spans']:,}", str(len(one["setup"]["labels"]))] for name, one in found.items()]
    values["corpora"] = table(["Study", "Documents of the stream", "Spans", "Sentences", "Documents of the test set", "Spans", "Labels"], rows)
    values["learnt"], values["held"] = (found[large[0]]["stationary"][key] for key in ("learnt", "held"))
    values["repeats_here"] = " or ".join(map(str, sorted({one["repeats"] for one in found.values()})))
    say.finish()
    values["overview"] = overview(figures, values)
    return values, say
