//! Turns an error of a bucket's client into an error of the store.

use std::time::Instant;

use super::admission::Admission;
use super::cause::Cause;
use super::service::{Meaning, Service};
use crate::store::{At, Op, StoreError};

/// Returns what an error of the service means for the operation, and what to do.
pub(super) fn of(service: Service, admission: &Admission, at: At, error: &object_store::Error) -> StoreError {
    let cause = Cause::of(error);
    let detail = cause.detail.clone();
    let bucket = service.bucket();
    let other = |detail: String, hint: &str| StoreError::Other {
        at: at.clone(),
        detail,
        hint: hint.into(),
    };
    match service.meaning(at.op, cause.status, &cause.code) {
        Some(Meaning::NoBucket) => {
            return other(
                format!("there is no such {bucket}"),
                &format!("create it, or correct the {bucket}'s name"),
            );
        }
        Some(Meaning::Taken) => return StoreError::Exists(at),
        Some(Meaning::Changed) => return StoreError::Changed(at),
        Some(Meaning::Transient) => return StoreError::Transient { at, detail },
        Some(Meaning::Fix(hint)) => return other(detail, hint),
        None => {}
    }
    match (error, cause.status) {
        (object_store::Error::NotFound { .. }, _) if at.op == Op::Read => StoreError::NotFound(at),
        (_, Some(401 | 403)) if admission.may_pass(at.op, Instant::now()) => StoreError::Transient {
            at,
            detail: format!("{detail}: refused, but not before; new credentials may be on their way"),
        },
        (_, Some(401 | 403)) => StoreError::Denied {
            at,
            detail,
            hint: service.refused().into(),
        },
        // The certificate of a store that was trusted before is being replaced, or `ca` is.
        _ if cause.untrusted && !admission.has_let_in() => StoreError::Denied {
            at,
            detail,
            hint: "set the certificate's authority in the key `ca`, or correct the endpoint".into(),
        },
        (_, Some(507)) => StoreError::Full { at, detail },
        (_, Some(501)) => other(detail, service.condition()),
        (_, Some(408 | 429 | 500..)) => StoreError::Transient { at, detail },
        (_, Some(300..=399)) => other(
            detail,
            &format!("the {bucket} is elsewhere: correct the region or the endpoint"),
        ),
        (_, Some(_)) => other(detail, "correct the store's configuration"),
        (_, None) if detail.contains("az account get-access-token") => StoreError::Denied {
            at,
            detail: "the Azure CLI returned no token".into(),
            hint: "log in with `az login`, or unset AZURE_USE_AZURE_CLI".into(),
        },
        (object_store::Error::Generic { .. }, None) => StoreError::Transient { at, detail },
        (_, None) => other(detail, "correct the store's configuration"),
    }
}
