//! The people and facts of a document: the value of every slot, generated on first use and then fixed.

mod composed;
mod days;
mod institutions;
mod numbers;
mod parts;
mod people;
mod places;
mod spoken;
mod words;

use std::collections::HashMap;

use jiff::civil::Date;

pub(crate) use self::people::Person;
use crate::Name;
use crate::chance::Chance;
use crate::institute::Institute;
use crate::page::{Page, Piece};
use crate::slot::{Day, Item, Party, Role, Slot};

/// The values of one document.
pub(crate) struct Cast<'i> {
    pub(crate) institute: &'i Institute,
    pub(crate) chance: Chance,
    /// Whether dates are written day first, regardless of the institute.
    pub(crate) day_first: bool,
    /// Names that replace the institute's; empty for none.
    names: &'i [Name],
    people: HashMap<Role, Person>,
    days: HashMap<Day, Date>,
    items: HashMap<Item, Vec<Piece>>,
    parties: HashMap<Party, String>,
}

impl<'i> Cast<'i> {
    pub(crate) fn new(institute: &'i Institute, names: &'i [Name], chance: Chance) -> Self {
        Self {
            institute,
            chance,
            day_first: false,
            names,
            people: HashMap::new(),
            days: HashMap::new(),
            items: HashMap::new(),
            parties: HashMap::new(),
        }
    }

    /// Resets everything for another document.
    pub(crate) fn forget_all(&mut self) {
        self.people.clear();
        self.days.clear();
        self.items.clear();
        self.parties.clear();
    }

    /// Resets the patient, the visit and the hospital stay.
    pub(crate) fn forget_some(&mut self) {
        self.people
            .retain(|role, _| matches!(role, Role::Patient | Role::Doctor));
        self.days.retain(|day, _| {
            matches!(
                day,
                Day::Visit | Day::Admit | Day::Discharge | Day::Birth | Day::Signed
            )
        });
        self.items
            .retain(|item, _| matches!(item, Item::Hospital | Item::Mrn | Item::State | Item::StateAbbr));
    }

    /// Writes a slot that is not a template.
    pub(crate) fn write(&mut self, slot: &Slot, page: &mut Page) {
        match slot {
            Slot::Person(role, form, capital) => self.write_person(*role, *form, *capital, page),
            Slot::Date(day, written) => self.write_date(*day, *written, page),
            Slot::Item(item) => {
                let pieces = self.item(*item);
                page.append(Page { pieces });
            }
            Slot::Spoken(item) => self.say(*item, page),
            Slot::Party(form) => {
                let text = self.party(*form);
                page.text(&text);
            }
            Slot::Filler(key) => {
                let text = self.institute.filler(key, &mut self.chance);
                page.text(&text);
            }
            Slot::Time => {
                let time = match self.institute.language {
                    Some(language) => days::time(language, &mut self.chance),
                    None => words::time(&mut self.chance),
                };
                page.text(&time);
            }
            Slot::Number => {
                let number = self.chance.within(2, 12).to_string();
                page.text(&number);
            }
            Slot::Part(_) | Slot::Carrier => {}
        }
    }

    /// Writes an item as it is said.
    fn say(&mut self, item: Item, page: &mut Page) {
        for piece in self.item(item) {
            let Some(label) = piece.label else {
                page.text(&piece.text);
                continue;
            };
            let said = match item {
                Item::Email | Item::EmailDoctor | Item::Url => spoken::address(&piece.text, &mut self.chance),
                Item::Street => spoken::street(&piece.text, &mut self.chance),
                _ => spoken::code(&piece.text, &mut self.chance),
            };
            page.value(label, &said);
        }
    }

    fn item(&mut self, item: Item) -> Vec<Piece> {
        if let Some(pieces) = self.items.get(&item) {
            return pieces.clone();
        }
        let pieces = self.make(item);
        self.items.insert(item, pieces.clone());
        pieces
    }

    /// Returns the first identifier of an item, from which others are derived.
    fn text_of(&mut self, item: Item) -> String {
        self.item(item)
            .first()
            .map(|piece| piece.text.clone())
            .unwrap_or_default()
    }

    fn make(&mut self, item: Item) -> Vec<Piece> {
        if let Some((label, text)) = self.place(item) {
            return one(label, text);
        }
        if item == Item::Address {
            return self.address();
        }
        let (label, text) = self.number(item);
        one(label, text)
    }

    fn address(&mut self) -> Vec<Piece> {
        let mut page = Page::default();
        if self.institute.language.is_some() {
            for (item, after) in [(Item::Street, ", "), (Item::Zip, " "), (Item::City, "")] {
                page.append(Page {
                    pieces: self.item(item),
                });
                page.text(after);
            }
            return page.pieces;
        }
        let state = if self.chance.often(0.85) {
            Item::StateAbbr
        } else {
            Item::State
        };
        let between = if self.chance.often(0.85) { ", " } else { " " };
        for (item, after) in [
            (Item::Street, between),
            (Item::City, ", "),
            (state, " "),
            (Item::Zip, ""),
        ] {
            page.append(Page {
                pieces: self.item(item),
            });
            page.text(after);
        }
        page.pieces
    }
}

fn one(label: &'static str, text: String) -> Vec<Piece> {
    let mut page = Page::default();
    page.value(label, &text);
    page.pieces
}
