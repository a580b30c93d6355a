"""The pages of Kim 2019 and Kim 2020."""
import exact
from common import AGREES, OPEN, Difference, Page, Statements, cell, number, numbers, overview, p_of, paper, share, table, votes
from tables import MEMBERS

OUTSIDE = ("presidio", "datafog")


def named(names):
    shown = {**MEMBERS, "presidio": "Presidio (patterns)", "datafog": "DataFog"}
    out = []
    for name in names:
        origin, _, member = name.rpartition(".")
        out.append(shown[member] + (f" of {origin}" if origin else ""))
    return out


def percent(value):
    return "" if value is None else f"{100 * value:.2f}"


def paired(row, which):
    """Returns the difference at one threshold, or an empty text where both are the same set."""
    pair = row.get(which)
    if pair is None:
        return "", ""
    if pair["t_test"] is None:
        return "equal decisions", ""
    return str(Difference.of(pair)), ", ".join("<0.001" if pair[test] < 0.001 else f"{pair[test]:.3f}" for test in ("t_test", "wilcoxon"))


def figure(run, most):
    """Returns precision, recall and F1 by threshold, with a paired test at each."""
    rows = []
    for row in run["thresholds"][:most]:
        rates = [percent(row[which][rate]) for which in ("pruned", "all") for rate in ("precision", "recall", "f1")]
        rows.append([str(row["threshold"]), str(len(row["left"])), *rates, *paired(row, "pruned_less_all"), *paired(row, "pruned_less_best")])
    head = ["Votes", "Members left", "Pruned P", "R", "F1", "All P", "R", "F1", "Pruned − all (95 % interval)",
            "p: t-test, Wilcoxon", "Pruned − best member", "p: t-test, Wilcoxon"]
    return table(head, rows)


def dropped(run):
    """Returns the thresholds at which pruning drops a member and the votes differ."""
    rows = [row for row in run["thresholds"] if row.get("pruned_less_all")]
    return [row for row in rows if row["pruned_less_all"]["difference"] or row["pruned_less_all"]["t_test"] is not None]


def better(rows):
    """Returns the thresholds at which the pruned vote is significantly above that of all members."""
    found = [(row, Difference.of(row["pruned_less_all"])) for row in rows]
    return [row for row, one in found if one.significant and one.value > 0]


def checked(page, report):
    """The votes of votes.json must be those of the page of the ensembles: both come from the same saved predictions."""
    own = {row["System"]: number(row["Strict F1 (95 % interval)"]) for row in page.table("System", "Strict F1 (95 % interval)")}
    table_5 = {row["Method"]: row for row in page.table("Method", "MEDDOCAN dev: MEDDOCAN models")}
    columns = {"meddocan-own": "MEDDOCAN dev: MEDDOCAN models", "meddocan-both": "both", "echr-es-own": "ECHR-es dev: ECHR-es models",
               "echr-es-both": "both.1"}
    for system, name in (("voting", "Voting"), ("pruned", "Voting pruned")):
        pairs = [(report["runs"]["meddocan-own-labels"], own[name])]
        pairs += [(report["runs"][run], number(table_5[name][column])) for run, column in columns.items()]
        for run, shown in pairs:
            if abs(100 * run["f1"][system] - shown) > 0.0051:
                raise SystemExit(f"votes.json is not of the predictions on {page.path}: {name}, {shown}; compute it again with --votes")


