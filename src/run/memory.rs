//! Peak memory use of the engine.

/// Bytes of linear memory, which only grows.
#[cfg(target_arch = "wasm32")]
pub(super) fn peak() -> Option<u64> {
    const PAGE: u64 = 1 << 16;
    Some(core::arch::wasm32::memory_size::<0>() as u64 * PAGE)
}

/// Peak resident bytes of the process, if the system reports it.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
