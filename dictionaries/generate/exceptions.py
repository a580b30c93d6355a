"""exceptions.txt of the name and place lists: entries that are ordinary or medical words too.

A surname like "Long" or a town like "Many" is kept in its list, but must not be
taken for a name on its own. An entry is an exception if it is one word and
English, Spanish or clinical word lists hold it, unless the census says that it
is far more often a name ("Smith"), or the word is too rare to matter.
"""

from common import fold, read, words, write_exceptions

# Written as words too, yet in a note nearly always names.
NAMES = set(
    words(
        "smith taylor miller jones davis wilson johnson anderson thomas jackson harris martin thompson garcia martinez robinson clark "
        "rodriguez lewis lee walker allen hernandez lopez gonzalez nelson carter mitchell perez roberts turner phillips campbell "
        "parker evans edwards collins stewart sanchez morris rogers reed bailey bell murphy rivera richardson cox howard torres "
        "peterson gray ramirez james watson brooks sanders bennett ross henderson coleman jenkins perry powell patterson hughes "
        "flores washington butler simmons foster bryant alexander russell griffin diaz hayes john robert michael william david "
        "richard joseph charles christopher daniel paul donald george kenneth steven edward brian ronald anthony kevin jason "
        "matthew gary timothy jose larry jeffrey scott eric andrew raymond jack jerry dennis peter henry carl arthur ryan roger "
        "mary patricia linda barbara elizabeth jennifer maria susan margaret dorothy lisa nancy karen betty helen sandra donna "
        "carol ruth sharon michelle laura sarah kimberly deborah jessica shirley cynthia angela melissa brenda amy anna"
    )
)
# The same for Spanish surnames: capitalised in a note, a person.
SURNAMES_ES = set(
    words(
        "navarro romero torres vargas molina ortega serrano castro marin iglesias medina castillo garrido guerrero cano prieto cruz "
        "flores herrera marquez leon pena cabrera reyes campos vega fuentes carrasco caballero nieto aguilar pascual herrero lorenzo "
        "montero hidalgo ferrer santana vicente duran mora arias crespo pastor soto moya rivas parra bravo gallardo esteban merino "
        "sierra blanco rubio moreno delgado acosta maldonado castellano gallego aleman lozano vidal cortes luna palacios rivera "
        "ramos santos morales salinas roldan valera moran falcon angulo vallejo barrera conde guerra correa vera "
        "calvo segura soler sole rojas rios robles salas rosales rueda roman paredes polo pardo palomino rincon roca sosa tapia costa cuevas "
        "corral cordero colon castano canales camps cabello bello barrios arenas alegre diez casas casado canals llamas llanos leal lopes "
        "mata miro montes naranjo olmo pinto redondo ribera salvador tomas tome valles vaca vives viera vigil tirado tena sales rosas ros "
        "quintana perales munoz marco llano lobo font espinal cano carrion chamorro criado frias fuertes lago marques olmos pagan prados "
        "rico rey reina porto plata oliver lope izquierdo catalan calzada cadenas camara baños bueno botella"
    )
)
# Months, weekdays, relatives and the like are words in every list.
CLOSED = "months-en months-es weekdays-en weekdays-es relatives-en relatives-es titles-en titles-es demonyms-en languages".split()
# Words whose capitalised form in a note is nearly always itself.
FORCED = set(words("may will grant mark faith iris rose hope grace joy dawn art bill pat sue rich gene page price young long brown white black green"))


def ordinary(english_class: int) -> set:
    found = {fold(w) for w, size in read("english-words").items() if size <= english_class}
    for list_id in ("spanish-words", "clinical-words-en", "clinical-words-es", "drugs", *CLOSED):
        found |= {fold(w) for w in read(list_id)}
    return found | FORCED


def single(entry: str) -> bool:
    return entry.replace(".", "").isalpha()


def main() -> None:
    header = "Entries that are ordinary words too; made by generate/exceptions.py"
    common, wide = ordinary(35) - NAMES, ordinary(50)
    eponyms = {fold(w) for w in read("eponyms") if single(w)} - NAMES
    doubtful = wide | eponyms
    for list_id in ("us-given-names-female", "us-given-names-male", "es-given-names-female", "es-given-names-male", "world-given-names"):
        given = read(list_id)
        write_exceptions(list_id, [n for n in given if fold(n) in common or len(n) < 3], header)
    for list_id in ("us-surnames", "es-surnames", "world-surnames"):
        surnames = read(list_id)
        # A rare surname needs only a rare word, an eponym or a short form to be doubted.
        doubted = [
            n
            for n, share in surnames.items()
            if (fold(n) in common and not (list_id == "es-surnames" and fold(n) in SURNAMES_ES))
            or len(n) < 3
            or ((share or 0) < 20 and list_id == "us-surnames" and fold(n) in doubtful)
            or (fold(n) in eponyms and list_id == "us-surnames")
        ]
        write_exceptions(list_id, doubted, header)
    people = {fold(n) for i in ("us-given-names-female", "us-given-names-male") for n, share in read(i).items() if (share or 0) >= 5}
    people |= {fold(n) for n, share in read("us-surnames").items() if (share or 0) >= 20}
    for list_id in ("us-cities", "world-cities", "es-cities", "es-places"):
        doubted = [
            n
            for n, population in read(list_id).items()
            if single(n) and (fold(n) in doubtful or ((population or 0) < 100_000 and fold(n) in people))
        ]
        write_exceptions(list_id, doubted, header)
    ambiguous = wide | people
    for list_id in ("organizations", "health-insurers", "universities", "us-hospitals", "es-hospitals", "world-regions", "es-communities", "countries-en", "countries-es"):
        doubted = [n for n in read(list_id) if single(n) and fold(n) in ambiguous]
        write_exceptions(list_id, doubted, header)
    abbreviations = [n for n in read("us-state-abbreviations") if fold(n) in wide or n in ("PA", "MD", "MS", "MA", "CA", "CO", "ID", "AL", "LA", "DC", "CT", "MO", "MI", "MT", "MN", "ND", "NE", "PR", "VA", "SC", "SD", "WA", "AR", "DE", "GA")]
    write_exceptions("us-state-abbreviations", abbreviations, header)


if __name__ == "__main__":
    main()
