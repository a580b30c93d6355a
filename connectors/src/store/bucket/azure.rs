//! The settings of a container of Azure: Blob Storage, Data Lake Storage Gen2 and OneLake.

use std::path::PathBuf;

use super::Place;
use super::service::Service;
use crate::secret::Secret;

/// The end of the address of an account, without a service's name before it.
const PUBLIC: &str = "core.windows.net";
/// The same for OneLake.
const FABRIC: &str = "fabric.microsoft.com";

/// Settings of a container of Azure Blob Storage, of Data Lake Storage Gen2 or of OneLake (account `onelake`, the
/// workspace as container). Without a credential here, it comes from the environment: `AZURE_STORAGE_ACCOUNT_KEY`,
/// a workload identity (`AZURE_CLIENT_ID`, `AZURE_TENANT_ID`, `AZURE_FEDERATED_TOKEN_FILE`), a service principal
/// (`AZURE_CLIENT_SECRET`), `AZURE_STORAGE_SAS_TOKEN`, the Azure CLI (`AZURE_USE_AZURE_CLI=true`), else the managed
/// identity of the machine.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AzureConfig {
    /// The storage account's name.
    #[schemars(extend("examples" = ["researchlake"]))]
    pub account: String,
    /// The container's name. In OneLake, the workspace.
    #[schemars(extend("examples" = ["research"]))]
    pub container: String,
    /// The prefix of every object's name, without slashes at its ends. In OneLake, it begins with the item.
    #[serde(default)]
    #[schemars(extend("examples" = ["lethe/notes"]))]
    pub prefix: String,
    /// The address of the account's blob service. Default: `AZURE_STORAGE_ENDPOINT`, else the public cloud's.
    #[serde(default)]
    #[schemars(extend("examples" = ["https://researchlake.blob.core.usgovcloudapi.net"]))]
    pub endpoint: Option<String>,
    /// An access key of the account. Exclusive with `sas_token` and `client_secret`.
    #[serde(default, skip_serializing)]
    pub access_key: Option<Secret>,
    /// A shared access signature, as the portal shows it.
    #[serde(default, skip_serializing)]
    pub sas_token: Option<Secret>,
    /// The tenant of a service principal. Default: `AZURE_TENANT_ID`.
    #[serde(default)]
    pub tenant_id: Option<String>,
    /// The application (client) id of a service principal, or of a managed identity that the user assigned. Default:
    /// `AZURE_CLIENT_ID`.
    #[serde(default)]
    pub client_id: Option<String>,
    /// The secret of a service principal. Needs `tenant_id` and `client_id`.
    #[serde(default, skip_serializing)]
    pub client_secret: Option<Secret>,
    /// PEM file of certificate authorities to trust in addition to the system's.
    #[serde(default)]
    pub ca: Option<PathBuf>,
    /// Whether to accept an endpoint without TLS.
    #[serde(default)]
    pub allow_http: bool,
    /// Timeout for a connection.
    #[serde(default = "super::connect_timeout_seconds")]
    pub connect_timeout_seconds: u64,
    /// Timeout of a request, upload included.
    #[serde(default = "super::timeout_seconds")]
    pub timeout_seconds: u64,
    /// The maximum number of retries of a request.
    #[serde(default = "super::retries")]
    #[schemars(extend("x-unit" = "retries"))]
    pub retries: usize,
    /// The time after which Lethe stops retrying a request, and the call fails.
    #[serde(default = "super::retry_seconds")]
    pub retry_seconds: u64,
}

impl AzureConfig {
    /// Parses `CONTAINER@ACCOUNT.dfs.core.windows.net`: the account, the container and, outside the public cloud, the
    /// endpoint.
    pub(super) fn parse_authority(text: &str) -> Option<(&str, &str, Option<String>)> {
        let (container, host) = text.split_once('@')?;
        let (account, domain) = host.split_once(".dfs.").or_else(|| host.split_once(".blob."))?;
        if account.is_empty() || container.is_empty() || account.contains('.') {
            return None;
        }
        let is_known = domain == PUBLIC || (domain == FABRIC && is_onelake(account));
        let endpoint = (!is_known).then(|| format!("https://{account}.blob.{domain}"));
        Some((account, container, endpoint))
    }

