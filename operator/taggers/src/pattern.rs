//! The `pattern` member: dates, ages, telephone numbers, e-mail and network addresses, identifiers, postal
//! codes and streets, recognised by their shape and by surrounding words.
//!
//! It makes one pass over a note's tokens. Each token's word is looked up once (`lexicon`); its class, its
//! kind and its punctuation mark select the recognisers that are tried there, and each of those reads a
//! bounded number of tokens around it. So the cost of every note is linear in its length.

mod age;
mod cues;
mod date;
mod fold;
#[cfg(test)]
mod golden;
mod hits;
mod ids;
mod lexicon;
mod month;
mod net;
mod pager;
mod phone;
mod place;
mod postcode;
mod scan;
mod shapes;
mod spoken;
mod street;
mod street_es;
#[cfg(test)]
mod tests;
mod user;
mod words;
mod year;

use lethe_core::{
    Annotations, Cache, Caches, LabelError, LabelId, LabelSet, NoteBatch, TagError, Tagger, tag_each,
    vec_bytes,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use hits::{Hits, Kind, LABELS};
use lexicon::{Lexicon, class};
use scan::{FIRST, Scan, Tok};

/// The classes of words at which a recogniser starts; recognisers read words of the other classes only from
/// there.
const ACTIVE: u64 = class::MONTH
    | class::MONTH_WEAK
    | class::WEEKDAY
    | class::HOLIDAY
    | class::HOLIDAY_HEAD
    | class::SEASON
    | class::NUMBER
    | class::PHONE
    | class::FAX
    | class::PAGER
    | class::REACH
    | class::EXTENSION
    | class::TLD
    | class::SCHEME
    | class::USER
    | class::CALLE
    | class::ADDRESS
    | class::POSTAL
    | class::ROOM
    | class::BOX;

/// Which patterns are on, and for which languages.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The languages whose words and forms the patterns know.
    #[schemars(extend("examples" = [["en"]]))]
    pub languages: Vec<Language>,
    /// Whether to find dates, days of the week and years.
    pub dates: bool,
    /// Whether to find ages.
    pub ages: bool,
    /// Whether to find telephone, fax and pager numbers.
    pub phones: bool,
    /// Whether to find e-mail addresses, URLs, IP and MAC addresses.
    pub net: bool,
    /// Whether to find record, account, plan, licence, vehicle, device and other numbers, and user names.
    pub ids: bool,
    /// Whether to find streets, postal codes and rooms.
    pub places: bool,
    /// The minimum score of a span, 0 to 1.
    #[schemars(extend("x-unit" = "score"))]
    pub min_score: f32,
}

/// A language of the notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// English.
    En,
    /// Spanish.
    Es,
}

impl Language {
    /// Returns the same language with its words.
    const fn text(self) -> lethe_text::Language {
        match self {
            Self::En => lethe_text::Language::English,
            Self::Es => lethe_text::Language::Spanish,
        }
    }
}

impl Default for Config {
    /// Turns everything on, in both languages.
    fn default() -> Self {
        Self {
            languages: vec![Language::En, Language::Es],
            dates: true,
            ages: true,
            phones: true,
            net: true,
            ids: true,
            places: true,
            min_score: 0.5,
        }
    }
}

impl Config {
    /// Builds the member for a label set.
    ///
    /// # Errors
    /// [`LabelError::Missing`] if the label set lacks a label for a pattern.
    pub fn build(&self, labels: &LabelSet) -> Result<Pattern, LabelError> {
        let mut ids = [LabelId(0); LABELS.len()];
        for (id, name) in ids.iter_mut().zip(LABELS) {
            *id = labels.resolve(name)?;
        }
        Ok(Pattern {
            lexicon: Lexicon::new(&self.languages),
            spanish: self.languages.contains(&Language::Es),
            config: self.clone(),
            labels: ids,
            spare: Caches::default(),
        })
    }
}

/// The member.
pub struct Pattern {
    config: Config,
    lexicon: Lexicon,
    spanish: bool,
    labels: [LabelId; LABELS.len()],
    /// Token tables of finished batches, for reuse.
    spare: Caches<Spare>,
}

