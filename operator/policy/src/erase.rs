//! Recognises the rows of given patients in redacted output, and finds their entries in the vault.
//!
//! The output does not name the patient of a row. A row is recognised by a trace that only this patient's
//! notes have: a code that the vault or the key made for the patient, a value that was encrypted for the
//! patient, or the patient's id if the policy keeps it. A row without any of them is not recognised;
//! [`Traces`] cannot count such rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use lethe_core::hex;
use lethe_secrets::{
    Code, CodeLength, Entry, IdCipher, Key, KeyState, Keyring, Pseudonyms, Sealer, Token, Vault, VaultError,
};
use sha2::{Digest as _, Sha256};

use crate::authority::{Assigner, Authorities};
use crate::error::PolicyError;
use crate::file::{Codes, Links, Numbered, Operation, PolicyFile, Scope};
use crate::links;
use crate::note::plain;
use crate::replacer::{keyring, open};

/// Entries of the vault that are read at once.
const PAGE: u32 = 10_000;
/// The prefix of the scope of a patient's entries.
const PATIENT: &str = "patient";

/// The certainty that a row belongs to one of the patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Another patient's row may have the same trace: an id of two authorities, or an encrypted id.
    Possible,
    /// No other patient's row has the same trace.
    Certain,
}

/// Patients, named as the sender names them.
#[derive(Clone, Copy)]
pub struct Patients<'a> {
    /// The authority that assigned the ids: its name in the policy or in the source; `None` if events name
    /// none.
    pub authority: Option<&'a str>,
    /// The ids.
    pub ids: &'a [String],
}

impl std::fmt::Debug for Patients<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Patients({})", self.ids.len())
    }
}

/// The traces that a policy left of patients.
pub struct Traces {
    ids: HashSet<String>,
    /// The certainty for a row with one of these ids in its column.
    by_column: Certainty,
    operations: PolicyFile,
    keyring: Option<Keyring>,
    authorities: Authorities,
    /// The authority's numbers in encrypted ids.
    numbers: Option<BTreeSet<u16>>,
    ciphers: Vec<IdCipher>,
    /// The ids in the form that encrypted codes hold.
    bare: HashSet<String>,
    sealers: Vec<Sealer>,
    /// Keyed codes by label, computed when a label first occurs.
    keyed: Mutex<HashMap<String, HashSet<String>>>,
    contexts: BTreeSet<String>,
    values: BTreeSet<String>,
    vault: Option<Box<dyn Vault>>,
    codes: HashSet<Code>,
    /// Entries that store links of the patients' ids.
    links: BTreeSet<Code>,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Traces({} patients)", self.ids.len())
    }
}

impl Traces {
    /// Returns the traces of patients in output without a policy: their ids, if these were kept.
    pub fn plain(patients: Patients<'_>) -> Self {
        Self {
            ids: patients.ids.iter().cloned().collect(),
            by_column: Certainty::Certain,
            operations: PolicyFile::plain(),
            keyring: None,
            authorities: Authorities::default(),
            numbers: None,
            ciphers: Vec::new(),
            bare: HashSet::new(),
            sealers: Vec::new(),
            keyed: Mutex::default(),
            contexts: BTreeSet::new(),
            values: BTreeSet::new(),
            vault: None,
            codes: HashSet::new(),
            links: BTreeSet::new(),
        }
    }

    /// Returns the traces of patients under a policy. Reads its keys and, if it has one, its vault, two or
    /// three times in full: only an opened entry shows its patient.
    ///
    /// # Errors
    /// [`PolicyError::Key`] for the authority, the keys or the vault; [`PolicyError::Unavailable`] if the
    /// vault is unavailable.
    pub fn new(file: &PolicyFile, origin: &str, patients: Patients<'_>) -> Result<Self, PolicyError> {
        let fault = |key: &str, why: String| PolicyError::Key {
            origin: origin.to_owned(),
            key: key.to_owned(),
            why,
        };
        let keyring = keyring(file).map_err(|error| fault("keys", error.to_string()))?;
        let operations = || file.labels.values().chain([&file.default]);
        let wants_vault = operations().any(|one| one.needs_vault() || is_numbered(one));
        let follows = file.patient.links == Links::Vault;
        let vault = match (&file.vault, &keyring) {
            (Some(place), Some(keyring)) if wants_vault || follows => {
                Some(open(&place.existing(), keyring, origin)?)
            }
            _ => None,
        };
        let authorities = Authorities::new(&file.authority);
        let context = |id: &String| match patients.authority {
            Some(authority) => authorities.context_of(authority, id),
            None => authorities.context(None, id),
        };
        let mut contexts: BTreeSet<String> = patients.ids.iter().map(context).collect();
        let away = |error: VaultError| fault("vault", error.to_string());
        if let Some(vault) = vault.as_deref().filter(|_| follows) {
            contexts = linked(vault, contexts).map_err(away)?;
        }
        // A linked id is replaced as the representative of all of them.
        let own = contexts.iter().filter_map(|context| context.rsplit('\n').next());
        let values: BTreeSet<String> = patients
            .ids
            .iter()
            .map(String::as_str)
            .chain(own)
            .map(plain)
            .collect();
        let numbers = match patients.authority {
            Some(name) => authorities.number_of(name),
            None => match authorities.resolve(None, "patient_id") {
                Assigner::Declared(at, _) => {
                    u16::try_from(at + 1).ok().map(|number| BTreeSet::from([number]))
                }
                _ => Some(authorities.unnamed_numbers()),
            },
        };
        let keys: Vec<&Key> = keyring.iter().flat_map(usable).collect();
        let bare = |id: &str| -> String { id.chars().filter(char::is_ascii_alphanumeric).collect() };
        let mut traces = Self {
            by_column: match file.authority.len() > 1 || patients.authority.is_some() {
                true => Certainty::Possible,
                false => Certainty::Certain,
            },
            ciphers: match operations().any(|one| matches!(one, Operation::EncryptId {})) {
                true => keys.iter().map(|key| IdCipher::new(key)).collect(),
                false => Vec::new(),
            },
            bare: patients.ids.iter().map(|id| bare(id).to_uppercase()).collect(),
            sealers: match (
                operations().any(|one| matches!(one, Operation::Encrypt {})),
                &keyring,
            ) {
                (true, Some(keyring)) => contexts
                    .iter()
                    .map(|context| Sealer::new(keyring, context))
                    .collect(),
                _ => Vec::new(),
            },
            operations: file.clone(),
            contexts,
            values,
            numbers,
            ..Self::plain(patients)
        };
        drop(keys);
        traces.authorities = authorities;
        traces.keyring = keyring;
        if let Some(vault) = vault {
            traces.read(vault.as_ref()).map_err(away)?;
            traces.vault = Some(vault);
        }
        Ok(traces)
    }

