//! Layouts of every shader, as naga reads them, against the Rust kernel table.

use std::collections::BTreeSet;
use std::path::Path;

use naga::valid::{Capabilities, GlobalUse, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Function, GlobalVariable, Module, Scalar, ScalarKind, Statement, StorageAccess, TypeInner};
use straightedge::backend::gpu::kernels::{self, Access, Kernel, Member, Needs};

fn reflect(kernel: &Kernel) -> (Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(kernel.source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string_with_path(kernel.source, kernel.file)));
    // Kernels that need more than WebGPU are not for browsers.
    let native = !matches!(kernel.needs, Needs::Nothing | Needs::PackedDots);
    let capabilities = if native { Capabilities::SUBGROUP } else { Capabilities::empty() };
    let info = Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}: {error:?}", kernel.file));
    (module, info)
}

/// The global variables that a kernel's entry point uses, and their use.
fn used<'a>(module: &'a Module, info: &ModuleInfo, kernel: &Kernel) -> Vec<(&'a GlobalVariable, GlobalUse)> {
    let index = module.entry_points.iter().position(|entry| entry.name == kernel.name);
    let entry = info.get_entry_point(index.unwrap_or_else(|| panic!("{}: no {}", kernel.file, kernel.name)));
    let globals = module.global_variables.iter().map(|(handle, variable)| (variable, entry[handle]));
    globals.filter(|(_, usage)| !usage.is_empty()).collect()
}

/// Files below a folder, by paths relative to `root`.
fn files_below(root: &Path, folder: &Path) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(root, &path));
        } else {
            let below = path.strip_prefix(root).expect("below the root");
            files.insert(below.to_str().expect("UTF-8").replace('\\', "/"));
        }
    }
    files
}

#[test]
fn the_table_lists_every_shader_and_every_entry_point() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let files = files_below(&folder, &folder);
    let listed: BTreeSet<String> = kernels::all()
        .flat_map(|kernel| kernel.shared.iter().chain([&kernel.file]))
        .map(|file| (*file).to_owned())
        .collect();
    assert_eq!(files, listed);

    for kernel in kernels::all() {
        let (module, _) = reflect(kernel);
        let found: BTreeSet<&str> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        let same_text = kernels::all().filter(|other| (other.file, other.shared) == (kernel.file, kernel.shared));
        assert_eq!(found, same_text.map(|other| other.name).collect(), "{}", kernel.file);
    }
    let distinct: BTreeSet<String> =
        kernels::all().map(|kernel| format!("{} {:?} {}", kernel.name, kernel.overrides, kernel.source)).collect();
    assert_eq!(distinct.len(), kernels::all().count(), "kernels differ in name, overrides or text");
}

#[test]
fn storage_bindings_agree() {
    for kernel in kernels::all() {
        let (module, info) = reflect(kernel);
        let mut found: Vec<_> = used(&module, &info, kernel)
            .into_iter()
            .filter_map(|(variable, _)| match variable.space {
                AddressSpace::Storage { access } => Some((variable, access)),
                _ => None,
            })
            .map(|(variable, access)| {
                let binding = variable.binding.expect("a binding");
                assert_eq!(binding.group, 0, "{}: group", kernel.name);
                let writes = access.contains(StorageAccess::STORE);
                let access = if writes { Access::ReadWrite } else { Access::Read };
                (binding.binding, variable.name.clone().expect("a name"), access)
            })
            .collect();
        found.sort_by_key(|(slot, ..)| *slot);
        let listed: Vec<_> =
            kernel.bindings.iter().map(|binding| (binding.slot, binding.name.to_owned(), binding.access)).collect();
        assert_eq!(found, listed, "{}", kernel.name);
    }
}

#[test]
fn writable_buffers_are_written() {
    // A buffer bound for writing that a kernel only reads would hide a missing output.
    for kernel in kernels::all() {
        let (module, info) = reflect(kernel);
        let written = used(&module, &info, kernel).iter().filter(|(_, usage)| usage.contains(GlobalUse::WRITE)).count();
        assert!(written > 0, "{} writes nothing", kernel.name);
    }
}

