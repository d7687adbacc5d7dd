//! `cargo xtask drivers`: tests the kernels on this machine's own GPU, and the built page in its own browsers through
//! WebDriver, which an emulated adapter cannot replace.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::build::Build;
use crate::command::{cargo, run};
use crate::install;
use crate::serve::Site;

/// What to test on the drivers of this machine.
#[derive(Subcommand)]
pub(crate) enum Drivers {
    /// Test every kernel natively, on Vulkan, Metal or Direct3D.
    Kernels,
    /// Build the page and measure the calibration model with it, whose values are known.
    Page {
        /// Browser; it must be installed with its driver.
        #[arg(long)]
        browser: Browser,
        /// Accept a browser that has no WebGPU here: the page then measures on the CPU.
        #[arg(long)]
        allow_cpu: bool,
    },
}

/// A browser with a WebDriver.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Browser {
    Chrome,
    Firefox,
    Safari,
}

/// Longest wait for the page to start, for the measurement, and for a driver.
const PATIENCE: Duration = Duration::from_mins(10);

/// Reads the page: device, status of the measurement, error, and for every block the value and whether it is as
/// expected.
const READ_PAGE: &str = "
    const find = (name) => document.querySelector(`[data-testid=${name}]`);
    const rows = [...document.querySelectorAll('tr[data-testid^=row-]')];
    const cell = (row, column) => row.querySelector(`[data-column=${column}]`)?.textContent ?? '';
    // All digits of a number are its title where it shows fewer.
    const digits = (row) => row.querySelector('[data-column=r2_lin]')?.title || cell(row, 'r2_lin');
    return {
        device: find('device')?.dataset.state ?? 'probing',
        device_text: find('device')?.textContent ?? '',
        phase: find('status')?.dataset.phase ?? '',
        error: find('error')?.textContent ?? '',
        blocks: rows.map((row) => [digits(row), cell(row, 'expected').includes('✓')]),
    };";

pub(crate) fn drivers(what: &Drivers) -> Result<()> {
    match what {
        Drivers::Kernels => {
            install::adapter()?;
            let mut tests = cargo();
            if let Some(path) = install::path_with_dxc()? {
                tests.env("PATH", path);
            }
            run(tests.args(["test", "--package", "straightedge", "--test", "kernels"]))
        }
        Drivers::Page { browser, allow_cpu } => page(*browser, *allow_cpu),
    }
}

fn page(browser: Browser, allow_cpu: bool) -> Result<()> {
    let program = install::web_driver(browser.driver())?;
    let site = Site::new(Build::full().run()?, "/").start(0)?;
    let session = match Session::open(browser, &program) {
        // Safari takes orders only once its machine allows it.
        Err(_) if browser == Browser::Safari => {
            run(install::as_root(&program).arg("--enable"))?;
            Session::open(browser, &program)?
        }
        opened => opened?,
    };
    session.go(&format!("{site}?model=calibration"))?;
    let found = session.wait("the engine to start", |found| found["device"] != "probing")?;
    println!("{}", found["device_text"].as_str().unwrap_or_default());
    // The address chooses the device: `gpu` also for an adapter that the processor emulates.
    let backend = backend(&found["device"], allow_cpu)?;
    session.go(&format!("{site}?model=calibration&backend={backend}"))?;
    session.wait("the engine to start", |found| found["device"] != "probing")?;
    session.script("document.querySelector('[data-testid=run]').click();")?;
    let is_over = |found: &Value| ["finished", "failed"].iter().any(|phase| found["phase"] == *phase);
    let found = session.wait("the measurement", is_over)?;
    ensure!(found["phase"] == "finished", "the measurement failed: {}", found["error"]);
    let blocks = found["blocks"].as_array().context("the page shows no table")?;
    ensure!(!blocks.is_empty(), "the page shows no block");
    for (index, block) in blocks.iter().enumerate() {
        println!("block {index}: R² {}", block[0].as_str().unwrap_or_default());
        ensure!(block[1] == true, "block {index} is not what the calibration model was made for");
    }
    println!("{} blocks of the calibration model are as expected, on {backend}", blocks.len());
    Ok(())
}