    /// Reads the patients' entries of the vault.
    fn read(&mut self, vault: &dyn Vault) -> Result<(), VaultError> {
        let (mut codes, mut links) = (HashSet::new(), BTreeSet::new());
        each(vault, |code, entry| {
            if self.contexts.contains(entry.scope.as_str()) {
                codes.insert(code);
            } else if entry.label == links::LABEL && self.contexts.contains(entry.value.as_str()) {
                links.insert(code);
            }
            Ok(())
        })?;
        (self.codes, self.links) = (codes, links);
        Ok(())
    }

    /// Returns whether the policy leaves no trace by which rows could be recognised, apart from a kept id.
    pub fn is_blind(&self) -> bool {
        let makes_codes = |one: &Operation| {
            matches!(
                one,
                Operation::Pseudonym { .. } | Operation::Encrypt {} | Operation::EncryptId {}
            ) || is_numbered(one)
        };
        let mut operations = self.operations.labels.values().chain([&self.operations.default]);
        !operations.any(makes_codes)
    }

    /// Returns whether a row belongs to one of the patients, and with what certainty: by the patient's id, if
    /// the policy keeps it, the redacted text, and the redacted message.
    pub fn find(
        &self,
        patient_id: Option<&str>,
        text: Option<&str>,
        message: Option<&[u8]>,
    ) -> Option<Certainty> {
        let own = patient_id
            .filter(|id| self.ids.contains(*id))
            .map(|_| self.by_column);
        if own == Some(Certainty::Certain) {
            return own;
        }
        let bytes = [text.map(str::as_bytes), message];
        let tokens = bytes.into_iter().flatten().flat_map(brackets);
        let found = tokens.filter_map(|token| self.token(token));
        let mut best = own;
        for certainty in found {
            best = best.max(Some(certainty));
            if certainty == Certainty::Certain {
                break;
            }
        }
        best
    }

    /// Returns whether a token in brackets is a trace of the patients.
    fn token(&self, token: &str) -> Option<Certainty> {
        if !self.sealers.is_empty() && Token::parse(token).is_ok() {
            let is_own = self.sealers.iter().any(|sealer| sealer.open(token).is_ok());
            return is_own.then_some(Certainty::Certain);
        }
        let inner = token.strip_prefix('[')?.strip_suffix(']')?;
        let (label, code) = inner.rsplit_once('-')?;
        let is_kept = code.parse::<Code>().is_ok_and(|code| self.codes.contains(&code));
        if is_kept || self.keyed(label, code) {
            return Some(Certainty::Certain);
        }
        self.encrypted(inner)
    }

    /// Returns whether a code of a label is one that the key makes of the patients' ids. Codes with the scope
    /// of all notes are ignored: the policy's rules refuse that scope for ids of patients.
    fn keyed(&self, label: &str, code: &str) -> bool {
        let Some(keyring) = &self.keyring else {
            return false;
        };
        let is_keyed = match self.operations.operation(label) {
            Operation::Pseudonym { codes, scope } => *codes == Codes::Hmac && *scope == Scope::Patient,
            one => is_numbered(one) && self.vault.is_none(),
        };
        if !is_keyed {
            return false;
        }
        let mut keyed = self.keyed.lock().unwrap_or_else(PoisonError::into_inner);
        if !keyed.contains_key(label) {
            let mut codes = HashSet::new();
            for key in usable(keyring) {
                for context in &self.contexts {
                    let pseudonyms = Pseudonyms::new(key, context, CodeLength::default());
                    codes.extend(self.values.iter().map(|value| pseudonyms.code(label, value)));
                }
            }
            keyed.insert(label.to_owned(), codes);
        }
        keyed.get(label).is_some_and(|codes| codes.contains(code))
    }

