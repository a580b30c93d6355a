//! How the services differ: names, error codes and hints.

use super::super::Op;

/// A cloud's object store, with the rules of its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Azure,
    Gcs,
}

/// The meaning of a status and error code that only one service uses so.
#[cfg_attr(
    not(feature = "buckets"),
    allow(dead_code, reason = "only clients receive codes")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The bucket does not exist.
    NoBucket,
    /// The name of a create is taken.
    Taken,
    /// The object has another version than the one to replace.
    Changed,
    /// A retry may help.
    Transient,
    /// A retry does not help; the hint says what does.
    Fix(&'static str),
}

impl Service {
    /// Returns its name in messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::S3 => "S3",
            Self::Azure => "Azure",
            Self::Gcs => "Google Cloud Storage",
        }
    }

    /// Returns the cargo feature of its client.
    pub(super) const fn feature(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "azure",
            Self::Gcs => "gcs",
        }
    }

    /// Returns whether this build has its client.
    pub(super) const fn is_built(self) -> bool {
        match self {
            Self::S3 => cfg!(feature = "s3"),
            Self::Azure => cfg!(feature = "azure"),
            Self::Gcs => cfg!(feature = "gcs"),
        }
    }
}

#[cfg_attr(
    not(feature = "buckets"),
    allow(dead_code, reason = "only clients have errors")
)]
impl Service {
    /// Returns what it calls a bucket.
    pub(super) const fn bucket(self) -> &'static str {
        match self {
            Self::S3 | Self::Gcs => "bucket",
            Self::Azure => "container",
        }
    }

    /// Returns what to check if it refuses a request.
    pub(super) const fn refused(self) -> &'static str {
        match self {
            Self::S3 => {
                "check the access key, the secret key and the bucket's policy: s3:ListBucket, s3:GetObject and \
                 s3:PutObject are needed"
            }
            Self::Azure => {
                "check the access key, the SAS token or the identity: it needs the role Storage Blob Data Contributor \
                 on the container (for a SAS token: read, list, create and write)"
            }
            Self::Gcs => {
                "check the service account: it needs storage.objects.list, storage.objects.get and \
                 storage.objects.create on the bucket"
            }
        }
    }

    /// Returns the condition of a create-only write that a store may lack.
    pub(super) const fn condition(self) -> &'static str {
        match self {
            Self::S3 | Self::Azure => "the store does not support If-None-Match on PUT: use one that does",
            Self::Gcs => "the store does not support x-goog-if-generation-match on PUT: use one that does",
        }
    }

    /// Returns the meaning of a response to `op`; `None` if it means the same as with every other service.
    pub(super) fn meaning(self, op: Op, status: Option<u16>, code: &str) -> Option<Meaning> {
        let writes = matches!(op, Op::Create | Op::Replace);
        let refused = match op {
            Op::Replace => Meaning::Changed,
            _ => Meaning::Taken,
        };
        match (self, status?, code) {
            (_, _, "NoSuchBucket" | "ContainerNotFound") => Some(Meaning::NoBucket),
            (Self::S3, 409, _) if op == Op::Create => Some(Meaning::Taken),
            (Self::Azure, 409 | 412, "ContainerBeingDeleted") => Some(Meaning::Fix(
                "create the container again when it is gone, or name another",
            )),
            (Self::Azure, 409 | 412, code) if code.starts_with("Lease") => Some(Meaning::Fix(
                "another program holds a lease on the blob: end the lease",
            )),
            (Self::Azure, 409, "BlobImmutableDueToPolicy") if op != Op::Create => Some(Meaning::Fix(
                "a policy of the container forbids it: change the policy, or wait for its end",
            )),
            // A folder of a hierarchical namespace has the name, or a part of the name is a blob.
            (Self::Azure, 409, "PathConflict" | "ResourceTypeMismatch" | "BlobPathConflict") => Some(
                Meaning::Fix("a folder and a blob of the container would have one name: move the other one"),
            ),
            (Self::Azure, 409 | 412, _) if writes => Some(refused),
            // Another request changes the object at this moment, and may still fail.
            (Self::Gcs, 409, _) if writes => Some(Meaning::Transient),
            (_, 412, _) if writes => Some(refused),
            (_, 404, _) if op == Op::Replace => Some(Meaning::Changed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_means_a_taken_name_only_where_the_service_says_so() {
        let meaning = |service: Service, op, status, code| service.meaning(op, Some(status), code);
        for (service, status, code) in [
            (Service::S3, 409, "ConditionalRequestConflict"),
            (Service::S3, 412, "PreconditionFailed"),
            (Service::Azure, 409, "BlobAlreadyExists"),
            (Service::Azure, 412, "ConditionNotMet"),
            (Service::Gcs, 412, "PreconditionFailed"),
        ] {
            assert_eq!(
                meaning(service, Op::Create, status, code),
                Some(Meaning::Taken),
                "{code}"
            );
        }
        for code in ["ContainerBeingDeleted", "LeaseIdMissing", "PathConflict"] {
            let found = meaning(Service::Azure, Op::Create, 409, code);
            assert!(matches!(found, Some(Meaning::Fix(_))), "{code}");
        }
        assert_eq!(
            meaning(Service::Gcs, Op::Create, 409, "Conflict"),
            Some(Meaning::Transient)
        );
        assert_eq!(
            meaning(Service::Azure, Op::Replace, 412, "ConditionNotMet"),
            Some(Meaning::Changed)
        );
        assert_eq!(
            meaning(Service::Gcs, Op::Replace, 404, "NoSuchKey"),
            Some(Meaning::Changed)
        );
        assert_eq!(meaning(Service::Azure, Op::Read, 404, "BlobNotFound"), None);
    }

    #[test]
    fn a_missing_bucket_is_recognised_by_its_code() {
        for (service, code) in [
            (Service::S3, "NoSuchBucket"),
            (Service::Azure, "ContainerNotFound"),
            (Service::Gcs, "NoSuchBucket"),
        ] {
            assert_eq!(
                service.meaning(Op::List, Some(404), code),
                Some(Meaning::NoBucket)
            );
        }
    }
}