def kim_2019():
    figures, page, report = paper("kim-2019"), Page(), votes()
    checked(page, report)
    run, outside = report["runs"]["meddocan-own-labels"], report["runs"]["meddocan-own-outside"]
    of = figures["figure"]
    say = Statements(figures)
    tested = dropped(run)
    for which in ("pruned", "all"):
        precision = [row[which]["precision"] for row in run["thresholds"]]
        found = exact.kendall(range(len(precision)), precision)
        say.exactly("precision", f"precision rises with the threshold, {which}", "described",
                    f"{found.alike} of {found.alike + found.opposed} pairs of thresholds", f"τ = {found.tau:+.2f}, {p_of(found.p)}",
                    found.tau > 0, found.p < 0.05)
    say.signs("each", "pruned above all members, at thresholds that drop a member", "drawn",
              [row["pruned_less_all"]["difference"] for row in tested])
    same = run["thresholds"][run["votes_pruned"] - 1]["pruned_less_all"]
    say.compared("all-same", "pruned above all members at the threshold that is chosen", "significant", Difference.of(same))
    by_threshold = better(tested)
    say.add("all-each", "the same at each threshold that drops a member", "drawn",
            f"significant at {share(len(by_threshold), len(tested))} thresholds", "interval, t-test and Wilcoxon at each, in the table",
            AGREES if len(by_threshold) == len(tested) else OPEN)
    say.compared("all", "pruned at its threshold above all members at theirs", "significant", Difference.of(run["pruned_less_voting"]))
    say.compared("best", f"pruned above the best member ({named([run['best']])[0]} here)", "significant", Difference.of(run["pruned_less_best"]))
    say.compared("outside", f"pruned above all, of {len(outside['members'])} members with two outside tools", "significant",
                 Difference.of(outside["pruned_less_voting"]))
    statements = say.take()
    kept = [name for name in named(run["left"]) if name in of["left"]]
    ours, theirs = named(run["left"]), of["left"]
    common = [name for name in named(run["members"]) if name in of["members"]]
    both = sum(name in ours and name in theirs for name in common)
    p = exact.fisher(both, len(ours) - both, len(theirs) - both, len(common) - len(ours) - len(theirs) + both)
    say.exactly("members", "the members that the paper keeps are kept", ", ".join(theirs), f"{len(kept)} of {len(theirs)}",
                f"Fisher's exact test {p_of(p)}", both == len(theirs), p < 0.05)
    few = exact.fisher(len(theirs), len(of["members"]) - len(theirs), len(ours), len(common) - len(ours))
    say.exactly("fewer", "pruning drops most members", f"{share(len(of['members']) - len(theirs), len(of['members']))}",
                share(len(run["members"]) - len(ours), len(run["members"])), f"Fisher's exact test of both shares {p_of(few)}",
                len(ours) < len(run["members"]) / 2, few < 0.05)
    values = {
        "documents": page.said(r"clinical cases \(MEDDOCAN, (\d+) documents\)"), "dev": str(run["documents"]),
        "folds": page.said(r"cross-validated predictions on it \((\w+) folds"), "folds_networks": page.said(r"networks\n(\w+)\)"),
        "folds_paper": of["folds"], "spans": f"{run['gold']:,}", "members_paper": len(of["members"]), "left_paper": len(theirs),
        "threshold_paper": of["threshold"], "f1_paper": of["f1"], "precision_paper": of["precision_most"], "thresholds_paper": of["thresholds"],
        "left_paper_names": ", ".join(theirs), "members": len(run["members"]), "left": len(ours), "left_names": ", ".join(ours),
        "threshold": run["votes_pruned"], "votes": run["votes"], "f1": percent(run["f1"]["pruned"]), "f1_all": percent(run["f1"]["voting"]),
        "f1_best": percent(run["f1"]["best"]), "best": named([run["best"]])[0], "figure": figure(run, None),
        "figure_outside": figure(outside, 8), "outside_members": len(outside["members"]),
        "outside_left": ", ".join(named([name for name in outside["left"] if name in OUTSIDE])) or "none of both",
        "statements": statements, "statements_members": say.take(),
    }
    return finished(figures, say, values)


def finished(figures, say, values):
    say.finish()
    values["overview"] = overview(figures, values)
    return values, say


