//! The files of a model in a browser: handles of the user's own files, or files of the site.
//!
//! Either way the browser keeps the bytes as a `Blob`, and only the requested part is copied into wasm memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use straightedge::weights::source::Files;
use straightedge_api::error::{Error, Result};
use straightedge_web::browser::fetch;
use web_sys::Blob;

/// A model's files by name.
pub(crate) struct BlobFiles {
    blobs: RefCell<BTreeMap<String, Blob>>,
    site: Option<Site>,
}

/// Files of the site, fetched as blobs when first needed.
struct Site {
    folder: String,
    sizes: BTreeMap<String, u64>,
}

impl BlobFiles {
    /// Files of the site, with their sizes.
    pub(crate) fn of_site(folder: String, sizes: BTreeMap<String, u64>) -> Self {
        Self { blobs: RefCell::default(), site: Some(Site { folder, sizes }) }
    }

    /// Files of the user: handles in the order of their names.
    pub(crate) fn of_handles(names: Vec<String>, handles: Vec<Blob>) -> Self {
        Self { blobs: RefCell::new(names.into_iter().zip(handles).collect()), site: None }
    }

    /// The file; `None` if the model has no file of this name.
    async fn blob(&self, file: &str) -> Result<Option<Blob>> {
        if let Some(blob) = self.blobs.borrow().get(file) {
            return Ok(Some(blob.clone()));
        }
        let Some((site, size)) = self.site.as_ref().and_then(|site| Some((site, *site.sizes.get(file)?))) else {
            return Ok(None);
        };
        let blob = fetch::blob(&format!("{}/{file}", site.folder)).await?;
        if blob.size() != size as f64 {
            let why = format!("the site sent {} bytes instead of {size}", blob.size());
            return Err(Error::UnreadableFile { file: file.into(), why });
        }
        self.blobs.borrow_mut().insert(file.into(), blob.clone());
        Ok(Some(blob))
    }
}

impl Files for BlobFiles {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        async move { Ok(self.blob(file).await?.map(|blob| blob.size() as u64)) }.boxed_local()
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        async move {
            let hint = "choose the whole folder of the model".into();
            let blob = self.blob(file).await?.ok_or(Error::MissingFile { file: file.into(), hint })?;
            fetch::bytes(file, &blob, range.start, range.end).await
        }
        .boxed_local()
    }
}
