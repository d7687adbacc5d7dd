//! How much memory the engine has needed so far.

/// Bytes of the linear memory, which only grows.
#[cfg(target_arch = "wasm32")]
pub(super) fn peak() -> Option<u64> {
    const PAGE: u64 = 1 << 16;
    Some(core::arch::wasm32::memory_size::<0>() as u64 * PAGE)
}

/// Bytes of the process that were resident at once, where the system tells.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}
