"""The page of Liao 2021."""
import re

import exact
from common import AGREES, CONTRADICTS, OPEN, Difference, Page, Statements, number, overview, p_of, paper, share, table

GAIN = "Gain over source only (95 % interval)"
FURTHER = "Gain over further (95 % interval)"
NETWORK = "LSTM (Lample)"


def pairs_of(figures):
    """Returns the paper's ordered pairs of different data sets with F1 before and after."""
    sets = figures["table_2"]["sets"]
    return {(source, target): figures["table_2"][source][at] for source in sets for at, target in enumerate(sets) if source != target}


def gains(rows, column):
    return [Difference.read(row[column]) for row in rows]


def counted(found):
    """Returns how many whole intervals are above and below 0."""
    return sum(one.low > 0 for one in found), sum(one.high < 0 for one in found)


def table_2(figures, page, say):
    theirs = pairs_of(figures)
    improvements = [after - before for before, after in theirs.values()]
    ways = {"its own labels": page.after("The member labels the text itself:"), "an ensemble's labels": page.after("An ensemble labels the text:")}
    shown = {}
    for way, part in ways.items():
        rows = part.table("Source → target", "Member")
        shown[way] = [row for row in rows if row["Scored on"] == "unseen text"]
        for member in (NETWORK, "CRF"):
            chosen = [row for row in shown[way] if row["Member"] == member]
            open_pairs = [row for row in chosen if "ECHR" not in row["Source → target"]]
            found = gains(open_pairs, GAIN)
            above, under = counted(found)
            key = "gain" if member == NETWORK else "crf"
            of = len(found)
            verdict = AGREES if above == of else CONTRADICTS if under == of else OPEN
            alike = sum(one.value > 0 for one in found)
            within = sum(one.low <= average(improvements) <= one.high for one in found)
            say.add(key, f"names gain, {member}, {way}, English pairs", f"{share(sum(one > 0 for one in improvements), len(improvements))}",
                    f"{alike} of {of}, whole interval in {above}", f"sign test {p_of(exact.sign_test(alike, of - alike))}; {within} of {of} "
                    "intervals include the paper's average", verdict)
        everyone = [row for row in shown[way] if "ECHR" not in row["Source → target"]]
        further = gains(everyone, FURTHER)
        above, under = counted(further)
        say.add("gain-further", f"the gain comes from the target's text, {way}, English pairs, both members", "said, without a control",
                f"whole interval above the control in {share(above, len(further))}", f"below it in {under}",
                AGREES if above > len(further) / 2 else OPEN)
        spanish = [row for row in shown[way] if "ECHR" in row["Source → target"]]
        say.signs("spanish", f"names gain, {way}, Spanish pair, both members", share(sum(one > 0 for one in improvements), len(improvements)),
                  [one.value for one in gains(spanish, GAIN)])
    sets = figures["table_2"]["sets"]
    rows = []
    for source in sets:
        row = [source]
        for cell_ in figures["table_2"][source]:
            row.append(f"{cell_[0]:.2f}" if len(cell_) == 1 else f"{cell_[0]:.2f}, {cell_[1]:.2f} ({cell_[1] - cell_[0]:+.2f})")
        rows.append(row)
    ours = [[row["Source → target"], row["Member"], way, row["Source only"], row["With the target"], row[GAIN], row["By seed"], row[FURTHER]]
            for way in shown for row in shown[way]]
    head = ["Source → target", "Member", "Labelled by", "Source only", "Self-trained", GAIN, "By seed", FURTHER]
    pairs = {row["Source → target"] for way in shown for row in shown[way]}
    return {"table_2_paper": table(["Source", *sets], rows), "table_2_here": table(head, ours), "pairs_here": len(pairs),
            "pairs_paper": len(theirs), "average": f"{average(improvements):.2f}", "most": f"{max(improvements):.2f}"}


def average(values):
    return sum(values) / len(values)


def table_3(figures, page, say):
    theirs = figures["table_3"]
    labels = list(theirs)
    rows = page.table("Labelled", "words", "Member")
    improvements = {pair: [theirs[label][pair][1] - theirs[label][pair][0] for label in labels] for pair in (0, 1)}
    every = [one for each in improvements.values() for one in each]
    for member in (NETWORK, "CRF"):
        found = [Difference.read(row["Gain (95 % interval)"]) for row in rows if row["Member"] == member]
        above, under = counted(found)
        alike = sum(one.value > 0 for one in found)
        say.add("few", f"names gain with a few labels, {member}", share(sum(one > 0 for one in every), len(every)),
                f"{share(alike, len(found))}, whole interval in {above}", f"sign test {p_of(exact.sign_test(alike, len(found) - alike))}",
                AGREES if above == len(found) else CONTRADICTS if under == len(found) else OPEN)
        say.order("few-order", f"the gain by the share of labels, {member}", improvements[0], [one.value for one in found])
    paper_rows = [[label, *(f"{before:.2f}, {after:.2f} ({after - before:+.2f})" for before, after in theirs[label])] for label in labels]
    head = list(rows[0])
    return {"table_3_paper": table(["Labelled tokens", "i2b2-2014 → i2b2-2006", "i2b2-2006 → i2b2-2014"], paper_rows),
            "table_3_here": table(head, [list(row.values()) for row in rows]),
            "pair": page.said(r"\n(\w+ → \w+): the source's member is fine-tuned")}


