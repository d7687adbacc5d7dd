//! Peak memory of the process and of the GPU's buffers.

use straightedge::backend::gpu::Memory;

/// Resets the peaks.
pub(crate) fn restart() {
    Memory::restart_peak();
    process::restart();
}

/// Peak bytes in the GPU's buffers since [`restart`].
pub(crate) fn device() -> u64 {
    Memory::now().peak
}

/// Peak bytes of the process since [`restart`], if known; a browser's wasm memory never shrinks.
pub(crate) use process::peak as process;

#[cfg(target_os = "linux")]
mod process {
    use std::fs;

    /// Resets the kernel's peak, after the allocator has returned the memory of earlier measurements.
    pub(crate) fn restart() {
        #[cfg(target_env = "gnu")]
        #[allow(unsafe_code, reason = "the C library's own, safe at any time from any thread")]
        unsafe {
            libc::malloc_trim(0);
        }
        let _ = fs::write("/proc/self/clear_refs", "5");
    }

    pub(crate) fn peak() -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes << 10)
    }
}

#[cfg(target_arch = "wasm32")]
mod process {
    pub(crate) fn restart() {}

    pub(crate) fn peak() -> Option<u64> {
        Some(core::arch::wasm32::memory_size(0) as u64 * 65536)
    }
}

#[cfg(not(any(target_os = "linux", target_arch = "wasm32")))]
mod process {
    pub(crate) fn restart() {}

    pub(crate) fn peak() -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_the_process_begins_anew() {
        let large = std::hint::black_box(vec![1u8; 256 << 20]);
        let with = process().expect("a peak");
        drop(large);
        restart();
        let without = process().expect("a peak");
        assert!(without + (200 << 20) < with, "{without} after {with}");
    }
}
