//! Data parallelism on all cores where the platform has threads; the only module that uses rayon.

/// Whether the platform has threads.
pub(crate) const HAS_THREADS: bool = cfg!(not(target_arch = "wasm32"));

/// Number of threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn threads() -> usize {
    rayon::current_num_threads()
}

/// Number of threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn threads() -> usize {
    1
}

/// Runs both closures, in parallel if there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    rayon::join(a, b)
}

/// Runs both closures, in parallel if there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn join<A, B>(a: impl FnOnce() -> A, b: impl FnOnce() -> B) -> (A, B) {
    (a(), b())
}

/// Applies `f` to every item and keeps the order; parallel if there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn map<T: Send + Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    use rayon::prelude::*;
    items.par_iter().map(f).collect()
}

/// Applies `f` to every item and keeps the order; parallel if there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn map<T, R>(items: &[T], f: impl Fn(&T) -> R) -> Vec<R> {
    items.iter().map(f).collect()
}

/// Zeros, written by all threads: a single thread takes as long for them as all threads for the result itself.
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

/// Runs `f` on another thread if there is one; `None` if it did not finish.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) async fn on_own_thread<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    let (sender, receiver) = futures::channel::oneshot::channel();
    rayon::spawn(move || {
        // Fails only if the receiver was dropped.
        let _ = sender.send(f());
    });
    receiver.await.ok()
}

/// Runs `f` on another thread if there is one.
#[cfg(target_arch = "wasm32")]
pub(crate) async fn on_own_thread<R>(f: impl FnOnce() -> R) -> Option<R> {
    Some(f())
}

/// Applies `f` to every run of `len` elements, with its index; parallel if there are threads.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn for_chunks<T: Send>(values: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Send + Sync) {
    use rayon::prelude::*;
    values.par_chunks_mut(len).enumerate().for_each(|(index, chunk)| f(index, chunk));
}

/// Applies `f` to every run of `len` elements, with its index; parallel if there are threads.
#[cfg(target_arch = "wasm32")]
pub(crate) fn for_chunks<T>(values: &mut [T], len: usize, f: impl Fn(usize, &mut [T])) {
    values.chunks_mut(len).enumerate().for_each(|(index, chunk)| f(index, chunk));
}
