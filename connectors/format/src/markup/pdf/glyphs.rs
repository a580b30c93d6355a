//! Reads the glyphs of a page with their text and position.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hayro_interpret::font::{Glyph as Drawn, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::page::Page as Source;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, InterpreterWarning, RenderContent, SoftMask, WarningSinkFn, interpret_page,
};

use super::cost::Forms;
use super::{Limit, PdfError};

/// Maximum glyphs, pictures and lines on all pages. A page has some thousand, and a document draws a few per
/// byte.
const MAX_DRAWN: Limit = Limit {
    least: 200_000,
    each: 16,
    most: 50_000_000,
};
/// Maximum bytes of text of one page's glyphs: a hundred times a dense page. A glyph takes up to 300 bytes
/// until its page is finished.
pub(super) const MAX_TEXT: usize = 500_000;
/// Maximum bytes of text of one glyph. A font maps a code to at most 512 bytes of UTF-16 (ISO 32000-2,
/// section 9.10.3).
const MAX_GLYPH_TEXT: usize = 768;
/// Units of a font's design grid per em.
const EM: f64 = 1000.0;
/// Two glyphs with the same text within this distance, in ems, are one that is drawn twice to look bold.
const SAME_PLACE: f64 = 0.1;

/// The remaining budget of a document's pages.
pub(super) struct Work {
    drawn: usize,
    forms: Forms,
}

impl Work {
    /// Returns the budget of a document of this size.
    pub(super) fn new(bytes: usize, forms: Forms) -> Self {
        Self {
            drawn: MAX_DRAWN.of(bytes),
            forms,
        }
    }

    /// Counts a drawing operation. The library's callbacks cannot stop it, so over the limit the thread
    /// unwinds without a panic message.
    fn draw(&mut self) {
        self.text(1);
    }

    /// Counts the bytes of a glyph's text as drawing operations.
    fn text(&mut self, bytes: usize) {
        self.drawn = self.drawn.checked_sub(bytes).unwrap_or_else(|| stop());
    }

    fn form(&mut self) {
        self.draw();
        let left = self.forms.left.checked_sub(self.forms.each);
        self.forms.left = left.unwrap_or_else(|| stop());
    }
}

fn stop() -> ! {
    std::panic::resume_unwind(Box::new(PdfError::TooComplex))
}

/// The text of a glyph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Text {
    Space,
    Char(char),
    /// Several characters, for instance of a ligature.
    Chars(Box<str>),
    /// Unknown.
    Unmapped,
}

impl Text {
    /// Returns the bytes that count towards a page's text, 1 for a single character.
    fn bytes(&self) -> usize {
        match self {
            Self::Chars(text) => text.len(),
            _ => 1,
        }
    }
}

/// A glyph on a page whose y axis points down.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    pub(super) text: Text,
    /// Its start on its base line.
    pub(super) at: Point,
    /// The start of the next glyph.
    pub(super) end: Point,
    /// The direction of the base line, as a unit vector.
    pub(super) along: Vec2,
    /// The size of the font.
    pub(super) size: f64,
}

/// A page's glyphs in drawing order.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) glyphs: Vec<Glyph>,
    /// Index of the first glyph of annotations.
    pub(super) annotations: usize,
}

impl Page {
    /// # Errors
    /// [`PdfError::Scanned`] for a page that is a picture, [`PdfError::Unmapped`] for an unreadable font.
    /// Over the limits the thread unwinds, as in [`Work`].
    pub(super) fn read<'a>(
        source: &'a Source<'a>,
        cache: &InterpreterCache<'a>,
        work: &mut Work,
    ) -> Result<Self, PdfError> {
        let (width, height) = source.render_dimensions();
        let frame = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let transform = Affine::new(source.initial_transform(true).as_coeffs());
        let mut device = Collector {
            frame,
            work,
            glyphs: Vec::new(),
            text: 0,
            seen: HashMap::new(),
            pictures: Vec::new(),
            paths: 0,
        };
        // Text in an unreadable font is not drawn.
        let missing = Arc::new(AtomicBool::new(false));
        let mut annotations = 0;
        for part in [RenderContent::PAGE, RenderContent::ANNOTATIONS] {
            annotations = device.glyphs.len();
            let settings = InterpreterSettings {
                render_content: part,
                warning_sink: sink(&missing),
                ..InterpreterSettings::default()
            };
            let mut context = Context::new(transform, frame, cache, source.xref(), settings);
            interpret_page(source, &mut context, &mut device);
        }
        if missing.load(Ordering::Relaxed) {
            return Err(PdfError::Unmapped);
        }
        if device.is_picture() {
            return Err(PdfError::Scanned);
        }
        Ok(Self {
            glyphs: device.glyphs,
            annotations,
        })
    }
}

