//! Composes documents from templates.

use crate::carrier::{Carried, Carrier, Sentence};
use crate::cast::Cast;
use crate::chance::Chance;
use crate::institute::{Institute, Text};
use crate::kind::Kind;
use crate::page::Page;
use crate::slot::{MentionForm, Role, Slot};
use crate::template::{Node, Template};
use crate::{Kinds, Settings};

/// The maximum nesting of templates.
const DEEPEST: usize = 3;

/// Kinds of documents, with their frequencies.
const SORTS: &[(Option<Kind>, f64)] = &[
    // Carrier text with a header, insertions and a signature.
    (None, 0.36),
    (Some(Kind::Note), 0.16),
    (Some(Kind::Letter), 0.06),
    (Some(Kind::Form), 0.05),
    (Some(Kind::Visit), 0.09),
    (Some(Kind::Message), 0.08),
    (Some(Kind::Query), 0.08),
    (Some(Kind::Sentence), 0.12),
    (Some(Kind::Prose), 0.09),
];

/// The share of documents of a kind of text rather than an institute's own.
const OF_A_KIND: f64 = 0.4;

/// Writes one document.
pub(crate) struct Writer<'w> {
    cast: Cast<'w>,
    carriers: &'w [Carrier],
    kinds: &'w Kinds,
}

impl<'w> Writer<'w> {
    pub(crate) fn new(
        institute: &'w Institute,
        carriers: &'w [Carrier],
        settings: &'w Settings,
        chance: Chance,
    ) -> Self {
        Self {
            cast: Cast::new(institute, &settings.names, chance),
            carriers,
            kinds: &settings.kinds,
        }
    }

    /// Returns the source of choices after the page is written.
    pub(crate) fn into_chance(self) -> Chance {
        self.cast.chance
    }

    /// Returns a document with identifiers.
    pub(crate) fn document(&mut self) -> Page {
        let mut page = Page::default();
        if let Some(text) = self.of_a_kind() {
            self.cast.day_first = self.cast.chance.often(match text.name {
                "referral" => 0.8,
                "legal" | "news" => 0.55,
                "consultation" => 0.3,
                _ => 0.0,
            });
            if let Some(template) = text.template(&mut self.cast.chance) {
                self.template(template, 0, &mut page);
            }
            return page;
        }
        match self.cast.chance.weighted(&self.sorts(), Some(Kind::Note)) {
            None => self.around_carrier(&mut page),
            Some(kind @ (Kind::Sentence | Kind::Query)) => {
                // Short texts come alone or several at once, each about another person.
                let several = if self.cast.chance.often(0.6) {
                    1
                } else {
                    self.cast.chance.within(2, 5)
                };
                for _ in 0..several {
                    self.cast.forget_all();
                    self.line_end(&mut page);
                    self.part(kind, 0, &mut page);
                }
            }
            Some(kind) => {
                // An institute without a template of this kind writes a note.
                let kind = if self
                    .cast
                    .institute
                    .template(kind, &mut self.cast.chance.clone())
                    .is_some()
                {
                    kind
                } else {
                    Kind::Note
                };
                // Prose comes from any country.
                let is_english = self.cast.institute.language.is_none();
                self.cast.day_first = is_english && kind == Kind::Prose && self.cast.chance.often(0.55);
                self.part(kind, 0, &mut page);
            }
        }
        page
    }