#[test]
fn parameters_agree_in_name_type_offset_and_size() {
    for kernel in kernels::all() {
        let (module, info) = reflect(kernel);
        let uniforms: Vec<_> = used(&module, &info, kernel)
            .into_iter()
            .filter(|(variable, _)| variable.space == AddressSpace::Uniform)
            .collect();
        let [(variable, _)] = uniforms[..] else { panic!("{}: {} uniforms", kernel.name, uniforms.len()) };
        let binding = variable.binding.expect("a binding");
        assert_eq!((binding.group, binding.binding), (0, 0), "{}", kernel.name);

        let TypeInner::Struct { members, span } = &module.types[variable.ty].inner else {
            panic!("{}: the uniform is no structure", kernel.name);
        };
        assert_eq!(*span as usize, 4 * kernel.params.len(), "{}: size", kernel.name);
        let found: Vec<_> = members
            .iter()
            .map(|member| (member.offset, member.name.as_deref().unwrap_or(""), scalar(&module, member.ty)))
            .collect();
        let listed: Vec<_> =
            kernel.params.iter().enumerate().map(|(i, Member { name, kind })| (4 * i as u32, *name, *kind)).collect();
        assert_eq!(found, listed, "{}", kernel.name);
    }
}

fn scalar(module: &Module, ty: naga::Handle<naga::Type>) -> &'static str {
    match module.types[ty].inner {
        TypeInner::Scalar(Scalar { kind: ScalarKind::Uint, width: 4 }) => "u32",
        TypeInner::Scalar(Scalar { kind: ScalarKind::Sint, width: 4 }) => "i32",
        TypeInner::Scalar(Scalar { kind: ScalarKind::Float, width: 4 }) => "f32",
        _ => "another type",
    }
}

#[test]
fn overrides_and_workgroups_agree() {
    for kernel in kernels::all() {
        let (module, info) = reflect(kernel);
        let found: BTreeSet<_> =
            module.overrides.iter().map(|(_, constant)| constant.name.clone().expect("a name")).collect();
        let listed: BTreeSet<_> = kernel.overrides.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(found, listed, "{}", kernel.file);

        let mut constants = naga::back::PipelineConstants::default();
        constants.extend(kernel.overrides.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        let entry = Some((naga::ShaderStage::Compute, kernel.name));
        let (module, _) = naga::back::pipeline_constants::process_overrides(&module, &info, entry, &constants)
            .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
        let entry = module.entry_points.iter().find(|entry| entry.name == kernel.name).expect("the entry point");
        assert_eq!(entry.workgroup_size, kernel.workgroup, "{}", kernel.name);
        // Limit that every WebGPU device supports.
        let threads = kernel.workgroup.iter().product::<u32>();
        assert!(threads <= 256, "{}", kernel.name);
    }
}

#[test]
fn built_ins_are_arguments_of_their_own() {
    // In a structure, naga's HLSL would not set the subgroup builtins.
    for kernel in kernels::all() {
        let (module, _) = reflect(kernel);
        let entry = module.entry_points.iter().find(|entry| entry.name == kernel.name).expect("the entry point");
        let mut arguments = entry.function.arguments.iter();
        assert!(arguments.all(|argument| argument.binding.is_some()), "{}", kernel.name);
    }
}

#[test]
fn kernels_fit_the_storage_buffers_of_every_device() {
    for kernel in kernels::all() {
        assert!(kernel.bindings.len() <= 8, "{}: {} storage buffers", kernel.name, kernel.bindings.len());
    }
}

/// The functions of a kernel's module: its entry points and what they call.
fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.entry_points.iter().map(|entry| &entry.function).chain(module.functions.iter().map(|(_, function)| function))
}

#[test]
fn reductions_of_subgroups_follow_a_barrier() {
    // SPIR-V does not guarantee that the threads of a subgroup reconverge after a loop that some left earlier.
    let mut checked = 0;
    for kernel in kernels::all() {
        let (module, _) = reflect(kernel);
        for function in functions(&module) {
            let statements: Vec<_> = function.body.iter().collect();
            let reduces = |statement: &&Statement| matches!(statement, Statement::SubgroupCollectiveOperation { .. });
            let Some(at) = statements.iter().position(reduces) else { continue };
            let barrier = |statement: &&Statement| matches!(statement, Statement::ControlBarrier(_));
            assert!(statements[..at].iter().any(barrier), "{}: {:?}", kernel.name, function.name);
            checked += 1;
        }
    }
    assert!(checked > 0);
}
