//! Builds the replacer and the other parts of a policy from its file.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lethe_core::{
    CarriedField, Hipaa, LabelId, LabelSet, NamesNobody, PatientKey, Propagation, ReplaceError, Replaced,
    Replacement, Replacer, Subject, Titles,
};
use lethe_dictionaries::Dictionary;
use lethe_secrets::{IdCipher, KeyError, Keyring, ShiftRule, SqliteVault, Vault, VaultError};
use lethe_surrogates::Surrogates;
use lethe_surrogates::zip::ZipTable;

use crate::authority::Authorities;
use crate::error::PolicyError;
use crate::file::{Keys, Links, Missing, Mode, Numbered, Operation, PolicyFile, Tls, VaultPlace};
use crate::links;
use crate::note::{Item, Note};
use crate::operators::{Operator, Parts, operator};
use crate::role::{Role, roles};
use crate::rules::check;
use crate::titles::titles;

/// A policy that was checked against the rules of its mode, with its keys read and its vault open.
#[derive(Debug)]
pub struct Policy {
    /// The replacer of spans.
    pub replacer: Arc<PolicyReplacer>,
    /// Propagation to further occurrences, if the policy turns it on.
    pub propagation: Option<Propagation>,
    /// The extension of names over their titles, if the policy turns it on.
    pub titles: Option<Titles>,
    /// The rule that the output follows.
    pub mode: Mode,
    /// [`PolicyFile::digest`].
    pub digest: String,
    /// Metadata that leaves unchanged, with the policy's reasons, for the metadata of files.
    pub kept: Vec<(String, String)>,
    /// [`DERIVATION`], if keys or a vault make any of its replacements.
    pub derivation: Option<u32>,
}

/// The version of the derivation of codes, surrogates and shifted dates from keys and vaults. It changes
/// whenever a policy would replace the same value differently than before, so that a dataset does not change
/// unnoticed in the middle.
pub const DERIVATION: u32 = 2;

impl Policy {
    /// Builds a policy from a file, over the labels of a set. `origin` is the file's name, for messages;
    /// `carried` is the metadata that goes to the output unchanged.
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn build(
        file: &PolicyFile,
        origin: &str,
        labels: &Arc<LabelSet>,
        dictionary: &Arc<Dictionary>,
        carried: &[CarriedField],
    ) -> Result<Self, PolicyError> {
        check(file, origin, labels, carried)?;
        let fault = |key: &str, why: String| PolicyError::Key {
            origin: origin.to_owned(),
            key: key.to_owned(),
            why,
        };
        let operations: Vec<&Operation> = labels
            .labels()
            .iter()
            .map(|label| file.operation_for(label))
            .collect();
        let asks =
            |needs: fn(&Operation) -> bool| operations.iter().find(|one| needs(one)).map(|one| one.name());
        let keyring = keyring(file).map_err(|error| fault("keys", error.to_string()))?;
        if let (None, Some(action)) = (&keyring, asks(Operation::needs_key)) {
            let why = format!("`{action}` needs a key: set one, as in `keys.file = \"keys.toml\"`");
            return Err(fault("keys", why));
        }
        if let (None, Some(action)) = (&file.vault, asks(Operation::needs_vault)) {
            let why = format!(
                "`{action}` with codes of a vault needs one: add it, as in `[vault]`, `kind = \"sqlite\"`"
            );
            return Err(fault("vault", why));
        }
        let follows = file.patient.links == Links::Vault;
        if follows && file.vault.is_none() {
            let why = "`vault` needs a vault to store links: add one, as in `[vault]`, `kind = \"sqlite\"`";
            return Err(fault("patient.links", why.to_owned()));
        }
        let random = file.vault.is_some() && (follows || asks(wants_vault).is_some());
        let vault = match (&file.vault, &keyring) {
            (Some(place), Some(keyring)) if random => Some(open(place, keyring, origin)?),
            _ => None,
        };
        let days = ShiftRule::new(u32::from(file.shift.days), file.shift.weekday);
        let zips = match &file.zip_table {
            Some(path) => Some(Arc::new(
                ZipTable::load(path).map_err(|error| fault("zip_table", error.to_string()))?,
            )),
            None => None,
        };
        let acts = |name: &str| operations.iter().any(|operation| operation.name() == name);
        let surrogates = acts("surrogate").then(|| Surrogates::new(Arc::clone(dictionary)).map(Arc::new));
        let authorities = Arc::new(Authorities::new(&file.authority));
        let cipher = keyring.as_ref().filter(|_| acts("encrypt-id"));
        let parts = Parts {
            cipher: cipher.map(|keyring| Arc::new(IdCipher::new(keyring.current()))),
            authorities: Arc::clone(&authorities),
            order: file.dates,
            language: file.language,
            shift: days.map_err(|error| fault("shift.days", error.to_string()))?,
            zips,
            surrogates: surrogates
                .transpose()
                .map_err(|error| fault("labels", error.to_string()))?,
            has_vault: vault.is_some() && asks(wants_vault).is_some(),
            hides_great_age: file.mode != Mode::LimitedDataSet,
        };
        Ok(Self {
            propagation: file
                .propagate
                .then(|| Propagation::new(labels, nobody(dictionary))),
            titles: file.titles.then(|| titles(file, labels, dictionary)),
            mode: file.mode,
            digest: file.digest(),
            kept: (file.keep.iter())
                .map(|(field, reason)| (field.name().to_owned(), reason.clone()))
                .collect(),
            derivation: asks(Operation::needs_key).map(|_| DERIVATION),
            replacer: Arc::new(PolicyReplacer {
                operators: operations.iter().map(|one| operator(one, &parts)).collect(),
                roles: roles(labels),
                labels: Arc::clone(labels),
                missing: file.patient.missing,
                links: file.patient.links,
                ignored: AtomicBool::new(false),
                authorities,
                keyring,
                vault,
            }),
        })
    }
}

