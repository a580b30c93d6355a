//! The words that make a word for an origin one about a person, folded, with the rule that each triggers.

use crate::lexicon::WordTable;
use crate::pattern::Language;

/// The kind of cue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cue {
    /// A word for a person, which follows: "a Somali woman".
    Person,
    /// The end of an age, which precedes: "45-year-old Hispanic".
    Old,
    /// A word for descent or belonging, which follows: "of Nigerian origin".
    Descent,
    /// "member of the Roma community".
    Community,
    /// "he is Jewish".
    Be,
    /// "devout Catholic".
    Faith,
    /// "speaks Farsi".
    Speak,
    /// "Punjabi-speaking", "speaking Farsi".
    Speaking,
    /// "Somali-born".
    Born,
    /// "through a Tigrinya interpreter".
    Interpreter,
    /// The key of a form: "Ethnicity: Hispanic".
    Key,
    /// A word for a person, which precedes: "mujer marroquí".
    PersonEs,
    /// "es musulmana".
    BeEs,
    /// "católica practicante".
    Practising,
    /// "de nacionalidad rumana", "Religión: católica".
    DescentEs,
}

const ENGLISH: &[(Cue, &str)] = &[
    (
        Cue::Person,
        "woman man male female gentleman lady girl boy person adult child infant baby toddler teenager \
         adolescent individual patient pt mother father mom dad husband wife parent parents sister brother son \
         daughter grandmother grandfather grandparents partner girlfriend boyfriend fiance fiancee spouse family \
         couple national nationals citizen citizens immigrant immigrants migrant migrants emigrant refugee \
         refugees expatriate speaker speakers widow widower veteran newborn neonate youth prisoner detainee \
         asylum applicant applicants claimant client",
    ),
    (Cue::Old, "old yo"),
    (
        Cue::Descent,
        "origin origins descent ancestry heritage extraction ethnicity nationality citizenship background race \
         religion faith lineage parentage roots passport",
    ),
    (
        Cue::Community,
        "community church tribe congregation mosque synagogue temple",
    ),
    (Cue::Be, "is was being identifies identified identify"),
    (
        Cue::Faith,
        "practising practicing devout observant lapsed raised converted strict nonpractising nonpracticing",
    ),
    (
        Cue::Speak,
        "speaks speak spoke spoken fluent understands conversant",
    ),
    (Cue::Speaking, "speaking"),
    (Cue::Born, "born"),
    (
        Cue::Interpreter,
        "interpreter interpreters translator translators",
    ),
    (
        Cue::Key,
        "race ethnicity ethnic religion religious nationality citizenship language languages tongue \
         denomination",
    ),
];

const SPANISH: &[(Cue, &str)] = &[
    (
        Cue::PersonEs,
        "mujer varon hombre paciente senora senor nino nina madre padre padres abuela abuelo ciudadano \
         ciudadana subdito subdita joven anciano anciana marido esposa esposo pareja familia inmigrante \
         refugiado refugiada adolescente chico chica cuidadora cuidador hermano hermana hijo hija lactante \
         gestante",
    ),
    (Cue::BeEs, "es era"),
    (Cue::Practising, "practicante"),
    (
        Cue::DescentEs,
        "nacionalidad origen etnia raza religion ascendencia confesion fe idioma lengua",
    ),
    (
        Cue::Speak,
        "habla hablan hablaba hablar entiende comprende hablante",
    ),
    (Cue::Interpreter, "interprete traductor traductora"),
];

/// Words that stand between a word for an origin and the person: "Hispanic, right-handed male".
const FILLERS: &str = "handed right left obese overweight elderly old older young younger middle aged adult single \
    married divorced widowed retired non smoking speaking born year years yr yrs month months day days week weeks \
    y o yo ambidextrous pregnant healthy well nourished developed thin frail pleasant teenage male female asylum \
    female divorced gravid primigravid nulliparous multiparous postmenopausal";

/// Words before a colour that is a person's: "this black man".
const OPENERS: &str = "a an the this that is was old yo y o for of in";

/// Subjects of "is Jewish".
const SUBJECTS: &str = "he she who patient pt applicant mother father mom dad wife husband family parents client \
    brother sister son daughter partner boyfriend girlfriend spouse claimant donor himself herself woman man \
    resident child baby paciente madre padre marido esposa esposo mujer hombre familia pareja varon";

/// Words behind "he is Jewish", after which it is no attribute of a thing.
const BEHIND: &str = "and or but with who by from on in since now as per presenting presents presented admitted \
    male female woman man lady gentleman so because although though living born at only fluently well therefore \
    y e o u pero con que practicante desde del en para ni sin m f c s h w";