def corpora(figures, report):
    """Returns tables 1 and 2 of Kim 2020 with our columns."""
    spans = figures["table_1"]["spans"]
    ours = [report["counts"][corpus]["spans"] for corpus in ("meddocan", "echr-es")]
    rows = [[name, *(f"{count:,}" for count in counts), *(f"{one.get(name.lower(), 0):,}" for one in ours)] for name, counts in spans.items()]
    rows.append(["Other", "", "", *(f"{one.get('other', 0):,}" for one in ours)])
    rows.append(["Total", *(f"{sum(counts[at] for counts in spans.values()):,}" for at in (0, 1)), *(f"{sum(one.values()):,}" for one in ours)])
    second = figures["table_2"]
    more = [report["counts"][corpus] for corpus in ("meddocan", "echr-es")]
    lines = [["Documents", *second["documents"], *(one["documents"] for one in more)],
             ["Spans", *second["spans"], *(sum(one["spans"].values()) for one in more)],
             ["Tokens of spans", *second["tokens_of_spans"], *(one["tokens of spans"] for one in more)]]
    lines = [[line[0], *(f"{value:,}" for value in line[1:])] for line in lines]
    ratios = [second["spans"][at] / second["documents"][at] for at in (0, 1)]
    ratios += [sum(one["spans"].values()) / one["documents"] for one in more]
    lines.append(["Spans per document", *(f"{ratio:.1f}" for ratio in ratios)])
    return table(["Category", "2014 i2b2 test", "2016 N-GRID test", "MEDDOCAN dev", "ECHR-es dev"], rows), table(
        ["", "2014 i2b2 test", "2016 N-GRID test", "MEDDOCAN dev", "ECHR-es dev"], lines)


PAPER_4 = ["2014 i2b2: 2014 model", "2016 model", "both", "2016 N-GRID: 2014 model", "2016 model", "both"]
HERE_4 = ["MEDDOCAN dev: MEDDOCAN model", "MEDDOCAN dev: ECHR-es model", "MEDDOCAN dev: both", "ECHR-es dev: MEDDOCAN model",
          "ECHR-es dev: ECHR-es model", "ECHR-es dev: both"]


def side(head, theirs, ours, names):
    """Returns the paper's table and ours with the best of each column in bold."""
    out = []
    for values, columns in ((theirs, head[0]), (ours, head[1])):
        best = [max(values[name][at] for name in names) for at in range(len(columns))]
        rows = [[name, *(cell(value, value == top) for value, top in zip(values[name], best))] for name in names]
        out.append(table(["Method", *columns], rows))
    return out


def table_4(figures, page, say):
    theirs = figures["table_4"]
    rows = {row["Method"]: row for row in page.table("Method", HERE_4[0])}
    ours = {name: [number(rows[name][column]) for column in HERE_4] for name in theirs}
    names = list(theirs)
    for at, column in enumerate(HERE_4):
        say.order(f"order-{at}", f"ten members, {column}", [theirs[name][at] for name in names], [ours[name][at] for name in names])
    own = [[values[name][own] - values[name][other] for name in names for own, other in ((0, 1), (4, 3))] for values in (theirs, ours)]
    say.signs("own", "a model of the own corpus above one of the other", share(sum(gain > 0 for gain in own[0]), len(own[0])), own[1])
    for place, (own, union, corpus) in enumerate(((0, 2, "MEDDOCAN"), (4, 5, "ECHR-es"))):
        gains = [theirs[name][union] - theirs[name][own] for name in names]
        say.signs(f"union-{place}", f"the model of both corpora above the own one, {corpus}",
                  share(sum(gain > 0 for gain in gains), len(gains)), [ours[name][union] - ours[name][own] for name in names])
    columns = range(len(HERE_4))
    crf = [theirs["LSTM-CRF v.L"][at] > theirs["LSTM v.L"][at] for at in columns]
    say.signs("crf-layer", "LSTM-CRF v.L above LSTM v.L, by column", share(sum(crf), len(crf)),
              [ours["LSTM-CRF v.L"][at] - ours["LSTM v.L"][at] for at in columns])
    deep = [name for name in names if name.startswith("LSTM")]
    pairs = [(one, other) for one in deep for other in names if other not in deep]
    above = [sum(values[one][at] > values[other][at] for one, other in pairs) for values, at in ((theirs, 0), (ours, 0))]
    p = exact.rank_sum([ours[name][0] for name in deep], [ours[name][0] for name in names if name not in deep])
    say.exactly("deep", "networks above the others, own corpus", f"{above[0]} of {len(pairs)} pairs", f"{above[1]} of {len(pairs)} pairs",
                f"exact rank-sum test {p_of(p)}", above[1] > len(pairs) / 2, p < 0.05)
    rank = [1 + sum(values[name][0] > values["Struct. SVM"][0] for name in names) for values in (theirs, ours)]
    tested = {row["System"]: row for row in page.table("System", "Strict F1 (95 % interval)") if row["System"] in names}
    level = number(tested["Struct. SVM"]["Strict F1 (95 % interval)"])
    tests = [(number(row["Strict F1 (95 % interval)"]) < level, number(row["p against Struct. SVM"])) for name, row in tested.items()
             if name != "Struct. SVM"]
    above = sum(lower and p < 0.05 for lower, p in tests)
    say.exactly("ssvm", "the structured SVM is the weakest, own corpus", f"rank {rank[0]} of {len(names)}", f"rank {rank[1]} of {len(names)}",
                f"with MEDDOCAN's own labels significantly above {share(above, len(tests))} others (paired t-tests)",
                rank[1] == len(names), above > 0)
    others = [name for name in names if name != "Struct. SVM"]
    say.order("order-0", "the nine without the structured SVM, MEDDOCAN dev: MEDDOCAN model", [theirs[name][0] for name in others],
              [ours[name][0] for name in others])
    return [*side((PAPER_4, HERE_4), theirs, ours, names), ours]


