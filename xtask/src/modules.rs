//! The modules that are compiled for the browser: which ones there are, how Cargo is asked for them, and how much time
//! they are worth.

/// What Cargo calls the browser.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// How much time to spend on small and fast modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Link-time optimisation and wasm-opt, as it is hosted.
    Full,
    /// Quick to build: larger and slower modules, no first view before the page's module has arrived, nothing kept for
    /// visits without a network.
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
    /// Features of the package beside its default ones.
    pub(crate) features: &'static str,
    /// Profile of Cargo that makes it small or fast.
    pub(crate) profile: &'static str,
}

/// The page, small because it paints first, and the engine in its worker.
pub(crate) const MODULES: [Module; 2] = [
    Module { package: "straightedge-page", bin: "page", features: "", profile: "wasm-page" },
    Module { package: "straightedge-worker", bin: "worker", features: "", profile: "wasm-engine" },
];

/// The engine's own checks in a browser, which tests serve beside the page.
pub(crate) const CHECKS: Module =
    Module { package: "straightedge-worker", bin: "checks", features: "", profile: "wasm-engine" };

/// The engine with its benchmarks, built as the engine of the page is.
pub(crate) const BENCH: Module =
    Module { package: "straightedge-bench", bin: "bench", features: "browser", profile: "wasm-engine" };

/// Cargo arguments for the reader of tables: a module without bindings, which the engine loads when a text asks for it.
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
