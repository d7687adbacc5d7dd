//! Recording and execution: pipelines, dispatches, submissions, and reading back.
//!
//! Commands are first recorded as data and then encoded and submitted in bounded chunks, so that a submission keeps
//! the device busy for a fraction of a second at most.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use futures::channel::oneshot;

use super::Rewrite;
use super::adapter::Device;
use super::kernels::{Access, Kernel, Params};
use super::tensor::{Buffer, Pool};
use crate::error::{Error, Result};

/// Dispatches per submission; each has one slot in the uniform buffer.
const MAX_DISPATCHES: usize = 128;
/// Bytes between uniform slots: the largest alignment that WebGPU lets a device ask for.
const UNIFORM_SLOT: usize = 256;
/// Estimated device milliseconds per submission.
const SUBMISSION_MS: f64 = 100.0;
/// Bytes read back at a time.
const READ_BYTES: u64 = 32 << 20;

/// A device with its recording.
pub(super) struct Engine {
    pub(super) device: Device,
    pub(super) pool: Rc<Pool>,
    /// By the kernel's address: specialisations share a name.
    pipelines: RefCell<HashMap<*const Kernel, Pipeline>>,
    recording: RefCell<Recording>,
    uniforms: wgpu::Buffer,
    /// Whether new outputs are filled with NaN, for tests.
    poison: bool,
    /// What is compiled in place of a kernel's text, for tests.
    pub(super) rewrite: Option<Rewrite>,
}

#[derive(Clone)]
struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

#[derive(Default)]
struct Recording {
    commands: Vec<Command>,
    uniforms: Vec<u8>,
    dispatches: usize,
    ms: f64,
}

enum Command {
    Dispatch { pipeline: wgpu::ComputePipeline, group: wgpu::BindGroup, workgroups: [u32; 3] },
    Copy(Copy),
    Clear(wgpu::Buffer),
}

struct Copy {
    from: wgpu::Buffer,
    from_offset: u64,
    to: wgpu::Buffer,
    to_offset: u64,
    size: u64,
}