PAPER_5 = ["2014 i2b2: 2014 models", "both", "2016 N-GRID: 2016 models", "both"]
HERE_5 = ["MEDDOCAN dev: MEDDOCAN models", "both", "ECHR-es dev: ECHR-es models", "both.1"]
RUNS_5 = ["meddocan-own", "meddocan-both", "echr-es-own", "echr-es-both"]


def table_5(figures, page, report, say):
    theirs = figures["table_5"]
    rows = {row["Method"]: row for row in page.table("Method", HERE_5[0])}
    ours = {name: [number(rows[name][column].replace("\\*", "").replace("*", "")) for column in HERE_5] for name in theirs}
    names = list(theirs)
    titles = ["MEDDOCAN, own", "MEDDOCAN, both", "ECHR-es, own", "ECHR-es, both"]
    for at, title in enumerate(titles):
        say.order(f"combiners-{at}", f"six ensembles, {title}", [theirs[name][at] for name in names], [ours[name][at] for name in names])
    changes = [(theirs[name][at + 1] - theirs[name][at], ours[name][at + 1] - ours[name][at]) for name in names for at in (0, 2)]
    alike = [one * other for one, other in changes if other]
    say.signs("other-origin", "sign of the change from members of the other origin", f"{len(changes)} changes", [round(one, 9) for one in alike])
    for at, run in enumerate(RUNS_5):
        say.difference(f"pruned-{at}", f"pruned voting − voting, {titles[at]}", theirs["Voting pruned"][at] - theirs["Voting"][at],
                       Difference.of(report["runs"][run]["pruned_less_voting"]), significant=run.endswith("both"))
    across = {corpus: report["across"][f"{corpus}-both"] for corpus in ("meddocan", "echr-es")}
    for at, corpus in ((1, "meddocan"), (3, "echr-es")):
        say.difference("better", f"pruned of both − pruned of the own origin, {titles[at][:-6]}",
                       theirs["Voting pruned"][at] - theirs["Voting pruned"][at - 1], Difference.of(across[corpus]["pruned"]), significant=False)
    worse = found = 0
    for at, column in enumerate(HERE_5):
        alike_paper = figures["table_5_like_best"]["columns"][at]
        for name in names:
            if name not in alike_paper:
                worse += 1
                found += not rows[name][column].startswith(("\\*", "**"))
    low, high = exact.clopper_pearson(found, worse)
    say.add("worse-than-best", "ensembles significantly below the best of their column", f"{worse} of {4 * len(names)}",
            f"{found} of these {worse} too", f"interval {100 * low:.0f} to {100 * high:.0f} %", AGREES if low > 0.5 else OPEN)
    shown = []
    for columns, values, like in ((PAPER_5, theirs, figures["table_5_like_best"]["columns"]),
                                  (titles, ours, [[name for name in names if rows[name][column].startswith("\\*")] for column in HERE_5])):
        best = [max(values[name][at] for name in names) for at in range(len(columns))]
        shown.append(table(["Method", *columns], [
            [name, *(cell(value, value == top) if value == top else ("\\*" if name in alike else "") + cell(value)
                     for value, top, alike in zip(values[name], best, like))] for name in names]))
    return shown