/// Returns whether it uses codes of the vault if there is one.
fn wants_vault(operation: &Operation) -> bool {
    let numbered = Operation::Tag {
        numbered: Some(Numbered::Patient),
    };
    operation.needs_vault() || *operation == numbered
}

/// Returns the keys that a policy names, if it names any.
pub(crate) fn keyring(file: &PolicyFile) -> Result<Option<Keyring>, KeyError> {
    let keyring = match &file.keys {
        Some(Keys::File(path)) => Keyring::read(path),
        Some(Keys::Env(name)) => Keyring::from_env(name),
        None => return Ok(None),
    };
    keyring.map(Some)
}

/// Opens the vault at a place. `origin` is the policy's file, for messages.
pub(crate) fn open(
    place: &VaultPlace,
    keyring: &Keyring,
    origin: &str,
) -> Result<Box<dyn Vault>, PolicyError> {
    let told = |error: VaultError| PolicyError::vault(origin, &error);
    Ok(match place {
        VaultPlace::Sqlite { path, create: false } => {
            Box::new(SqliteVault::open(path, keyring).map_err(told)?)
        }
        VaultPlace::Sqlite { path, create: true } => {
            Box::new(SqliteVault::open_or_create(path, keyring).map_err(told)?)
        }
        VaultPlace::Postgres {
            env,
            tls,
            limit_seconds,
            create,
        } => postgres(
            env,
            tls,
            Duration::from_secs(*limit_seconds),
            *create,
            keyring,
            origin,
        )?,
    })
}

/// Opens the vault in the database that an environment variable names.
#[cfg(feature = "postgres")]
fn postgres(
    env: &str,
    tls: &Tls,
    limit: Duration,
    create: bool,
    keyring: &Keyring,
    origin: &str,
) -> Result<Box<dyn Vault>, PolicyError> {
    use lethe_secrets::{PostgresTls, PostgresVault};

    let target = std::env::var(env)
        .map(zeroize::Zeroizing::new)
        .map_err(|_| PolicyError::Key {
            origin: origin.to_owned(),
            key: "vault".to_owned(),
            why: format!("environment variable {env}, which must hold the connection string, is not set"),
        })?;
    let tls = match tls {
        Tls::System => PostgresTls::System,
        Tls::Authority(path) => PostgresTls::Authority(path.clone()),
        Tls::Off => PostgresTls::Off,
    };
    let opened = if create {
        PostgresVault::open_or_create(&target, &tls, limit, keyring)
    } else {
        PostgresVault::open(&target, &tls, limit, keyring)
    };
    Ok(Box::new(
        opened.map_err(|error| PolicyError::vault(origin, &error))?,
    ))
}

/// Refuses the vault: this build has no client of PostgreSQL.
#[cfg(not(feature = "postgres"))]
fn postgres(
    _: &str,
    _: &Tls,
    _: Duration,
    _: bool,
    _: &Keyring,
    origin: &str,
) -> Result<Box<dyn Vault>, PolicyError> {
    Err(PolicyError::Key {
        origin: origin.to_owned(),
        key: "vault".to_owned(),
        why: "this build of Lethe cannot use PostgreSQL; use one that was built with the feature `postgres`"
            .to_owned(),
    })
}

/// Returns a test for words such as particles and titles.
fn nobody(dictionary: &Arc<Dictionary>) -> NamesNobody {
    let dictionary = Arc::clone(dictionary);
    let lists = dictionary.lists_where(|list| NOBODY.iter().any(|name| list.id.starts_with(name)));
    Arc::new(move |word| dictionary.word(word).lists().intersects(lists))
}