/// Bytes of a buffer to be read back.
pub(super) struct Span<'a> {
    pub(super) buffer: &'a Buffer,
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Engine {
    pub(super) fn new(device: Device, poison: bool) -> Self {
        let uniforms = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("uniforms"),
            size: (MAX_DISPATCHES * UNIFORM_SLOT) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            device,
            pool: Rc::default(),
            pipelines: RefCell::default(),
            recording: RefCell::default(),
            uniforms,
            poison,
            rewrite: None,
        }
    }

    /// A buffer that a kernel will write.
    pub(super) fn output(&self, size: u64) -> Rc<Buffer> {
        if !self.poison {
            return self.pool.take(&self.device.device, size);
        }
        let nan = vec![f32::NAN; size.div_ceil(4) as usize];
        self.input(bytemuck::cast_slice(&nan))
    }

    /// A buffer holding `bytes`, whose length is a multiple of 4.
    pub(super) fn input(&self, bytes: &[u8]) -> Rc<Buffer> {
        let buffer = self.pool.fresh(&self.device.device, bytes.len() as u64);
        self.device.queue.write_buffer(&buffer.raw, 0, bytes);
        buffer
    }

    /// A buffer that is set to 0 in the order of recording.
    pub(super) fn cleared(&self, size: u64) -> Rc<Buffer> {
        let buffer = self.pool.take(&self.device.device, size);
        self.recording.borrow_mut().commands.push(Command::Clear(wgpu::Buffer::clone(&buffer.raw)));
        buffer
    }

    /// A new buffer of zeros.
    pub(super) fn zeros(&self, size: u64) -> Rc<Buffer> {
        self.pool.fresh(&self.device.device, size)
    }

    /// Records one dispatch. `ms` is its estimated time on the device.
    pub(super) fn dispatch<P: Params>(
        &self,
        kernel: &'static Kernel,
        params: &P,
        buffers: &[&Buffer],
        workgroups: [u32; 3],
        ms: f64,
    ) {
        debug_assert_eq!(P::MEMBERS, kernel.params);
        debug_assert_eq!(buffers.len(), kernel.bindings.len());
        if workgroups.contains(&0) {
            return;
        }
        let pipeline = self.pipeline(kernel);
        let slot = self.recording.borrow().dispatches * UNIFORM_SLOT;
        let words = params.words();
        let uniform = wgpu::BufferBinding {
            buffer: &self.uniforms,
            offset: slot as u64,
            size: wgpu::BufferSize::new(4 * words.len() as u64),
        };
        let storage = kernel.bindings.iter().zip(buffers).map(|(binding, buffer)| {
            let size = wgpu::BufferSize::new(buffer.size.max(16));
            (binding.slot, wgpu::BufferBinding { buffer: &buffer.raw, offset: 0, size })
        });
        let entries: Vec<_> = std::iter::once((0, uniform))
            .chain(storage)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(buffer) })
            .collect();
        let group = self.device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(kernel.name),
            layout: &pipeline.layout,
            entries: &entries,
        });

        let mut recording = self.recording.borrow_mut();
        recording.uniforms.resize(slot, 0);
        recording.uniforms.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        recording.dispatches += 1;
        recording.ms += ms;
        recording.commands.push(Command::Dispatch { pipeline: pipeline.pipeline, group, workgroups });
        let full = recording.dispatches == MAX_DISPATCHES || recording.ms >= SUBMISSION_MS;
        drop(recording);
        if full {
            self.submit();
        }
    }

    /// Submits what is recorded.
    pub(super) fn submit(&self) {
        let recording = self.recording.take();
        if recording.commands.is_empty() {
            self.pool.destroy_doomed();
            return;
        }
        let queue = &self.device.queue;
        queue.write_buffer(&self.uniforms, 0, &recording.uniforms);
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encode(&mut encoder, &recording.commands);
        queue.submit([encoder.finish()]);
        self.pool.destroy_doomed();
        // Lets finished work give back its memory; a failure shows at the next wait.
        let _ = self.device.device.poll(wgpu::PollType::Poll);
    }

    /// Submits what is recorded and waits until the device has done it.
    pub(super) async fn wait(&self) -> Result<()> {
        self.submit();
        let (sender, receiver) = oneshot::channel();
        self.device.queue.on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        self.poll()?;
        let done = receiver.await;
        self.device.check()?;
        done.map_err(|_| lost("waiting"))
    }

    /// Reads spans back in order, after all that is recorded, a bounded number of bytes at a time.
    ///
    /// `take` gets every span's index, the offset within it, and bytes.
    pub(super) async fn read(&self, spans: &[Span<'_>], mut take: impl FnMut(usize, u64, &[u8])) -> Result<()> {
        let mut chunk = Vec::new();
        let mut bytes = 0;
        for (index, span) in spans.iter().enumerate() {
            let mut done = 0;
            while done < span.size {
                let size = (span.size - done).min(READ_BYTES - bytes);
                chunk.push(Piece { index, within: done, at: bytes, size });
                bytes += size;
                done += size;
                if bytes == READ_BYTES {
                    self.read_chunk(spans, &chunk, bytes, &mut take).await?;
                    chunk.clear();
                    bytes = 0;
                }
            }
        }
        if bytes > 0 {
            self.read_chunk(spans, &chunk, bytes, &mut take).await?;
        }
        Ok(())
    }

    async fn read_chunk(
        &self,
        spans: &[Span<'_>],
        pieces: &[Piece],
        bytes: u64,
        take: &mut impl FnMut(usize, u64, &[u8]),
    ) -> Result<()> {
        let staging = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        for piece in pieces {
            let span = &spans[piece.index];
            self.recording.borrow_mut().commands.push(Command::Copy(Copy {
                from: wgpu::Buffer::clone(&span.buffer.raw),
                from_offset: span.offset + piece.within,
                to: staging.clone(),
                to_offset: piece.at,
                size: piece.size,
            }));
        }
        self.submit();
        self.map(&staging).await?;
        let view = staging
            .get_mapped_range(..)
            .map_err(|error| Error::Gpu { what: "reading back".into(), why: error.to_string() })?;
        for piece in pieces {
            take(piece.index, piece.within, &view[piece.at as usize..(piece.at + piece.size) as usize]);
        }
        drop(view);
        staging.destroy();
        Ok(())
    }

    async fn map(&self, staging: &wgpu::Buffer) -> Result<()> {
        let (sender, receiver) = oneshot::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
            let _ = sender.send(mapped);
        });
        self.poll()?;
        let mapped = receiver.await;
        self.device.check()?;
        match mapped {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Error::Gpu { what: "reading back".into(), why: error.to_string() }),
            Err(_) => Err(lost("reading back")),
        }
    }

    /// Natively blocks until callbacks have run; in a browser the event loop runs them and this does nothing.
    fn poll(&self) -> Result<()> {
        let polled = self.device.device.poll(wgpu::PollType::wait_indefinitely());
        self.device.check()?;
        polled.map(|_| ()).map_err(|error| Error::Gpu { what: "waiting".into(), why: error.to_string() })
    }

    fn pipeline(&self, kernel: &'static Kernel) -> Pipeline {
        self.pipelines
            .borrow_mut()
            .entry(std::ptr::from_ref(kernel))
            .or_insert_with(|| build(&self.device.device, kernel, self.rewrite))
            .clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Gives all memory back at once; in a browser nothing else would before the next garbage collection.
        self.device.device.destroy();
    }
}

