//! Times of day next to a date, which stay unchanged.

use super::lex::Is;
use super::parse::Parser;
use super::words::Sense;

impl Parser<'_> {
    /// Skips a time of day, which stays unchanged.
    pub(super) fn time(&mut self) -> bool {
        let Some(mut end) = self.one_time(self.at) else {
            return false;
        };
        // "10:30-11:15".
        if self.tok(end).dash()
            && let Some(second) = self.one_time(end + 1)
        {
            end = second;
        }
        self.at = end;
        true
    }

    /// Returns the token after the time at `at`.
    pub(super) fn one_time(&self, mut at: usize) -> Option<usize> {
        if self.tok(at).mark(',') {
            at += 1;
        }
        let mut announced = false;
        while matches!(self.sense(at), Some(Sense::At | Sense::T | Sense::A)) || self.tok(at).mark('@') {
            announced = true;
            at += 1;
        }
        let (hour, len) = self.tok(at).number()?;
        let part = |at: usize, mark: char| {
            let next = self.tok(at + 1);
            let fits = next.number().is_some_and(|(value, len)| len == 2 && value < 60);
            self.tok(at).mark(mark) && self.tok(at).glued && next.glued && fits
        };
        at += 1;
        let mut certain = false;
        if len <= 2 && hour <= 24 && part(at, ':') {
            certain = true;
            at += 2;
            if part(at, ':') {
                at += 2;
                let fraction = self.tok(at).mark('.') || self.tok(at).mark(',');
                if fraction
                    && self.tok(at).glued
                    && self.tok(at + 1).glued
                    && self.tok(at + 1).number().is_some()
                {
                    at += 2;
                }
            }
        } else if len <= 2 && hour <= 24 && announced && part(at, '.') {
            certain = true;
            at += 2;
        } else if len == 4 && announced && hour <= 2400 {
            certain = true;
        }
        // "10:30 a.m.", "3 pm", "1430 hours", "10:30 h.", "10:30Z", "+02:00".
        let mut unit = false;
        loop {
            match self.tok(at).is {
                Is::Word(Sense::Hour | Sense::Z) => unit = true,
                Is::Word(Sense::A)
                    if self.tok(at + 1).mark('.') || self.sense(at + 1) == Some(Sense::Hour) => {}
                Is::Mark('.') if unit || certain && self.tok(at + 1).glued => {}
                Is::Mark('.') if self.sense(at - 1) == Some(Sense::A) => {}
                _ => break,
            }
            at += 1;
        }
        if certain
            && (self.tok(at).mark('+') || self.tok(at).mark('-'))
            && self.tok(at).glued
            && matches!(self.tok(at + 1).number(), Some((_, 2 | 4)))
            && self.tok(at + 1).glued
            && (self.tok(at + 2).mark(':') || !self.tok(at + 2).glued)
        {
            at += 2;
            if part(at, ':') {
                at += 2;
            }
        }
        let hours = unit && (len <= 2 && hour <= 24 || len == 4 && hour <= 2400);
        (certain || hours).then_some(at)
    }
}
