//! Estimates the work of a document's pages before interpretation, which cannot be interrupted.
//!
//! The library reads a resource again each time that content names it, content again each time that it is
//! listed, and the objects of a font for each font. All of it is counted in bytes against one limit before
//! anything is interpreted. Forms are counted while they are drawn, each at the highest cost.

mod named;

use std::collections::{HashMap, HashSet};

use lopdf::{Dictionary, Document, Object, ObjectId};

use super::PdfError;
use super::open::has_name;
use named::{KINDS, Kind, Taken, named};

/// Cost of an item of an array or a dictionary, in addition to its bytes.
const ITEM: usize = 8;
/// Cost of a form in addition to its content: setting one up takes as long as reading this many bytes.
const FORM: usize = 256;
/// Bytes of a font per unit of cost: fonts are only hashed to distinguish them.
const FONT_BYTES: usize = 16;
/// Cost per byte of a function or a mesh: each makes a number or a point.
const DATA: usize = 2;
/// Maximum depth of inherited resources.
const MAX_PARENTS: usize = 64;

/// The remaining budget for forms, and the cost of each.
pub(super) struct Forms {
    pub(super) left: usize,
    pub(super) each: usize,
}

/// Counts a document whose streams are decoded, and of which `left` bytes may be read.
///
/// # Errors
/// [`PdfError::TooComplex`] if that does not suffice.
pub(super) fn count(document: &Document, pages: &[ObjectId], left: usize) -> Result<Forms, PdfError> {
    let mut counter = Counter {
        document,
        left,
        reached: HashMap::new(),
        taken: HashMap::new(),
        looked_through: HashSet::new(),
        named: HashMap::new(),
        listed: HashSet::new(),
    };
    for object in document.objects.values() {
        counter.find_resources(object)?;
    }
    for &page in pages {
        counter.page(page)?;
    }
    let mut each = 0;
    for (&id, object) in &document.objects {
        if let Object::Stream(stream) = object
            && has_name(&stream.dict, b"Subtype", b"Form")
        {
            let resources = counter.resources(&stream.dict);
            let named = counter.named(id, &stream.content);
            let run = [size(object), resources, stream.content.len(), named];
            each = each.max(run.into_iter().fold(FORM, usize::saturating_add));
        }
    }
    Ok(Forms {
        left: counter.left,
        each: each.max(FORM),
    })
}

struct Counter<'d> {
    document: &'d Document,
    left: usize,
    /// Cost of objects and their references, by the depth of followed references.
    reached: HashMap<(ObjectId, usize), usize>,
    /// Cost of resources by name and kind: the maximum over all pages.
    taken: Taken,
    /// Resource dictionaries that were searched, by kind.
    looked_through: HashSet<(ObjectId, usize)>,
    /// Cost of the resources that a content names.
    named: HashMap<ObjectId, usize>,
    /// Contents of pages.
    listed: HashSet<ObjectId>,
}

impl<'d> Counter<'d> {
    fn take(&mut self, bytes: usize) -> Result<(), PdfError> {
        self.left = self.left.checked_sub(bytes).ok_or(PdfError::TooComplex)?;
        Ok(())
    }

    /// Records the resources of all dictionaries within an object, and counts the objects of fonts.
    fn find_resources(&mut self, object: &'d Object) -> Result<(), PdfError> {
        let dict = match object {
            Object::Array(items) => return items.iter().try_for_each(|item| self.find_resources(item)),
            Object::Dictionary(dict) => dict,
            Object::Stream(stream) => &stream.dict,
            _ => return Ok(()),
        };
        if is_font(dict) {
            self.font(dict)?;
        }
        for (number, kind) in KINDS.iter().enumerate() {
            let Ok(named) = dict.get(kind.key) else { continue };
            let is_new = match named {
                Object::Reference(id) => self.looked_through.insert((*id, number)),
                _ => true,
            };
            if is_new && let Ok((_, Object::Dictionary(named))) = self.document.dereference(named) {
                self.note_resources(number, kind, named);
            }
        }
        dict.iter().try_for_each(|(_, value)| self.find_resources(value))
    }

    fn note_resources(&mut self, number: usize, kind: &Kind, named: &Dictionary) {
        for (name, value) in named.iter() {
            let mut bytes = self.reach(value, kind.depth, false);
            if kind.key == b"Font" {
                bytes /= FONT_BYTES;
            }
            let most = &mut self.taken.entry(name.clone()).or_default()[number];
            *most = bytes.max(*most);
        }
    }

    /// Counts the objects of a font, which are read once per font.
    fn font(&mut self, font: &Dictionary) -> Result<(), PdfError> {
        let read = font
            .iter()
            .filter(|(key, _)| !matches!(key.as_slice(), b"Resources" | b"Parent"));
        let read = read.map(|(_, value)| self.reach(value, 3, true));
        let read = read.fold(0, usize::saturating_add);
        self.take(read)
    }