/// Part of a span within a staging buffer.
struct Piece {
    index: usize,
    within: u64,
    at: u64,
    size: u64,
}

fn lost(what: &str) -> Error {
    Error::Gpu { what: what.into(), why: "the device dropped the request".into() }
}

fn encode(encoder: &mut wgpu::CommandEncoder, commands: &[Command]) {
    let mut rest = commands;
    while let Some(first) = rest.first() {
        match first {
            Command::Copy(copy) => {
                encoder.copy_buffer_to_buffer(&copy.from, copy.from_offset, &copy.to, copy.to_offset, copy.size);
                rest = &rest[1..];
                continue;
            }
            Command::Clear(buffer) => {
                encoder.clear_buffer(buffer, 0, None);
                rest = &rest[1..];
                continue;
            }
            Command::Dispatch { .. } => {}
        }
        // Consecutive dispatches share a pass: beginning one costs as much as a dispatch.
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        while let Some(Command::Dispatch { pipeline, group, workgroups: [x, y, z] }) = rest.first() {
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.dispatch_workgroups(*x, *y, *z);
            rest = &rest[1..];
        }
    }
}

fn build(device: &wgpu::Device, kernel: &'static Kernel, rewrite: Option<Rewrite>) -> Pipeline {
    let (source, constants) = match rewrite {
        Some(rewrite) => (rewrite(kernel).into(), &[][..]),
        None => (kernel.source.into(), kernel.overrides),
    };
    let uniform = wgpu::BufferBindingType::Uniform;
    let storage = kernel
        .bindings
        .iter()
        .map(|binding| (binding.slot, wgpu::BufferBindingType::Storage { read_only: binding.access == Access::Read }));
    let entries: Vec<_> = std::iter::once((0, uniform))
        .chain(storage)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        })
        .collect();
    let layout = device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(kernel.name), entries: &entries });
    let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(kernel.name),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.file),
        source: wgpu::ShaderSource::Wgsl(source),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.name),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some(kernel.name),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants,
            ..wgpu::PipelineCompilationOptions::default()
        },
        cache: None,
    });
    Pipeline { pipeline, layout }
}

#[cfg(test)]
#[path = "../../tests/common/skip.rs"]
mod skip;

#[cfg(test)]
pub(super) mod tests {
    use super::super::adapter;
    use super::super::kernels::{COMBINE, CombineParams};
    use super::*;

    /// Runs a test on a device; without one it fails, or is left out and listed.
    pub(in super::super) fn with_engine(test: impl AsyncFnOnce(Engine)) {
        pollster::block_on(async {
            match adapter::open(true).await {
                Ok(device) => test(Engine::new(device, false)).await,
                Err(Error::NoAdapter { why }) => skip::without_gpu(&why),
                Err(error) => panic!("{error}"),
            }
        });
    }

    fn record_add(engine: &Engine, workgroups: [u32; 3]) -> Rc<Buffer> {
        let (a, out) = (engine.input(bytemuck::cast_slice(&[1.0f32; 64])), engine.output(256));
        engine.dispatch(&COMBINE, &CombineParams { len: 64, alpha: 1.0, beta: 1.0 }, &[&a, &a, &out], workgroups, 0.0);
        out
    }

    async fn read(engine: &Engine, buffer: &Buffer) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        engine.read(&[Span { buffer, offset: 0, size: buffer.size }], |_, _, more| bytes.extend(more)).await?;
        Ok(bytes)
    }

    #[test]
    fn more_dispatches_than_one_submission_holds_all_run() {
        with_engine(async |engine| {
            let outs: Vec<_> = (0..2 * MAX_DISPATCHES + 3).map(|_| record_add(&engine, [1, 1, 1])).collect();
            for out in &outs {
                assert_eq!(read(&engine, out).await.unwrap(), 2.0f32.to_le_bytes().repeat(64));
            }
        });
    }

    #[test]
    fn a_refused_command_is_an_error_at_the_next_wait() {
        with_engine(async |engine| {
            let out = record_add(&engine, [u32::MAX, 1, 1]);
            let error = read(&engine, &out).await.err();
            assert!(matches!(error, Some(Error::Gpu { .. })), "{error:?}");
            let error = engine.wait().await.err();
            assert!(matches!(error, Some(Error::Gpu { .. })), "it stays: {error:?}");
        });
    }

    #[test]
    fn a_lost_device_is_an_error_at_the_next_wait() {
        with_engine(async |engine| {
            let out = record_add(&engine, [1, 1, 1]);
            engine.device.device.destroy();
            let error = read(&engine, &out).await.err();
            assert!(matches!(error, Some(Error::DeviceLost { .. })), "{error:?}");
            assert!(engine.wait().await.is_err());
        });
    }
}
