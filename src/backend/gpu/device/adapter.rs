//! Finding an adapter, describing it, and opening a device on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::gpu::kernels::{Kernel, Needs};
use crate::error::{Error, Result};
use crate::job::BackendChoice;
use crate::platform::yielding::pause;
use crate::report::DeviceInfo;

/// Features that kernels use where the adapter has them.
const USED: wgpu::Features = wgpu::Features::SUBGROUP;

/// wgpu backends in order of preference: on Windows, Direct3D only if there is no Vulkan.
const BACKENDS: &[wgpu::Backends] =
    if cfg!(windows) { &[wgpu::Backends::VULKAN, wgpu::Backends::DX12] } else { &[wgpu::Backends::all()] };

/// Milliseconds before each request for an adapter. Just started, Chrome finds none while its GPU process starts, a third
/// of a second, and the GPU at the next request.
const REQUEST_DELAYS_MS: &[u32] = if cfg!(target_arch = "wasm32") { &[0, 200, 400] } else { &[0] };

/// The limits that kernels rely on: WebGPU's defaults.
const LEAST: [(&str, u64); 6] = [
    ("maxBufferSize", 256 << 20),
    ("maxStorageBufferBindingSize", 128 << 20),
    ("maxStorageBuffersPerShaderStage", 8),
    ("maxComputeInvocationsPerWorkgroup", 256),
    ("maxComputeWorkgroupStorageSize", 16 << 10),
    ("maxComputeWorkgroupsPerDimension", 65_535),
];

/// An adapter's description, available before a device is opened.
#[derive(Clone, Debug)]
pub struct AdapterReport {
    /// Name, driver, features and limits.
    pub info: DeviceInfo,
    /// Whether it computes on the CPU, which is correct but slower than the CPU backend.
    pub is_software: bool,
}

/// Describes the adapter that a backend would open.
pub async fn probe() -> Result<AdapterReport> {
    Ok(describe(&request().await?.1))
}

/// An open device and its queue.
pub(in crate::backend::gpu) struct Device {
    pub(in crate::backend::gpu) device: wgpu::Device,
    pub(in crate::backend::gpu) queue: wgpu::Queue,
    limits: wgpu::Limits,
    /// Minimum and maximum subgroup size, if subgroup operations are available.
    pub(in crate::backend::gpu) subgroups: Option<[u32; 2]>,
    /// Whether the shader compilers support `dot4I8Packed`.
    packed_dots: bool,
    pub(in crate::backend::gpu) probe: AdapterReport,
    faults: Faults,
}

/// Opens the adapter with its own limits; [`BackendChoice::Auto`] refuses a software adapter.
pub(in crate::backend::gpu) async fn open(choice: BackendChoice) -> Result<Device> {
    let (instance, adapter) = request().await?;
    let mut probe = describe(&adapter);
    if probe.is_software && choice == BackendChoice::Auto {
        let name = probe.info.adapter.unwrap_or_else(|| "the only one".into());
        return Err(Error::NoAdapter { why: format!("{name} is a software adapter") });
    }
    check_limits(&probe.info.limits, choice)?;
    let limits = adapter.limits();
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("straightedge"),
        required_features: adapter.features() & USED,
        required_limits: limits.clone(),
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = adapter
        .request_device(&descriptor)
        .await
        .map_err(|error| Error::Gpu { what: "opening the device".into(), why: error.to_string() })?;
    let features = device.features();
    probe.info.features = feature_names(features);

    let faults = Faults::default();
    let (uncaptured, lost) = (faults.clone(), faults.clone());
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| uncaptured.record(fault(&error))));
    device.set_device_lost_callback(move |_, why| lost.record(Error::DeviceLost { why: one_line(&why) }));
    let sizes = [adapter.get_info().subgroup_min_size, adapter.get_info().subgroup_max_size];
    let subgroups = features.contains(wgpu::Features::SUBGROUP).then_some(sizes);
    // Releases of Direct3D's compiler before 2025 refuse what naga makes of it: they take the constant 0 that is added for
    // one of 64 bits (DirectXShaderCompiler, issue 7400). In a browser the backend is unknown, and autotune leaves out
    // what the compiler refuses.
    let packed_dots = adapter.get_info().backend != wgpu::Backend::Dx12
        && instance.wgsl_language_features().contains(wgpu::WgslLanguageFeatures::Packed4x8IntegerDotProduct);
    Ok(Device { device, queue, limits, subgroups, packed_dots, probe, faults })
}

impl Device {
    /// Treats the device as one with the features that WebGPU requires, and no more.
    pub(in crate::backend::gpu) fn drop_optional_features(&mut self) {
        (self.subgroups, self.packed_dots) = (None, false);
    }