/// Records in `missing` that a font could not be read.
fn sink(missing: &Arc<AtomicBool>) -> WarningSinkFn {
    let missing = Arc::clone(missing);
    Arc::new(move |warning| {
        if matches!(warning, InterpreterWarning::UnsupportedFont) {
            missing.store(true, Ordering::Relaxed);
        }
    })
}

/// A page whose pictures cover at least this share...
const PICTURE_SHARE: f64 = 0.5;
/// ... and that has fewer glyphs than this is a scan with a stamp, a page number or a fax header.
const FEW_GLYPHS: usize = 100;
/// A page without text and with more lines than this has its letters drawn as lines.
const MANY_PATHS: usize = 100;

struct Collector<'w> {
    frame: Rect,
    work: &'w mut Work,
    glyphs: Vec<Glyph>,
    /// Bytes of their texts.
    text: usize,
    /// Positions of texts that were drawn, by squares of the page.
    seen: HashMap<(Text, i64, i64), Point>,
    pictures: Vec<Rect>,
    paths: usize,
}

impl Collector<'_> {
    /// Returns whether the page is only a picture, although it may have a text layer.
    fn is_picture(&self) -> bool {
        let written = |glyph: &&Glyph| glyph.text != Text::Space;
        if self.glyphs.iter().filter(written).count() == 0 {
            return !self.pictures.is_empty() || self.paths > MANY_PATHS;
        }
        let area: f64 = self.pictures.iter().map(|picture| picture.area()).sum();
        if area < self.frame.area() * PICTURE_SHARE {
            return false;
        }
        let on_pictures = self.glyphs.iter().filter(written).filter(|glyph| {
            let covers = |picture: &Rect| picture.contains(glyph.at);
            self.pictures.iter().any(covers)
        });
        on_pictures.take(FEW_GLYPHS).count() < FEW_GLYPHS
    }

    fn picture(&mut self, corners: Rect) {
        // Pages with more pictures than this are drawn in stripes; these suffice to cover it.
        if self.pictures.len() < 1000 {
            let seen = corners.intersect(self.frame);
            if seen.area() > 0.0 {
                self.pictures.push(seen);
            }
        }
    }

    fn add(&mut self, glyph: Glyph) {
        let bytes = glyph.text.bytes();
        if self.text + bytes > MAX_TEXT || bytes > MAX_GLYPH_TEXT {
            stop();
        }
        if glyph.text != Text::Space && self.is_drawn(&glyph) {
            return;
        }
        self.text += bytes;
        self.glyphs.push(glyph);
    }

    /// Returns whether the same text is drawn there already; otherwise records it.
    fn is_drawn(&mut self, glyph: &Glyph) -> bool {
        // Squares of one unit; the nearest neighbours suffice for text of up to ten units, and larger text is
        // rarely drawn twice.
        let (x, y) = (whole(glyph.at.x), whole(glyph.at.y));
        for dx in -1..=1 {
            for dy in -1..=1 {
                let key = (glyph.text.clone(), x.saturating_add(dx), y.saturating_add(dy));
                let near = |at: &Point| at.distance(glyph.at) < SAME_PLACE * glyph.size;
                if self.seen.get(&key).is_some_and(near) {
                    return true;
                }
            }
        }
        self.seen.insert((glyph.text.clone(), x, y), glyph.at);
        false
    }
}

/// Rounds down; saturates.
fn whole(value: f64) -> i64 {
    value.floor() as i64
}