    /// Returns the kind of text of the document; `None` for one of the institute's own.
    fn of_a_kind(&mut self) -> Option<&'w Text> {
        let institute = self.cast.institute;
        let texts: Vec<&Text> = institute
            .texts()
            .iter()
            .filter(|text| self.kinds.has(text.name))
            .collect();
        let only = matches!(self.kinds, Kinds::Only(_));
        if only || self.cast.chance.often(OF_A_KIND) {
            self.cast.chance.pick(&texts).copied()
        } else {
            None
        }
    }

    /// Returns the institute's own kinds of documents, without those that resemble a kind of text which is left out.
    fn sorts(&self) -> Vec<(Option<Kind>, f64)> {
        let texts = self.cast.institute.texts().iter();
        let without: Vec<Kind> = texts
            .filter(|text| !self.kinds.has(text.name))
            .flat_map(Text::kinds)
            .filter(|kind| *kind != Kind::Note)
            .collect();
        let sorts = SORTS.iter().copied();
        sorts
            .filter(|(kind, _)| kind.is_none_or(|kind| !without.contains(&kind)))
            .collect()
    }

    /// Returns a document without an identifier.
    pub(crate) fn negative(&mut self) -> Page {
        let mut page = Page::default();
        let of_carrier = !self.carriers.is_empty() && self.cast.chance.often(0.4);
        if of_carrier {
            let length = self.cast.chance.within(150, 1500);
            self.carrier(length, false, 0.0, &mut page);
        }
        if page.pieces.is_empty() {
            self.part(Kind::Negative, 0, &mut page);
        }
        page
    }

    fn line_end(&self, page: &mut Page) {
        if page.is_within_line() {
            page.text("\n");
        }
    }

    /// Writes a template of a kind.
    fn part(&mut self, kind: Kind, depth: usize, page: &mut Page) {
        let institute = self.cast.institute;
        let Some(template) = institute
            .template(kind, &mut self.cast.chance)
            .filter(|_| depth < DEEPEST)
        else {
            return;
        };
        self.template(template, depth, page);
    }

    fn template(&mut self, template: &'w Template, depth: usize, page: &mut Page) {
        let begun = page.pieces.len();
        let before = page.pieces.last().map_or(0, |piece| piece.text.len());
        self.nodes(&template.nodes, depth, page);
        if template.in_capitals {
            page.capitals_from(begun, before);
        }
    }

    fn nodes(&mut self, nodes: &[Node], depth: usize, page: &mut Page) {
        for node in nodes {
            match node {
                Node::Text(text) => page.text(text),
                Node::OneOf(branches) => {
                    let branch = self.cast.chance.pick(branches).map_or(&[][..], Vec::as_slice);
                    self.nodes(branch, depth, page);
                }
                Node::Slot(Slot::Part(kind)) => self.part(*kind, depth + 1, page),
                Node::Slot(Slot::Carrier) => {
                    let length = self.cast.chance.within(150, 1300);
                    self.carrier(length, true, 0.0, page);
                }
                Node::Slot(slot) => self.cast.write(slot, page),
            }
        }
    }

    fn around_carrier(&mut self, page: &mut Page) {
        let chance = &mut self.cast.chance;
        let (header, footer, signature) = (chance.often(0.8), chance.often(0.4), chance.often(0.75));
        let length = chance.within(400, 3600);
        let dense = 0.05 + 0.25 * chance.unit();
        if header {
            self.part(Kind::Header, 0, page);
            page.text(if self.cast.chance.often(0.7) { "\n\n" } else { "\n" });
        }
        self.carrier(length, true, dense, page);
        for (wanted, kind) in [(signature, Kind::Signature), (footer, Kind::Footer)] {
            if wanted {
                page.text("\n\n");
                self.part(kind, 0, page);
            }
        }
    }

    /// Writes about `length` characters of a carrier from a line on, with insertions after sentences at this
    /// rate; without a carrier, clinical sentences. Without `identifiers`, sentences that have one are left
    /// out.
    fn carrier(&mut self, length: i64, identifiers: bool, dense: f64, page: &mut Page) {
        let carriers = self.carriers;
        let Some(carrier) = self.cast.chance.pick(carriers) else {
            for _ in 0..(length / 90).max(2) {
                self.part(Kind::Clinical, 0, page);
                page.text(" ");
                self.perhaps_insert(dense, page);
            }
            return;
        };
        let from = if self.cast.chance.often(0.4) {
            0
        } else {
            self.cast.chance.below(carrier.lines.len())
        };
        let mut left = length;
        for line in carrier.lines.iter().skip(from) {
            self.line_end(page);
            for sentence in line {
                if !identifiers && !is_bare(sentence) {
                    continue;
                }
                left -= self.sentence(sentence, identifiers, page);
                self.perhaps_insert(dense, page);
                if left <= 0 {
                    return;
                }
            }
        }
    }

    fn perhaps_insert(&mut self, dense: f64, page: &mut Page) {
        if !self.cast.chance.often(dense) {
            return;
        }
        // "…normal.  Her daughter": an insertion is a separate sentence.
        let blank = page
            .pieces
            .last()
            .is_none_or(|piece| piece.text.ends_with([' ', '\n']));
        page.text(if blank { "" } else { " " });
        if self.cast.chance.often(0.35) {
            self.cast.forget_some();
        }
        self.part(Kind::Insert, 0, page);
        page.text(" ");
    }

    /// Writes a sentence of a carrier and returns its length.
    fn sentence(&mut self, sentence: &Sentence, identifiers: bool, page: &mut Page) -> i64 {
        let mut length = 0;
        for (place, carried) in sentence.nodes.iter().enumerate() {
            match carried {
                Carried::Node(Node::Text(text)) => {
                    length += i64::try_from(text.len()).unwrap_or(i64::MAX);
                    match text
                        .strip_prefix("The patient ")
                        .filter(|_| place == 0 && identifiers)
                    {
                        Some(rest) if self.cast.chance.often(0.15) => {
                            let form = self.cast.chance.weighted(
                                &[
                                    (MentionForm::Mr, 0.5),
                                    (MentionForm::First, 0.2),
                                    (MentionForm::Last, 0.15),
                                    (MentionForm::Any, 0.15),
                                ],
                                MentionForm::Mr,
                            );
                            self.cast.write(&Slot::Person(Role::Patient, form, false), page);
                            page.text(" ");
                            page.text(rest);
                        }
                        _ => page.text(text),
                    }
                }
                Carried::Node(node) => self.nodes(std::slice::from_ref(node), 0, page),
                Carried::Kept(label, text) => page.value(label, text),
            }
        }
        length
    }
}