    /// Maximum bytes of one buffer and one binding.
    pub(in crate::backend::gpu) fn max_bytes(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// Maximum workgroups along one dimension.
    pub(in crate::backend::gpu) fn max_workgroups(&self) -> usize {
        self.limits.max_compute_workgroups_per_dimension as usize
    }

    /// Whether the device has the features that a kernel needs.
    pub(in crate::backend::gpu) fn runs(&self, kernel: &Kernel) -> bool {
        match kernel.needs {
            Needs::Nothing => true,
            Needs::Subgroups => self.subgroups.is_some(),
            Needs::PackedDots => self.packed_dots,
        }
    }

    /// Returns the device's first error, if any.
    pub(in crate::backend::gpu) fn check(&self) -> Result<()> {
        self.faults.first().map_or(Ok(()), Err)
    }
}

/// The device's first error. It is never cleared, because later results depend on the failed work.
#[derive(Clone, Default)]
struct Faults(Arc<Mutex<Option<Error>>>);

impl Faults {
    fn record(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn first(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn fault(error: &wgpu::Error) -> Error {
    let why = one_line(&error.to_string());
    let what = match error {
        wgpu::Error::OutOfMemory { .. } => return Error::DeviceMemory { why },
        wgpu::Error::Validation { .. } => "recording",
        wgpu::Error::Internal { .. } => "an operation",
    };
    Error::Gpu { what: what.into(), why }
}

/// Collapses whitespace: driver messages span many lines.
fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The best adapter and its instance.
async fn request() -> Result<(wgpu::Instance, wgpu::Adapter)> {
    for ms in REQUEST_DELAYS_MS {
        pause(*ms).await;
        if let Some(found) = request_once().await {
            return Ok(found);
        }
    }
    // wgpu's own message lists every backend that was not compiled in.
    let hint =
        if cfg!(windows) { "; a driver with Vulkan is needed, or dxcompiler.dll next to the program" } else { "" };
    Err(Error::NoAdapter { why: format!("none was found{hint}") })
}

async fn request_once() -> Option<(wgpu::Instance, wgpu::Adapter)> {
    let options = wgpu::RequestAdapterOptions {
        power_preference: wgpu::PowerPreference::HighPerformance,
        ..wgpu::RequestAdapterOptions::default()
    };
    for instance in instances() {
        if let Ok(adapter) = instance.request_adapter(&options).await {
            return Some((instance, adapter));
        }
    }
    None
}

/// An instance for each of [`BACKENDS`]. A program makes each once, natively: NVIDIA's driver finds no adapter, or ends
/// the program, after some hundred.
fn instances() -> Vec<wgpu::Instance> {
    #[cfg(not(target_arch = "wasm32"))]
    {
        static INSTANCES: std::sync::OnceLock<Vec<wgpu::Instance>> = std::sync::OnceLock::new();
        INSTANCES.get_or_init(|| BACKENDS.iter().copied().map(instance).collect()).clone()
    }
    #[cfg(target_arch = "wasm32")]
    BACKENDS.iter().copied().map(instance).collect()
}

fn instance(backends: wgpu::Backends) -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends &= backends;
    // Windows' default compiler takes up to half a minute for a kernel.
    descriptor.backend_options.dx12.shader_compiler = wgpu::Dx12Compiler::default_dynamic_dxc();
    wgpu::Instance::new(descriptor)
}

fn describe(adapter: &wgpu::Adapter) -> AdapterReport {
    let info = adapter.get_info();
    let is_software = info.device_type == wgpu::DeviceType::Cpu || has_software_name(&info.name);
    let driver = format!("{} {}", info.driver, info.driver_info);
    let named = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    AdapterReport {
        is_software,
        info: DeviceInfo {
            backend: "gpu".into(),
            adapter: named(&info.name),
            driver: named(&driver),
            features: feature_names(adapter.features()),
            limits: limit_names(&adapter.limits()),
        },
    }
}

fn has_software_name(adapter: &str) -> bool {
    let name = adapter.to_lowercase();
    ["swiftshader", "llvmpipe", "lavapipe", "softpipe", "basic render"].iter().any(|software| name.contains(software))
}

/// Refuses an adapter below WebGPU's default limits, as in compatibility mode, because kernels rely on them.
fn check_limits(limits: &BTreeMap<String, u64>, choice: BackendChoice) -> Result<()> {
    for (name, needed) in LEAST {
        let limit = limits.get(name).copied().unwrap_or_default();
        if limit < needed {
            let error = Error::AdapterLimit { name: name.into(), needed, limit };
            return Err(match choice {
                BackendChoice::Auto => Error::NoAdapter { why: error.to_string() },
                _ => error,
            });
        }
    }
    Ok(())
}

/// WebGPU's names of the enabled features; wgpu does not yet count those in `USED` among WebGPU's.
fn feature_names(features: wgpu::Features) -> Vec<String> {
    let webgpu = features & (wgpu::Features::all_webgpu_mask() | USED);
    webgpu.iter().filter_map(|feature| feature.as_str()).map(str::to_owned).collect()
}

/// The relevant limits, by WebGPU's names.
fn limit_names(limits: &wgpu::Limits) -> BTreeMap<String, u64> {
    [
        ("maxBufferSize", limits.max_buffer_size),
        ("maxStorageBufferBindingSize", limits.max_storage_buffer_binding_size),
        ("maxStorageBuffersPerShaderStage", limits.max_storage_buffers_per_shader_stage.into()),
        ("maxComputeInvocationsPerWorkgroup", limits.max_compute_invocations_per_workgroup.into()),
        ("maxComputeWorkgroupStorageSize", limits.max_compute_workgroup_storage_size.into()),
        ("maxComputeWorkgroupsPerDimension", limits.max_compute_workgroups_per_dimension.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}
