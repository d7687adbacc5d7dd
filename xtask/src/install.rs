//! Test requirements other than Rust: installed if possible, else named.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, anyhow, bail};

use crate::command::{cargo, npm, output, root, run, target};

/// Folders where Linux registers Vulkan drivers.
const VULKAN_DRIVERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
/// Names of the browser on the search path.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// Paths of the browser on systems that do not put it on the search path.
const BROWSER_FILES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
];

/// Ensures that wgpu finds an adapter: the machine's driver or Mesa's software driver.
pub(crate) fn adapter() -> Result<()> {
    if has_adapter() {
        return Ok(());
    }
    apt_get(&["mesa-vulkan-drivers", "libvulkan1"])?;
    if !has_adapter() {
        bail!("no Vulkan driver is found; install one, for instance Mesa's lavapipe (package mesa-vulkan-drivers)");
    }
    Ok(())
}

/// Metal and Direct3D are part of their systems; elsewhere a Vulkan driver must be installed.
fn has_adapter() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let is_announced = |folder: &&str| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    env::var_os("VK_DRIVER_FILES").is_some() || VULKAN_DRIVERS.iter().any(is_announced)
}

/// Where the Windows SDK puts its programs, in a folder per version.
const WINDOWS_SDK: &str = "C:/Program Files (x86)/Windows Kits/10/bin";

/// The search path with the folder of Direct3D's shader compiler, which Windows itself does not have and its SDK does;
/// `None` if it needs no change.
pub(crate) fn path_with_dxc() -> Result<Option<OsString>> {
    const DXC: &str = "dxcompiler.dll";
    let path = env::var_os("PATH").unwrap_or_default();
    if !cfg!(windows) || env::split_paths(&path).any(|folder| folder.join(DXC).is_file()) {
        return Ok(None);
    }
    let Some(folder) = newest_with(Path::new(WINDOWS_SDK), "x64", DXC) else { return Ok(None) };
    println!("Direct3D's shader compiler is that of {}", folder.display());
    Ok(Some(env::join_paths([folder].into_iter().chain(env::split_paths(&path)))?))
}

/// `folder/VERSION/part` of the newest version that has a file there.
fn newest_with(folder: &Path, part: &str, file: &str) -> Option<PathBuf> {
    let versions = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = |version: &String| version.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>();
    let found = versions.filter(|version| folder.join(version).join(part).join(file).is_file());
    let newest = found.filter_map(|version| Some((numbers(&version)?, version))).max()?.1;
    Some(folder.join(newest).join(part))
}

/// Ensures that Khronos's SPIR-V validator is installed.
pub(crate) fn validator() -> Result<()> {
    if find_program("spirv-val").is_some() {
        return Ok(());
    }
    apt_get(&["spirv-tools"])?;
    if find_program("spirv-val").is_none() {
        bail!("spirv-val is not found; install SPIRV-Tools (package spirv-tools)");
    }
    Ok(())
}

/// Ensures that Chromium is installed and returns its path: `CHROMIUM` if that is set.
pub(crate) fn browser() -> Result<PathBuf> {
    if let Some(chosen) = env::var_os("CHROMIUM") {
        return Ok(chosen.into());
    }
    if let Some(found) = find_browser() {
        return Ok(found);
    }
    let installed = apt_get(&["chromium"]);
    match find_browser() {
        Some(found) => Ok(found),
        None => bail!(
            "no Chromium is found{}; install Chromium or Google Chrome, or set CHROMIUM to its program",
            installed.err().map(|error| format!(" ({error:#})")).unwrap_or_default()
        ),
    }
}

fn find_browser() -> Option<PathBuf> {
    let on_path = BROWSERS.iter().find_map(|name| find_program(name));
    on_path.or_else(|| BROWSER_FILES.iter().map(PathBuf::from).find(|file| file.exists()))
}

/// Variables with the driver folders of hosted machines.
const DRIVER_FOLDERS: [&str; 2] = ["CHROMEWEBDRIVER", "GECKOWEBDRIVER"];

/// Ensures that a browser's driver is installed and returns its path.
pub(crate) fn web_driver(name: &str) -> Result<PathBuf> {
    let kept = DRIVER_FOLDERS.iter().filter_map(env::var_os).map(PathBuf::from);
    let kept =
        kept.map(|folder| folder.join(name).with_extension(env::consts::EXE_EXTENSION)).find(|file| file.is_file());
    if let Some(found) = kept.or_else(|| find_program(name)) {
        return Ok(found);
    }
    if name == "chromedriver" {
        // If this fails, the message below says what is missing.
        let _ = apt_get(&["chromium-driver"]);
    }
    find_program(name)
        .ok_or_else(|| anyhow!("{name} is not found; install the browser's driver, and put it on the path"))
}

/// Ensures that the packages of tests/browser are installed.
pub(crate) fn driver() -> Result<()> {
    packages(&root().join("tests/browser"))
}

