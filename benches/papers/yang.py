"""The page of Yang 2019."""
import exact
from common import AGREES, CONTRADICTS, OPEN, Difference, Page, Statements, cell, number, overview, p_of, paper, share, signed, table

MEASURES = ["Strict P", "R", "F1", "Relaxed P", "R", "F1"]
# Differences of the page of fine-tuning, and the rows of the paper's table 3 that they compare.
COMPARED = {
    "fine-tuned − elsewhere": ("elsewhere, fine-tuned here", "elsewhere alone"),
    "fine-tuned − here": ("elsewhere, fine-tuned here", "here alone"),
    "merged − elsewhere": ("both, merged", "elsewhere alone"),
    "merged − here": ("both, merged", "here alone"),
    "fine-tuned − merged": ("elsewhere, fine-tuned here", "both, merged"),
}
WAYS = ["elsewhere alone", "here alone", "both, merged", "elsewhere, fine-tuned here"]
CATEGORIES = {"DATE": "Date", "ID": "Id", "INSTITUTE": "Institute", "NAME": "Name"}


def rows_of(values, best_at=(2, 5)):
    """Returns rows of a table of six measures, with the best strict and relaxed F1 in bold."""
    tops = {at: max(row[at] for row in values.values()) for at in best_at}
    return [[name, *(cell(value, tops.get(at) == value) for at, value in enumerate(row))] for name, row in values.items()]


def table_2(figures, page, say):
    theirs, here = figures["table_2"], figures["table_2_here"]
    found = {row["Vectors"]: row for row in page.table("Vectors", "Words that have one")}
    columns = ["Strict P", "R", "F1 (95 % interval)", "Relaxed P", "R.1", "F1"]
    ours = {name: [number(row[column].replace("*", "")) for column in columns] for name, row in found.items()}
    same = [ours[here[name]] for name in theirs]
    for key, at in (("order-strict", 2), ("order-relaxed", 5)):
        say.order(key, f"five vectors, {MEASURES[at].replace('F1', 'strict F1' if at == 2 else 'relaxed F1')}",
                  [row[at] for row in theirs.values()], [row[at] for row in same])
    pairs = {"general text above clinical text": ("general", [("GoogleNews", "MIMIC-word2vec"), ("CommonCrawl", "MIMIC-fastText")]),
             "fastText above word2vec": ("fasttext", [("CommonCrawl", "GoogleNews"), ("MIMIC-fastText", "MIMIC-word2vec")])}
    for what, (key, compared) in pairs.items():
        both = [[values[one][2] - values[other][2] for one, other in compared] for values in (theirs, {n: ours[here[n]] for n in theirs})]
        say.signs(key, f"{what}, strict F1", ", ".join(signed(value) for value in both[0]), both[1])
    say.signs("precision", "precision above recall, strict", share(sum(row[0] > row[1] for row in theirs.values()), len(theirs)),
              [row[0] - row[1] for row in ours.values()])
    against = page.table("The best against")
    worse = [Difference.read(f"{row['Strict F1, points']} {row['95 % interval']}", {"Wilcoxon": number(row["p, Wilcoxon"])}) for row in against]
    significant = sum(one.significant for one in worse)
    say.add("best-other", "the best vectors above each other kind", "no test", f"significant for {share(significant, len(worse))}",
            f"least p of the Wilcoxon tests {min(one.tests['Wilcoxon'] for one in worse):.3f}", AGREES if significant == len(worse) else OPEN)
    spread = [max(values) - min(values) for values in ([row[2] for row in theirs.values()], [row[2] for row in same])]
    head = ["Vectors", *MEASURES]
    return {"table_2_paper": table(head, rows_of(theirs)), "table_2_here": table(head, rows_of(ours)),
            "table_2_tests": table(["The best against", "Strict F1, points", "95 % interval", "p, Wilcoxon", "p, randomisation"],
                                   [list(row.values()) for row in against]),
            "spread_paper": f"{spread[0]:.2f}", "spread_here": f"{spread[1]:.2f}"}