impl<'a> Device<'a> for Collector<'_> {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {
        self.work.draw();
        self.paths += 1;
    }

    fn draw_rect(&mut self, _: &Rect, _: DrawProps<'a>, _: &DrawMode) {
        self.work.draw();
    }

    // Each form pushes its box.
    fn push_clip_path(&mut self, _: &ClipPath) {
        self.work.form();
    }

    fn push_clip_rect(&mut self, _: &Rect) {
        self.work.draw();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.work.draw();
    }

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        let places: Vec<Affine> = run
            .glyphs()
            .iter()
            .map(|glyph| props.transform * glyph.transform())
            .collect();
        // A substitute for a font that is not embedded is stretched glyph by glyph; a horizontal scale is the
        // same for a whole run and is part of their widths.
        let stretch = |place: &Affine| across(place).hypot() / up(place).hypot();
        let scale = places.first().map_or(1.0, stretch);
        let is_stretched = places.iter().any(|place| (stretch(place) - scale).abs() > 0.005);
        let is_vertical = run.writing_mode() == WritingMode::Vertical;
        for (glyph, place) in run.glyphs().iter().zip(&places) {
            self.work.draw();
            let at = place.translation().to_point();
            let size = up(place).hypot() * EM;
            let (along, scale) = if is_vertical {
                (-up(place), 1.0)
            } else if is_stretched {
                (across(place), up(place).hypot() / across(place).hypot())
            } else {
                (across(place), 1.0)
            };
            let advance = if is_vertical { EM } else { advance(glyph) };
            let end = at + along * (scale * advance);
            let along = along / along.hypot();
            let finite = [at.x, at.y, end.x, end.y, size, along.x, along.y];
            if size <= 0.0 || finite.iter().any(|value| !value.is_finite()) {
                continue;
            }
            if let Some(text) = text_of(glyph) {
                self.work.text(text.bytes() - 1);
                self.add(Glyph {
                    text,
                    at,
                    end,
                    along,
                    size,
                });
            }
        }
    }

    fn draw_image(&mut self, image: Image<'a, '_>, props: ImageDrawProps<'a>) {
        self.work.draw();
        let size = Rect::new(0.0, 0.0, f64::from(image.width()), f64::from(image.height()));
        self.picture(props.transform.transform_rect_bbox(size));
    }

    fn pop_clip(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

/// Returns the unit vector along the base line.
fn across(place: &Affine) -> Vec2 {
    let [a, b, ..] = place.as_coeffs();
    Vec2::new(a, b)
}

/// Returns the unit vector upwards from it.
fn up(place: &Affine) -> Vec2 {
    let [_, _, c, d, ..] = place.as_coeffs();
    Vec2::new(c, d)
}

fn advance(glyph: &Drawn<'_>) -> f64 {
    f64::from(
        match glyph {
            Drawn::Outline(outline) => outline.advance_width(),
            Drawn::Type3(drawn) => drawn.advance_width(),
        }
        .unwrap_or(0.0),
    )
}

/// Returns the glyph's text; `None` for a zero-width character.
fn text_of(glyph: &Drawn<'_>) -> Option<Text> {
    let unicode = match glyph.as_unicode() {
        Some(BfString::Char(c)) => c.to_string(),
        Some(BfString::String(text)) => text,
        None => String::new(),
    };
    let mut out = String::with_capacity(unicode.len());
    for c in unicode.chars() {
        match c {
            // A drawn hyphen is one, whatever it may be at other line ends.
            '\u{ad}' | '\u{2010}' | '\u{2011}' => out.push('-'),
            '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{200c}' | '\u{200d}' => {}
            '\u{fb00}' => out.push_str("ff"),
            '\u{fb01}' => out.push_str("fi"),
            '\u{fb02}' => out.push_str("fl"),
            '\u{fb03}' => out.push_str("ffi"),
            '\u{fb04}' => out.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => out.push_str("st"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{e000}'..='\u{f8ff}' | '\u{fffd}' | '\u{f0000}'.. => return Some(unmapped(glyph)),
            c if c.is_control() => return Some(unmapped(glyph)),
            c => out.push(c),
        }
    }
    if out.is_empty() {
        return unicode.is_empty().then(|| unmapped(glyph));
    }
    if out.chars().all(char::is_whitespace) {
        return Some(Text::Space);
    }
    let mut chars = out.chars();
    Some(match (chars.next(), chars.next()) {
        (Some(c), None) => Text::Char(c),
        _ => Text::Chars(out.into_boxed_str()),
    })
}

/// Returns the text of a glyph without Unicode. One that draws nothing is a space.
fn unmapped(glyph: &Drawn<'_>) -> Text {
    match glyph {
        Drawn::Outline(outline) if outline.outline().elements().is_empty() => Text::Space,
        _ => Text::Unmapped,
    }
}