def table_6(figures, page, say):
    theirs = figures["table_6"]
    rows = {row["Category"]: row for row in page.table("Category", "Count", "Strict P")}
    columns = ["Strict P", "R", "F1", "Token P", "R.1", "F1.1"]
    ours = {name: [number(rows[name]["Count"].replace(",", "")), *(number(rows[name][column]) for column in columns)] for name in theirs}
    head = ["Category", "Count", "Strict P", "R", "F1", "Token P", "R", "F1"]
    shown = [table(head, [[name, f"{int(values[0]):,}", *(cell(value) for value in values[1:])] for name, values in of.items()])
             for of in (theirs, ours)]
    categories = [name for name in theirs if name != "Total"]
    say.order("categories", "categories by strict F1", [theirs[name][3] for name in categories], [ours[name][3] for name in categories])
    above = sum(theirs[name][6] > theirs[name][3] for name in categories)
    say.signs("token-strict", "F1 by tokens above strict F1, by category", share(above, len(categories)),
              [ours[name][6] - ours[name][3] for name in categories])
    count, recall = int(ours["Profession"][0]), ours["Profession"][2]
    return shown, share(round(recall * count / 100), count)


def figure_1(figures, report, say):
    """States what the paper finds in figure 1, for each corpus."""
    of = figures["figure_1"]
    for at, run_name in enumerate(("meddocan-both", "echr-es-both")):
        run = report["runs"][run_name]
        rows = dropped(run)
        corpus = ("MEDDOCAN", "ECHR-es")[at]
        say.signs("above", f"pruned above all members, at thresholds that drop a member, {corpus}", f"to threshold {of['significant_until'][at]}",
                  [row["pruned_less_all"]["difference"] for row in rows])
        significant = [row["threshold"] for row in better(rows)]
        asked = min(of["significant_until"][at], len(rows))
        within = sum(votes_ <= asked for votes_ in significant)
        say.add("significant-until", f"significantly, {corpus}", f"to threshold {of['significant_until'][at]}",
                f"at {share(within, asked)} of the same thresholds", "interval, t-test and Wilcoxon at each, in the table",
                AGREES if within == asked else OPEN)
        foreign = [name for name in run["left"] if "." in name or name in OUTSIDE]
        own = len(run["left"]) - len(foreign)
        theirs_own = of["left"][at] - of["left_of_other_origin"][at] - of["left_tools"][at]
        total = of["members"]
        p = exact.fisher(own, of["trained"] - own, len(foreign), total - of["trained"] - len(foreign))
        say.exactly("left", f"mostly members of the own origin are left, {corpus}", f"{theirs_own} of {of['left'][at]}",
                    f"{own} of {len(run['left'])}", f"Fisher's exact test of own and other members {p_of(p)}", own > len(foreign), p < 0.05)


