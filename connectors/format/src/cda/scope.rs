//! Resolves prefixes to the known namespaces (Namespaces in XML 1.0).

use quick_xml::events::BytesStart;

use super::table::Space;

/// Maximum number of declarations in force. Documents have three or four at their root.
const MAX_DECLARATIONS: usize = 64;

/// The declarations that are in force.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The prefix, its namespace, and the depth of its element.
    all: Vec<(Vec<u8>, Space, usize)>,
}

/// There are too many declarations.
#[derive(Debug)]
pub(super) struct TooMany;

impl Scope {
    /// Starts the element at depth `depth`.
    ///
    /// # Errors
    /// [`TooMany`]
    pub(super) fn start(&mut self, start: &BytesStart<'_>, depth: usize) -> Result<(), TooMany> {
        if start.attributes_raw().is_empty() {
            return Ok(());
        }
        let mut all = start.attributes();
        for one in all.with_checks(false).flatten() {
            let key = one.key.as_ref();
            let prefix = match key.strip_prefix(b"xmlns") {
                Some(b"") => b"".as_slice(),
                Some(rest) if rest.first() == Some(&b':') => rest.get(1..).unwrap_or_default(),
                _ => continue,
            };
            if self.all.len() >= MAX_DECLARATIONS {
                return Err(TooMany);
            }
            self.all.push((prefix.to_vec(), Space::of(&one.value), depth));
        }
        Ok(())
    }

    /// Ends the element at depth `depth`.
    pub(super) fn end(&mut self, depth: usize) {
        while self.all.last().is_some_and(|(_, _, at)| *at >= depth) {
            self.all.pop();
        }
    }

    /// Returns the namespace of an element's prefix. The prefixes of HL7's documents are known without a
    /// declaration.
    pub(super) fn element(&self, prefix: Option<&[u8]>) -> Space {
        let prefix = prefix.unwrap_or_default();
        // Skips the byte comparison of two empty prefixes: it costs as much as the rest of a tag.
        let same = |one: &[u8]| one.is_empty() && prefix.is_empty() || !prefix.is_empty() && one == prefix;
        let declared = self.all.iter().rev().find(|(one, _, _)| same(one));
        match (declared, prefix) {
            (Some((_, space, _)), _) => *space,
            (None, b"") => Space::V3,
            (None, b"sdtc") => Space::Sdtc,
            (None, b"xsi") => Space::Xsi,
            _ => Space::Other,
        }
    }

    /// Returns the namespace of an attribute's prefix; without one it belongs to its element.
    pub(super) fn attribute(&self, prefix: Option<&[u8]>) -> Space {
        prefix.map_or(Space::V3, |prefix| self.element(Some(prefix)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_declaration_holds() {
        let mut scope = Scope::default();
        let outer = BytesStart::from_content("a xmlns='urn:hl7-org:v3' xmlns:x='urn:hl7-org:sdtc'", 1);
        let inner = BytesStart::from_content("a xmlns:x='urn:other' xmlns=\"urn:other\"", 1);
        scope.start(&outer, 1).unwrap();
        assert_eq!(
            (scope.element(Some(b"x")), scope.element(None)),
            (Space::Sdtc, Space::V3)
        );
        scope.start(&inner, 2).unwrap();
        assert_eq!(
            (scope.element(Some(b"x")), scope.element(None)),
            (Space::Other, Space::Other)
        );
        assert_eq!(scope.attribute(None), Space::V3);
        scope.end(2);
        assert_eq!(scope.element(Some(b"x")), Space::Sdtc);
        let many = format!("a {}", "xmlns='x' ".repeat(65));
        assert!(scope.start(&BytesStart::from_content(many, 1), 3).is_err());
    }
}
