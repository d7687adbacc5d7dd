//! The allocator of this crate's programs, which counts the bytes that are in use and their peak.
#![allow(unsafe_code, reason = "an allocator passes addresses on to that of the system")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted.
pub struct Counted;

fn add(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Relaxed).saturating_add(bytes);
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call is passed on unchanged; counting touches nothing but two numbers.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new place may exist at once.
        add(size);
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Bytes in use now.
pub fn in_use() -> usize {
    IN_USE.load(Relaxed)
}

/// Begins a new peak and returns the bytes in use.
pub fn restart_peak() -> usize {
    let now = in_use();
    PEAK.store(now, Relaxed);
    now
}

/// The most bytes in use since [`restart_peak`].
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_and_given_back_is_counted() {
        let before = restart_peak();
        let taken = vec![1u8; 50 << 20];
        assert!(peak() >= before + taken.len());
        drop(taken);
        assert!(in_use() < before + (25 << 20));
    }
}