/// Words between "is" and a word for an origin.
const DEGREES: &str = "a an originally also ethnically of both half part partly mixed non not as practising \
    practicing devout strict native self herself himself themselves un una muy no";

/// What a word for the person's language has around it.
const SPEECH: &str = "in only fluently both primarily mainly mostly some little limited no good broken basic native \
    a very also predominantly exclusively not any solo solamente unicamente bien poco algo de el la apenas \
    perfectamente correctamente principalmente muy";

/// What stands between a language and its interpreter.
const INTERPRETING: &str = "phone telephone video medical certified in person hospital language line live \
    professional ipad remote court female male qualified staff family";

/// What stands between the key of a form and its value.
const KEY_PARTS: &str = "affiliation preference preferences spoken preferred primary group background origin status \
    of patient communication at home choice materna nativa religiosa ethnicity race or and group identity s is was \
    nationality language religion";

/// Values of forms that say nothing.
const EMPTY_VALUES: &str = "unknown none declined refused other not yes no n na denies deferred patient unable see \
    normal intact fluent needed required unspecified unavailable pending male female masculino femenino desconocido desconocida ninguna ninguno \
    otra otro si sin nil negative positive appropriate clear coherent clara fluida";

/// Things of which a word for a person is an attribute.
const THINGS: &str = "information leaflet leaflets questionnaire education history care medicine physician physicians \
    practice practitioner doctor safety guideline guidelines society association portal forum health hospital ward \
    population version study trial trials data cohort law laws court courts authority authorities security police \
    registry formulary insurance team service services legislation identity id assembly bank park day program \
    programme strategy average holiday anthem level currency minority television press planning therapy rights \
    record records database survey statistics army guard library museum";

/// A role that a word has next to a cue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Role(u16);

impl Role {
    pub(super) const FILLER: Self = Self(1);
    pub(super) const OPENER: Self = Self(1 << 1);
    pub(super) const SUBJECT: Self = Self(1 << 2);
    pub(super) const BEHIND: Self = Self(1 << 3);
    pub(super) const DEGREE: Self = Self(1 << 4);
    pub(super) const SPEECH: Self = Self(1 << 5);
    pub(super) const INTERPRETING: Self = Self(1 << 6);
    pub(super) const KEY_PART: Self = Self(1 << 7);
    pub(super) const EMPTY_VALUE: Self = Self(1 << 8);
    pub(super) const THING: Self = Self(1 << 9);
}

const ROLES: &[(Role, &str)] = &[
    (Role::FILLER, FILLERS),
    (Role::OPENER, OPENERS),
    (Role::SUBJECT, SUBJECTS),
    (Role::BEHIND, BEHIND),
    (Role::DEGREE, DEGREES),
    (Role::SPEECH, SPEECH),
    (Role::INTERPRETING, INTERPRETING),
    (Role::KEY_PART, KEY_PARTS),
    (Role::EMPTY_VALUE, EMPTY_VALUES),
    (Role::THING, THINGS),
];

/// The cue words and the words around them, by their hash.
pub(super) struct Cues {
    cues: WordTable<Cue>,
    roles: WordTable<Role>,
}

impl Cues {
    /// Creates the tables of these languages.
    pub(super) fn new(languages: &[Language]) -> Self {
        let tables = [(Language::En, ENGLISH), (Language::Es, SPANISH)];
        let cues = tables
            .iter()
            .filter(|(language, _)| languages.contains(language))
            .flat_map(|(_, table)| table.iter())
            .flat_map(|&(cue, words)| words.split_ascii_whitespace().map(move |word| (word, cue)));
        let roles = ROLES
            .iter()
            .flat_map(|&(role, words)| words.split_ascii_whitespace().map(move |word| (word, role)));
        Self {
            // "Religión" and "religion" are one word here, and the rule of the later entry includes the other's.
            cues: WordTable::new(cues, |_, later| later),
            roles: WordTable::new(roles, |a, b| Role(a.0 | b.0)),
        }
    }

    /// Returns the cue of a folded word.
    #[inline]
    pub(super) fn get(&self, word: &str) -> Option<Cue> {
        self.cues.get(word)
    }

    /// Returns whether a folded word has this role.
    pub(super) fn is(&self, word: &str, role: Role) -> bool {
        self.roles.get(word).unwrap_or_default().0 & role.0 != 0
    }

    /// Returns whether a folded word stands behind a phrase.
    pub(super) fn is_behind(&self, word: &str) -> bool {
        self.is(word, Role::BEHIND)
    }
}
