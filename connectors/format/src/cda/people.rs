//! Reads names and addresses in their natural order, and returns them in their parts.

use super::draft::{Attributes, Class, Draft};
use super::envelope::{Hole, Words};
use super::table;

/// Parts of names and addresses (HL7 v3 Data Types, ENXP and ADXP), with the labels of address parts.
const PARTS: [(&str, &str); 31] = [
    ("given", ""),
    ("family", ""),
    ("prefix", ""),
    ("suffix", ""),
    ("delimiter", ""),
    ("careOf", ""),
    ("validTime", ""),
    ("useablePeriod", ""),
    ("streetAddressLine", "STREET"),
    ("deliveryAddressLine", "STREET"),
    ("houseNumber", "STREET"),
    ("houseNumberNumeric", "STREET"),
    ("buildingNumberSuffix", "STREET"),
    ("streetName", "STREET"),
    ("streetNameBase", "STREET"),
    ("streetNameType", "STREET"),
    ("direction", "STREET"),
    ("unitID", "STREET"),
    ("unitType", "STREET"),
    ("additionalLocator", "STREET"),
    ("postBox", "STREET"),
    ("deliveryInstallationType", "STREET"),
    ("deliveryInstallationArea", "STREET"),
    ("deliveryInstallationQualifier", "STREET"),
    ("deliveryMode", "STREET"),
    ("city", "CITY"),
    ("precinct", "LOCATION-OTHER"),
    ("county", "LOCATION-OTHER"),
    ("state", "STATE"),
    ("postalCode", "ZIP"),
    ("country", "COUNTRY"),
];

/// A name or an address while it is read.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Number of open elements in it.
    inner: usize,
    /// Its parts by name; text between them, and other elements, have an empty name.
    all: Vec<(&'static str, String)>,
    /// The sender's reason for a missing value.
    null: Option<String>,
}

impl Parts {
    pub(super) fn start(&mut self, local: &[u8]) {
        self.inner += 1;
        let known = PARTS.iter().find(|(name, _)| name.as_bytes() == local);
        self.all
            .push((known.map_or("", |(name, _)| *name), String::new()));
    }

    pub(super) const fn end(&mut self) {
        self.inner = self.inner.saturating_sub(1);
    }

    pub(super) fn text(&mut self, text: &str) {
        let blank = text.trim().is_empty();
        match self.all.last_mut() {
            Some((_, part)) if self.inner > 0 => part.push_str(text),
            Some(("", part)) => part.push_str(text),
            // White space between parts is not a part.
            _ if blank => {}
            _ => self.all.push(("", text.to_owned())),
        }
    }

    fn of<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let of_name = self.all.iter().filter(move |(part, _)| *part == name);
        of_name.flat_map(|(_, text)| text.split_whitespace())
    }

    fn has_parts(&self) -> bool {
        self.of("given").chain(self.of("family")).next().is_some()
    }

    /// Returns a person's or an organization's name in natural order, without titles.
    pub(super) fn name(&self) -> String {
        let person = self.of("given").chain(self.of("family")).chain(self.of("suffix"));
        let all: Vec<&str> = if self.has_parts() {
            person.collect()
        } else {
            self.of("").collect()
        };
        all.join(" ")
    }

    fn words(&self) -> Words {
        if !self.has_parts() {
            return Words::default();
        }
        let given = self.all.iter().filter(|(part, _)| *part == "given");
        let given = given.map(|(_, text)| text.split_whitespace().count());
        Words {
            given: given.filter(|&count| count > 0).collect(),
            family: self.of("family").count(),
            suffix: self.of("suffix").count(),
        }
    }

    /// Returns a postal address on one line.
    pub(super) fn address(&self) -> String {
        let order = ["streetAddressLine", "city", "state", "postalCode"];
        let named = |name: &'static str| self.all.iter().filter(move |(part, _)| *part == name);
        let mut parts: Vec<&str> = order
            .iter()
            .flat_map(|name| named(name))
            .map(|(_, text)| text.trim())
            .collect();
        parts.retain(|part| !part.is_empty());
        if parts.is_empty() {
            let all = self.all.iter().flat_map(|(_, text)| text.split_whitespace());
            return all.collect::<Vec<_>>().join(" ");
        }
        parts.join(", ")
    }
}

/// Returns the label of a name within the element `parent`.
fn label_of(parent: &str, class: Class) -> &'static str {
    match parent {
        // Participants include next of kin and emergency contacts.
        "patient" | "guardianPerson" | "relatedPerson" | "associatedPerson" | "subject" => "PATIENT",
        "assignedPerson" | "informationRecipient" | "maintainingPerson" => "DOCTOR",
        _ if class == Class::Person => "PATIENT",
        _ => "HOSPITAL",
    }
}

impl Draft<'_> {
    /// Starts a name or an address with its attributes. Its start tag stays open.
    pub(super) fn parts(&mut self, mut attributes: Attributes) -> Parts {
        let null = attributes.take("@nullFlavor");
        self.attributes(attributes);
        Parts {
            null: null.and_then(|null| table::accepted("@nullFlavor", &null)),
            ..Parts::default()
        }
    }

    /// Ends a name.
    pub(super) fn named(&mut self, parts: &Parts) {
        if self.gone() {
            return self.close();
        }
        let class = self
            .frames
            .iter()
            .rev()
            .nth(1)
            .map_or(Class::Other, |frame| frame.class);
        let label = label_of(self.name(1), class);
        let name = parts.name();
        if parts
            .all
            .iter()
            .any(|(part, text)| !matches!(*part, "given" | "family" | "suffix") && !text.trim().is_empty())
            && parts.has_parts()
        {
            self.removed_at("*", "name");
        }
        if name.is_empty() {
            return self.empty(parts);
        }
        let number = self.identifier(label, &name, None);
        self.hole(Hole::Name(number, parts.words()));
        self.closed();
    }

    /// Ends an address.
    pub(super) fn addressed(&mut self, parts: &Parts) {
        if self.gone() {
            return self.close();
        }
        let labelled = |name: &str| {
            PARTS
                .iter()
                .find(|(part, _)| *part == name)
                .map(|(_, label)| *label)
        };
        let written: Vec<(&'static str, &str, &'static str)> = parts
            .all
            .iter()
            .map(|(name, text)| (*name, text.as_str(), labelled(name).unwrap_or("STREET")))
            .filter(|(_, text, _)| !text.trim().is_empty())
            .collect();
        if written.iter().all(|(_, _, label)| label.is_empty()) {
            if !written.is_empty() {
                self.removed_at("*", "address");
            }
            return self.empty(parts);
        }
        self.opened();
        for (name, text, label) in written {
            if label.is_empty() {
                self.removed_at("*", "address");
                continue;
            }
            let number = self.identifier(label, text, None);
            self.hole(if name.is_empty() {
                Hole::Text(number)
            } else {
                Hole::Element(name, number)
            });
        }
        self.close();
    }

    /// Ends an element that became empty.
    fn empty(&mut self, parts: &Parts) {
        let lost = parts.all.iter().any(|(_, text)| !text.trim().is_empty());
        let null = if lost { Some("MSK") } else { parts.null.as_deref() };
        if let Some(null) = null {
            self.attribute("@nullFlavor", null);
        }
        self.opened();
        self.close();
    }
}