/// The backend to measure on, for a device that the page found.
fn backend(device: &Value, allow_cpu: bool) -> Result<&'static str> {
    if device != "cpu" {
        return Ok("gpu");
    }
    ensure!(allow_cpu, "this browser has no WebGPU here; with --allow-cpu the page is measured on the CPU");
    Ok("cpu")
}

impl Browser {
    /// Program name of its driver.
    fn driver(self) -> &'static str {
        match self {
            Self::Chrome => "chromedriver",
            Self::Firefox => "geckodriver",
            Self::Safari => "safaridriver",
        }
    }

    /// Capabilities requested for a session.
    fn capabilities(self) -> Result<Value> {
        Ok(match self {
            // Without the last flag, emulated adapters, which most hosted machines have, are hidden.
            Self::Chrome => json!({"goog:chromeOptions": {
                "binary": install::browser()?,
                "args": ["--headless=new", "--no-sandbox", "--no-first-run", "--enable-unsafe-webgpu"],
            }}),
            // Firefox too hides emulated adapters.
            Self::Firefox => json!({"moz:firefoxOptions": {
                "args": ["-headless"],
                "prefs": {"dom.webgpu.enabled": true, "gfx.webgpu.ignore-blocklist": true},
            }}),
            Self::Safari => json!({"browserName": "safari"}),
        })
    }
}

/// A browser with its driver; both end when this is dropped.
struct Session {
    driver: Child,
    address: String,
}

impl Session {
    fn open(browser: Browser, program: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let port_is = match browser {
            Browser::Chrome => vec![format!("--port={port}")],
            Browser::Firefox | Browser::Safari => vec!["--port".into(), port.to_string()],
        };
        let mut command = Command::new(program);
        let driver = command.args(port_is).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let driver = driver.with_context(|| format!("{} does not start", program.display()))?;
        // From here on dropping it ends the driver, whatever happens.
        let mut session = Self { driver, address: format!("http://127.0.0.1:{port}") };
        let capabilities = json!({"capabilities": {"alwaysMatch": browser.capabilities()?}});
        let started = Instant::now();
        while ureq::get(format!("{}/status", session.address)).call().is_err() {
            ensure!(started.elapsed() < PATIENCE, "the driver does not answer");
            sleep(Duration::from_millis(200));
        }
        let id = post(&format!("{}/session", session.address), &capabilities)?["sessionId"].clone();
        session.address += &format!("/session/{}", id.as_str().context("the driver opens no session")?);
        Ok(session)
    }

    fn go(&self, url: &str) -> Result<()> {
        post(&format!("{}/url", self.address), &json!({"url": url})).map(drop)
    }

    /// The return value of a script in the page.
    fn script(&self, script: &str) -> Result<Value> {
        post(&format!("{}/execute/sync", self.address), &json!({"script": script, "args": []}))
    }

    /// Polls the page until `is_there` is true.
    fn wait(&self, what: &str, is_there: impl Fn(&Value) -> bool) -> Result<Value> {
        let started = Instant::now();
        loop {
            let found = self.script(READ_PAGE)?;
            if is_there(&found) {
                return Ok(found);
            }
            if started.elapsed() > PATIENCE {
                bail!("{what} takes too long: {found}");
            }
            sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A driver that ends closes its browser; one that no longer answers is killed anyway.
        let _ = ureq::delete(&self.address).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The value of a driver's answer to a command.
fn post(address: &str, command: &Value) -> Result<Value> {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let mut answer = ureq::Agent::new_with_config(config)
        .post(address)
        .header("content-type", "application/json")
        .send(command.to_string())
        .context("the driver does not answer")?;
    let is_done = answer.status().is_success();
    let mut answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    let value = answer["value"].take();
    // Judged by the status, because a script may return an object with a member `error`.
    ensure!(is_done, "the driver refuses a command: {}", value["message"]);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_without_webgpu_is_an_error_unless_that_is_allowed() {
        for device in ["gpu", "software"] {
            assert_eq!(backend(&json!(device), false).expect("a GPU"), "gpu");
        }
        let refused = backend(&json!("cpu"), false).expect_err("no GPU").to_string();
        assert!(refused.contains("no WebGPU") && refused.contains("--allow-cpu"), "{refused}");
        assert_eq!(backend(&json!("cpu"), true).expect("allowed"), "cpu");
    }
}