def kim_2020():
    figures, page, report = paper("kim-2020"), Page(), votes()
    checked(page, report)
    say = Statements(figures)
    first, second = corpora(figures, report)
    values = {"table_1": first, "table_2": second}
    values["table_4_paper"], values["table_4_here"], ours_4 = table_4(figures, page, say)
    values["statements_4"] = say.take()
    outside = {row["Method"]: row for row in page.table("Method", HERE_4[0])}
    tools = [[name, *map(cell, pair)] for name, pair in figures["table_4_outside"].items()]
    tools += [[name, outside[name][HERE_4[0]], outside[name][HERE_4[4]]] for name in ("Presidio (patterns)", "DataFog")]
    values["tools"] = table(["Outside tool", "First corpus", "Second corpus"], tools)
    values["table_5_paper"], values["table_5_here"] = table_5(figures, page, report, say)
    values["statements_5"] = say.take()
    (values["table_6_paper"], values["table_6_here"]), values["professions"] = table_6(figures, page, say)
    values["statements_6"] = say.take()
    confused = page.after("## Table 7").table("Reference", "Classified as")
    rows = [[name, of] for name, of in figures["table_7"].items()]
    values["table_7_paper"] = table(["Reference", "Classified as"], rows)
    values["table_7_here"] = table(["Reference", "Classified as"], [
        [row["Reference"], ", ".join(value for key, value in row.items() if key != "Reference" and value)] for row in confused])
    theirs = sum(int(count) for of in figures["table_7"].values() for count in numbers(of))
    ours = sum(int(count) for row in confused for key, value in row.items() if key != "Reference" for count in numbers(value.split("(")[-1]) if value)
    values["confused_paper"], values["confused_here"] = theirs, ours
    figure_1(figures, report, say)
    values["statements_figure"] = say.take()
    runs = report["runs"]
    for name, run in (("meddocan", runs["meddocan-both"]), ("echr", runs["echr-es-both"])):
        values[f"figure_{name}"] = figure(run, figures["figure_1"]["thresholds"])
        values[f"left_{name}"] = ", ".join(named(run["left"]))
        values[f"threshold_{name}"] = run["votes_pruned"]
        values[f"votes_{name}"] = run["votes"]
    values["pays"] = pays(report)
    own, of = list(ours_4.values()), figures["table_4"]
    values.update(
        documents=page.said(r"clinical cases \(MEDDOCAN, (\d+) documents\)"), documents_echr=page.said(r"court cases \(ECHR-es, (\d+) documents\)"),
        dev=page.said(r"MEDDOCAN (\d+) documents, ECHR-es"), dev_echr=page.said(r"ECHR-es (\d+)\), on which"),
        cross_paper=f"{min(min(row[1], row[3]) for row in of.values()):.0f} to {max(max(row[1], row[3]) for row in of.values()):.0f}",
        cross_here=f"{min(min(row[1], row[3]) for row in own):.0f} to {max(max(row[1], row[3]) for row in own):.0f}",
        smallest=smallest(int(page.said(r"ECHR-es (\d+)\), on which"))), members_paper=figures["figure_1"]["members"],
        left_paper=" and ".join(map(str, figures["figure_1"]["left"])), best_paper=" and ".join(map(str, figures["figure_1"]["best_threshold"])),
        f1_paper=" and ".join(map(str, figures["figure_1"]["f1"])),
    )
    return finished(figures, say, values)


def smallest(pairs):
    """Returns the least p of an exact paired test."""
    return f"{2 * 0.5 ** pairs:.4f}"


def pays(report):
    """Returns what outside members do to a vote of all and to a pruned one."""
    names = {"meddocan-own": "MEDDOCAN: its ten members", "meddocan-own-outside": "and two outside tools",
             "meddocan-both": "and ten members of court cases", "echr-es-own": "ECHR-es: its ten members",
             "echr-es-both": "and two outside tools, ten members of clinical cases"}
    rows = []
    for run_name, title in names.items():
        run = report["runs"][run_name]
        across = report["across"].get(run_name)
        rows.append([title, str(len(run["members"])), str(len(run["left"])), str(sum("." in name or name in OUTSIDE for name in run["left"])),
                     percent(run["f1"]["voting"]), percent(run["f1"]["pruned"]), *paired(run, "pruned_less_voting"), *paired(across or {}, "voting")])
    head = ["Members of", "All", "Left", "Of others, left", "Voting F1", "Pruned F1", "Pruned − voting of the same (95 % interval)",
            "p: t-test, Wilcoxon", "Pruned − voting of its ten", "p: t-test, Wilcoxon"]
    return table(head, rows)
