//! The crates that users get, and what a registry and its readers need to be told of each.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::workspace::{cargo, output};

/// Each after those that it depends on.
pub(crate) const NAMES: [&str; 5] =
    ["tollgate", "tollgate-async", "tollgate-tokio", "tollgate-smol", "tollgate-async-std"];

/// What every package carries beside its code.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// The registry's own bounds.
const MOST_KEYWORDS: usize = 5;
const LONGEST_KEYWORD: usize = 20;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: String,
    description: Option<String>,
    documentation: Option<String>,
    license: Option<String>,
    readme: Option<String>,
    rust_version: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    /// The registries it may go to; missing for any.
    publish: Option<Vec<String>>,
}

/// The one version of them all.
///
/// # Errors
/// Something is missing, differs, or would be published that is not among [`NAMES`].
pub(crate) fn version() -> Result<String> {
    let text = output(&mut cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata =
        serde_json::from_str(&text).context("cannot read what cargo metadata printed")?;
    for package in &metadata.packages {
        let open = package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
        let meant = NAMES.contains(&package.name.as_str());
        ensure!(open || !meant, "{} says `publish = false`, but users are to get it", package.name);
        ensure!(meant || !open, "{} lacks `publish = false`", package.name);
    }
    let published = NAMES
        .iter()
        .map(|name| {
            metadata
                .packages
                .iter()
                .find(|package| package.name == *name)
                .with_context(|| format!("no {name}"))
        })
        .collect::<Result<Vec<_>>>()?;
    let first = published.first().context("nothing is published")?;
    for package in &published {
        package.check().with_context(|| format!("the manifest of {}", package.name))?;
        ensure!(package.version == first.version, "{} has a version of its own", package.name);
    }
    Ok(first.version.clone())
}

impl Package {
    fn check(&self) -> Result<()> {
        let texts = [
            ("description", &self.description),
            ("documentation", &self.documentation),
            ("license", &self.license),
            ("readme", &self.readme),
            ("rust-version", &self.rust_version),
        ];
        for (field, text) in texts {
            ensure!(text.as_ref().is_some_and(|text| !text.is_empty()), "has no `{field}`");
        }
        ensure!(!self.categories.is_empty(), "has no `categories`");
        ensure!(!self.keywords.is_empty(), "has no `keywords`");
        ensure!(self.keywords.len() <= MOST_KEYWORDS, "has more than {MOST_KEYWORDS} keywords");
        for word in &self.keywords {
            ensure!(word.len() <= LONGEST_KEYWORD, "has the keyword {word}, longer than {LONGEST_KEYWORD}");
        }
        let folder = Path::new(&self.manifest_path).parent().context("lies nowhere")?;
        for file in FILES {
            ensure!(folder.join(file).is_file(), "has no {file} beside it");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_users_get_is_described_and_licensed_and_the_rest_stays_here() {
        version().unwrap();
    }
}
