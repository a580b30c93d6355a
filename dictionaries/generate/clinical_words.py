"""English clinical words: rarer SCOWL words of medical form, and the authors' own list.

SCOWL's classes 55 to 80 hold many words that no general text needs and every
clinical note has; their Greek and Latin parts identify them. The words of
`own/clinical-words-en.txt` are the authors', with plurals made here; those of
`own/clinical-words-more-en.txt` are taken as they are.
"""

import re
import sys
from pathlib import Path

from common import read, words, write_items

OWN = Path(__file__).resolve().parent / "own"
FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/dict/scowl")
ENDINGS = (
    "itis itides ectomy ectomies otomy otomies ostomy ostomies osis oses otic emia aemia emic uria uric algia algic scopy scopies scopic "
    "scope gram grams graphy graphic plasty plasties plastic oma omas omata pathy pathies pathic penia penic plegia plegic paresis "
    "rrhea rrhoea rrhagia rrhage rrhagic rrhaphy cele centesis desis lysis lytic lytics megaly phagia phasia phasic phobia plasia "
    "plasm pnea pnoea poiesis ptosis sclerosis spasm spasms stasis static stenosis stenotic therapy therapies trophy trophic "
    "tomy tome cyte cytes cytic cytosis blast blasts kinesia kinetic lith lithiasis mycin cillin azole olol pril sartan statin "
    "caine dipine mab tinib vir ectasis ectasia edema oedema esthesia aesthesia cardia cardial cardiac vascular venous arterial "
    "pulmonary hepatic renal gastric enteric cranial cerebral spinal vertebral dural pleural peritoneal thoracic thorax abdominal "
    "dermal dermic cutaneous mucosal muscular neural neuronal ocular optic otic nasal oral lingual pharyngeal laryngeal tracheal "
    "bronchial esophageal colic rectal anal vesical urethral ureteral uterine ovarian vaginal prostatic testicular osseous condylar"
).split()
STARTS = (
    "angi arteri arthr atri bronch cardi cephal cerebr cholecyst cholang chondr colo cyst cyto derm echo electro encephal endo enter "
    "erythr fibr gastr gingiv gluc glyc gynec hem hepat hist hydro hyper hypo hyster immuno intra laparo laryng leuk lip lymph mamm "
    "mening micro myel myo nephr neur ophthal orchi osteo ot para peri pharyng phleb pneum poly proct psych pyel radio rect retro rhin "
    "salping scler splen spondyl stern stomat sub supra tendon thorac thromb thyr trache trans ureter urethr utero vas ven ventricul vertebr"
).split()


def medical(word: str) -> bool:
    ending = any(word.endswith(e) and len(word) > len(e) + 2 for e in ENDINGS)
    return ending and (len(word) >= 9 or any(word.startswith(s) for s in STARTS))


def plural(word: str) -> str:
    if re.search(r"(is)$", word):
        return word[:-2] + "es"
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|ch|sh)$", word) else "s")


def main() -> None:
    known = read("english-words")
    found = set()
    for size in (55, 60, 70, 80):
        for group in ("english-words", "american-words"):
            path = FOLDER / f"{group}.{size}"
            if path.exists():
                found |= {w for w in path.read_text(encoding="latin-1").splitlines() if w.isalpha() and w.islower() and medical(w)}
    for word in words((OWN / "clinical-words-en.txt").read_text(encoding="utf-8")):
        is_noun = word.isalpha() and len(word) > 3 and not re.search(r"(ed|ing|ly|al|ic|ous|us|ant|ar|ive|ae|able)$", word)
        found |= {word, plural(word)} if is_noun else {word}
    found |= set(words((OWN / "clinical-words-more-en.txt").read_text(encoding="utf-8")))
    found = {w for w in found if w not in known}
    write_items("clinical-words-en", dict.fromkeys(found), "Clinical words: SCOWL 2020.12.07 classes 55 to 80 by form, and the authors' own list")


if __name__ == "__main__":
    main()
