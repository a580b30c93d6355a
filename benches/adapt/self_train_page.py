"""Writes the page of benches/adapt/self-train: its tables, figures and text."""
import random
import shutil

MEMBERS = {"crf": "CRF", "lstm-l": "LSTM (Lample)", "lstm-crf-l": "LSTM-CRF (Lample)"}
TITLES = {"btc": "BTC", "wikigold": "Wikigold", "tab": "TAB", "meddocan": "MEDDOCAN", "echr-es": "ECHR-es"}
# The columns of a figure: colours and names.
WAYS = [("#555", "before"), ("#b5332e", "after"), ("#2d6a9f", "taught")]
DRAWS = 2000


def rates(counts):
    """Returns precision, recall and F1."""
    hits, found, gold = (sum(each) for each in zip(*counts))
    precision, recall = hits / found if found else 0.0, hits / gold if gold else 0.0
    return precision, recall, 2 * hits / (found + gold) if found + gold else 0.0


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def f1_of(runs, documents, seeds):
    return mean(rates([runs[seed][document] for document in documents])[2] for seed in seeds)


def interval(value_of, documents, seeds):
    """Returns the 95 % interval over resampled documents and seeds."""
    chance = random.Random(1)
    drawn = sorted(value_of(chance.choices(documents, k=len(documents)), chance.choices(seeds, k=len(seeds))) for _ in range(DRAWS))
    return drawn[int(0.025 * DRAWS)], drawn[int(0.975 * DRAWS) - 1]


def level(runs, text, way):
    """Returns the mean F1 of the seeds."""
    run = runs[text, way]
    return f"{100 * f1_of(run, list(next(iter(run.values()))), list(run)):.1f}"


def gains(runs, text, before, after):
    """Returns the gain of `after` over `before` with its interval, and each seed's difference."""
    before, after = runs[text, before], runs[text, after]
    seeds = list(before)
    documents = list(before[seeds[0]])
    gain = lambda d, s: f1_of(after, d, s) - f1_of(before, d, s)
    low, high = interval(gain, documents, seeds)
    each = ", ".join(f"{100 * gain(documents, [seed]):+.1f}" for seed in seeds)
    return [f"{100 * gain(documents, seeds):+.1f} ({100 * low:+.1f} to {100 * high:+.1f})", each]


