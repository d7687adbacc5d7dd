//! Recording and submission: uploads, pipelines, dispatches.
//!
//! Commands are first recorded as data and then encoded and submitted in bounded chunks, so that one submission keeps
//! the device busy for a fraction of a second at most ([`super::pacer`]). [`super::read`] waits and reads back.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::adapter::Device;
use super::pacer::Pacer;
use super::tensor::{Buffer, Pool};
use super::waits::{Counts, Waits};
use crate::backend::gpu::kernels::{Access, Kernel, Params};

/// Dispatches per submission; each has one slot in the uniform buffer.
const MAX_DISPATCHES: usize = 128;
/// Bytes between uniform slots: the largest offset alignment that WebGPU allows a device to require.
const UNIFORM_SLOT: usize = 256;
/// Bytes uploaded between two submissions; a submission frees the staging copies of the browser or driver.
const UPLOAD_BYTES: usize = 16 << 20;

/// Generates a replacement for a kernel's source.
pub type Rewrite = fn(&'static Kernel) -> String;

/// A device with its recorded commands.
pub(in crate::backend::gpu) struct Engine {
    pub(in crate::backend::gpu) device: Device,
    pub(in crate::backend::gpu) pool: Rc<Pool>,
    /// Keyed by the kernel's address, because specialisations share a name.
    pipelines: RefCell<HashMap<*const Kernel, Pipeline>>,
    recording: RefCell<Recording>,
    uniforms: wgpu::Buffer,
    pub(in crate::backend::gpu) pacer: Pacer,
    pub(in crate::backend::gpu) waits: Waits,
    /// Bytes uploaded since the last submission.
    uploaded: Cell<usize>,
    /// The last submission made for uploads.
    upload: Cell<Option<wgpu::SubmissionIndex>>,
    /// Whether new outputs are filled with NaN, for tests.
    poison: bool,
    /// Replaces kernels' sources, for tests.
    pub(in crate::backend::gpu) rewrite: Option<Rewrite>,
}

#[derive(Clone)]
struct Pipeline {
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
}

#[derive(Default)]
struct Recording {
    commands: Vec<GpuCommand>,
    uniforms: Vec<u8>,
    dispatches: usize,
}

enum GpuCommand {
    Dispatch { pipeline: wgpu::ComputePipeline, group: wgpu::BindGroup, workgroups: [u32; 3] },
    Copy(Copy),
    Clear(wgpu::Buffer),
}

/// A copy of a byte range from one buffer to another.
pub(in crate::backend::gpu) struct Copy {
    pub(in crate::backend::gpu) from: wgpu::Buffer,
    pub(in crate::backend::gpu) from_offset: u64,
    pub(in crate::backend::gpu) to: wgpu::Buffer,
    pub(in crate::backend::gpu) to_offset: u64,
    pub(in crate::backend::gpu) size: u64,
}

impl Engine {
    pub(in crate::backend::gpu) fn new(device: Device, poison: bool) -> Self {
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
            pacer: Pacer::default(),
            waits: Waits::default(),
            uploaded: Cell::new(0),
            upload: Cell::new(None),
            poison,
            rewrite: None,
        }
    }

    /// A buffer for a kernel to write.
    pub(in crate::backend::gpu) fn output(&self, size: u64) -> Rc<Buffer> {
        if !self.poison {
            return self.pool.take(&self.device.device, size);
        }
        let nan = vec![f32::NAN; size.div_ceil(4) as usize];
        self.input(bytemuck::cast_slice(&nan))
    }

    /// A buffer holding `bytes`, whose length is a multiple of 4.
    pub(in crate::backend::gpu) fn input(&self, bytes: &[u8]) -> Rc<Buffer> {
        let buffer = self.pool.fresh(&self.device.device, bytes.len() as u64);
        for (index, slice) in bytes.chunks(UPLOAD_BYTES).enumerate() {
            if self.uploaded.get() + slice.len() > UPLOAD_BYTES {
                self.flush_uploads();
            }
            self.device.queue.write_buffer(&buffer.raw, (index * UPLOAD_BYTES) as u64, slice);
            self.uploaded.set(self.uploaded.get() + slice.len());
        }
        buffer
    }

    /// Submits pending uploads and, natively, waits for the previous ones: at most two slices are in flight.
    fn flush_uploads(&self) {
        self.uploaded.set(0);
        let before = self.upload.replace(Some(self.device.queue.submit([])));
        if let Some(index) = before {
            // An error is reported at the next wait.
            let _ = self.device.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        }
    }

    /// A buffer that a recorded command fills with zeros.
    pub(in crate::backend::gpu) fn cleared(&self, size: u64) -> Rc<Buffer> {
        let buffer = self.pool.take(&self.device.device, size);
        self.recording.borrow_mut().commands.push(GpuCommand::Clear(wgpu::Buffer::clone(&buffer.raw)));
        buffer
    }

    /// A new buffer of zeros.
    pub(in crate::backend::gpu) fn zeros(&self, size: u64) -> Rc<Buffer> {
        self.pool.fresh(&self.device.device, size)
    }

    /// Records one dispatch. `ms` is its estimated time on the device.
    pub(in crate::backend::gpu) fn dispatch<P: Params>(
        &self,
        kernel: &'static Kernel,
        params: &P,
        buffers: &[&Buffer],
        workgroups: [u32; 3],
        ms: f64,
    ) {
        assert_eq!(P::MEMBERS, kernel.params);
        assert_eq!(buffers.len(), kernel.bindings.len());
        if workgroups.contains(&0) {
            return;
        }
        if self.pacer.is_full(ms) {
            self.submit();
        }
        self.pacer.record(ms);
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
        recording.commands.push(GpuCommand::Dispatch { pipeline: pipeline.pipeline, group, workgroups });
        let full = recording.dispatches == MAX_DISPATCHES;
        drop(recording);
        if full {
            self.submit();
        }
    }

    /// Records a copy of bytes from one buffer to another.
    pub(in crate::backend::gpu) fn copy(&self, copy: Copy) {
        self.recording.borrow_mut().commands.push(GpuCommand::Copy(copy));
    }

    /// Submits the recorded commands; `None` if there are none.
    pub(in crate::backend::gpu) fn submit(&self) -> Option<wgpu::SubmissionIndex> {
        let recording = self.recording.take();
        if recording.commands.is_empty() {
            self.pool.destroy_doomed();
            return None;
        }
        let queue = &self.device.queue;
        queue.write_buffer(&self.uniforms, 0, &recording.uniforms);
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encode(&mut encoder, &recording.commands);
        let index = queue.submit([encoder.finish()]);
        Counts::add(Counts { dispatches: recording.dispatches, submissions: 1, waits: 0 });
        self.pacer.submit(self.waits.now());
        self.pool.destroy_doomed();
        // Frees the memory of finished work; an error is reported at the next wait.
        let _ = self.device.device.poll(wgpu::PollType::Poll);
        Some(index)
    }

    /// Compiles a kernel before its first use. `false` if the device's compiler refuses it, which then counts as no error
    /// of the device.
    pub(in crate::backend::gpu) async fn compiles(&self, kernel: &'static Kernel) -> bool {
        if self.pipelines.borrow().contains_key(&std::ptr::from_ref(kernel)) {
            return true;
        }
        let device = &self.device.device;
        let [internal, validation] =
            [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation].map(|filter| device.push_error_scope(filter));
        let pipeline = build(device, kernel, self.rewrite);
        // Scopes end in reverse order, and before anything else runs.
        let (validation, internal) = (validation.pop(), internal.pop());
        let accepted = validation.await.is_none() & internal.await.is_none();
        if accepted {
            self.pipelines.borrow_mut().insert(std::ptr::from_ref(kernel), pipeline);
        }
        accepted
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
        // Frees all memory at once; a browser would free it only at the next garbage collection.
        self.device.device.destroy();
    }
}

