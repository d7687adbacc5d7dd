//! Every kernel as the platforms' compilers receive it: through naga to Metal's language, Direct3D's, which its compiler
//! checks where its library can be installed, and SPIR-V, which Khronos's validator checks. Chromium's compiler is tested
//! in tests/browser/kernels.test.mjs.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(dead_code, reason = "other tests use more of it")]
#[path = "common/python.rs"]
mod python;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use naga::back::{hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{
    AddressSpace, BinaryOperator, Block, Expression, Function, GlobalVariable, Handle, Module, ScalarKind, ShaderStage,
    Statement, UnaryOperator,
};
use straightedge::backend::gpu::kernels::gram::{
    ADD_DOTS, ADD_FLOAT_DIGITS, ADD_INTEGERS, ADD_PARTIALS, GRAM_DOTS, GRAM_FLOATS, GRAM_INTEGERS, GRAM_PACKED,
};
use straightedge::backend::gpu::kernels::products::{MATMUL_ANY, MATMUL_REGISTER, MATMUL_SHARED, MATMUL_SHARED_8X8};
use straightedge::backend::gpu::kernels::{self, ATTENTION_SCORES, ATTENTION_VALUES, Kernel, Needs};

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

/// Kernels that multiply and add digits of second moments.
static SECOND_MOMENTS: [&Kernel; 8] = [
    &GRAM_FLOATS,
    &GRAM_INTEGERS,
    &GRAM_PACKED,
    &GRAM_DOTS,
    &ADD_PARTIALS,
    &ADD_INTEGERS,
    &ADD_FLOAT_DIGITS,
    &ADD_DOTS,
];

/// Those of them that compute with signed integers. Their comments derive bounds below 2³¹: sums of packed dot products
/// in shaders/gram_dots.wgsl, parts of f32 products in shaders/sums.wgsl.
const SIGNED: [&str; 2] = ["gram_dots", "add_partials"];

/// The checks that wgpu requests: an index beyond the end is replaced by the last one.
const CHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Restrict,
    buffer: BoundsCheckPolicy::Restrict,
    image_load: BoundsCheckPolicy::Restrict,
    binding_array: BoundsCheckPolicy::Unchecked,
};

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

/// A kernel in Metal's language, as wgpu translates it.
fn metal(kernel: &Kernel) -> String {
    let options = msl::Options { lang_version: (3, 0), bounds_check_policies: CHECKED, ..msl::Options::default() };
    let (module, info) = specialised(kernel);
    let pipeline = msl::PipelineOptions { entry_point: entry(kernel), ..msl::PipelineOptions::default() };
    let (text, translated) = msl::write_string(&module, &info, &options, &pipeline)
        .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    assert!(translated.entry_point_names.iter().all(Result::is_ok), "{}", kernel.name);
    text
}

/// A kernel in Direct3D's language, as wgpu translates it, and the name of its entry point there.
fn direct3d(kernel: &Kernel) -> (String, String) {
    // The first shader model with products of packed bytes. Indices are restricted by default.
    let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_4, ..hlsl::Options::default() };
    assert!(options.restrict_indexing);
    let (module, info) = specialised(kernel);
    let mut text = String::new();
    let pipeline = hlsl::PipelineOptions { entry_point: entry(kernel) };
    let translated = hlsl::Writer::new(&mut text, &options, &pipeline)
        .write(&module, &info, None)
        .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let name = translated.entry_point_names.into_iter().next().expect("an entry point");
    (text, name.unwrap_or_else(|error| panic!("{}: {error}", kernel.name)))
}

#[test]
fn every_kernel_becomes_metal() {
    for kernel in kernels::all() {
        let text = metal(kernel);
        assert!(text.contains("kernel void"), "{}: {text}", kernel.name);
        assert!(text.contains("metal::min("), "{}: nothing checks indices: {text}", kernel.name);
    }
}

#[test]
fn every_kernel_becomes_direct3d() {
    for kernel in kernels::all() {
        let (text, _) = direct3d(kernel);
        assert!(text.contains("numthreads"), "{}: {text}", kernel.name);
    }
}