def cells(runs, text):
    """Returns before, after, and the difference."""
    return [level(runs, text, "source"), level(runs, text, "self"), *gains(runs, text, "source", "self")]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def percent(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


def page_2(found, way, control):
    """Returns a way's gains over the source alone, and over the same training with the source's own text."""
    rows = []
    for (source, target, member), one in found.items():
        for text, told in (("seen", "the unlabelled text"), ("unseen", "unseen text")):
            runs = one["runs"]
            levels = (level(runs, text, each) for each in ("source", control, way))
            over = (cell for before in ("source", control) for cell in gains(runs, text, before, way))
            rows.append([f"{TITLES[source]} → {TITLES[target]}", MEMBERS[member], told, *levels, *over, one["refused"][way]])
    head = ["Source → target", "Member", "Scored on", "Source only", "Further, without the target", "With the target",
            "Gain over source only (95 % interval)", "By seed", "Gain over further (95 % interval)", "By seed", "Refused"]
    return table(head, rows)


def page_kept(found):
    rows = []
    for (source, target, member), one in found.items():
        kept = (f"{100 * after:.1f} ({100 * (after - before):+.1f})" for before, after in one["kept"])
        rows.append([f"{TITLES[source]} → {TITLES[target]}", MEMBERS[member], ", ".join(kept)])
    return table(["Source → target", "Member", "Strict F1 on the held-out set, by seed (change)"], rows)


def page_why(found, out):
    words, entities, pictures = [], [], []
    for (source, target, member), one in found.items():
        name = f"{TITLES[source]} → {TITLES[target]}, {MEMBERS[member]}"
        analyses = one["analyses"]
        if not analyses:
            continue
        add = lambda of: (sum(a["corrected"] for a in of), sum(a["wrong"] for a in of))
        bins = [percent(*add([a["words"][i] for a in analyses])) for i in range(len(analyses[0]["words"]))]
        medians = [[a["medians"][i] for a in analyses if a["medians"][i] is not None] for i in (0, 1)]
        told = [f"{100 * mean(m):.2g} %" if m else "none" for m in medians]
        words.append([name, *bins, *told, sum(a["spoilt"] for a in analyses)])
        sides = [percent(*add([a["entities"][i] for a in analyses])) for i in (0, 1)]
        invented = [sum(a["invented"][i] for a in analyses) for i in (0, 1)]
        entities.append([name, *sides, sum(a["lost"] for a in analyses), *invented])
        for figure in ("words", "entities"):
            drawn = one["figures"] / f"{figure}.svg"
            if drawn.exists():
                shutil.copy(drawn, out / f"{figure}-{source}-{target}-{member}.svg")
                pictures.append(f"![{figure} of {name}]({figure}-{source}-{target}-{member}.svg)")
    any_ = next((one["analyses"][0]["words"] for one in found.values() if one["analyses"]), [])
    shares = (f"{100 * b['from']:g} to {100 * b['to']:g} %" for b in any_)
    head = ["Study", *shares, "median, corrected", "median, not corrected", "spoilt"]
    second = ["Study", "no token right before", "at least one right before", "exact before, lost", "invented before",
              "invented after"]
    return table(head, words), table(second, entities), "\n".join(pictures)


def by_seed(runs):
    """Returns the F1 of each seed, in per cent."""
    return [100 * rates(list(of.values()))[2] for of in runs.values()]


def figure(groups, path, axis):
    """Draws each group's points by way, one per seed, with a line at each median: the papers' figures 2 and 3."""
    wide, high, left, top, under = 130, 260, 50, 20, 60
    values = [value for _, *ways in groups for way in ways for value in way]
    low, most = 5 * (min(values) // 5), 5 * (max(values) // 5 + 1)
    y = lambda value: top + high * (most - value) / (most - low)
    width = left + wide * len(groups) + 10
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + high + under}" font-family="sans-serif" '
             f'font-size="11"><rect width="100%" height="100%" fill="white"/>']
    step = max(5, 5 * round((most - low) / 40))
    for value in range(int(low), int(most) + 1, step):
        drawn.append(f'<line x1="{left}" x2="{width - 10}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    side = top + high / 2
    drawn.append(f'<text x="12" y="{side}" transform="rotate(-90 12 {side})" text-anchor="middle">{axis}</text>')
    for place, (title, *ways) in enumerate(groups):
        middle = left + wide * (place + 0.5)
        for number, (points, (colour, way)) in enumerate(zip(ways, WAYS)):
            x, height = middle + 42 * (number - (len(ways) - 1) / 2), top + high + 16
            drawn.append(f'<text x="{x}" y="{height}" text-anchor="middle">{way if points else ""}</text>')
            if points:
                median = y(sorted(points)[len(points) // 2])
                ends = f'x1="{x - 14}" x2="{x + 14}" y1="{median:.1f}" y2="{median:.1f}"'
                drawn.append(f'<line {ends} stroke="{colour}" stroke-width="2"/>')
            drawn += [f'<circle cx="{x}" cy="{y(value):.1f}" r="3.5" fill="{colour}" fill-opacity="0.6"/>' for value in points]
        for line, words in enumerate(title):
            drawn.append(f'<text x="{middle}" y="{top + high + 34 + 14 * line}" text-anchor="middle">{words}</text>')
    path.write_text("\n".join([*drawn, "</svg>\n"]), encoding="utf-8")


def figures(two, four, out):
    """Returns the data of the figures."""
    drawn = {}
    if two:
        drawn["figure-2.svg"] = [((f"{TITLES[source]} → {TITLES[target]}", MEMBERS[member]),
                                  *(by_seed(one["runs"]["seen", way]) for way in ("source", "self", "taught")))
                                 for (source, target, member), one in two.items()]
    if four:
        drawn["figure-3.svg"] = [((f"{left} %", MEMBERS[member]), by_seed(one["runs"]["dev", "source"]),
                                  by_seed(one["runs"].get(("dev", "self"), {}))) for (left, member), one in four.items()]
    for name, groups in drawn.items():
        figure(groups, out / name, "strict F1, %")


def page_3(found):
    rows = [[f"{share} %", round(mean(one["words"])), MEMBERS[member], *cells(one["runs"], "seen"), one["refused"]]
            for (share, member), one in found.items()]
    head = ["Labelled", "words", "Member", "Fine-tuned", "and self-trained", "Gain (95 % interval)", "By seed", "Refused"]
    return table(head, rows)


def page_4(found):
    rows = []
    for (left, member), one in found.items():
        told = [f"{left} %", one["documents"], MEMBERS[member]]
        if left == 100:
            runs = one["runs"]["dev", "source"]
            rows.append([*told, f"{100 * f1_of(runs, list(runs[1]), list(runs)):.1f}", "", "", "", ""])
        else:
            rows.append([*told, *cells(one["runs"], "dev"), one["refused"]])
    head = ["Labels left", "documents", "Member", "Those alone", "and self-trained", "Gain (95 % interval)", "By seed", "Refused"]
    return table(head, rows)


def write_page(found, out, pair, seeds, bound, labelled, dev):
    """Writes the tables, by their numbers in the paper, to a folder."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [PAGE.format(bound=bound, seeds=seeds, draws=f"{DRAWS:,}")]
    if two := found.get("2"):
        words, entities, pictures = page_why(two, out)
        own, taught = page_2(two, "self", "control"), page_2(two, "taught", "taught control")
        parts += [TWO.format(own=own, taught=taught, kept=page_kept(two)), WHY.format(words=words, entities=entities, pictures=pictures)]
    if three := found.get("3"):
        parts.append(THREE.format(pair=f"{TITLES[pair[0]]} → {TITLES[pair[1]]}", table=page_3(three)))
    if four := found.get("4"):
        parts.append(FOUR.format(table=page_4(four), source=labelled, dev=dev))
    figures(two, four, out)
    (out / "README.md").write_text("\n".join(parts), encoding="utf-8")


PAGE = """# Self-training

A member that was trained on one institute's documents continues training on unlabelled text of another institute: the equivalents of
Liao 2021's tables 2, 3 and 4 and of its word- and entity-level analysis. `benches/adapt/self-train` generates this page.

At most a fifth of the source's documents is the held-out set. It selects the best round or pass, and a model that is worse on it by more
than {bound} points of strict F1 is refused (`--bound {bound}`; the default is half a point, which is within chance for so few documents).
Two thirds of the target's documents are the unlabelled text; the others are unseen. Each of {seeds} seeds draws other source
documents, initial weights and noise. `benches/adapt/english.toml` and `benches/adapt/spanish.toml` map the labels. Settings are the
defaults of `lethe adapt self-train`. Those of the CRF were chosen on Wikigold → BTC with a score of BTC → Wikigold known, and
Wikigold → TAB had been scored with earlier settings; TAB → Wikigold had no part in any choice. F1 is strict, in per cent. Intervals
resample the scored documents and the seeds {draws} times. For a refused model, the original model is scored.
"""
TWO = """## No labels from the target (table 2)

F1 of names. `Source only` is the member before self-training. `Further, without the target` is the same training with the source's own
text, without its labels, instead of the target's; a gain over it comes from the target's text.

The member labels the text itself:

{own}

An ensemble labels the text: the source's CRF, structured SVM and LSTM of the same seed vote, and a tag's probability is the share of
them that predict it (`--teacher`):

{taught}

![F1 of names on the unlabelled text, a point a seed](figure-2.svg)

How self-training without a teacher changes the score on the source's held-out set:

{kept}
"""
WHY = """## What was corrected, and what was not

Names of the unlabelled text, over all seeds. Of the tokens with a wrong tag before, by the probability of the right tag: how many are
right after. `spoilt`: tokens that were right before and are wrong after.

{words}

Of the names that were not found exactly before, by whether one of their tokens had the right tag: how many are found exactly after.
`invented`: false positives.

{entities}

{pictures}
"""
THREE = """## A few labels from the target (table 3)

{pair}: the source's member is fine-tuned on labelled lines of the target's text that hold this share of its tokens. Then it is self-trained
on these lines, the source and all of the target's text without labels. F1 of names on that text, including the labelled lines.

{table}
"""
FOUR = """## Labels taken away (table 4, figure 3)

{source} documents of MEDDOCAN's training set, of which this share keeps its labels; the others are the unlabelled text. Strict micro-F1
of all categories on the {dev} documents of dev. With all labels, no text is left for self-training.
A network's first training has 25 passes, which are few steps on few documents. Part of its gain here comes from the further passes
over their gold.

{table}

![F1 by the share of labels, a point a seed](figure-3.svg)
"""
