//! The peak rate of a device: multiply-adds in registers and nothing else. \[wgpu\]

use std::hint::black_box;

use futures::channel::oneshot;
#[cfg(not(target_arch = "wasm32"))]
use pulp::{Arch, Simd, WithSimd};
use web_time::Instant;

/// Minimum milliseconds per dispatch.
const ENOUGH_MS: f64 = 80.0;
/// Dispatches; the fastest counts.
const REPETITIONS: usize = 3;

/// Minimum milliseconds per call on the processor.
const CALL_MS: f64 = 10.0;
/// Calls; the fastest counts. They are many and short, because a browser runs its first, quickly compiled code until
/// the function is called again after better code is ready.
const CALLS: usize = 32;
/// Independent chains of multiply-adds: more than a processor has in flight.
const CHAINS: usize = 12;

/// Threads of one dispatch: enough to fill any GPU several times.
const THREADS: u32 = 1 << 16;
/// Multiply-adds per thread and loop iteration of the shader.
const PER_STEP: f64 = 32.0;

/// GFLOP/s of the best adapter; `None` where there is none.
pub(crate) async fn gpu() -> Option<f64> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..wgpu::RequestAdapterOptions::default()
    };
    let adapter = instance.request_adapter(&options).await.ok()?;
    let (device, queue) = adapter.request_device(&wgpu::DeviceDescriptor::default()).await.ok()?;
    let kernel = Kernel::new(&device);
    let mut steps = 1u32;
    let mut fastest = 0.0f64;
    let mut counted = 0;
    while counted < REPETITIONS {
        let ms = kernel.run(&device, &queue, steps).await?;
        if ms < ENOUGH_MS && steps < 1 << 20 {
            // At most eightfold at once: a dispatch of seconds could be taken for a hang.
            steps = (f64::from(steps) * (1.2 * ENOUGH_MS / ms).clamp(1.5, 8.0)).ceil() as u32;
            continue;
        }
        counted += 1;
        fastest = fastest.max(2.0 * PER_STEP * f64::from(THREADS) * f64::from(steps) / ms / 1e6);
    }
    device.destroy();
    Some(fastest)
}

/// The pipeline and its bindings.
struct Kernel {
    pipeline: wgpu::ComputePipeline,
    uniform: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl Kernel {
    fn new(device: &wgpu::Device) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("fma.wgsl"),
            source: wgpu::ShaderSource::Wgsl(include_str!("../shaders/fma.wgsl").into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("multiply_add"),
            layout: None,
            module: &module,
            entry_point: Some("multiply_add"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let buffer = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let uniform = buffer(16, wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        let out = buffer(4 * u64::from(THREADS), wgpu::BufferUsages::STORAGE);
        let entries = [(0, &uniform), (1, &out)]
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Self { pipeline, uniform, group }
    }

    /// Milliseconds of one dispatch, including submission and wait.
    async fn run(&self, device: &wgpu::Device, queue: &wgpu::Queue, steps: u32) -> Option<f64> {
        queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(&steps));
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(THREADS / 64, 1, 1);
        drop(pass);
        let started = Instant::now();
        queue.submit([encoder.finish()]);
        let (sender, receiver) = oneshot::channel();
        queue.on_submitted_work_done(move || {
            let _ = sender.send(());
        });
        device.poll(wgpu::PollType::wait_indefinitely()).ok()?;
        receiver.await.ok()?;
        Some(started.elapsed().as_secs_f64() * 1e3)
    }
}

/// GFLOP/s of the processor on `threads` threads, with the widest instructions available to the engine's libraries.
pub(crate) fn cpu(threads: usize) -> f64 {
    let mut steps = 1u64 << 12;
    let mut fastest = 0.0f64;
    let mut counted = 0;
    while counted < CALLS {
        let (flops, ms) = on_all(threads, steps);
        if ms < CALL_MS {
            steps *= 2;
            continue;
        }
        counted += 1;
        fastest = fastest.max(flops / ms / 1e6);
    }
    fastest
}

/// Floating-point operations and milliseconds of `steps` steps on every thread.
#[cfg(not(target_arch = "wasm32"))]
fn on_all(threads: usize, steps: u64) -> (f64, f64) {
    let started = Instant::now();
    let flops = std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(|| chains(steps))).collect();
        all.into_iter().filter_map(|one| one.join().ok()).sum()
    });
    (flops, started.elapsed().as_secs_f64() * 1e3)
}

/// A worker has one thread.
#[cfg(target_arch = "wasm32")]
fn on_all(_threads: usize, steps: u64) -> (f64, f64) {
    let started = Instant::now();
    let flops = chains(steps);
    (flops, started.elapsed().as_secs_f64() * 1e3)
}

/// Runs twelve independent chains, each as wide as the processor's widest vectors; returns their operations.
#[cfg(not(target_arch = "wasm32"))]
fn chains(steps: u64) -> f64 {
    struct Chains(u64);

    impl WithSimd for Chains {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let mut sums = black_box([simd.splat_f32s(1.0); CHAINS]);
            let (factor, term) = (black_box(simd.splat_f32s(0.5)), black_box(simd.splat_f32s(0.25)));
            for _ in 0..self.0 {
                for sum in &mut sums {
                    *sum = simd.mul_add_e_f32s(*sum, factor, term);
                }
            }
            black_box(sums);
            (2 * S::F32_LANES * CHAINS) as f64 * self.0 as f64
        }
    }

    Arch::new().dispatch(Chains(steps))
}

/// The same with WebAssembly's vectors, which have no multiply-add but products and sums. Not inlined: the browser
/// replaces code only when a function is called again, and the caller runs once.
#[cfg(target_arch = "wasm32")]
#[inline(never)]
fn chains(steps: u64) -> f64 {
    const WIDTH: usize = 4;
    let mut sums = black_box([[1.0f32; WIDTH]; CHAINS]);
    let (factor, term) = (black_box([0.5f32; WIDTH]), black_box([0.25f32; WIDTH]));
    for _ in 0..steps {
        for sum in &mut sums {
            for i in 0..WIDTH {
                sum[i] = sum[i] * factor[i] + term[i];
            }
        }
    }
    black_box(sums);
    (2 * WIDTH * CHAINS) as f64 * steps as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chains_count_what_they_do() {
        // Vectors of 1 to 16 numbers.
        assert!([1.0, 2.0, 4.0, 8.0, 16.0].contains(&(chains(10) / (2.0 * 12.0 * 10.0))));
    }
}
