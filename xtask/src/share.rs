//! Metadata for sharing the page, written into index.html by the build: the URLs of the page and of its preview
//! picture, and a foot with version, commit, licences and source.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Placeholder for the URLs, in the head.
const ADDRESSES: &str = "<!-- addresses -->";
/// Placeholder for version and sources, in the foot.
const VERSION: &str = "<!-- version -->";
/// The preview picture, taken by `cargo xtask screenshot`.
const PICTURE: &str = "preview.png";

/// Where the page will be hosted, and what it was built from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared<'a> {
    /// URL of the page; without it there is no canonical URL, and the preview's is relative.
    pub(crate) site: Option<&'a str>,
    /// URL of the sources.
    pub(crate) source: Option<&'a str>,
    /// Commit of the sources.
    pub(crate) commit: Option<&'a str>,
}

impl Shared<'_> {
    /// Fills the placeholders in `dist/index.html`.
    pub(crate) fn write(&self, dist: &Path) -> Result<()> {
        let file = dist.join("index.html");
        let page = fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        let page = fill(&fill(&page, ADDRESSES, &self.addresses()?)?, VERSION, &self.version()?)?;
        fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))
    }

    fn addresses(&self) -> Result<String> {
        let Some(site) = self.site else {
            return Ok(format!(r#"<meta property="og:image" content="./{PICTURE}">"#));
        };
        let site = address(site)?;
        let slash = if site.ends_with('/') { "" } else { "/" };
        Ok(format!(
            "<link rel=\"canonical\" href=\"{site}{slash}\">\n  <meta property=\"og:url\" content=\"{site}{slash}\">\n  \
             <meta property=\"og:image\" content=\"{site}{slash}{PICTURE}\">"
        ))
    }

    fn version(&self) -> Result<String> {
        let mut text = format!("Straightedge {}", env!("CARGO_PKG_VERSION"));
        if let Some(commit) = self.commit {
            write!(text, ", commit {}", escaped(commit))?;
        }
        if let Some(source) = self.source {
            write!(text, " · <a href=\"{}\">Source</a>", address(source)?)?;
        }
        Ok(text)
    }
}

/// A web URL, escaped for an attribute.
fn address(text: &str) -> Result<String> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        bail!("{text} is no address; give one that begins with https://");
    }
    Ok(escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

/// `page` with `content` replacing the placeholder `place`.
pub(crate) fn fill(page: &str, place: &str, content: &str) -> Result<String> {
    if !page.contains(place) {
        bail!("there is no place {place}");
    }
    Ok(page.replacen(place, content, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_absolute_where_the_site_is_known() {
        let at = |site| Shared { site, ..Shared::default() }.addresses();
        let tags = at(Some("https://example.org/a&b")).expect("an address");
        assert!(tags.contains(r#"<link rel="canonical" href="https://example.org/a&amp;b/">"#), "{tags}");
        assert!(tags.contains(r#"content="https://example.org/a&amp;b/preview.png">"#), "{tags}");
        assert_eq!(at(None).expect("a relative one"), r#"<meta property="og:image" content="./preview.png">"#);
        assert!(at(Some("javascript:alert(1)")).is_err());
    }

    #[test]
    fn the_foot_names_commit_and_source() {
        let shared = Shared { commit: Some("0123abc"), source: Some("https://example.org/code"), site: None };
        let foot = shared.version().expect("a foot");
        assert!(foot.starts_with("Straightedge ") && foot.contains("commit 0123abc"), "{foot}");
        assert!(foot.ends_with(r#"<a href="https://example.org/code">Source</a>"#), "{foot}");
    }

    #[test]
    fn a_page_without_the_place_is_refused() {
        assert_eq!(fill("<p><!-- version --></p>", VERSION, "1").expect("a place"), "<p>1</p>");
        assert!(fill("<p></p>", VERSION, "1").is_err());
    }
}
