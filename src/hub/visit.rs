//! What the hub answered in this visit: a name is looked up once, because a class shares its few requests.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::repo::{Repo, RepoFile};

/// The answers of a visit, by address.
#[derive(Default)]
pub struct HubVisit {
    repos: RefCell<BTreeMap<String, Repo>>,
    listings: RefCell<BTreeMap<String, Option<BTreeMap<String, RepoFile>>>>,
    conversions: RefCell<BTreeMap<String, Option<String>>>,
}

impl HubVisit {
    /// The repository last found at an address.
    pub(super) fn repo(&self, url: &str) -> Option<Repo> {
        self.repos.borrow().get(url).cloned()
    }

    /// Remembers a repository.
    pub(super) fn keep_repo(&self, url: String, repo: &Repo) {
        self.repos.borrow_mut().insert(url, repo.clone());
    }

    /// The files last listed at an address; `Some(None)` if the hub refused to.
    pub(super) fn listing(&self, url: &str) -> Option<Option<BTreeMap<String, RepoFile>>> {
        self.listings.borrow().get(url).cloned()
    }

    /// Remembers a listing.
    pub(super) fn keep_listing(&self, url: String, files: Option<&BTreeMap<String, RepoFile>>) {
        self.listings.borrow_mut().insert(url, files.cloned());
    }

    /// The revision of the conversion found at an address; `Some(None)` if there is none.
    pub(super) fn conversion(&self, url: &str) -> Option<Option<String>> {
        self.conversions.borrow().get(url).cloned()
    }

    /// Remembers whether there is a conversion.
    pub(super) fn keep_conversion(&self, url: String, revision: Option<&String>) {
        self.conversions.borrow_mut().insert(url, revision.cloned());
    }
}
