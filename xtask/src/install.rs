//! What tests need beside Rust: installed where it is missing and can be, named where it cannot.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::command::{npm, output, root, run};

/// Folders in which Vulkan drivers announce themselves on Linux.
const VULKAN_DRIVERS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
/// Names of the browser by which it is found on the path.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
/// Where it is on systems that do not put it on the path.
const BROWSER_FILES: [&str; 3] = [
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
];

/// Makes sure that wgpu finds an adapter: a driver of the machine or Mesa's software one.
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

/// Metal and Direct3D are part of their systems; elsewhere a Vulkan driver has to be there.
fn has_adapter() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let is_announced = |folder: &&str| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    env::var_os("VK_DRIVER_FILES").is_some() || VULKAN_DRIVERS.iter().any(is_announced)
}

/// Makes sure that there is a Chromium and says where: `CHROMIUM` if that is set.
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

/// Makes sure that the packages of tests/browser are there.
pub(crate) fn driver() -> Result<()> {
    packages(&root().join("tests/browser"))
}

/// Makes sure that the npm packages of a folder are there, exactly as its lockfile says.
pub(crate) fn packages(folder: &Path) -> Result<()> {
    let changed = |file: &str| fs::metadata(folder.join(file)).and_then(|metadata| metadata.modified()).ok();
    let (wanted, installed) = (changed("package-lock.json"), changed("node_modules/.package-lock.json"));
    if installed.is_some() && installed >= wanted {
        return Ok(());
    }
    if output(npm().arg("--version")).is_none() {
        bail!("npm is missing; install Node.js 20 or newer");
    }
    run(npm().current_dir(folder).args(["ci", "--no-audit", "--no-fund"]))
}

/// Installs packages of Debian or Ubuntu.
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

/// The program itself for root, through sudo for others; without a terminal sudo must not ask.
fn as_root(program: &Path) -> Command {
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
