//! URLs of buckets, as Spark and the readers of Delta tables write them.

use serde_json::json;

use super::AzureConfig;
use crate::store::StoreConfig;

/// The forms of URLs, for messages.
const FORMS: &str =
    "s3://BUCKET/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or gs://BUCKET/PREFIX";

impl StoreConfig {
    /// Returns the configuration of the bucket that a URL names, split into the URI of the whole bucket and the prefix. All
    /// other settings come from the environment; `AWS_ALLOW_HTTP`, `AZURE_ALLOW_HTTP` or `GOOGLE_ALLOW_HTTP` set to
    /// `true` accepts an endpoint without TLS.
    ///
    /// # Errors
    /// What is wrong with the URL, without the URL itself.
    pub fn from_url(url: &str) -> Result<Self, String> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(format!("it is no URL; write {FORMS}"));
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let allow_http = |cloud: &str| {
            std::env::var(format!("{cloud}_ALLOW_HTTP")).is_ok_and(|value| value.eq_ignore_ascii_case("true"))
        };
        let settings = match scheme {
            "s3" | "gs" if bucket.is_empty() => {
                return Err(format!("names no bucket; write {scheme}://BUCKET/PREFIX"));
            }
            "s3" => {
                json!({"kind": "s3", "bucket": bucket, "prefix": prefix, "allow_http": allow_http("AWS")})
            }
            "gs" => {
                json!({"kind": "gcs", "bucket": bucket, "prefix": prefix, "allow_http": allow_http("GOOGLE")})
            }
            "abfss" => {
                let Some((account, container, endpoint)) = AzureConfig::parse_authority(bucket) else {
                    return Err("names no container of an account; write \
                         abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"
                        .into());
                };
                json!({
                    "kind": "azure", "account": account, "container": container, "prefix": prefix,
                    "endpoint": endpoint, "allow_http": allow_http("AZURE"),
                })
            }
            _ => return Err(format!("its scheme is unknown; write {FORMS}")),
        };
        serde_json::from_value(settings).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_and_leads_back_to_itself() {
        for url in [
            "s3://b/",
            "s3://b/a/b c",
            "gs://b/a",
            "abfss://c@a.dfs.core.windows.net/p/q",
            "abfss://ws@onelake.dfs.fabric.microsoft.com/lake.Lakehouse/Tables/notes",
            "abfss://c@a.dfs.core.usgovcloudapi.net/p",
        ] {
            assert_eq!(StoreConfig::from_url(url).unwrap().uri(), url);
        }
    }

    #[test]
    fn a_url_without_a_bucket_or_of_another_kind_is_refused_with_the_right_form() {
        for (url, form) in [
            ("s3://", "s3://BUCKET/PREFIX"),
            ("gs:///a", "gs://BUCKET/PREFIX"),
            ("abfss://c/a", "abfss://CONTAINER@ACCOUNT"),
            ("az://c/a", "abfss://CONTAINER@ACCOUNT"),
            ("https://h/a", "s3://BUCKET/PREFIX"),
        ] {
            let error = StoreConfig::from_url(url).unwrap_err();
            assert!(error.contains(form), "{error}");
        }
    }
}
