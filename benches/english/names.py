"""Words of names: where they stand, whether they were found, and what kind of name each is."""
import json
import math
import re
from pathlib import Path

import auxiliary

LISTS = Path(__file__).resolve().parents[2] / "dictionaries" / "lists"
# Census figures are per 100,000 people.
COMMON = 10


def documents(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line]


def interval(hits, total):
    """The 95 % interval of a share (Wilson 1927)."""
    if not total:
        return 0.0, 1.0
    z = 1.959964
    middle = (hits + z * z / 2) / (total + z * z)
    reach = z / (total + z * z) * math.sqrt(hits * (total - hits) / total + z * z / 4)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def words_marked(mark, text):
    """The words of a mark and where they stand, without titles and degrees."""
    for piece in auxiliary.provider(mark, text):
        for word in re.finditer(r"\w+", text[piece["start"] : piece["end"]]):
            if not auxiliary.TITLE.fullmatch(f"{word.group()} "):
                yield word.group(), piece["start"] + word.start()


def person(mark, text):
    """Where the words of a mark stand that name somebody. Ordinary words that are in no list of names do not: some corpora mark "the
    Petitioner" and "Governor of Ohio Ann Quayle" whole."""
    return [at for word, at in words_marked(mark, text) if word.lower() not in auxiliary.ordinary()]


def provider(mark, text):
    """Where the words of the name of a doctor or a practice stand."""
    return [at for _, at in words_marked(mark, text)]


def words_of(text):
    return [word.lower() for word in re.findall(r"\w+", text)]


def name_words(gold, found, labels=("PATIENT", "DOCTOR")):
    """Of each span of a name its words, and whether each is covered."""
    for truth, said in zip(documents(gold), documents(found), strict=True):
        covered = {at for span in said["spans"] for at in range(span["start"], span["end"])}
        for span in truth["spans"]:
            if span["label"] in labels:
                text = truth["text"][span["start"] : span["end"]]
                places = [(word.start() + span["start"], word.end() + span["start"]) for word in re.finditer(r"\w+", text)]
                yield [(truth["text"][a:b].lower(), all(at in covered for at in range(a, b))) for a, b in places]


def commonness():
    """What kind of name each word of the lists of names is."""
    found = {}
    for folder in sorted(LISTS.glob("*names*")):
        if "given" not in folder.name and "surnames" not in folder.name:
            continue
        for line in (folder / "items.txt").read_text(encoding="utf-8").splitlines():
            entry, _, share = line.partition("\t")
            if line.startswith("#"):
                continue
            kind = "in a list, common" if share and float(share) >= COMMON else "in a list, rare"
            for word in words_of(entry):
                if found.get(word) != "in a list, common":
                    found[word] = kind
        exceptions = folder / "exceptions.txt"
        for line in exceptions.read_text(encoding="utf-8").splitlines() if exceptions.exists() else []:
            found.update((word, "an ordinary word too") for word in words_of(line.split("\t")[0]) if not line.startswith("#"))
    return found


def given_names(language=""):
    """Whose given name each word is: of women, of men, or of both, by the lists of all languages or of one (`es`)."""
    lists = {gender: set() for gender in ("female", "male")}
    for gender, names in lists.items():
        for folder in LISTS.glob(f"{language}*given-names-{gender}"):
            for line in (folder / "items.txt").read_text(encoding="utf-8").splitlines():
                names.update(words_of(line.partition("\t")[0]))
    kinds = {(True, False): "women", (False, True): "men", (True, True): "both"}
    return {name: kinds[name in lists["female"], name in lists["male"]] for name in lists["female"] | lists["male"]}


def groups(what, count, fewest):
    """The lines of a table: the share of each group's words that is found, from the worst, and the distance from the best."""
    lines, shares = [f"\n| {what} | words | found, % |", "|---|---|---|"], []
    for group, (total, hits) in sorted(count.items(), key=lambda row: row[1][1] / row[1][0]):
        low, high = interval(hits, total)
        lines.append(f"| {group} | {total:,} | {100 * hits / total:.1f} ({100 * low:.1f} to {100 * high:.1f}) |")
        if total >= fewest:
            shares.append(100 * hits / total)
    if shares:
        lines.append(f"| **best less worst** (groups of {fewest} words or more) | | {max(shares) - min(shares):.1f} points |")
    return lines


def by(found, kind):
    """Words and hits by the kind of each word, of what `name_words` yields."""
    count = {}
    for words in found:
        for word, covered in words:
            key = kind(word)
            if key:
                total, hits = count.get(key, (0, 0))
                count[key] = (total + 1, hits + covered)
    return count