def table_3(figures, page, say):
    theirs = figures["table_3"]
    paper_rows = [[name, *(cell(value) for value in row)] for name, row in theirs.items()]
    rows = page.table("Member", "Documents here", "Trained on")
    settings = list(dict.fromkeys((row["Member"], row["Documents here"]) for row in rows))
    f1 = {(row["Member"], row["Documents here"], row["Trained on"]): number(row["F1 (95 % interval)"].replace("*", "")) for row in rows}
    for setting in settings:
        say.order(f"ways-{setting[0].split('-')[0]}", f"four ways, {setting[0]}, documents: {setting[1]}", [theirs[way][2] for way in WAYS],
                  [f1[(*setting, way)] for way in WAYS])
    compared = page.after("## Differences").table("Member", "Documents here")
    for what, (one, other) in COMPARED.items():
        expected = theirs[one][2] - theirs[other][2]
        found = [Difference.read(row[what]) for row in compared]
        alike = sum(one.value * expected > 0 for one in found)
        significant = sum(one.significant and one.value * expected > 0 for one in found)
        against = sum(one.significant and one.value * expected < 0 for one in found)
        inside = sum(one.low <= expected <= one.high for one in found)
        p = exact.sign_test(alike, len(found) - alike)
        verdict = CONTRADICTS if against else AGREES if significant > len(found) / 2 else OPEN
        known = what in figures["table_3_significant"]["differences"]
        say.add(what, f"{what}, strict F1", f"{expected:+.2f}" + (", significant" if known else ""),
                f"same sign in {share(alike, len(found))} settings, whole interval in {significant}",
                f"sign test {p_of(p)}; {inside} of {len(found)} intervals include the paper's", verdict)
    nearest = [row for row in compared if row["Member"].startswith("LSTM-CRF")][-1]
    head = ["Nearest to the paper", *COMPARED]
    nearest_rows = [["Paper", *(f"{theirs[one][2] - theirs[other][2]:+.2f}" for one, other in COMPARED.values())],
                    [f"{nearest['Member']}, documents here: {nearest['Documents here']}", *(nearest[what] for what in COMPARED)]]
    shares = [number(row["fine-tuned of merged"]) for row in page.table("Member", "Documents here", "here alone")]
    epochs = f"{figures['setup']['epochs_fine_tuning']} epochs instead of {figures['setup']['epochs']}"
    say.signs("time", "fine-tuning takes less time than merging", epochs, [100 - value for value in shares])
    shown = [[row[key] for key in ("Member", "Documents here", "Trained on", "Strict P", "R", "F1 (95 % interval)", "Relaxed P", "R.1", "F1")]
             for row in rows]
    return {"table_3_paper": table(["Trained on", *MEASURES], paper_rows),
            "table_3_here": table(["Member", "Documents here", "Trained on", "Strict P", "R", "F1 (95 % interval)", "Relaxed P", "R", "F1"], shown),
            "nearest": table(head, nearest_rows), "time_least": f"{min(shares):.0f}", "time_most": f"{max(shares):.0f}",
            "settings": len(settings)}


def table_4(figures, page, say):
    theirs = figures["table_4"]
    rows = page.after("## By category").table("Member", "Trained on")
    ours = {row["Member"]: row for row in rows if row["Trained on"] == "elsewhere, fine-tuned here"}
    for member, row in ours.items():
        say.order("category-order", f"{len(CATEGORIES)} categories by strict F1, fine-tuned, {member}", [theirs[name][2] for name in CATEGORIES],
                  [number(row[name]) for name in CATEGORIES.values()])
    names = [name for name in rows[0] if name not in ("Member", "Trained on")]
    return {"table_4_paper": table(["Category", *MEASURES], rows_of(theirs, ())),
            "table_4_here": table(["Member, fine-tuned", *names], [[member, *(row[name] for name in names)] for member, row in ours.items()])}


def yang_2019():
    figures, vectors, tuned = paper("yang-2019"), Page("vectors"), Page("fine-tune", "spanish")
    say = Statements(figures)
    values = dict(figures["setup"])
    values.update(table_2(figures, vectors, say))
    values["statements_2"] = say.take()
    values.update(table_3(figures, tuned, say))
    values["statements_3"] = say.take()
    values.update(table_4(figures, tuned, say))
    values["statements_4"] = say.take()
    values.update(
        train=vectors.said(r"fitted to (\d+) of MEDDOCAN"), test=vectors.said(r"evaluated on (\d+) others"),
        spans=vectors.said(r"\((\d+) spans\)"), dimensions_here=vectors.said(r"Vectors have (\d+) dimensions"),
        general=vectors.said(r"General text is ([\d,]+) words"), clinical=vectors.said(r"([\d,]+) words of MEDDOCAN's background"),
        elsewhere=tuned.said(r"Elsewhere: (\d+) documents"), pool=tuned.said(r"and (\d+) are the pool"),
        test_here=tuned.said(r"of which (\d+) documents are the test set"), spans_here=tuned.said(r"test set \((\d+) spans\)"),
        repeats=tuned.said(r"in each of (\d+) repeats"),
    )
    say.finish()
    values["overview"] = overview(figures, values)
    return values, say
