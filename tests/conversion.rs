//! Models on the hub with PyTorch's weights alone: the hub's own conversion to safetensors, or else the weights as they
//! are, in few requests.

mod common;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use common::fixture;
use common::torch::{FILE, Layout, measured, numbers, tensors, torch};
use futures::executor::block_on;
use straightedge::event::Event;
use straightedge::hub::client::Hub;
use straightedge::hub::disk::DiskStore;
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::preflight::Capacity;
use straightedge::hub::store::{MemoryStore, Store};
use straightedge::hub::transport::Transport;
use straightedge::weights::{Files, FolderFiles, Weights};
use straightedge_hub_mirror::{Mirror, Options};

const MODEL: &str = "tiny-gpt2";

/// A mirror with the model `made/tiny`, which has no safetensors.
fn mirror(test: &str) -> (Mirror, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conversion").join(test);
    let _ = fs::remove_dir_all(&folder);
    put(&folder.join("models/made/tiny"), &[(FILE, &torch(Layout::Torch, &tensors(MODEL)))]);
    (Mirror::start(Options::new(folder.join("models"))).expect("a free port"), folder)
}

/// Writes the model into a folder, with other files for its weights.
fn put(folder: &Path, weights: &[(&str, &[u8])]) {
    fs::create_dir_all(folder).expect("a folder");
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(fixture(MODEL).join(file), folder.join(file)).expect(file);
    }
    for (file, bytes) in weights {
        fs::write(folder.join(file), bytes).expect(file);
    }
}

/// Adds the conversion as pull request 3, of the weights `torch`.
fn convert(folder: &Path, torch: &[u8]) {
    let safetensors = fs::read(fixture(MODEL).join("model.safetensors")).expect("weights");
    put(&folder.join("models/made/tiny@refs/pr/3"), &[(FILE, torch), ("model.safetensors", &safetensors)]);
}

fn hub(mirror: &Mirror, store: Rc<dyn Store>, offline: bool) -> Hub {
    let endpoint: Endpoint = mirror.url().parse().expect("an address");
    Hub::new(Rc::new(Transport::new(endpoint.clone(), None, offline)), store, endpoint)
}

fn open(hub: &Hub, id: &str) -> HubFiles {
    block_on(hub.open(&HubId::model(id).expect("an id"))).expect("a listing")
}

fn has(files: &HubFiles, file: &str) -> bool {
    files.repo().files.contains_key(file)
}

#[test]
fn pytorch_weights_measure_as_safetensors_do_and_only_needed_bytes_come() {
    let (mirror, _) = mirror("bin");
    let files = open(&hub(&mirror, Rc::<MemoryStore>::default(), false), "made/tiny");
    assert!(has(&files, FILE) && !has(&files, "model.safetensors"));
    block_on(Weights::open(Rc::new(files.clone()))).expect("weights");
    let described = mirror.stats().file(FILE);
    assert_eq!(described.requests, 2, "the end, and the description");
    let preflight = block_on(files.preflight(&common::small_job(), &Capacity::default())).expect("an answer");
    assert!(preflight.can_start() && preflight.dtype.as_deref() == Some("F32"), "{:?}", preflight.problems);
    let report = measured(Rc::new(files.clone()));
    let here = measured(Rc::new(FolderFiles::new(fixture(MODEL))));
    assert_eq!(numbers(&report), numbers(&here));
    assert_eq!(report.model.sha256, files.sha256(FILE), "as the hub lists it");
    let sent = mirror.stats().file(FILE);
    let tokenizer = fs::metadata(fixture(MODEL).join("tokenizer.json")).expect("a file").len();
    assert_eq!(preflight.download_bytes, sent.bytes - described.bytes + tokenizer, "as was announced");
    assert!(sent.requests <= described.requests + 2 * 5, "two for each of the embedding and four blocks: {sent:?}");
}

#[test]
fn the_hubs_own_conversion_comes_first_and_is_known_without_a_network() {
    let (mirror, folder) = mirror("converted");
    convert(&folder, &fs::read(folder.join("models/made/tiny").join(FILE)).expect("weights"));
    let store = || Rc::new(DiskStore::new(folder.join("home/hub")));
    let online = hub(&mirror, store(), false);
    let warnings = Rc::new(RefCell::new(Vec::new()));
    let heard = warnings.clone();
    online.listen(Rc::new(move |event| {
        if let Event::Warning(warning) = event {
            heard.borrow_mut().push((warning.code, warning.text));
        }
    }));
    let files = open(&online, "made/tiny");
    assert!(has(&files, "model.safetensors"));
    assert_eq!(open(&online, "made/tiny").id(), files.id());
    assert_eq!(mirror.stats().requests("/discussions"), 1, "asked once in a visit");
    assert!(
        matches!(&warnings.borrow()[..], [(code, text)] if code == "converted" && text.contains("refs/pr/3")),
        "{warnings:?}"
    );
    let report = measured(Rc::new(files.clone()));
    assert_eq!(report.model.revision.as_deref(), files.id().revision());
    assert_eq!(numbers(&report), numbers(&measured(Rc::new(FolderFiles::new(fixture(MODEL))))));
    assert_eq!(mirror.stats().file(FILE).requests, 0);

    let list = store().list();
    assert!(list.iter().any(|model| model.name == "made/tiny"), "{list:?}");
    let offline = hub(&mirror, store(), true);
    assert_eq!(open(&offline, "made/tiny").id(), files.id());
    assert_eq!(open(&online, "made/tiny@main").id(), files.id());
}

#[test]
fn a_conversion_of_other_weights_or_an_unknown_one_leaves_the_models_own() {
    let (mirror, folder) = mirror("stale");
    let mut changed = tensors(MODEL);
    changed[0].bytes[0] ^= 1;
    convert(&folder, &torch(Layout::Torch, &changed));
    let opened = || open(&hub(&mirror, Rc::<MemoryStore>::default(), false), "made/tiny");
    assert!(!has(&opened(), "model.safetensors"), "of other weights");
    let main = opened().id().clone();
    convert(&folder, &torch(Layout::Torch, &tensors(MODEL)));
    assert!(has(&opened(), "model.safetensors"), "of the same weights");
    let pinned = block_on(hub(&mirror, Rc::<MemoryStore>::default(), false).open(&main)).expect("a listing");
    assert!(!has(&pinned, "model.safetensors"), "a commit means its own files");
    mirror.faults().add("missing:discussions:9".parse().expect("a fault"));
    let files = opened();
    assert!(!has(&files, "model.safetensors") && has(&files, FILE), "nobody knows of it");
}
