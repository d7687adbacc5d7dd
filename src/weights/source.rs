//! Where the files of a model come from: a folder, a browser's files, bundled bytes.

use std::ops::Range;

use futures::future::LocalBoxFuture;

use crate::error::Result;

/// Random access to the files of one model, by names relative to its folder.
pub trait Files {
    /// Size in bytes; `None` where there is no such file.
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>>;

    /// Bytes `range` of a file; exactly as many as asked for, or an error.
    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>>;
}