fn is_bare(sentence: &Sentence) -> bool {
    sentence
        .nodes
        .iter()
        .all(|carried| matches!(carried, Carried::Node(Node::Text(_))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Noise;

    /// Returns the kinds of text that are drawn, and the institute's own kinds.
    fn drawn(kinds: Kinds) -> (BTreeSet<Option<&'static str>>, Vec<Option<Kind>>) {
        let institute = Institute::new("cedar").unwrap();
        let settings = Settings {
            seed: 1,
            institutes: Vec::new(),
            kinds,
            negatives: 0.0,
            noise: Noise::NONE,
            disguises: Vec::new(),
            names: Vec::new(),
        };
        let mut writer = Writer::new(&institute, &[], &settings, Chance::new(1, 1));
        let texts = (0..2000)
            .map(|_| writer.of_a_kind().map(|text| text.name))
            .collect();
        let own = writer.sorts().into_iter().map(|(kind, _)| kind).collect();
        (texts, own)
    }

    #[test]
    fn every_kind_of_text_is_written_beside_the_institutes_own() {
        let (texts, own) = drawn(Kinds::All);
        let all: BTreeSet<_> = crate::kinds().map(Some).chain([None]).collect();
        assert_eq!(texts, all);
        assert_eq!(own.len(), SORTS.len());
    }

    #[test]
    fn nothing_but_the_kinds_that_are_asked_for_is_written() {
        let (texts, _) = drawn(Kinds::Only(vec!["radiology".to_owned()]));
        assert_eq!(texts, BTreeSet::from([Some("radiology")]));
    }

    #[test]
    fn a_kind_that_is_left_out_takes_what_resembles_it_with_it() {
        let (texts, own) = drawn(Kinds::Without(vec!["consultation".to_owned()]));
        assert!(
            !texts.contains(&Some("consultation")) && texts.contains(&None) && texts.contains(&Some("email"))
        );
        assert!(!own.contains(&Some(Kind::Visit)) && own.contains(&Some(Kind::Note)));
        // Notes of an institute are of many kinds.
        let (_, own) = drawn(Kinds::Without(vec!["radiology".to_owned()]));
        assert_eq!(own.len(), SORTS.len());
    }
}