#[derive(Default)]
struct Spare {
    toks: Vec<Tok>,
    hits: Hits,
}

impl Cache for Spare {
    fn bytes(&self) -> usize {
        vec_bytes(&self.toks)
    }
}

/// The largest capacity of a token table that is kept for reuse: 6 MiB.
const MAX_SPARE: usize = 1 << 18;

impl Tagger for Pattern {
    fn name(&self) -> &str {
        "pattern"
    }

    fn tag(&self, batch: &NoteBatch) -> Vec<Result<Annotations, TagError>> {
        let mut spare = self.spare.take();
        let Spare { toks, hits } = &mut *spare;
        let answer = tag_each(batch, |note, out| {
            let mut s = Scan::new(note, &self.lexicon, toks);
            s.spanish = self.spanish;
            self.find(&s, hits);
            for hit in &hits.found {
                if hit.score >= self.config.min_score {
                    out.tokens(
                        hit.first - FIRST,
                        hit.last - FIRST,
                        self.labels[hit.kind as usize],
                        hit.score,
                        hit.rule,
                    );
                }
            }
        });
        // Memory for one huge note must not be kept forever.
        if toks.capacity() > MAX_SPARE {
            *spare = Spare::default();
        }
        answer
    }

    fn cache_bytes(&self) -> usize {
        self.spare.bytes()
    }
}

impl Pattern {
    /// Finds everything in a note, free of overlaps, in order.
    fn find(&self, s: &Scan<'_>, out: &mut Hits) {
        out.forget();
        for i in s.positions() {
            let tok = s.tok(i);
            if tok.digits() {
                self.number(s, i, out);
            } else if tok.letters() {
                if tok.is(ACTIVE | age::CUES) || tok.cue != 0 {
                    if tok.is(age::CUES) {
                        out.age_cue = i;
                    }
                    if tok.is(phone::CUES) {
                        out.phone_cue = i;
                    }
                    self.word(s, i, out);
                }
                if s.tok(i + 1).glued() && !tok.glued() {
                    self.code(s, i, out);
                } else if tok.len == 1 && tok.capital() && !tok.glued() && self.config.ids {
                    spoken::code(s, i, out);
                }
            } else {
                self.mark(s, i, out);
            }
        }
        out.settle();
    }

    /// Runs the recognisers for a digit run.
    fn number(&self, s: &Scan<'_>, i: usize, out: &mut Hits) {
        let on = &self.config;
        let (tok, next) = (s.tok(i), s.tok(i + 1));
        let inside = s.continues(i);
        if on.dates {
            if !inside {
                if date::may_begin(tok, next) {
                    let before = out.found.len();
                    date::at(s, i, out);
                    if on.ids
                        && out.found.len() > before
                        && let Some(&date) = out.found.last()
                    {
                        user::behind_date(s, date.last, out);
                    }
                }
            } else if s.before(i, 1).mark(b'-') && s.before(i, 3).mark(b'/') {
                // The second date of "03/12-03/15".
                date::at(s, i, out);
            }
            if tok.len == 4 {
                year::at(s, i, out);
            }
        }
        if on.phones && tok.len > 1 && !s.before(i, 1).mark(b'+') || tok.value == 1 {
            phone::at(s, i, out);
        }
        if on.phones && tok.len == 1 {
            spoken::digits(s, i, out);
        }
        if on.ages && tok.len <= 3 && age::may_be_at(s, i, out) {
            age::at(s, i, out);
        }
        if !inside {
            if on.ids {
                shapes::alone(s, i, out);
            }
            if on.net && next.glued() {
                if next.mark(b'.') {
                    net::ipv4(s, i, out);
                }
                if net::may_be_hexadecimal(s, i) {
                    net::hexadecimal(s, i, out);
                }
            }
        }
        if on.places {
            if tok.len == 5 {
                place::postal(s, i, out);
            }
            if !inside && s.has_streets() {
                street::american(s, i, out);
            }
        }
    }

