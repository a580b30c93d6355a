//! Estimates the memory cost of a record before it is processed.

use lethe_core::{Enclosed, Engine, Quarantine, QuarantineCode, Record, count_tokens, longest_token};

/// The payload or text bytes from which a record is processed alone, on a thread of its own.
pub(super) const HEAVY: usize = 1 << 20;
/// The maximum token bytes of a record that is processed with others.
const LIGHT: usize = 48 << 20;
/// The maximum bytes of decoded text that are processed together, unless a single record has more.
pub(super) const TOGETHER: usize = 2 << 20;

/// Copies of a text at peak: as a column, and redacted. The lane counts the copy in the event. Encoding needs no
/// more: by then the column is gone, and a page and its compressed form replace it.
const TEXT_COPIES: usize = 2;
/// Copies of a parsed message whose memory the format does not know.
const PARSED_COPIES: usize = 2;
/// Bytes per token: its position and kind as columns (9 bytes), and the end of a sentence, whose column grows by
/// doubling.
const TOKEN_BYTES: usize = 13;
/// Bytes per token while members tag, before there are decisions: the same, and what rules look up of each token.
/// Measured with full stops.
const TAGGED_BYTES: usize = 40;
/// Bytes per byte of the longest token meanwhile: its folded characters, of four bytes each, twice.
const LONGEST_COPIES: usize = 8;
/// Bytes that decoding takes per byte of payload: the payload, the parsed form and the text.
const DECODE_COPIES: usize = 3;

/// A turn has at least so many times the cost of its record, unless it has everything: spans need the rest. In notes
/// full of identifiers they take up to three times as much as everything else.
const TURN_COSTS: usize = 4;

/// Memory limits for processing records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes for one record, and for all heavy records in hand together.
    pub(crate) record: usize,
    /// The bytes of these that are kept free for heavy records. A record that takes more borrows the rest from the
    /// lanes.
    pub(crate) reserved: usize,
    /// Bytes that the engine takes per token of a record, in addition to those of every engine.
    pub(crate) token: usize,
}

/// The result of an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// The record is processed with others.
    Light,
    /// The record is processed alone, and takes this many bytes.
    Heavy(usize),
    /// The record exceeds the limit.
    Over,
}

impl Limits {
    /// Creates limits with this many bytes for one record, for an engine that reads long notes in windows.
    pub(crate) const fn new(record: usize) -> Self {
        Self {
            record,
            reserved: record,
            token: 0,
        }
    }

    /// Returns the same limits, with only so many bytes kept free for heavy records.
    pub(crate) fn reserving(self, bytes: usize) -> Self {
        Self {
            reserved: bytes.min(self.record),
            ..self
        }
    }

    /// Returns the same limits for this engine.
    pub(crate) fn of(self, engine: &Engine) -> Self {
        Self {
            token: engine.token_bytes(),
            ..self
        }
    }

    /// Estimates the cost of decoding a payload of `size` bytes.
    pub(super) const fn of_payload(&self, size: usize) -> Cost {
        let cost = size * DECODE_COPIES;
        if size <= HEAVY {
            Cost::Light
        } else if cost > self.record {
            Cost::Over
        } else {
            Cost::Heavy(cost)
        }
    }

    /// Estimates the cost of redacting a decoded record whose payload had `size` bytes. It allocates nothing,
    /// reads a long text twice, and a short one not at all.
    pub(super) fn of_record(&self, record: &Record, size: usize) -> Cost {
        let Record::Note(event) = record else {
            return Cost::Light;
        };
        let text = event.text.expose();
        let parsed = |message: &Enclosed| message.0.bytes().unwrap_or(size * PARSED_COPIES);
        // Parsed and reassembled.
        let message = event
            .enclosed
            .as_ref()
            .map_or(0, |message| parsed(message) + size);
        let token = TOKEN_BYTES + self.token;
        let short = text.len() <= HEAVY && (message == 0 || size <= HEAVY);
        if short && text.len() * token <= LIGHT {
            return Cost::Light;
        }
        let bytes = text.len() * TEXT_COPIES + message;
        // Token offsets are 32 bits wide: a longer text exceeds any limit, and must not be counted.
        if bytes > self.record || u32::try_from(text.len()).is_err() {
            return Cost::Over;
        }
        let most = (self.record - bytes) / token + 1;
        let count = count_tokens(text, most);
        let tokens = count * token;
        if short && tokens <= LIGHT {
            return Cost::Light;
        }
        if bytes + tokens > self.record {
            return Cost::Over;
        }
        let words = count * (TAGGED_BYTES + self.token) + longest_token(text) * LONGEST_COPIES;
        let tagged = text.len() + message + words;
        if tagged > self.record {
            return Cost::Over;
        }
        // A turn has at least four times the cost, unless it has everything.
        Cost::Heavy((bytes + tokens).max(tagged.div_ceil(TURN_COSTS)))
    }

    /// Returns the memory of a heavy record's turn, given its cost without spans: half of what is reserved, so that
    /// at most two have a turn at a time, all of it, or the limit for one record.
    pub(super) const fn turn(&self, cost: usize) -> usize {
        let enough = cost.saturating_mul(TURN_COSTS);
        let half = self.reserved.div_ceil(2);
        if enough <= half {
            half
        } else if enough <= self.reserved {
            self.reserved
        } else {
            self.record
        }
    }

