//! Post-processing of a compiled module for dist/: bindings, optimisation, a check of its instructions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;
use wasmparser::{Validator, WasmFeatures};

use crate::command::{npm, root, run};
use crate::modules::Effort;

/// The instruction sets of WebAssembly 2.0, as wasm-opt names them.
const WASM_2: [&str; 8] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--enable-simd",
];

/// Passes of wasm-opt: they remove branches, parameters, stores and blocks without effect, shorten instructions, and
/// merge equal functions. They run twice, because each leaves work for the others.
///
/// Each is here because it shrinks the compressed engine. Other size optimisations (`--simplify-locals`,
/// `--coalesce-locals`, `--code-folding`, all of `-Os`) make instances less alike: the engine shrinks by a twentieth
/// and its compressed form grows by a fortieth.
const PASSES: [&str; 7] = [
    "--remove-unused-brs",
    "--dae",
    "--rse",
    "--vacuum",
    "--optimize-instructions",
    "--duplicate-function-elimination",
    "--merge-blocks",
];

/// The last passes: functions are sorted by name, so that the many instances of a generic function are adjacent, where a
/// host's compressor finds their similarity.
const LAST_PASSES: [&str; 3] = ["--strip-producers", "--strip-target-features", "--reorder-functions-by-name"];

/// The npm package of wasm-opt.
const WASM_OPT: &str = "xtask/wasm-opt";

/// Turns a compiled module into the files that a browser loads and returns their folder.
///
/// The files stay next to Cargo's until the module changes, so that a new style sheet needs no new optimisation.
pub(crate) fn finish(name: &str, compiled: &Path, effort: Effort) -> Result<PathBuf> {
    finish_with(&format!("{name}_bg.wasm"), compiled, effort, |folder| bind(name, compiled, folder, effort))
}

/// [`finish`] for a module without bindings, which stays a single file `name.wasm`.
pub(crate) fn finish_plain(name: &str, compiled: &Path, effort: Effort) -> Result<PathBuf> {
    let file = format!("{name}.wasm");
    finish_with(&file, compiled, effort, |folder| {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        let copied = fs::copy(compiled, folder.join(&file)).map(drop);
        copied.with_context(|| format!("{} cannot be copied", compiled.display()))
    })
}

/// Recreates the folder with the output of `make`, unless its `file` is newer than the module.
fn finish_with(file: &str, compiled: &Path, effort: Effort, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = compiled.with_extension("web");
    let module = folder.join(file);
    if newer(&module, compiled) {
        return Ok(folder);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    make(&folder)?;
    if effort == Effort::Full {
        optimise(&module)?;
    }
    let bytes = fs::read(&module).with_context(|| format!("{} cannot be read", module.display()))?;
    check(&bytes).with_context(|| format!("{file} is not for every browser"))?;
    Ok(folder)
}

fn newer(output: &Path, input: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    changed(output).zip(changed(input)).is_some_and(|(output, input)| output > input)
}

/// Writes `name.js` and `name_bg.wasm`.
fn bind(name: &str, compiled: &Path, folder: &Path, effort: Effort) -> Result<()> {
    // wasm-opt sorts functions by name, and then strips the names.
    let names_stay = effort == Effort::Quick || wasm_opt().is_some();
    let mut bindgen = Bindgen::new();
    bindgen.input_path(compiled).out_name(name).typescript(false);
    bindgen.demangle(names_stay).remove_name_section(!names_stay).remove_producers_section(true);
    bindgen.web(true).and_then(|bindgen| bindgen.generate(folder)).map_err(|error| anyhow!("wasm-bindgen: {error:#}"))
}

/// Runs wasm-opt on a module in place; without npm the module stays as it is, some tenths larger.
fn optimise(module: &Path) -> Result<()> {
    let Some(wasm_opt) = wasm_opt() else { return Ok(()) };
    let mut command = Command::new("node");
    command.arg(wasm_opt).args(WASM_2).args(PASSES).args(PASSES).args(LAST_PASSES).arg(module).arg("-o").arg(module);
    run(&mut command)
}

/// wasm-opt from npm, installed on first use.
///
/// Distributions' own builds are years old and some silently break the module, so they are not used.
fn wasm_opt() -> Option<&'static Path> {
    static SCRIPT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let script = SCRIPT.get_or_init(|| {
        let script = script(&root());
        if !script.exists()
            && let Err(error) = run(npm().current_dir(root().join(WASM_OPT)).args(["ci", "--no-audit", "--no-fund"]))
        {
            eprintln!("note: the modules are not optimised for size ({error:#}); install Node.js with npm");
            return None;
        }
        Some(script)
    });
    script.as_deref()
}

/// Whether there is a wasm-opt, installed on first use.
pub(crate) fn has_wasm_opt() -> bool {
    wasm_opt().is_some()
}

/// The script of wasm-opt in a clone of the repository.
pub(crate) fn script(clone: &Path) -> PathBuf {
    clone.join(WASM_OPT).join("node_modules/binaryen/bin/wasm-opt")
}

/// Rejects everything beyond WebAssembly 2.0: Safari rejects a whole module for one relaxed SIMD instruction.
fn check(module: &[u8]) -> Result<()> {
    Validator::new_with_features(WasmFeatures::WASM2).validate_all(module)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    /// A module with one function of no parameters whose body is `instructions`.
    fn module(instructions: &[u8]) -> Vec<u8> {
        let body_len = instructions.len() as u8 + 2;
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        module.extend([1, 4, 1, 0x60, 0, 0]);
        module.extend([3, 2, 1, 0]);
        module.extend([10, body_len + 2, 1, body_len, 0]);
        module.extend(instructions);
        module.push(0x0b);
        module
    }

    /// `operands` zero vectors, an instruction on them, its result dropped.
    fn simd(operands: usize, instruction: &[u8]) -> Vec<u8> {
        let zero = [&[0xfd, 0x0c][..], &[0; 16]].concat();
        module(&[&zero.repeat(operands), instruction, &[0x1a]].concat())
    }

    #[test]
    fn simd_passes_and_relaxed_simd_does_not() {
        let f32x4_add = simd(2, &[0xfd, 0xe4, 0x01]);
        check(&f32x4_add).expect("SIMD is part of WebAssembly 2.0");

        let f32x4_relaxed_madd = simd(3, &[0xfd, 0x85, 0x02]);
        let refusal = check(&f32x4_relaxed_madd).expect_err("relaxed SIMD is not").to_string();
        assert!(refusal.contains("relaxed"), "{refusal}");
    }
}
