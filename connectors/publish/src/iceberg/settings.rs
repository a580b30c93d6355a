//! The settings of a REST catalogue.

use lethe_connectors::secret::Secret;
use reqwest::Url;

use crate::PublishError;

/// A REST catalogue, and the login to it.
#[derive(Clone, Debug)]
pub struct CatalogueSettings {
    pub(crate) url: Url,
    pub(crate) warehouse: Option<String>,
    pub(crate) login: Login,
}

/// The login to a catalogue.
#[derive(Clone, Debug)]
pub(crate) enum Login {
    None,
    /// A bearer token.
    Token(Secret),
    /// What to get tokens with (OAuth 2, RFC 6749, section 4.4).
    Client {
        id: String,
        secret: Secret,
        /// Where tokens come from; the catalogue itself by default.
        url: Option<Url>,
        scope: String,
    },
}

impl CatalogueSettings {
    /// Reads the login from the environment: `LETHE_CATALOG_TOKEN`, or `LETHE_CATALOG_CREDENTIAL` as `ID:SECRET` with
    /// `LETHE_CATALOG_OAUTH_URL` and `LETHE_CATALOG_SCOPE` (`catalog` by default).
    ///
    /// # Errors
    /// [`PublishError::Settings`] if an address or the credential cannot be used.
    pub fn from_environment(url: &str, warehouse: Option<&str>) -> Result<Self, PublishError> {
        Self::new(url, warehouse, |name| std::env::var(name).ok())
    }

    fn new(
        url: &str,
        warehouse: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, PublishError> {
        let wrong = |why: &str| PublishError::Settings {
            catalogue: url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            why: why.to_owned(),
        };
        let parse = |text: &str, what: &str| {
            let parsed = Url::parse(text).ok();
            let parsed = parsed.filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
            parsed.ok_or_else(|| wrong(&format!("{what} is not an address such as https://HOST/PATH")))
        };
        let parsed = parse(url, "it")?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(PublishError::Settings {
                catalogue: parsed.host_str().unwrap_or_default().to_owned(),
                why: "give the login in LETHE_CATALOG_TOKEN or LETHE_CATALOG_CREDENTIAL, not in the address"
                    .to_owned(),
            });
        }
        let login = match (
            variable("LETHE_CATALOG_TOKEN"),
            variable("LETHE_CATALOG_CREDENTIAL"),
        ) {
            (None, None) => Login::None,
            (Some(token), None) => Login::Token(Secret::from(token)),
            (None, Some(credential)) => {
                let (id, secret) = credential
                    .split_once(':')
                    .ok_or_else(|| wrong("LETHE_CATALOG_CREDENTIAL is not ID:SECRET"))?;
                let url = variable("LETHE_CATALOG_OAUTH_URL");
                Login::Client {
                    id: id.to_owned(),
                    secret: Secret::from(secret.to_owned()),
                    url: url
                        .map(|url| parse(&url, "LETHE_CATALOG_OAUTH_URL"))
                        .transpose()?,
                    scope: variable("LETHE_CATALOG_SCOPE").unwrap_or_else(|| "catalog".to_owned()),
                }
            }
            (Some(_), Some(_)) => {
                return Err(wrong(
                    "both LETHE_CATALOG_TOKEN and LETHE_CATALOG_CREDENTIAL are set; unset one",
                ));
            }
        };
        Ok(Self {
            url: parsed,
            warehouse: warehouse.map(str::to_owned),
            login,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str, variables: &[(&str, &str)]) -> Result<CatalogueSettings, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        CatalogueSettings::new(url, None, variable).map_err(|error| error.to_string())
    }

    #[test]
    fn no_error_or_debug_text_shows_a_secret() {
        let url = "https://catalogue.example";
        let login = settings(url, &[("LETHE_CATALOG_CREDENTIAL", "id:hidden-secret")]).unwrap();
        assert!(!format!("{login:?}").contains("hidden"), "{login:?}");
        for (url, variables) in [
            ("https://user:hidden@catalogue.example", &[][..]),
            ("ftp://catalogue.example?token=hidden", &[]),
            (url, &[("LETHE_CATALOG_CREDENTIAL", "hidden")]),
            (
                url,
                &[
                    ("LETHE_CATALOG_TOKEN", "hidden"),
                    ("LETHE_CATALOG_CREDENTIAL", "a:hidden"),
                ],
            ),
            (
                url,
                &[
                    ("LETHE_CATALOG_CREDENTIAL", "a:hidden"),
                    ("LETHE_CATALOG_OAUTH_URL", "hidden"),
                ],
            ),
        ] {
            let error = settings(url, variables).unwrap_err();
            assert!(
                !error.contains("hidden") && error.contains("catalogue"),
                "{error}"
            );
        }
    }
}