    /// Returns the part of `memory` that the spans of a decoded record may take, after its text and tokens.
    pub(super) fn spans(&self, record: &Record, size: usize, memory: usize) -> usize {
        match self.of_record(record, size) {
            Cost::Light => memory,
            Cost::Heavy(cost) => memory.saturating_sub(cost),
            Cost::Over => 0,
        }
    }

    /// Returns whether a record without a payload may be processed.
    pub(crate) fn allow(&self, record: &Record) -> bool {
        self.of_record(record, 0) != Cost::Over
    }
}

/// Returns the quarantine of a record that would take too much memory.
pub(super) const fn over_memory() -> Quarantine {
    Quarantine::new(QuarantineCode::OverBudget, Some("memory"), None)
}

#[cfg(test)]
mod tests {
    use lethe_core::{Coordinates, NoteEvent};

    use super::*;

    const LIMITS: Limits = Limits::new(300 << 20);

    fn note(text: String) -> Record {
        Record::Note(NoteEvent {
            text: text.into(),
            ..NoteEvent::default()
        })
    }

    #[test]
    fn sixteen_mib_of_prose_fit_and_as_many_full_stops_do_not() {
        let prose = note("Seen in clinic today with a mild cough. ".repeat((16 << 20) / 40));
        let Cost::Heavy(cost) = LIMITS.of_record(&prose, 16 << 20) else {
            panic!("prose is heavy, and within the limit");
        };
        assert!((64 << 20..200 << 20).contains(&cost), "{cost}");
        let stops = note(".".repeat(16 << 20));
        assert_eq!(LIMITS.of_record(&stops, 16 << 20), Cost::Over);
    }

    #[test]
    fn the_cost_of_a_record_depends_on_its_text_rather_than_its_payload() {
        assert_eq!(LIMITS.of_record(&note("Seen.".to_owned()), 50 << 20), Cost::Light);
        let long = note("word ".repeat(1 << 20));
        assert!(matches!(LIMITS.of_record(&long, 9_000), Cost::Heavy(_)));
        assert_eq!(
            Limits::new(8 << 20).of_record(&long, 9_000),
            Cost::Over,
            "a few bytes that expanded"
        );
        assert_eq!(LIMITS.of_payload(200 << 20), Cost::Over);
        assert_eq!(LIMITS.of_payload(HEAVY), Cost::Light);
        let tombstone = Record::Tombstone(Coordinates::default());
        assert_eq!(LIMITS.of_record(&tombstone, 0), Cost::Light);
    }

    #[test]
    fn tokens_cost_what_the_engine_takes_for_them() {
        let windows = LIMITS;
        let whole = Limits {
            token: 4 << 10,
            ..LIMITS
        };
        let words = |count: usize| note("word ".repeat(count));
        assert_eq!(windows.of_record(&words(100_000), 0), Cost::Light);
        assert_eq!(whole.of_record(&words(10_000), 0), Cost::Light);
        assert!(matches!(whole.of_record(&words(40_000), 0), Cost::Heavy(_)));
        assert_eq!(whole.of_record(&words(100_000), 0), Cost::Over);
    }

    #[test]
    fn spans_have_what_text_and_tokens_leave_of_a_turn() {
        let prose = note("word ".repeat(1 << 20));
        let Cost::Heavy(cost) = LIMITS.of_record(&prose, 0) else {
            panic!("prose is heavy, and within the limit");
        };
        assert_eq!(LIMITS.turn(cost), 150 << 20);
        assert_eq!(LIMITS.spans(&prose, 0, 150 << 20), (150 << 20) - cost);
        assert_eq!(LIMITS.turn(120 << 20), LIMITS.record);
    }

    #[test]
    fn full_stops_and_one_endless_token_take_more_than_their_text() {
        let (stops, token) = (note(".".repeat(6 << 20)), note("x".repeat(30 << 20)));
        assert!(matches!(LIMITS.of_record(&stops, 0), Cost::Heavy(_)));
        assert_eq!(Limits::new(240 << 20).of_record(&stops, 0), Cost::Over);
        let Cost::Heavy(cost) = LIMITS.of_record(&token, 0) else {
            panic!("it is heavy, and within the limit");
        };
        assert_eq!(LIMITS.turn(cost), LIMITS.record);
        assert_eq!(Limits::new(260 << 20).of_record(&token, 0), Cost::Over);
    }

    #[test]
    fn a_turn_is_half_of_what_is_reserved_or_all_of_it_or_the_limit() {
        let limits = LIMITS.reserving(200 << 20);
        let turn = |mib: usize| limits.turn(mib << 20) >> 20;
        assert_eq!([0, 25, 26, 50, 51, 300].map(turn), [100, 100, 200, 200, 300, 300]);
        assert_eq!(LIMITS.reserving(400 << 20).reserved, LIMITS.record);
    }

    #[test]
    fn the_row_says_that_it_is_the_memory() {
        assert_eq!(over_memory().to_string(), "over_budget:memory");
    }
}
