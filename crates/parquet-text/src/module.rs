//! The crate as a wasm module: call [`allocate`] for a file's bytes, write them there, call [`read`]; [`place`] and
//! [`length`] then give the text or the reason. Drop the instance afterwards.
#![allow(unsafe_code, reason = "a module without bindings speaks in addresses")]

use std::cell::RefCell;

thread_local! {
    /// The file, then the text or the error.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Allocates `length` bytes and returns their address.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    BYTES.with_borrow_mut(|bytes| {
        *bytes = vec![0; length];
        bytes.as_mut_ptr()
    })
}

/// Reads column `text` of the written file; returns 0 for a text, 1 for an error.
#[unsafe(no_mangle)]
pub extern "C" fn read() -> u32 {
    BYTES.with_borrow_mut(|bytes| {
        let found = super::texts(&std::mem::take(bytes), "text");
        let failed = u32::from(found.is_err());
        *bytes = found.unwrap_or_else(|why| why).into_bytes();
        failed
    })
}

/// Address of the result of [`read`].
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    BYTES.with_borrow(|bytes| bytes.as_ptr())
}

/// Length in bytes of the result of [`read`].
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    BYTES.with_borrow(Vec::len)
}