fn encode(encoder: &mut wgpu::CommandEncoder, commands: &[GpuCommand]) {
    let mut rest = commands;
    while let Some(first) = rest.first() {
        match first {
            GpuCommand::Copy(copy) => {
                encoder.copy_buffer_to_buffer(&copy.from, copy.from_offset, &copy.to, copy.to_offset, copy.size);
                rest = &rest[1..];
                continue;
            }
            GpuCommand::Clear(buffer) => {
                encoder.clear_buffer(buffer, 0, None);
                rest = &rest[1..];
                continue;
            }
            GpuCommand::Dispatch { .. } => {}
        }
        // Consecutive dispatches share a pass, because beginning a pass costs as much as a dispatch.
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        while let Some(GpuCommand::Dispatch { pipeline, group, workgroups: [x, y, z] }) = rest.first() {
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
#[path = "../../../../tests/common/skip.rs"]
mod skip;

#[cfg(test)]
pub(in crate::backend::gpu) mod tests {
    use super::super::adapter;
    use super::super::read::Span;
    use super::*;
    use crate::backend::gpu::kernels::{COMBINE, CombineParams};
    use crate::error::{Error, Result};
    use crate::job::BackendChoice;

    /// Runs a test on a device. Without a device the test fails, or is skipped and listed.
    pub(in crate::backend::gpu) fn with_engine(test: impl AsyncFnOnce(Engine)) {
        pollster::block_on(async {
            match adapter::open(BackendChoice::Gpu).await {
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