/// Ensures that a folder's npm packages are installed exactly as in its lockfile.
pub(crate) fn packages(folder: &Path) -> Result<()> {
    let changed = |file: &str| fs::metadata(folder.join(file)).and_then(|metadata| metadata.modified()).ok();
    let (required, installed) = (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= required {
        return Ok(());
    }
    if output(npm().arg("--version")).is_none() {
        bail!("npm is missing; install Node.js 20 or newer");
    }
    run(npm().current_dir(folder).args(["ci", "--no-audit", "--no-fund"]))
}

/// A Cargo tool that checks or describes dependencies, in a version known to work here.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    /// Writes licence notices.
    About,
    /// Checks licences, sources, duplicates and advisories.
    Deny,
    /// Finds dependencies that nothing uses.
    Machete,
}

impl Tool {
    fn package(self) -> (&'static str, &'static str) {
        match self {
            Self::About => ("cargo-about", "0.9.3"),
            Self::Deny => ("cargo-deny", "0.20.2"),
            Self::Machete => ("cargo-machete", "0.9.2"),
        }
    }
}

/// Ensures that a tool is installed below the target folder, and returns the search path on which Cargo finds it.
pub(crate) fn tool(tool: Tool) -> Result<OsString> {
    let (name, version) = tool.package();
    let folder = target("tools");
    let installed = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
    if !installed.contains(&format!("\"{name} {version} ")) {
        let mut install = cargo();
        install.args(["install", "--locked", "--root"]).arg(&folder).args([name, "--version", version]);
        if matches!(tool, Tool::About) {
            install.args(["--features", "cli"]);
        }
        run(&mut install)?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths([folder.join("bin")].into_iter().chain(env::split_paths(&path)))?)
}

/// The packages that compute reference values.
const REQUIREMENTS: &str = "tests/reference/requirements.txt";

/// Whether a Python with the reference packages exists: `STRAIGHTEDGE_PYTHON`, or the installed one.
pub(crate) fn has_python() -> bool {
    env::var_os("STRAIGHTEDGE_PYTHON").is_some() || is_installed(&target("python"))
}

/// Ensures that such a Python is installed and returns its path.
pub(crate) fn python() -> Result<PathBuf> {
    if let Some(chosen) = env::var_os("STRAIGHTEDGE_PYTHON") {
        return Ok(chosen.into());
    }
    let environment = target("python");
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !is_installed(&environment) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let install = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "-r"];
        run(Command::new(&python).args(install).arg(root().join(REQUIREMENTS)))?;
        fs::copy(root().join(REQUIREMENTS), environment.join("installed.txt"))?;
    }
    Ok(python)
}

/// Whether an environment matches the project's current requirements.
fn is_installed(environment: &Path) -> bool {
    let required = fs::read(root().join(REQUIREMENTS));
    required
        .is_ok_and(|required| fs::read(environment.join("installed.txt")).is_ok_and(|installed| installed == required))
}

/// Installs Debian or Ubuntu packages.
fn apt_get(packages: &[&str]) -> Result<()> {
    let Some(apt_get) = find_program("apt-get") else {
        bail!("this system has no apt-get; install {} by its own means", packages.join(" and "));
    };
    let apt_get = |arguments: &[&str]| run(as_root(&apt_get).env("DEBIAN_FRONTEND", "noninteractive").args(arguments));
    apt_get(&["update", "--quiet"])?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    let archives = env::temp_dir().join("straightedge-apt");
    fs::create_dir_all(archives.join("partial"))?;
    // On some overlay file systems apt cannot rename within its own cache.
    let own_cache = ["-o".to_owned(), format!("Dir::Cache::archives={}", archives.display())];
    let own_cache: Vec<&str> = own_cache.iter().map(String::as_str).collect();
    apt_get(&[&install, packages].concat()).or_else(|_| apt_get(&[&own_cache, &install[..], packages].concat()))
}

/// Runs a program as root, through sudo if needed; without a terminal sudo must not prompt.
pub(crate) fn as_root(program: &Path) -> Command {
    let is_root = output(Command::new("id").arg("-u")).as_deref() == Some("0");
    if is_root {
        return Command::new(program);
    }
    let mut sudo = Command::new("sudo");
    if env::var_os("CI").is_some() {
        sudo.arg("-n");
    }
    sudo.arg(program);
    sudo
}

fn find_program(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(name).with_extension(env::consts::EXE_EXTENSION))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_has_the_file_is_used() {
        let folder = env::temp_dir().join(format!("straightedge-versions-{}", std::process::id()));
        let make = |version: &str, file: &str| {
            let part = folder.join(version).join("x64");
            fs::create_dir_all(&part).expect("a folder");
            fs::write(part.join(file), "").expect("a file");
        };
        let found = || newest_with(&folder, "x64", "compiler.dll");
        assert_eq!(found(), None, "there is no folder");
        make("10.0.30000.0", "other.dll");
        make("x64", "compiler.dll");
        assert_eq!(found(), None, "there is no version with it");
        make("10.0.9600.0", "compiler.dll");
        make("10.0.22621.0", "compiler.dll");
        assert_eq!(found(), Some(folder.join("10.0.22621.0").join("x64")));
        fs::remove_dir_all(&folder).expect("it was made here");
    }
}
