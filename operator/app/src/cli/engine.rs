//! The options by which a command that needs no configuration file gets its members and its policy.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use lethe_ensemble::{NoteLanguage, OperatingPoint};

use crate::config::EngineConfig;
use crate::exit::usage;

/// Members and policy: those of a configuration, of bundles, or the defaults.
#[derive(Args, Default)]
pub(crate) struct EngineArgs {
    /// Use the members and policy of this configuration instead of the defaults
    #[arg(short, long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bundles: BundleArgs,
    /// Use this policy instead of the configuration's
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// The bundle that decides, or one for each language.
#[derive(Args, Clone, Default)]
pub(crate) struct BundleArgs {
    /// Use the members, vote and labels of a bundle: the name of a built-in one, or its folder. For notes in several
    /// languages name one for each, as LANGUAGE=BUNDLE: `--bundle en=en-clinical --bundle de=de-clinical/`
    #[arg(long, value_name = "BUNDLE", conflicts_with = "config")]
    pub(crate) bundle: Vec<NamedBundle>,
    /// The language of the notes, if bundles of several languages are named: `auto` (the default) chooses a bundle for
    /// each note by its text, and falls back to `en`, or else to the first bundle; a language such as `de` chooses its
    /// bundle for all notes
    #[arg(long, value_name = "LANGUAGE", requires = "bundle")]
    pub(crate) lang: Option<Lang>,
    /// Let the bundle's vote weigh recall against precision as this operating point does, if the bundle has it: `recall` (the
    /// default), `balanced` or `precision`
    #[arg(long, value_name = "POINT", conflicts_with = "config")]
    pub(crate) operating_point: Option<OperatingPoint>,
}

/// A bundle, and the language of its notes if there are several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedBundle {
    language: Option<NoteLanguage>,
    path: PathBuf,
}

impl FromStr for NamedBundle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Only two letters are a language: the name of a folder may have an equals sign.
        let language = |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_lowercase());
        match text.split_once('=') {
            Some((code, path)) if language(code) => Ok(Self {
                language: Some(code.parse().map_err(|error| format!("{error}"))?),
                path: path.into(),
            }),
            _ => Ok(Self {
                language: None,
                path: text.into(),
            }),
        }
    }
}

/// The language that a user says the notes are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lang {
    /// Each note's own.
    Auto,
    /// The same for all.
    Only(NoteLanguage),
}

impl FromStr for Lang {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            code => code
                .parse()
                .map(Self::Only)
                .map_err(|error| format!("{error}, or `auto`")),
        }
    }
}

impl BundleArgs {
    /// Returns the engine's configuration that the options stand for.
    ///
    /// # Errors
    /// A usage error if they contradict each other.
    pub(crate) fn engine(&self) -> anyhow::Result<EngineConfig> {
        let engine = EngineConfig {
            operating_point: self.operating_point,
            ..EngineConfig::default()
        };
        if let (None | Some(Lang::Auto), [only]) = (self.lang, self.bundle.as_slice())
            && only.language.is_none()
        {
            return match self.lang {
                None => Ok(EngineConfig {
                    bundle: Some(only.path.clone()),
                    ..engine
                }),
                Some(_) => Err(usage(format!(
                    "--lang auto: there is one bundle to choose from; name one for each language, such as --bundle en={} --bundle de=FOLDER",
                    only.path.display()
                ))),
            };
        }
        let mut languages = BTreeMap::new();
        for named in &self.bundle {
            let path = named.path.display();
            let Some(language) = named.language else {
                return Err(usage(format!(
                    "--bundle {path}: a bundle needs its language with --lang and next to other bundles, such as --bundle en={path}"
                )));
            };
            if languages.insert(language, named.path.clone()).is_some() {
                return Err(usage(format!(
                    "--bundle {language}={path}: there is another bundle for `{language}`"
                )));
            }
        }
        if let Some(Lang::Only(language)) = self.lang {
            let Some(path) = languages.remove(&language) else {
                return Err(usage(format!(
                    "--lang {language}: no --bundle is for this language"
                )));
            };
            return Ok(EngineConfig {
                bundle: Some(path),
                ..engine
            });
        }
        let fallback = match languages.contains_key(&NoteLanguage::En) {
            true => Some(NoteLanguage::En),
            false => self.bundle.first().and_then(|first| first.language),
        };
        Ok(EngineConfig {
            languages,
            fallback_language: fallback.filter(|_| !self.bundle.is_empty()),
            ..engine
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(bundles: &[&str], lang: Option<&str>) -> Result<EngineConfig, String> {
        let args = BundleArgs {
            bundle: bundles.iter().map(|one| one.parse().unwrap()).collect(),
            lang: lang.map(|lang| lang.parse().unwrap()),
            operating_point: None,
        };
        args.engine().map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_language_there_is_one_bundle() {
        assert_eq!(engine(&[], None).unwrap().bundle, None);
        let named = engine(&["sites/a=b"], None).unwrap();
        assert_eq!(named.bundle, Some("sites/a=b".into()));
        assert!(named.languages.is_empty());
        let why = engine(&["en-fast"], Some("auto")).map(|_| ()).unwrap_err();
        assert!(
            why.starts_with("--lang auto") && why.contains("en=en-fast"),
            "{why}"
        );
    }

    #[test]
    fn bundles_of_several_languages_are_chosen_by_note_or_by_the_user() {
        let both = ["de=german/", "fr=french/"];
        for lang in [None, Some("auto")] {
            let found = engine(&both, lang).unwrap();
            assert_eq!(found.languages.len(), 2);
            assert_eq!(found.fallback_language, Some(NoteLanguage::De));
        }
        let english = engine(&["de=german/", "en=en-fast"], None).unwrap();
        assert_eq!(english.fallback_language, Some(NoteLanguage::En));
        let french = engine(&both, Some("fr")).unwrap();
        assert_eq!(french.bundle, Some("french/".into()));
        assert!(french.languages.is_empty());
    }

    #[test]
    fn contradictions_are_refused() {
        for (bundles, lang, told) in [
            (&["de=german/", "en-fast"][..], None, "en=en-fast"),
            (&["de=a", "de=b"], None, "another bundle for `de`"),
            (&["de=a", "en=b"], Some("fr"), "--lang fr"),
        ] {
            let why = engine(bundles, lang).map(|_| ()).unwrap_err();
            assert!(why.contains(told), "{why}");
        }
        assert!("xx=a".parse::<NamedBundle>().unwrap_err().contains("`xx`"));
        assert!("klingon".parse::<Lang>().unwrap_err().contains("auto"));
    }
}
