//! Work spread over the machine's cores, where a platform has threads: the one place that names rayon.

/// Whether there are threads.
pub(crate) const HAS_THREADS: bool = cfg!(not(target_arch = "wasm32"));

/// Both results; at once where there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    rayon::join(a, b)
}

/// Both results; at once where there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn join<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    (a(), b())
}

/// `f` of every item, in order; at once where there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn map<T: Send + Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    items.par_iter().map(f).collect()
}

/// `f` of every item, in order; at once where there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn map<T, R>(items: &[T], f: impl Fn(&T) -> R) -> Vec<R> {
    items.iter().map(f).collect()
}

/// Zeros, written by all threads: one alone takes as long for those of a result as all take for the result itself.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn zeros(len: usize) -> Vec<f32> {
    use rayon::prelude::*;
    const RUN: usize = 1024;
    let runs: Vec<[f32; RUN]> = rayon::iter::repeat_n([0.0; RUN], len.div_ceil(RUN)).with_min_len(16).collect();
    let mut zeros = runs.into_flattened();
    zeros.truncate(len);
    zeros
}

/// Zeros.
#[cfg(target_arch = "wasm32")]
pub(crate) fn zeros(len: usize) -> Vec<f32> {
    vec![0.0; len]
}

/// `f` on another thread where there is one, to be waited for; `None` where it did not come to an end.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) async fn aside<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    let (sender, receiver) = futures::channel::oneshot::channel();
    rayon::spawn(move || {
        // Nobody waits any more where that fails.
        let _ = sender.send(f());
    });
    receiver.await.ok()
}

/// `f` on another thread where there is one, to be waited for.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn aside<R>(f: impl FnOnce() -> R) -> Option<R> {
    Some(f())
}

/// `f` of every run of `len` elements, with its index; at once where there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_chunks<T: Send>(values: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Send + Sync) {
    use rayon::prelude::*;
    values.par_chunks_mut(len).enumerate().for_each(|(index, chunk)| f(index, chunk));
}

/// `f` of every run of `len` elements, with its index; at once where there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn for_chunks<T>(values: &mut [T], len: usize, f: impl Fn(usize, &mut [T])) {
    values.chunks_mut(len).enumerate().for_each(|(index, chunk)| f(index, chunk));
}