    pub(super) fn place(&self) -> Place<'_> {
        let (account, container) = (&self.account, &self.container);
        // Of an address with the account in its name, so that the URI leads back to it.
        let domain = self.endpoint.as_deref().and_then(|endpoint| {
            let host = endpoint.strip_prefix("https://")?.trim_end_matches('/');
            host.strip_prefix(account.as_str())?.strip_prefix(".blob.")
        });
        let default = if is_onelake(account) { FABRIC } else { PUBLIC };
        let domain = domain.unwrap_or(default);
        Place {
            service: Service::Azure,
            root: format!("abfss://{container}@{account}.dfs.{domain}"),
            bucket: container,
            prefix: &self.prefix,
            endpoint: self.endpoint.as_deref(),
            ca: self.ca.as_deref(),
            allow_http: self.allow_http,
        }
    }

    /// Creates a client of the container without contacting it.
    ///
    /// # Errors
    /// The problem, in words without secrets.
    #[cfg(feature = "azure")]
    pub(super) fn client(&self) -> Result<object_store::azure::MicrosoftAzure, String> {
        use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

        if self.account.is_empty() {
            return Err("the account's name is empty".into());
        }
        let requests = super::requests::Requests {
            ca: self.ca.as_deref(),
            allow_http: self.allow_http,
            connect_timeout_seconds: self.connect_timeout_seconds,
            timeout_seconds: self.timeout_seconds,
            retries: self.retries,
            retry_seconds: self.retry_seconds,
        };
        let credentials = [
            (AzureConfigKey::AccessKey, &self.access_key),
            (AzureConfigKey::SasKey, &self.sas_token),
            (AzureConfigKey::ClientSecret, &self.client_secret),
        ];
        let mut given = credentials
            .into_iter()
            .filter_map(|(key, secret)| Some((key, secret.as_ref()?)));
        let environment = MicrosoftAzureBuilder::from_env();
        let mut builder = match given.next() {
            None => environment,
            // The client prefers some credentials to others, so those of the environment could win.
            Some((key, secret)) => {
                let kept = [AzureConfigKey::Endpoint, AzureConfigKey::AuthorityHost];
                let kept = kept.map(|key| (key, environment.get_config_value(&key)));
                let builder = MicrosoftAzureBuilder::new().with_config(key, secret.expose());
                kept.into_iter()
                    .filter_map(|(key, value)| Some((key, value?)))
                    .fold(builder, |builder, (key, value)| builder.with_config(key, value))
            }
        };
        if given.next().is_some() {
            return Err(
                "more than one of the keys `access_key`, `sas_token` and `client_secret` is set".into(),
            );
        }
        if self.client_secret.is_some() && (self.client_id.is_none() || self.tenant_id.is_none()) {
            return Err("key `client_secret` needs `client_id` and `tenant_id`".into());
        }
        builder = builder
            .with_account(&self.account)
            .with_container_name(&self.container)
            .with_use_emulator(false)
            .with_client_options(requests.options()?)
            .with_retry(requests.retry());
        if is_onelake(&self.account) {
            builder = builder.with_use_fabric_endpoint(true);
        }
        if let Some(endpoint) = &self.endpoint {
            builder = builder.with_endpoint(endpoint.trim_end_matches('/').to_owned());
        }
        if let Some(id) = &self.client_id {
            builder = builder.with_client_id(id);
        }
        if let Some(id) = &self.tenant_id {
            builder = builder.with_tenant_id(id);
        }
        builder.build().map_err(|error| {
            let detail = super::cause::Cause::of(&error).detail;
            // The decoder's message quotes a character of the key.
            match detail.contains("Access Key") {
                true => {
                    "the access key (key `access_key`, or AZURE_STORAGE_ACCOUNT_KEY) is not base64".into()
                }
                false => detail,
            }
        })
    }
}

/// Returns whether the account is OneLake, also that of a region (`westus-onelake`): names of accounts have no hyphen.
fn is_onelake(account: &str) -> bool {
    account == "onelake" || account.ends_with("-onelake")
}

#[cfg(all(test, feature = "azure"))]
mod tests {
    use super::*;

    #[allow(clippy::unwrap_used, reason = "a test may fail")]
    fn config(more: &str) -> AzureConfig {
        serde_json::from_str(&format!(r#"{{"account": "a", "container": "c"{more}}}"#)).unwrap()
    }

    #[test]
    fn two_credentials_or_half_of_one_are_refused_by_their_keys() {
        for (more, key) in [
            (
                r#", "access_key": "aHVzaA==", "sas_token": "sig=hush""#,
                "sas_token",
            ),
            (r#", "client_secret": "hush", "client_id": "i""#, "tenant_id"),
            (r#", "access_key": "hush!""#, "access_key"),
        ] {
            let error = config(more).client().unwrap_err();
            assert!(error.contains(key) && !error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn every_kind_of_credential_makes_a_client() {
        for more in [
            r#", "access_key": "aHVzaA==""#,
            r#", "sas_token": "?sv=2023-11-03&sig=hush%3D""#,
            r#", "client_secret": "hush", "client_id": "i", "tenant_id": "t""#,
            r#", "client_id": "i""#,
            "",
        ] {
            assert!(config(more).client().is_ok(), "{more}");
        }
    }

    #[test]
    fn an_authority_names_account_container_and_cloud() {
        let parsed = |text| AzureConfig::parse_authority(text);
        assert_eq!(parsed("c@a.dfs.core.windows.net"), Some(("a", "c", None)));
        assert_eq!(
            parsed("ws@onelake.dfs.fabric.microsoft.com"),
            Some(("onelake", "ws", None))
        );
        let (_, _, endpoint) = parsed("c@a.dfs.core.usgovcloudapi.net").unwrap();
        assert_eq!(endpoint.as_deref(), Some("https://a.blob.core.usgovcloudapi.net"));
        for wrong in [
            "c",
            "c@a",
            "@a.dfs.core.windows.net",
            "c@.dfs.core.windows.net",
            "c@a.b.dfs.x",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_uri_is_that_of_the_configured_cloud() {
        let mut config = config(r#", "prefix": "p""#);
        assert_eq!(config.place().uri(), "abfss://c@a.dfs.core.windows.net/p");
        config.endpoint = Some("https://a.blob.core.usgovcloudapi.net/".into());
        assert_eq!(config.place().uri(), "abfss://c@a.dfs.core.usgovcloudapi.net/p");
        config.account = "onelake".into();
        config.endpoint = None;
        assert_eq!(
            config.place().uri(),
            "abfss://c@onelake.dfs.fabric.microsoft.com/p"
        );
    }
}
