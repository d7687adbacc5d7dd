//! Waiting for the device and reading back. A wait ends when one submission is finished; the device meanwhile works on
//! later ones.

use futures::channel::oneshot;

use super::engine::{Copy, Engine};
use super::tensor::Buffer;
use super::waits::{Counts, Latency, Pending};
use crate::error::{Error, Result};
use crate::platform::yielding::pause;

/// Bytes read back at a time.
const READ_BYTES: u64 = 32 << 20;
/// Milliseconds between two empty submissions, where these make the browser check for finished work.
#[cfg(target_arch = "wasm32")]
const NUDGE_MS: u32 = 2;

/// Number of pauses in which a browser can report a lost device, and milliseconds of each.
const RESTS: usize = 20;
const REST_MS: u32 = 10;

/// A byte range of a buffer to read back.
pub(in crate::backend::gpu) struct Span<'a> {
    pub(in crate::backend::gpu) buffer: &'a Buffer,
    pub(in crate::backend::gpu) offset: u64,
    pub(in crate::backend::gpu) size: u64,
}

/// Bytes on their way to the host.
pub(in crate::backend::gpu) struct Incoming {
    staging: wgpu::Buffer,
    mapped: Pending<Result<(), wgpu::BufferAsyncError>>,
}

impl Engine {
    /// Submits the recorded work and waits until the device has finished it.
    pub(in crate::backend::gpu) async fn wait(&self) -> Result<()> {
        let end = self.end();
        self.answer(end).await
    }

    /// Submits the recorded work and waits until the device has finished the work submitted by the previous call, so
    /// that the device always has a batch queued.
    pub(in crate::backend::gpu) async fn wait_for_batch_before(&self) -> Result<()> {
        let end = self.end();
        match self.waits.before.replace(Some(end)) {
            Some(before) => self.answer(before).await,
            None => Ok(()),
        }
    }

    /// Submits the recorded work and returns its end.
    fn end(&self) -> Pending<()> {
        let index = self.submit();
        let (sender, receiver) = oneshot::channel();
        self.device.queue.on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        Pending { receiver, mark: self.pacer.mark(), index }
    }

    /// Reads spans back in order, after all recorded work, in pieces of bounded size.
    ///
    /// `take` receives the span's index, the offset within the span, and bytes.
    pub(in crate::backend::gpu) async fn read(
        &self,
        spans: &[Span<'_>],
        mut take: impl FnMut(usize, u64, &[u8]),
    ) -> Result<()> {
        for pieces in chunks(spans) {
            let incoming = self.request(spans, &pieces);
            self.receive(incoming, |bytes| {
                let mut at = 0;
                for Piece { index, within, size } in pieces {
                    take(index, within, &bytes[at..at + size as usize]);
                    at += size as usize;
                }
            })
            .await?;
        }
        Ok(())
    }

    /// Requests all bytes of a small buffer without waiting.
    pub(in crate::backend::gpu) fn request_all(&self, buffer: &Buffer) -> Incoming {
        let span = Span { buffer, offset: 0, size: buffer.size };
        self.request(&[span], &[Piece { index: 0, within: 0, size: buffer.size }])
    }

    /// Records and submits copies of the pieces into a staging buffer, and maps it.
    fn request(&self, spans: &[Span<'_>], pieces: &[Piece]) -> Incoming {
        let staging = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size: pieces.iter().map(|piece| piece.size).sum(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut to_offset = 0;
        for &Piece { index, within, size } in pieces {
            let span = &spans[index];
            let (from, from_offset) = (wgpu::Buffer::clone(&span.buffer.raw), span.offset + within);
            self.copy(Copy { from, from_offset, to: staging.clone(), to_offset, size });
            to_offset += size;
        }
        let index = self.submit();
        let (sender, receiver) = oneshot::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            let _ = sender.send(mapped);
        });
        Incoming { staging, mapped: Pending { receiver, mark: self.pacer.mark(), index } }
    }

    /// Waits for the bytes and passes them to `take`.
    pub(in crate::backend::gpu) async fn receive(&self, incoming: Incoming, take: impl FnOnce(&[u8])) -> Result<()> {
        let Incoming { staging, mapped } = incoming;
        let unreadable = |why: String| Error::Gpu { what: "reading back".into(), why };
        if let Err(error) = self.answer(mapped).await? {
            // A browser may refuse the bytes of a lost device before it reports the loss.
            for _ in 0..RESTS {
                pause(REST_MS).await;
                self.device.check()?;
            }
            return Err(unreadable(error.to_string()));
        }
        take(&staging.get_mapped_range(..).map_err(|error| unreadable(error.to_string()))?);
        staging.destroy();
        Ok(())
    }

    /// Waits for a pending result.
    async fn answer<T>(&self, Pending { receiver, mark, index }: Pending<T>) -> Result<T> {
        let since = self.waits.now();
        Counts::add(Counts { waits: 1, ..Counts::default() });
        // Natively this blocks until callbacks have run; in a browser the event loop runs them and this does nothing.
        let polled = self.device.device.poll(wgpu::PollType::Wait { submission_index: index, timeout: None });
        self.device.check()?;
        polled.map_err(|error| Error::Gpu { what: "waiting".into(), why: error.to_string() })?;
        let answer = self.await_callback(receiver).await;
        self.waits.delay();
        let Latency { ms, spread } = self.waits.idle();
        self.pacer.complete(mark, since, self.waits.now(), ms + spread);
        self.device.check()?;
        answer.map_err(|_| Error::Gpu { what: "waiting".into(), why: "the device dropped the request".into() })
    }

    #[cfg(not(target_arch = "wasm32"))]
    async fn await_callback<T>(&self, receiver: oneshot::Receiver<T>) -> Result<T, oneshot::Canceled> {
        receiver.await
    }

    /// Firefox checks for finished work every 100 ms and at every submission (bug 1870699).
    #[cfg(target_arch = "wasm32")]
    async fn await_callback<T>(&self, mut receiver: oneshot::Receiver<T>) -> Result<T, oneshot::Canceled> {
        use futures::future::{Either, select};

        if !self.waits.nudges.get() {
            return receiver.await;
        }
        loop {
            match select(receiver, gloo_timers::future::TimeoutFuture::new(NUDGE_MS)).await {
                Either::Left((received, _)) => return received,
                Either::Right((_, still)) => {
                    let nothing = wgpu::CommandEncoderDescriptor::default();
                    self.device.queue.submit([self.device.device.create_command_encoder(&nothing).finish()]);
                    receiver = still;
                }
            }
        }
    }
}

/// A part of a span.
struct Piece {
    index: usize,
    within: u64,
    size: u64,
}

/// Cuts spans into pieces and groups them by at most `READ_BYTES`.
fn chunks(spans: &[Span<'_>]) -> Vec<Vec<Piece>> {
    let (mut all, mut chunk, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (index, span) in spans.iter().enumerate() {
        let mut within = 0;
        while within < span.size {
            let size = (span.size - within).min(READ_BYTES - bytes);
            chunk.push(Piece { index, within, size });
            within += size;
            bytes += size;
            if bytes == READ_BYTES {
                all.push(std::mem::take(&mut chunk));
                bytes = 0;
            }
        }
    }
    if bytes > 0 {
        all.push(chunk);
    }
    all
}
