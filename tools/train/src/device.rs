//! The device of a run: chosen once, printed in a line, and written into the record. \[candle-core\]

use anyhow::{Result, bail};
use candle_core::utils::{cuda_is_available, metal_is_available};
use candle_core::{Device, DeviceLocation};
use clap::ValueEnum;

/// What `--device` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// The processor, whose losses the records hold.
    Cpu,
    /// A GPU, or nothing.
    Gpu,
}

/// A device and its message.
pub struct Chosen {
    /// The device.
    pub device: Device,
    /// The message for the user.
    pub line: String,
}

/// The requested device; by default a GPU if this program was built for one and it works.
pub fn choose(choice: Option<DeviceChoice>) -> Result<Chosen> {
    match (choice, gpu()) {
        (None | Some(DeviceChoice::Gpu), Gpu::Found(device)) => {
            let line = format!("training on {}", name(&device));
            Ok(Chosen { device, line })
        }
        (Some(DeviceChoice::Cpu), _) | (None, Gpu::NotBuiltFor) => Ok(cpu("")),
        (None, Gpu::Silent(why)) => Ok(cpu(&format!(", as no GPU answers ({why})"))),
        (Some(DeviceChoice::Gpu), Gpu::Silent(why)) => bail!("no GPU answers ({why}); train with --device cpu"),
        (Some(DeviceChoice::Gpu), Gpu::NotBuiltFor) => bail!(
            "this trainer was built without a GPU's kernels; `cargo xtask train` builds with them on macOS and where \
             nvcc and an NVIDIA driver are, or train with --device cpu"
        ),
    }
}

/// The name of a device in records: `cpu`, `cuda:0`, `metal:0`.
pub fn name(device: &Device) -> String {
    match device.location() {
        DeviceLocation::Cpu => "cpu".into(),
        DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    }
}

enum Gpu {
    Found(Device),
    /// Supported by the program, but not available, for this reason.
    Silent(String),
    NotBuiltFor,
}

/// The first GPU, if there is one.
fn gpu() -> Gpu {
    let device = if cuda_is_available() {
        Device::new_cuda(0)
    } else if metal_is_available() {
        Device::new_metal(0)
    } else {
        return Gpu::NotBuiltFor;
    };
    device.map_or_else(|error| Gpu::Silent(first_line(&error.to_string())), Gpu::Found)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn cpu(reason: &str) -> Chosen {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Chosen { device: Device::Cpu, line: format!("training on the CPU with {threads} threads{reason}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there_and_a_gpu_only_where_this_was_built_for_one() {
        let chosen = choose(Some(DeviceChoice::Cpu)).expect("the CPU");
        assert!(chosen.device.is_cpu() && chosen.line.contains("the CPU"), "{}", chosen.line);
        assert_eq!(name(&chosen.device), "cpu");
        let free = choose(None).expect("some device");
        let chosen_gpu = choose(Some(DeviceChoice::Gpu));
        assert_eq!(chosen_gpu.is_ok(), !free.device.is_cpu(), "{}", free.line);
        if let Err(why) = chosen_gpu {
            assert!(why.to_string().contains("--device cpu"), "{why}");
        }
    }
}