/// Direct3D's compiler is installed for the systems that have its library as a Python package.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
#[ignore = "needs Python with Direct3D's compiler: cargo xtask test reference"]
fn direct3ds_compiler_accepts_every_kernel_that_runs_there() {
    let mut files = Vec::new();
    let mut write = |of: &str, (text, name): (String, String)| {
        let folder = scratch().join(of);
        fs::create_dir_all(&folder).expect("a folder");
        files.push(folder.join(name).with_extension("hlsl"));
        fs::write(&files[files.len() - 1], text).expect("a file");
    };
    for (index, kernel) in kernels::all().enumerate() {
        write(&index.to_string(), direct3d(kernel));
    }
    let (text, name) = direct3d(&kernels::GATHER);
    write("broken", (text + "nothing", name));
    let arguments: Vec<_> =
        std::iter::once("cs_6_4".as_ref()).chain(files.iter().map(|file| file.as_os_str())).collect();
    let outcomes: Vec<(String, Option<String>)> =
        serde_json::from_value(python::run("dxc.py", &arguments)).expect("what the compiler says of each");
    let (broken, accepted) = outcomes.split_last().expect("files");
    assert_eq!(accepted.len(), kernels::all().count());
    for ((file, complaint), kernel) in accepted.iter().zip(kernels::all()) {
        match kernel.needs {
            // `src/backend/gpu/device/adapter.rs` keeps it from such devices.
            Needs::PackedDots => assert!(complaint.as_ref().is_some_and(|why| why.contains("dot4AddPacked")), "{file}"),
            _ => assert_eq!(*complaint, None, "{file}"),
        }
    }
    assert!(broken.1.as_ref().is_some_and(|complaint| complaint.contains("nothing")), "{broken:?}");
}

/// A folder for translated kernels.
fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("translation")
}

#[test]
fn every_kernel_becomes_valid_spirv() {
    let folder = scratch();
    fs::create_dir_all(&folder).expect("a folder");
    for (version, environment) in [((1, 3), "vulkan1.1"), ((1, 6), "vulkan1.3")] {
        let options = spv::Options { lang_version: version, bounds_check_policies: CHECKED, ..spv::Options::default() };
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
    // Compilers bound every loop with a counter of their own: around a step of many products it costs little, around
    // each product it would cost more than the product.
    for kernel in HOT {
        let (module, _) = specialised(kernel);
        assert_eq!(loops(&module, kernel), 1, "{}", kernel.name);
        for (language, text) in [("Metal", metal(kernel)), ("Direct3D", direct3d(kernel).0)] {
            let bounds = text.matches("uint2 loop_bound").count();
            let found = text.matches("while(true)").count() + text.matches("for (").count();
            assert_eq!((found, bounds), (1, 1), "{} in {language}: loops and their bounds", kernel.name);
        }
    }
}

/// Whether a kernel, or a function it calls, adds, multiplies or negates signed integers.
fn computes_with_signed(module: &Module, info: &ModuleInfo) -> bool {
    let of = |function: &Function, info: &FunctionInfo| {
        let is_signed = |operand: Handle<Expression>| {
            let ty = info[operand].ty.inner_with(&module.types);
            ty.scalar_kind() == Some(ScalarKind::Sint)
        };
        function.expressions.iter().any(|(_, expression)| match expression {
            Expression::Binary { op, left, .. } => {
                let overflows = [BinaryOperator::Add, BinaryOperator::Subtract, BinaryOperator::Multiply];
                overflows.contains(op) && is_signed(*left)
            }
            Expression::Unary { op, expr } => *op == UnaryOperator::Negate && is_signed(*expr),
            _ => false,
        })
    };
    // Applying overrides leaves one entry point, and the functions that it calls.
    assert_eq!(module.entry_points.len(), 1);
    module.functions.iter().any(|(handle, function)| of(function, &info[handle]))
        || of(&module.entry_points[0].function, info.get_entry_point(0))
}

#[test]
fn second_moments_are_added_as_integers_that_wrap_around() {
    // Signed overflow is undefined in the languages that some browsers translate to.
    let signed = SECOND_MOMENTS.into_iter().filter(|kernel| {
        let (module, info) = specialised(kernel);
        computes_with_signed(&module, &info)
    });
    assert_eq!(signed.map(|kernel| kernel.name).collect::<Vec<_>>(), SIGNED);
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
