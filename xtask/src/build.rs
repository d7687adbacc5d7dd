//! `cargo xtask build`: builds dist/ from the sources, step by step.

use std::env;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::Result;
use clap::Args;

use crate::atlas;
use crate::bundle;
use crate::command::root;
use crate::commit::commit;
use crate::compile::{compile, compile_selected, ensure_target};
use crate::first_view::{self, Views};
use crate::integrity;
use crate::modules::{CHECKS, Effort, MODULES, Module, TABLE};
use crate::offline;
use crate::progress::Progress;
use crate::share::Shared;
use crate::wasm;

/// A build: its options, and where the page will be hosted.
#[derive(Clone, Debug, Args)]
pub(crate) struct Build {
    /// Skip link-time optimisation, wasm-opt and the first view: quicker to build, larger and slower modules.
    #[arg(long)]
    dev: bool,
    /// Folder of an atlas that the page lists as measured by its build; web/data/atlas, if there is one.
    #[arg(long, env = "STRAIGHTEDGE_ATLAS", value_name = "FOLDER")]
    atlas: Option<PathBuf>,
    #[command(flatten)]
    place: SiteAddress,
}

/// Where the page will be hosted. Without these options it works anywhere and names no address.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SiteAddress {
    /// Address that the page will have, for its preview and as its canonical address.
    #[arg(long, env = "STRAIGHTEDGE_SITE", value_name = "URL")]
    site: Option<String>,
    /// Address of the sources, which the page's foot links to.
    #[arg(long, env = "STRAIGHTEDGE_SOURCE", value_name = "URL")]
    source: Option<String>,
}

impl Build {
    /// The build that is hosted and tested; the environment says where it will be hosted.
    pub(crate) fn full() -> Self {
        let [site, source] = ["STRAIGHTEDGE_SITE", "STRAIGHTEDGE_SOURCE"].map(|name| env::var(name).ok());
        let atlas = env::var_os("STRAIGHTEDGE_ATLAS").map(Into::into);
        Self { dev: false, atlas, place: SiteAddress { site, source } }
    }

    /// The build that is served while the sources change.
    pub(crate) fn quick() -> Self {
        Self { dev: true, atlas: None, place: SiteAddress::default() }
    }

    /// Builds everything and returns the folder to serve.
    pub(crate) fn run(&self) -> Result<PathBuf> {
        self.run_with(&|| Ok(()))
    }

    /// [`Build::run`]; `page_ready` is called as soon as the folder holds everything but the engine.
    pub(crate) fn run_with(&self, page_ready: &dyn Fn() -> Result<()>) -> Result<PathBuf> {
        let effort = Effort::new(self.dev);
        if effort == Effort::Quick {
            return self.make(effort, page_ready, || Ok(None));
        }
        let atlas = atlas::index(self.atlas.as_deref())?;
        // Link-time optimisation keeps one core busy; others compile the page natively meanwhile.
        thread::scope(|scope| {
            let views = scope.spawn(|| first_view::render(&atlas));
            self.make(effort, page_ready, || views.join().expect("the thread of the views does not panic").map(Some))
        })
    }

    /// Makes the folder to serve; `views` waits for the pre-rendered views.
    fn make(
        &self,
        effort: Effort,
        page_ready: &dyn Fn() -> Result<()>,
        views: impl FnOnce() -> Result<Option<Views>>,
    ) -> Result<PathBuf> {
        let commit = commit();
        let mut progress = Progress::new(if effort == Effort::Full { 5 } else { 4 });
        ensure_target()?;
        let mut finish = |module: &Module, what| {
            progress.next(what);
            wasm::finish(module.bin, &compile(module, effort, commit.as_deref())?, effort)
        };
        let [page, worker] = &MODULES;
        let dist = root().join("dist");
        let mut finished = vec![finish(page, "the page")?];
        if effort == Effort::Quick {
            self.assemble(&finished, None, &dist, commit.as_deref())?;
            page_ready()?;
        }
        finished.push(finish(worker, "the engine, which takes longest")?);
        progress.next("the reader of Parquet files");
        let table = compile_selected("straightedge_parquet_text", &TABLE, "wasm-engine", effort, None)?;
        finished.push(wasm::finish_plain("table", &table, effort)?);
        if effort == Effort::Full {
            progress.next("the recorded views");
        }
        self.assemble(&finished, views()?, &dist, commit.as_deref())?;
        progress.next("the files of the site");
        offline::write(&dist, effort)?;
        bundle::print_sizes(&dist, effort)?;
        Ok(dist)
    }

    /// Assembles the site from these modules and pre-rendered views.
    fn assemble(&self, modules: &[PathBuf], views: Option<Views>, dist: &Path, commit: Option<&str>) -> Result<()> {
        bundle::assemble(modules, dist)?;
        atlas::put(self.atlas.as_deref(), dist)?;
        let SiteAddress { site, source } = &self.place;
        Shared { site: site.as_deref(), source: source.as_deref(), commit }.write(dist)?;
        views.map_or(Ok(()), |views| first_view::write(views, dist))?;
        integrity::write(dist, Effort::new(self.dev))
    }
}

/// [`Build::full`], and a copy of it with the module of checks; returns the copy's folder.
pub(crate) fn build_with_checks() -> Result<PathBuf> {
    ensure_target()?;
    // One command links engine and checks side by side, and the build finds its engine compiled.
    let [_, worker] = &MODULES;
    let both = [&CHECKS.selection()[..], &["--bin", worker.bin]].concat();
    let compiled = compile_selected(CHECKS.bin, &both, CHECKS.profile, Effort::Full, commit().as_deref())?;
    let dist = Build::full().run()?;
    let module = wasm::finish(CHECKS.bin, &compiled, Effort::Quick)?;
    let site = compiled.with_file_name("site-under-test");
    bundle::gather(&[&dist, &module], &site)?;
    Ok(site)
}