    /// Returns whether an encrypted id is one of the patients'. Other patients' notes may also name it.
    fn encrypted(&self, inner: &str) -> Option<Certainty> {
        let code = inner.get(inner.len().checked_sub(IdCipher::WIDTH)?..)?;
        let is_own = |(number, id): (u16, String)| {
            self.numbers
                .as_ref()
                .is_some_and(|numbers| numbers.contains(&number))
                && self.bare.contains(&id)
        };
        let mut opened = self.ciphers.iter().filter_map(|cipher| cipher.decrypt(code));
        opened.any(is_own).then_some(Certainty::Possible)
    }

    /// Returns the SHA-256, in hexadecimal, of each code of the patients and of their links in the vault. The
    /// codes themselves are in the output.
    pub fn code_digests(&self) -> Vec<String> {
        let digests: BTreeSet<String> = self.codes.iter().chain(&self.links).map(digest).collect();
        digests.into_iter().collect()
    }
}

/// Removes the codes with these digests, which [`Traces::code_digests`] returned, from a policy's vault, and
/// returns how many there were. A vault that does not exist has none of them.
///
/// # Errors
/// [`PolicyError::Key`] for the keys or the vault; [`PolicyError::Unavailable`] if the vault is unavailable.
pub fn remove_codes(file: &PolicyFile, origin: &str, digests: &[String]) -> Result<u64, PolicyError> {
    let fault = |key: &str, why: String| PolicyError::Key {
        origin: origin.to_owned(),
        key: key.to_owned(),
        why,
    };
    let keyring = keyring(file).map_err(|error| fault("keys", error.to_string()))?;
    let (Some(place), Some(keyring)) = (&file.vault, keyring) else {
        let why = "the erasure removes codes from a vault, but the policy names none".to_owned();
        return Err(fault("vault", why));
    };
    let vault = open(&place.existing(), &keyring, origin)?;
    let digests: HashSet<&str> = digests.iter().map(String::as_str).collect();
    let mut codes = Vec::new();
    let see = |code: Code, _: &Entry| {
        if digests.contains(digest(&code).as_str()) {
            codes.push(code);
        }
        Ok(())
    };
    let removed = each(vault.as_ref(), see).and_then(|()| vault.remove(&codes));
    removed.map_err(|error| fault("vault", error.to_string()))
}

fn digest(code: &Code) -> String {
    hex(&Sha256::digest(code.to_string().as_bytes()))
}

fn is_numbered(operation: &Operation) -> bool {
    let patient = Some(Numbered::Patient);
    matches!(operation, Operation::Tag { numbered } if *numbered == patient)
}

/// Returns the keys that make output, or made it.
fn usable(keyring: &Keyring) -> impl Iterator<Item = &Key> {
    keyring.keys().filter(|key| key.state() != KeyState::Retired)
}

/// Calls `see` with each entry of a vault.
fn each(
    vault: &dyn Vault,
    mut see: impl FnMut(Code, &Entry) -> Result<(), VaultError>,
) -> Result<(), VaultError> {
    let mut after = None;
    loop {
        let page = vault.page(after, PAGE)?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|(code, _)| *code);
        for (code, entry) in &page {
            see(*code, entry)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Returns these contexts, their representatives, and the contexts that are linked with either.
///
/// The vault maps an id to the one it was linked to, but not back, so the context of every entry is looked
/// up.
fn linked(vault: &dyn Vault, own: BTreeSet<String>) -> Result<BTreeSet<String>, VaultError> {
    let mut roots = BTreeSet::new();
    for context in &own {
        roots.insert(links::root(vault, context)?);
    }
    let mut is_target = false;
    each(vault, |_, entry| {
        is_target |= entry.label == links::LABEL && roots.contains(entry.value.as_str());
        Ok(())
    })?;
    let mut all: BTreeSet<String> = own.union(&roots).cloned().collect();
    if is_target {
        let mut asked = BTreeMap::new();
        each(vault, |_, entry| {
            let scope = entry.scope.as_str();
            if scope.starts_with(PATIENT) && !asked.contains_key(scope) {
                let is_same = roots.contains(&links::root(vault, scope)?);
                asked.insert(scope.to_owned(), is_same);
            }
            Ok(())
        })?;
        all.extend(
            asked
                .into_iter()
                .filter(|(_, is_same)| *is_same)
                .map(|(scope, _)| scope),
        );
    }
    Ok(all)
}

/// Returns the innermost brackets with their contents.
fn brackets(bytes: &[u8]) -> impl Iterator<Item = &str> {
    let mut from = None;
    bytes.iter().enumerate().filter_map(move |(at, byte)| match byte {
        b'[' => {
            from = Some(at);
            None
        }
        b']' => std::str::from_utf8(bytes.get(from.take()?..=at)?).ok(),
        _ => None,
    })
}