    /// Counts a page without its forms.
    fn page(&mut self, id: ObjectId) -> Result<(), PdfError> {
        let document = self.document;
        let page = document.get_dictionary(id).map_err(|_| PdfError::Damaged)?;
        let mut resources = self.resources(page);
        let mut parent = page;
        for _ in 0..MAX_PARENTS {
            let Some(next) = parent
                .get(b"Parent")
                .ok()
                .and_then(|next| document.dereference(next).ok())
            else {
                break;
            };
            let Object::Dictionary(next) = next.1 else { break };
            parent = next;
            resources = resources.saturating_add(self.resources(parent));
        }
        self.take(resources)?;
        if let Ok(annotations) = page.get_deref(b"Annots", document).and_then(Object::as_array) {
            for annotation in annotations {
                let taken = document.dereference(annotation).map_or(0, |(_, one)| size(one));
                self.take(taken)?;
            }
        }
        for content in document.get_page_contents(id) {
            if let Ok(Object::Stream(stream)) = document.get_object(content) {
                let named = self.named(content, &stream.content);
                // The first time is within the limit of decoded bytes.
                let again = match self.listed.insert(content) {
                    true => 0,
                    false => stream.content.len(),
                };
                self.take(named.saturating_add(again))?;
            }
        }
        Ok(())
    }

    /// Returns the cost of the resource dictionary of a page or a form.
    fn resources(&mut self, owner: &Dictionary) -> usize {
        owner
            .get(b"Resources")
            .map_or(0, |resources| self.reach(resources, 2, false))
    }

    /// Returns the cost of an object with nested objects, following references up to a depth. Streams of
    /// functions or meshes are read, and with `all` any other; otherwise only their dictionaries.
    fn reach(&mut self, object: &Object, depth: usize, all: bool) -> usize {
        let dict = |counter: &mut Self, dict: &Dictionary| {
            let items = dict
                .iter()
                .map(|(key, value)| key.len().saturating_add(counter.reach(value, depth, all)));
            items.fold(0, usize::saturating_add)
        };
        let own = match object {
            Object::Array(items) => {
                let items = items.iter().map(|item| self.reach(item, depth, all));
                items.fold(0, usize::saturating_add)
            }
            Object::Dictionary(one) => dict(self, one),
            Object::Stream(stream) => {
                let is_data = stream.dict.has(b"ShadingType") || stream.dict.has(b"FunctionType");
                let content = match (is_data, all) {
                    (true, _) => stream.content.len().saturating_mul(DATA),
                    (false, true) => stream.content.len(),
                    (false, false) => 0,
                };
                dict(self, &stream.dict).saturating_add(content)
            }
            Object::Reference(id) if depth > 0 => {
                // Each is searched once per depth; an object that refers to itself adds nothing.
                let key = (*id, depth * 2 + usize::from(all));
                if let Some(&reached) = self.reached.get(&key) {
                    return reached;
                }
                self.reached.insert(key, 0);
                let document = self.document;
                let object = document.get_object(*id).ok();
                let reached = object.map_or(0, |object| self.reach(object, depth - 1, all));
                self.reached.insert(key, reached);
                reached
            }
            Object::String(bytes, _) => bytes.len(),
            Object::Name(bytes) => bytes.len(),
            _ => 0,
        };
        own.saturating_add(ITEM)
    }

    /// Returns the cost of the resources that this content names, once per use.
    fn named(&mut self, id: ObjectId, content: &[u8]) -> usize {
        if self.taken.is_empty() {
            return 0;
        }
        if let Some(&named) = self.named.get(&id) {
            return named;
        }
        let named = named(content, &self.taken);
        self.named.insert(id, named);
        named
    }
}

fn is_font(dict: &Dictionary) -> bool {
    const FONTS: [&str; 7] = [
        "Type0",
        "Type1",
        "MMType1",
        "Type3",
        "TrueType",
        "CIDFontType0",
        "CIDFontType2",
    ];
    has_name(dict, b"Type", b"Font")
        || FONTS
            .iter()
            .any(|name| has_name(dict, b"Subtype", name.as_bytes()))
}

/// Returns the size of an object with nested objects, without referenced ones.
fn size(object: &Object) -> usize {
    let dict = |dict: &Dictionary| {
        dict.iter()
            .map(|(key, value)| key.len() + size(value))
            .sum::<usize>()
    };
    ITEM + match object {
        Object::Array(items) => items.iter().map(size).sum(),
        Object::Dictionary(one) => dict(one),
        Object::Stream(stream) => dict(&stream.dict),
        Object::String(bytes, _) | Object::Name(bytes) => bytes.len(),
        _ => 0,
    }
}
