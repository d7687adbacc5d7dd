//! Every kernel as the platforms' compilers receive it: through naga to Metal's language, Direct3D's and SPIR-V, which
//! Khronos's validator checks. Chromium's compiler is tested in tests/browser/kernels.test.mjs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Block, Function, GlobalVariable, Handle, Module, ShaderStage, Statement};
use straightedge::backend::gpu::kernels::gram::{GRAM_DOTS, GRAM_FLOATS, GRAM_INTEGERS, GRAM_PACKED};
use straightedge::backend::gpu::kernels::products::{MATMUL_ANY, MATMUL_REGISTER, MATMUL_SHARED, MATMUL_SHARED_8X8};
use straightedge::backend::gpu::kernels::{self, ATTENTION_SCORES, ATTENTION_VALUES, Kernel};

/// Kernels whose only loop takes most of a measurement's time.
static HOT: [&Kernel; 10] = [
    &MATMUL_SHARED,
    &MATMUL_SHARED_8X8,
    &MATMUL_REGISTER,
    &MATMUL_ANY,
    &ATTENTION_SCORES,
    &ATTENTION_VALUES,
    &GRAM_FLOATS,
    &GRAM_INTEGERS,
    &GRAM_PACKED,
    &GRAM_DOTS,
];

/// A kernel with its overrides applied.
fn specialised(kernel: &Kernel) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(kernel.source).unwrap_or_else(|error| panic!("{}: {error}", kernel.file));
    let info = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}: {error:?}", kernel.file));
    let mut constants = naga::back::PipelineConstants::default();
    constants.extend(kernel.overrides.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    let entry = Some((ShaderStage::Compute, kernel.name));
    let (module, info) = naga::back::pipeline_constants::process_overrides(&module, &info, entry, &constants)
        .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    (module.into_owned(), info.into_owned())
}

fn entry(kernel: &Kernel) -> Option<(ShaderStage, String)> {
    Some((ShaderStage::Compute, kernel.name.to_owned()))
}

#[test]
fn every_kernel_becomes_metal() {
    let options = msl::Options { lang_version: (3, 0), ..msl::Options::default() };
    for kernel in kernels::all() {
        let (module, info) = specialised(kernel);
        let pipeline = msl::PipelineOptions { entry_point: entry(kernel), ..msl::PipelineOptions::default() };
        let (text, translated) = msl::write_string(&module, &info, &options, &pipeline)
            .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        assert!(translated.entry_point_names.iter().all(Result::is_ok), "{}", kernel.name);
        assert!(text.contains("kernel void"), "{}: {text}", kernel.name);
    }
}

#[test]
fn every_kernel_becomes_direct3d() {
    // The first shader model with products of packed bytes.
    let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_4, ..hlsl::Options::default() };
    for kernel in kernels::all() {
        let (module, info) = specialised(kernel);
        let mut text = String::new();
        let pipeline = hlsl::PipelineOptions { entry_point: entry(kernel) };
        let translated = hlsl::Writer::new(&mut text, &options, &pipeline)
            .write(&module, &info, None)
            .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        assert!(translated.entry_point_names.iter().all(Result::is_ok), "{}", kernel.name);
        assert!(text.contains("numthreads"), "{}: {text}", kernel.name);
    }
}

#[test]
fn every_kernel_becomes_valid_spirv() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("translation");
    fs::create_dir_all(&folder).expect("a folder");
    for (version, environment) in [((1, 3), "vulkan1.1"), ((1, 6), "vulkan1.3")] {
        let options = spv::Options { lang_version: version, ..spv::Options::default() };
        for (index, kernel) in kernels::all().enumerate() {
            let (module, info) = specialised(kernel);
            let pipeline =
                spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: kernel.name.to_owned() };
            let words = spv::write_vec(&module, &info, &options, Some(&pipeline))
                .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
            let file = folder.join(format!("{environment}-{index}-{}.spv", kernel.name));
            fs::write(&file, words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()).expect("a file");
            validate(&file, environment);
        }
    }
}

fn validate(file: &Path, environment: &str) {
    let output =
        Command::new("spirv-val").args(["--target-env", environment]).arg(file).output().unwrap_or_else(|error| {
            panic!(
                "spirv-val does not run ({error}); install SPIRV-Tools, on Debian and Ubuntu the package spirv-tools"
            )
        });
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
}

/// Number of loops in a kernel and the functions it calls.
fn loops(module: &Module, kernel: &Kernel) -> usize {
    let entry = module.entry_points.iter().find(|entry| entry.name == kernel.name).expect("the entry point");
    let (mut loops, mut called, mut done) = (0, vec![], BTreeSet::new());
    count(&entry.function.body, &mut loops, &mut called);
    while let Some(handle) = called.pop() {
        if done.insert(handle) {
            let Function { body, .. } = &module.functions[handle];
            count(body, &mut loops, &mut called);
        }
    }
    loops
}

fn count(block: &Block, loops: &mut usize, called: &mut Vec<Handle<Function>>) {
    for statement in block {
        match statement {
            Statement::Block(block) => count(block, loops, called),
            Statement::If { accept, reject, .. } => {
                count(accept, loops, called);
                count(reject, loops, called);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| count(&case.body, loops, called)),
            Statement::Loop { body, continuing, .. } => {
                *loops += 1;
                count(body, loops, called);
                count(continuing, loops, called);
            }
            Statement::Call { function, .. } => called.push(*function),
            _ => {}
        }
    }
}

fn workgroup_bytes(module: &Module, info: &ModuleInfo, kernel: &Kernel) -> u32 {
    let index = module.entry_points.iter().position(|entry| entry.name == kernel.name).expect("the entry point");
    let used = |handle: Handle<GlobalVariable>| !info.get_entry_point(index)[handle].is_empty();
    let shared = module.global_variables.iter().filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
    shared.filter(|(handle, _)| used(*handle)).map(|(_, it)| module.types[it.ty].inner.size(module.to_ctx())).sum()
}

#[test]
fn hot_kernels_have_one_loop() {
    // Browser compilers bound every loop with a counter of their own: around a step of many products it costs little,
    // around each product it would cost more than the product.
    for kernel in HOT {
        let (module, _) = specialised(kernel);
        assert_eq!(loops(&module, kernel), 1, "{}", kernel.name);
    }
}

#[test]
fn workgroup_memory_is_within_what_every_device_has() {
    for kernel in kernels::all() {
        let (module, info) = specialised(kernel);
        let bytes = workgroup_bytes(&module, &info, kernel);
        assert!(bytes <= 16 << 10, "{}: {bytes} bytes", kernel.name);
    }
}

#[test]
fn the_table_of_kernels_in_the_documents_is_of_today() {
    let mut rows = Vec::new();
    for kernel in kernels::all() {
        let (module, info) = specialised(kernel);
        let threads: u32 = kernel.workgroup.iter().product();
        let (loops, bytes) = (loops(&module, kernel), workgroup_bytes(&module, &info, kernel));
        let row = format!("| {} | `shaders/{}` | {threads} | {loops} | {bytes} |", kernel.name, kernel.file);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows.sort_by_key(|row| row.split('|').nth(2).map(str::to_owned));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let document = fs::read_to_string(file).expect("docs/architecture.md");
    let table = rows.join("\n");
    assert!(document.contains(&format!("\n{table}\n\n")), "docs/architecture.md should have this table:\n{table}");
}
