//! Finds the end of a chain.

use super::acknowledgement::strictness;
use super::footer::read_footer_at;
use super::{Acknowledgement, ChainError, ChainId, Fingerprints, Footer};
use crate::store::Store;

/// The last file of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Its first offset.
    pub first: i64,
    /// The offset after its last, where the chain continues.
    pub next: i64,
    /// Its name.
    pub file: String,
    /// Its footer.
    pub footer: Footer,
}

impl Tail {
    /// Checks that offsets still refer to the same log as when the file was written.
    ///
    /// # Errors
    /// [`ChainError::AnotherLog`] if the cluster or topic is known in both and differs; otherwise
    /// [`ChainError::WeakerMode`] or [`ChainError::NewSurrogates`] without acknowledgement.
    pub fn check_log(&self, now: &Fingerprints) -> Result<(), ChainError> {
        self.check_policy(now)?;
        let then = &self.footer.fingerprints;
        for (field, theirs, ours) in [
            ("cluster id", &then.cluster, &now.cluster),
            ("topic id", &then.topic_id, &now.topic_id),
        ] {
            if let (Some(theirs), Some(ours)) = (theirs, ours)
                && theirs != ours
            {
                return Err(ChainError::AnotherLog {
                    file: self.file.clone(),
                    field,
                    theirs: theirs.clone(),
                    ours: ours.clone(),
                });
            }
        }
        Ok(())
    }

    /// Checks that new rows meet the expectations of readers: the policy's mode protects at least as much as
    /// in the chain's last file, and the same policy derives the same codes.
    ///
    /// # Errors
    /// Without acknowledgement, [`ChainError::WeakerMode`] if the mode protects less, and
    /// [`ChainError::NewSurrogates`] if the same policy derives other codes now.
    pub(super) fn check_policy(&self, now: &Fingerprints) -> Result<(), ChainError> {
        let then = &self.footer.fingerprints;
        let weaker = strictness(now.mode.as_deref()) < strictness(then.mode.as_deref());
        if weaker && !Acknowledgement::WeakerMode.is_in(now) {
            return Err(ChainError::WeakerMode {
                file: self.file.clone(),
                before: then.mode.clone().unwrap_or_default(),
                now: now.mode.clone().unwrap_or_else(|| "none".to_owned()),
            });
        }
        // Another policy is a decision to redact differently from here on.
        let differs = now.policy == then.policy && now.derivation != then.derivation;
        if differs && !Acknowledgement::NewSurrogates.is_in(now) {
            return Err(ChainError::NewSurrogates {
                file: self.file.clone(),
            });
        }
        Ok(())
    }
}

/// Finds the end of a chain. `None` if it has no file yet.
///
/// # Errors
/// [`ChainError::Broken`] if the last file does not begin at the end of the previous one,
/// [`ChainError::Stray`] or [`ChainError::Footer`] if one of them is not a file of the chain, or the store's
/// error. Earlier files are not checked; `inspect` does that.
pub async fn read_tail(store: &dyn Store, chain: &ChainId) -> Result<Option<Tail>, ChainError> {
    let Some(end) = find_end(store, chain, PAGE).await? else {
        return Ok(None);
    };
    let tail = read_link(store, chain, &end.last).await?;
    match end.before {
        Some(before) => {
            let before = read_link(store, chain, &before).await?;
            if before.next != tail.first {
                return Err(ChainError::Broken {
                    file: before.file,
                    next: before.next,
                    found: tail.file,
                });
            }
        }
        None if end.is_first && tail.first != 0 => {
            return Err(ChainError::Broken {
                file: "its beginning".into(),
                next: 0,
                found: tail.file,
            });
        }
        None => {}
    }
    Ok(Some(tail))
}

/// Names per request: the maximum of S3.
const PAGE: usize = 1000;

/// The last names in a chain's folder.
#[derive(Debug, PartialEq, Eq)]
struct End {
    last: String,
    /// The previous name, if it was in the same page.
    before: Option<String>,
    /// Whether it has no previous name.
    is_first: bool,
}