    /// Runs the recognisers for a word of the lexicon.
    fn word(&self, s: &Scan<'_>, i: usize, out: &mut Hits) {
        let on = &self.config;
        let tok = s.tok(i);
        if on.dates {
            if tok.is(class::MONTH | class::MONTH_WEAK) {
                let before = out.found.len();
                month::at(s, i, out);
                spoken::date(s, i, out);
                if on.ids
                    && out.found.len() > before
                    && let Some(&date) = out.found.last()
                {
                    user::behind_date(s, date.last, out);
                }
            }
            if tok.is(class::WEEKDAY) {
                month::weekday(i, out);
            }
            if tok.is(class::HOLIDAY) {
                month::holiday(s, i, out);
            }
            if tok.is(class::HOLIDAY_HEAD) {
                month::named_day(s, i, out);
            }
            if tok.is(class::SEASON) {
                month::season(s, i, out);
            }
        }
        if tok.is(class::NUMBER) {
            if on.ages {
                age::at(s, i, out);
            }
            if on.dates {
                spoken::year(s, i, out);
            }
            if on.phones {
                spoken::digits(s, i, out);
            }
            if on.places && s.has_streets() {
                street::spoken(s, i, out);
            }
        }
        if on.phones && tok.is(class::PHONE | class::FAX | class::PAGER | class::REACH | class::EXTENSION) {
            phone::behind_cue(s, i, out);
        }
        if on.net {
            if tok.is(class::TLD) && s.before(i, 1).mark(b'.') {
                net::bare_url(s, i, out);
            }
            if tok.is(class::TLD) && s.word_is(i - 1, "dot") {
                spoken::address(s, i, out);
            }
            if tok.is(class::SCHEME) {
                net::url(s, i, out);
            }
        }
        if on.ids {
            if tok.cue != 0 {
                ids::behind_cue(s, i, out);
            }
            if tok.is(class::USER) {
                user::behind_cue(s, i, out);
            }
        }
        if on.places {
            if tok.is(class::CALLE) {
                street_es::spanish(s, i, out);
            }
            if tok.is(class::ADDRESS) {
                street_es::form_line(s, i, out);
            }
            if tok.is(class::POSTAL) {
                out.postal_cue = i;
                place::behind_cue(s, i, out);
            }
            if tok.is(class::ROOM) {
                place::room(s, i, out);
            }
            if tok.is(class::BOX) {
                street::post_box(s, i, out);
            }
            if tok.len == 1 && tok.is(class::CALLE) && s.tok(i + 1).mark(b'.') {
                place::behind_initials(s, i, out);
            }
        }
    }

    /// Runs the recognisers for the first token of a run of letters and digits without blanks.
    fn code(&self, s: &Scan<'_>, i: usize, out: &mut Hits) {
        let next = s.tok(i + 1);
        if self.config.ids && (next.wordlike() || next.mark(b'-')) {
            shapes::alone(s, i, out);
        }
        if self.config.net && net::may_be_hexadecimal(s, i) {
            net::hexadecimal(s, i, out);
        }
        if self.config.places {
            postcode::at(s, i, out);
        }
    }

    /// Runs the recognisers for a punctuation mark.
    fn mark(&self, s: &Scan<'_>, i: usize, out: &mut Hits) {
        let on = &self.config;
        match s.tok(i).mark {
            b'#' | b'|' if on.ids => shapes::behind_sign(s, i, out),
            b'@' if on.net => net::email(s, i, out),
            b'\'' if on.dates => year::apostrophe(s, i, out),
            b'+' if on.phones => phone::at(s, i, out),
            b'(' => {
                if on.phones && (s.tok(i + 1).digits() || s.tok(i + 1).mark(b'+')) {
                    phone::at(s, i, out);
                }
                if on.ids && s.tok(i + 1).number(2..=2, 1..=1) {
                    shapes::device_identifier(s, i, out);
                }
                if on.ids && s.tok(i + 1).letters() && s.before(i, 1).is(class::CREDENTIAL) {
                    user::bracketed(s, i, out);
                }
            }
            _ => {}
        }
    }
}