/// The prefixes of the names of the lists whose words occur in names but name nobody, in any language.
const NOBODY: [&str; 4] = ["name-particles", "name-suffixes", "titles-", "credentials"];

/// Replaces spans by a policy. Shared by all lanes.
pub struct PolicyReplacer {
    operators: Vec<Box<dyn Operator>>,
    roles: Vec<Role>,
    labels: Arc<LabelSet>,
    missing: Missing,
    links: Links,
    /// Whether an ignored link was reported.
    ignored: AtomicBool,
    authorities: Arc<Authorities>,
    keyring: Option<Keyring>,
    vault: Option<Box<dyn Vault>>,
}

impl fmt::Debug for PolicyReplacer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyReplacer({:?})", self.labels)
    }
}

impl PolicyReplacer {
    fn item<'a>(
        &'a self,
        label: LabelId,
        text: &'a str,
        value: &'a str,
        authority: Option<&'a str>,
    ) -> (Item<'a>, &'a dyn Operator) {
        let place = usize::from(label.0);
        let item = Item {
            label: self.labels.label(label),
            role: &self.roles[place],
            text,
            value,
            authority,
        };
        (item, self.operators[place].as_ref())
    }

    fn ask<'a>(&self, items: &[(Item<'a>, &dyn Operator)], note: &mut Note<'a>) -> Result<(), ReplaceError> {
        let Some(vault) = &self.vault else { return Ok(()) };
        let wanted = items.iter().filter(|(_, operator)| operator.wants_code());
        let mut wanted = wanted
            .map(|(item, operator)| (*item, operator.scope()))
            .peekable();
        if wanted.peek().is_none() {
            return Ok(());
        }
        note.ask(vault.as_ref(), wanted).map_err(unanswered)
    }

    /// Stores the links of the note's event, and switches the note to the patient to which its links lead.
    fn follow(&self, note: &mut Note<'_>) -> Result<(), ReplaceError> {
        let subject = note.subject;
        match (self.links, &self.vault) {
            (Links::Vault, Some(vault)) if subject.patient_id.is_some() => {
                for link in subject.links {
                    let context = |key: &PatientKey| {
                        self.authorities
                            .context(key.authority.as_deref(), key.id.expose())
                    };
                    let into = link.into.as_ref().map_or_else(|| note.context.clone(), context);
                    links::join(vault.as_ref(), &context(&link.from), &into).map_err(unanswered)?;
                }
                let root = links::root(vault.as_ref(), &note.context).map_err(unanswered)?;
                note.follow(root);
            }
            _ if !subject.links.is_empty() && !self.ignored.swap(true, Ordering::Relaxed) => {
                let (topic, partition, offset) = subject.at;
                tracing::warn!(
                    topic,
                    partition,
                    offset,
                    "the policy ignores an event's merge or link of patients: their ids keep separate codes; set `patient.links = \"vault\"` to follow it"
                );
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns the error of a note whose vault did not respond.
fn unanswered(error: VaultError) -> ReplaceError {
    match error {
        VaultError::TooLong { .. } => ReplaceError::Failed,
        // Any other error affects every note, so that no note is quarantined for it.
        error => {
            tracing::warn!(%error, "the vault");
            ReplaceError::Unavailable("the vault of codes did not respond")
        }
    }
}

impl Replacer for PolicyReplacer {
    fn replace(&self, subject: &Subject<'_>) -> Result<Replaced, ReplaceError> {
        let mut items = Vec::with_capacity(subject.decisions.len() + subject.identifiers.len());
        for decision in subject.decisions {
            items.push(self.item(
                decision.label,
                decision.span.of(subject.note.text),
                decision.value().of(subject.note.text),
                subject.column,
            ));
        }
        for identifier in subject.identifiers {
            let label = self
                .labels
                .resolve(identifier.label)
                .map_err(|_| ReplaceError::Failed)?;
            let value = identifier.value.expose();
            items.push(self.item(label, value, value, identifier.authority.as_deref()));
        }
        let values = items
            .iter()
            .map(|(item, _)| (item.label.hipaa == Hipaa::Names, item.value));
        let mut note = Note::new(
            subject,
            self.missing,
            &self.authorities,
            self.keyring.as_ref(),
            values.collect(),
        )?;
        self.follow(&mut note)?;
        self.ask(&items, &mut note)?;
        let mut all: Vec<Replacement> = Vec::with_capacity(items.len());
        for (item, operator) in &items {
            all.push(operator.write(item, &mut note)?);
        }
        let identifiers = all.split_off(subject.decisions.len());
        Ok(Replaced {
            spans: all,
            identifiers,
            scope: note.scope,
        })
    }
}