/// Finds the last name without listing the whole folder: a lane that writes a file every five minutes has a
/// hundred thousand within a year, and every assignment begins here.
///
/// Between a known file and an offset after which no file is known, it requests a page of names after the
/// file, which ends the search if the page is not full, and a page after the middle, which halves the range.
async fn find_end(store: &dyn Store, chain: &ChainId, page: usize) -> Result<Option<End>, ChainError> {
    let folder = chain.notes_folder();
    let mut last: Option<String> = None;
    // No file lies after this offset.
    let mut above = i64::MAX;
    loop {
        let names = store.list_page(&folder, last.as_deref(), page).await?;
        let full = names.len() >= page;
        let mut names = names.into_iter().map(|object| object.name).rev();
        match (names.next(), last.take()) {
            (None, None) => return Ok(None),
            (None, Some(known)) => {
                return Ok(Some(End {
                    last: known,
                    before: None,
                    is_first: false,
                }));
            }
            (Some(found), known) if !full => {
                let before = names.next().or(known);
                return Ok(Some(End {
                    is_first: before.is_none(),
                    last: found,
                    before,
                }));
            }
            (Some(found), _) => last = Some(found),
        }
        let known = last.as_deref().unwrap_or_default();
        let Some((_, from)) = ChainId::parse_notes(known) else {
            return Err(ChainError::Stray { name: known.into() });
        };
        // Doubles first, since offsets are small compared with their range.
        let middle = match above {
            i64::MAX => from.max(page as i64).saturating_mul(2),
            above => from + (above - from) / 2,
        };
        if middle <= from || middle >= above {
            continue;
        }
        match store
            .list_page(&folder, Some(&chain.notes_name(middle)), 1)
            .await?
            .pop()
        {
            // A file with exactly that name would not be listed after it.
            Some(beyond) => last = Some(beyond.name),
            None => above = middle + 1,
        }
    }
}

/// Reads one file of a chain and checks its name against its footer.
pub(crate) async fn read_link(store: &dyn Store, chain: &ChainId, name: &str) -> Result<Tail, ChainError> {
    let Some((named, first)) = ChainId::parse_notes(name) else {
        return Err(ChainError::Stray { name: name.into() });
    };
    let footer = read_footer_at(store, name).await?;
    if named != *chain || footer.chain != *chain || footer.first != first {
        return Err(ChainError::Footer {
            name: name.into(),
            why: format!(
                "the footer belongs to {} from offset {}",
                footer.chain, footer.first
            ),
        });
    }
    Ok(Tail {
        first,
        next: footer.next,
        file: name.to_owned(),
        footer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::faulty::{Faulty, Plan};
    use crate::store::{Memory, Op};
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::sync::Arc;

    async fn store_of(chain: &ChainId, firsts: impl IntoIterator<Item = i64>) -> Faulty {
        let store = Memory::default();
        for first in firsts {
            store
                .create(&chain.notes_name(first), Bytes::new())
                .await
                .unwrap();
        }
        Faulty::new(Arc::new(store), Plan::Script(Vec::new()))
    }

    proptest! {
        #[test]
        fn the_end_found_by_halving_is_that_of_the_whole_list(
            steps in proptest::collection::vec(prop_oneof![1..5i64, 1..100_000i64, 1..i64::MAX / 64], 0..60),
            page in 1..9usize,
        ) {
            let chain = ChainId::new("t", 1);
            let firsts: Vec<i64> = steps.iter().scan(0, |at, step| { let first = *at; *at += step; Some(first) }).collect();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let store = store_of(&chain, firsts.iter().copied()).await;
                let end = find_end(&store, &chain, page).await.unwrap();
                let names: Vec<String> = firsts.iter().map(|first| chain.notes_name(*first)).collect();
                assert_eq!(end.as_ref().map(|end| &end.last), names.last());
                if let Some(End { before: Some(before), .. }) = &end {
                    assert_eq!(Some(before), names.iter().rev().nth(1));
                }
                assert_eq!(end.is_some_and(|end| end.is_first), names.len() == 1 && page > 1);
            });
        }
    }

    #[tokio::test]
    async fn a_hundred_thousand_files_are_not_all_listed() {
        let chain = ChainId::new("t", 1);
        let store = store_of(&chain, (0..100_000).map(|file| file * 977)).await;
        let end = find_end(&store, &chain, PAGE).await.unwrap().unwrap();
        assert_eq!(end.last, chain.notes_name(99_999 * 977));
        let asked = store.requests(Op::List);
        assert!(asked < 40, "{asked} requests");
    }
}
