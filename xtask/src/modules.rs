//! The modules compiled for the browser: their Cargo packages and arguments, and the effort spent on optimisation.

/// Cargo's name of the browser target.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Effort spent on small and fast modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Link-time optimisation and wasm-opt, for hosting.
    Full,
    /// Quick to build: larger and slower modules, no first view before the page's module has loaded, no offline use.
    Quick,
}

impl Effort {
    pub(crate) fn new(dev: bool) -> Self {
        if dev { Self::Quick } else { Self::Full }
    }
}

/// A module for the browser.
pub(crate) struct Module {
    /// Cargo package.
    package: &'static str,
    /// Name of the Cargo binary and of the files in dist/.
    pub(crate) bin: &'static str,
    /// Features of the package in addition to the default ones.
    pub(crate) features: &'static str,
    /// Cargo profile.
    pub(crate) profile: &'static str,
}

/// The page, optimised for size because it paints first, and the engine in its worker.
pub(crate) const MODULES: [Module; 2] = [
    Module { package: "straightedge-page", bin: "page", features: "", profile: "wasm-page" },
    Module { package: "straightedge-worker", bin: "worker", features: "", profile: "wasm-engine" },
];

/// The engine's checks in a browser, which tests serve together with the page.
pub(crate) const CHECKS: Module =
    Module { package: "straightedge-worker", bin: "checks", features: "", profile: "wasm-engine" };

/// The engine with its benchmarks, built like the page's engine.
pub(crate) const BENCH: Module =
    Module { package: "straightedge-bench", bin: "bench", features: "browser", profile: "wasm-engine" };

/// Cargo arguments for the Parquet reader: a module without bindings, which the engine loads when a text needs it.
pub(crate) const TABLE: [&str; 5] = ["--package", "straightedge-parquet-text", "--lib", "--target", TARGET];

impl Module {
    /// Its file in dist/.
    pub(crate) fn file(&self) -> String {
        format!("{}_bg.wasm", self.bin)
    }

    /// Cargo arguments that select this module for the browser.
    pub(crate) fn selection(&self) -> [&'static str; 9] {
        let Self { package, bin, features, .. } = self;
        ["--package", package, "--bin", bin, "--no-default-features", "--features", features, "--target", TARGET]
    }
}
