"""Common Spanish words and Spanish clinical words: the authors' own stems, inflected here.

`own/spanish-verbs.txt`, `-nouns`, `-adjectives` and `-others` hold dictionary
forms written by the project's authors; this script adds regular plurals,
genders and verb forms. Stem changes are given as a second word after a slash
("pensar/piens"): the stem of the stressed forms.
"""

from pathlib import Path

from common import words, write_items

OWN = Path(__file__).resolve().parent / "own"
ENDINGS = {
    "ar": "o as a amos áis an é aste ó amos asteis aron aba abas ábamos aban aré ará arás aremos arán aría arías aríamos arían "
    "e es emos en ara aras áramos aran ase asen ar ando ado ada ados adas arlo arla arse ándose ándolo arle",
    "er": "o es e emos éis en í iste ió imos ieron ía ías íamos ían eré erá eremos erán ería erían a as amos an iera ieras iéramos "
    "ieran iese iesen er iendo ido ida idos idas erlo erla erse iéndose erle",
    "ir": "o es e imos en í iste ió imos ieron ía ías íamos ían iré irá iremos irán iría irían a as amos an iera ieras iéramos "
    "ieran iese iesen ir iendo ido ida idos idas irlo irla irse iéndose irle",
}
STRESSED = {"ar": "o as a an e es en", "er": "o es e en a as an", "ir": "o es e en a as an"}
SOFT = {"c": "qu", "g": "gu", "z": "c"}
HARD = {"c": "z", "g": "j"}


def respell(stem: str, ending: str, kind: str) -> str:
    """Keeps the sound of the stem's last consonant: tocar, toque; coger, cojo; nacer, nazco."""
    front = ending[0] in "eéií"
    if kind == "ar" and front and stem[-1] in SOFT:
        return stem[:-1] + SOFT[stem[-1]] + ending
    if kind != "ar" and not front and stem[-1] == "c" and stem[-2] in "aeiou":
        return stem[:-1] + "zc" + ending
    if kind != "ar" and not front and stem[-1] in HARD:
        return stem[:-1] + HARD[stem[-1]] + ending
    return stem + ending


def verb(entry: str) -> set:
    infinitive, _, changed = entry.partition("/")
    stem, kind = infinitive[:-2], infinitive[-2:]
    forms = {respell(stem, e, kind) for e in ENDINGS[kind].split()}
    if changed:
        forms -= {respell(stem, e, kind) for e in STRESSED[kind].split()}
        forms |= {respell(changed, e, kind) for e in STRESSED[kind].split()}
    return forms


def plural(word: str) -> str:
    unaccented = {"ión": "iones", "ón": "ones", "án": "anes", "és": "eses", "ín": "ines", "én": "enes", "ún": "unes"}
    for ending, many in unaccented.items():
        if word.endswith(ending):
            return word[: -len(ending)] + many
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-1] in "aeiouáéó":
        return word + "s"
    return word if word[-1] == "s" and len(word) > 4 else word + "es"


def adjective(word: str) -> set:
    if word.endswith("o"):
        forms = {word, word[:-1] + "a"}
        adverb = word[:-1] + "amente"
    elif word.endswith(("or", "és", "ón", "ín")):
        forms = {word, word.replace("és", "es").replace("ón", "on").replace("ín", "in") + "a"}
        adverb = None
    else:
        forms = {word}
        adverb = word + "mente"
    return forms | {plural(f) for f in forms} | ({adverb} if adverb else set())


def own(name: str) -> list:
    return words((OWN / f"{name}.txt").read_text(encoding="utf-8"))


def main() -> None:
    found = set(own("spanish-others"))
    for entry in own("spanish-verbs"):
        found |= verb(entry)
    for noun in own("spanish-nouns"):
        found |= {noun, plural(noun)}
    for entry in own("spanish-adjectives"):
        found |= adjective(entry)
    header = "Common Spanish words: the authors' stems, inflected"
    write_items("spanish-words", dict.fromkeys(w for w in found if len(w) > 1), header)

    clinical = set()
    for noun in own("clinical-nouns-es"):
        clinical |= {noun, plural(noun)} if noun.islower() and len(noun) > 3 else {noun}
    for entry in own("clinical-adjectives-es"):
        clinical |= adjective(entry)
    write_items("clinical-words-es", dict.fromkeys(clinical - found), "Spanish clinical words: the authors' stems, inflected")


if __name__ == "__main__":
    main()
