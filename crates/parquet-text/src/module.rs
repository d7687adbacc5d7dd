//! The crate as a module for the page: [`allocate`] room for a file, write it there, call [`read`], look at [`place`] and
//! [`length`] for the text or the reason. Whoever is done drops the instance.
#![allow(unsafe_code, reason = "a module without bindings speaks in addresses")]

use std::cell::RefCell;

thread_local! {
    /// The file given, then the text or the reason why there is none.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for `length` bytes, at the address returned.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    BYTES.with_borrow_mut(|bytes| {
        *bytes = vec![0; length];
        bytes.as_mut_ptr()
    })
}

/// Reads column `text` of the file that was written; 0 where this gave a text, 1 where it gave a reason.
#[unsafe(no_mangle)]
pub extern "C" fn read() -> u32 {
    BYTES.with_borrow_mut(|bytes| {
        let found = super::texts(std::mem::take(bytes), "text");
        let failed = u32::from(found.is_err());
        *bytes = found.unwrap_or_else(|why| why).into_bytes();
        failed
    })
}

/// Address of what [`read`] gave.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    BYTES.with_borrow(|bytes| bytes.as_ptr())
}

/// Bytes of what [`read`] gave.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    BYTES.with_borrow(Vec::len)
}