def table_4(figures, page, say):
    theirs = figures["table_4"]
    shares = ["30 %", "10 %", "3 %"]
    improvements = {name: [after - before for before, after in row[1:]] for name, row in theirs.items()}
    every = [one for row in improvements.values() for one in row]
    rows = page.table("Labels left", "documents", "Member")
    for member in (NETWORK, "CRF"):
        mine = {row["Labels left"]: row for row in rows if row["Member"] == member and row["Gain (95 % interval)"]}
        found = [Difference.read(mine[each]["Gain (95 % interval)"]) for each in shares]
        above, under = counted(found)
        alike = sum(one.value > 0 for one in found)
        say.add("taken", f"all categories gain, {member}", share(sum(one > 0 for one in every), len(every)),
                f"{share(alike, len(found))}, whole interval in {above}", f"sign test {p_of(exact.sign_test(alike, len(found) - alike))}",
                AGREES if above == len(found) else CONTRADICTS if under == len(found) else OPEN)
        say.order("fewer-order", f"the gain by the share of labels, {member}", [average([row[at] for row in improvements.values()])
                  for at in range(len(shares))], [one.value for one in found])
    paper_rows = [[name, f"{row[0][0]:.2f}", *(f"{before:.2f}, {after:.2f} ({after - before:+.2f})" for before, after in row[1:])]
                  for name, row in theirs.items()]
    return {"table_4_paper": table(["Data set", "100 %", *shares], paper_rows),
            "table_4_here": table(list(rows[0]), [list(row.values()) for row in rows])}


def counts(text):
    """Returns the count and the whole of a cell such as `57 of 303 (18.8 %)`."""
    found = re.match(r"(\d+) of (\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def why(figures, page, say):
    of = figures["analysis"]
    entities = page.table("Study", "no token right before")
    words = page.table("Study", "0 to 1 %")
    paper_has = f"{of['corrected_with_a_right_word']} % of those with a right word, {of['corrected_without']} % of the others"
    higher, rows = [], []
    for row in entities:
        none, some = counts(row["no token right before"]), counts(row["at least one right before"])
        p = exact.fisher(some[0], some[1] - some[0], none[0], none[1] - none[0])
        higher.append(some[0] / some[1] - none[0] / none[1])
        rows.append([row["Study"], f"{100 * some[0] / some[1]:.1f} % of {some[1]}", f"{100 * none[0] / none[1]:.1f} % of {none[1]}", p_of(p)])
    say.signs("whole", "a name with a right word is corrected more often, by study", paper_has, [round(one, 9) for one in higher])
    pairs = [[row[f"median, {which}"] for which in ("corrected", "not corrected")] for row in words]
    medians = [number(one) - number(other) for one, other in pairs if "none" not in (one, other)]
    say.signs("median", "words are corrected that had a higher probability of the right tag, by study",
              f"median {of['median_corrected']} % to {of['median_not_corrected']} %", medians)
    more = [[row["Study"], row["median, corrected"], row["median, not corrected"]] for row in words]
    return {"entities": table(["Study", "Corrected, at least one word right before", "Corrected, no word right before", "Fisher's exact test"], rows),
            "words": table(["Study", "Median probability of the right tag, corrected words", "Not corrected"], more)}


def liao_2021():
    figures, page = paper("liao-2021"), Page("self-train")
    say = Statements(figures)
    values = dict(figures["setup"])
    for key, part in (("2", table_2), ("3", table_3), ("4", table_4), ("why", why)):
        values.update(part(figures, page, say))
        values[f"statements_{key}"] = say.take()
    values.update(seeds_here=page.said(r"Each of (\d+) seeds"), labelled=page.said(r"\n(\d+) documents of MEDDOCAN's training set, of which"),
                  scored=page.said(r"on the (\d+) documents of dev"), passes=page.said(r"first training has (\d+) passes"))
    say.finish()
    values["overview"] = overview(figures, values)
    return values, say
