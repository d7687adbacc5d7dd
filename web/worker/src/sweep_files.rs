//! Files of a sweep in the browser's file system: rows that do not fit in memory, and the saved state, so that it can
//! be resumed after the tab was closed.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use futures::lock::Mutex;
use straightedge::run::{Resume, Save, ScratchFile, standing};
use straightedge_api::error::Result;
use straightedge_api::message::{Order, Unfinished};
use wasm_bindgen_futures::spawn_local;

use super::disk::{Entry, Folder, OwnFile};

/// Folder of the engine's own files.
const HOME: &str = "straightedge";
/// Folder within it of rows, one file per measurement.
const ROWS: &str = "rows";
/// Folder within it of the resumable sweep.
const SWEEP: &str = "sweep";
/// The order.
const ORDER: &str = "order.json";
/// Two states, of which the newer is valid: the older one stays intact while it is written.
const STATES: [&str; 2] = ["state-0", "state-1"];
/// Bytes before a state: its number, or 0 while it is being written.
const NUMBER: u64 = 8;
/// Bytes per write.
const PIECE: usize = 1 << 20;
/// A state is saved when measuring since the last one took this many times as long as saving.
const WORTH: f64 = 10.0;

/// Held while states are opened: a second opener in this worker would take open files for those of another page.
static OPENING: Mutex<()> = Mutex::new(());

async fn folder(name: &str) -> Result<Folder> {
    Folder::root().await?.make(HOME).await?.make(name).await
}

/// A file of rows, deleted when its owner is dropped. Files of workers that ended are removed.
pub(super) struct RowFile {
    file: Option<OwnFile>,
    folder: Folder,
    name: String,
}

impl RowFile {
    /// An empty file; `None` if this browser stores none.
    pub(super) async fn open() -> Option<Rc<dyn ScratchFile>> {
        let folder = folder(ROWS).await.ok()?;
        for entry in folder.entries().await {
            if let Entry::File(name, _) = entry {
                // Files in use cannot be removed.
                folder.remove(&name).await;
            }
        }
        let name = format!("{}", js_sys::Math::random());
        let (_, file) = folder.create(&name).await.ok()?;
        Some(Rc::new(Self { file: Some(file), folder, name }))
    }

    fn file(&self) -> io::Result<&OwnFile> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl ScratchFile for RowFile {
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file()?.write(at, bytes).map_err(io::Error::other)
    }

    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        if self.file()?.read(at, bytes).map_err(io::Error::other)? == bytes.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

impl Drop for RowFile {
    fn drop(&mut self) {
        self.file = None;
        let (folder, name) = (self.folder.clone(), std::mem::take(&mut self.name));
        spawn_local(async move { folder.remove(&name).await });
    }
}

/// The states of one sweep.
pub(super) struct States {
    files: [Rc<OwnFile>; 2],
    /// Number of the newest state, and its index; 0 if there is none.
    newest: Cell<(u64, usize)>,
    /// When the last state was saved, and how long saving took, in milliseconds.
    saved: Cell<(f64, f64)>,
}

impl States {
    /// States of a new order; `None` if this browser stores no files, or another page of this site is measuring.
    pub(super) async fn begin(order: &Order) -> Option<Rc<dyn Resume>> {
        let _opening = OPENING.lock().await;
        let folder = folder(SWEEP).await.ok()?;
        let states = Self::of(&folder).await?;
        states.forget();
        let (_, file) = folder.create(ORDER).await.ok()?;
        file.write(0, &serde_json::to_vec(order).ok()?).ok()?;
        Some(Rc::new(states))
    }

    /// States of the unfinished measurement whose result has the key `result`, with its order.
    pub(super) async fn resume(result: &str) -> Option<(Order, Rc<dyn Resume>)> {
        let _opening = OPENING.lock().await;
        let folder = folder(SWEEP).await.ok()?;
        let states = Self::of(&folder).await?;
        let order: Order = serde_json::from_slice(&folder.read(ORDER).await?).ok()?;
        // Another tab may have measured something else since, or completed it.
        let is_there = states.newest.get().0 > 0 && order.result == result;
        is_there.then(|| (order, Rc::new(states) as Rc<dyn Resume>))
    }

    async fn of(folder: &Folder) -> Option<Self> {
        let [first, second] = STATES.map(|name| folder.own(name));
        let files = [Rc::new(first.await.ok()?.1), Rc::new(second.await.ok()?.1)];
        let number = |place: usize| number(&files[place]).unwrap_or_default();
        let newest = (0..2).map(|place| (number(place), place)).max().unwrap_or_default();
        Some(Self { files, newest: Cell::new(newest), saved: Cell::new((js_sys::Date::now(), 0.0)) })
    }

    fn forget(&self) {
        for file in &self.files {
            // A file that cannot be emptied belongs to an order that no longer exists.
            let _ = file.truncate();
        }
        self.newest.set((0, 0));
    }
}

/// The resumable measurement, if there is one.
pub(super) async fn unfinished() -> Option<Unfinished> {
    let _opening = OPENING.lock().await;
    let folder = folder(SWEEP).await.ok()?;
    let states = States::of(&folder).await?;
    let (next, of) = standing(&states.name(), &mut *states.open().ok()??).ok()?;
    let order: Order = serde_json::from_slice(&folder.read(ORDER).await?).ok()?;
    let handles = order.handles();
    let (result, model, text) = (order.result, order.job.model, order.job.corpus);
    Some(Unfinished { result, model, text, next, of, handles })
}

/// Deletes the resumable measurement.
pub(super) async fn forget() {
    let _opening = OPENING.lock().await;
    if let Ok(folder) = folder(SWEEP).await
        && let Some(states) = States::of(&folder).await
    {
        states.forget();
    }
}

fn number(file: &OwnFile) -> Option<u64> {
    let mut bytes = [0; NUMBER as usize];
    let read = file.read(0, &mut bytes).ok()?;
    (read == bytes.len()).then(|| u64::from_le_bytes(bytes))
}

impl Resume for States {
    fn name(&self) -> String {
        "the unfinished measurement in this browser".into()
    }

    fn open(&self) -> io::Result<Option<Box<dyn Read>>> {
        let (number, place) = self.newest.get();
        let from = || From { file: self.files[place].clone(), at: NUMBER };
        Ok((number > 0).then(|| Box::new(io::BufReader::with_capacity(PIECE, from())) as Box<dyn Read>))
    }

    fn is_due(&self) -> bool {
        let (at, took) = self.saved.get();
        js_sys::Date::now() - at >= WORTH * took
    }

    /// The page measures a block again if it needs its map.
    fn takes_maps(&self) -> bool {
        false
    }

    fn save(&self) -> io::Result<Box<dyn Save + '_>> {
        let (number, place) = self.newest.get();
        let file = &*self.files[1 - place];
        file.truncate().map_err(io::Error::other)?;
        let into = Into { states: self, file, at: NUMBER, newest: (number + 1, 1 - place), begun: js_sys::Date::now() };
        Ok(Box::new(Buffered(io::BufWriter::with_capacity(PIECE, into))))
    }

    fn clear(&self) {
        self.forget();
    }
}

/// A state being read.
struct From {
    file: Rc<OwnFile>,
    at: u64,
}

impl Read for From {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(self.at, bytes).map_err(io::Error::other)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A state being written.
struct Into<'a> {
    states: &'a States,
    file: &'a OwnFile,
    at: u64,
    newest: (u64, usize),
    begun: f64,
}

impl Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(self.at, bytes).map_err(io::Error::other)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(io::Error::other)
    }
}

struct Buffered<'a>(io::BufWriter<Into<'a>>);

impl Write for Buffered<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Save for Buffered<'_> {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()?;
        let Into { states, file, newest, begun, .. } = self.0.get_ref();
        // From here on the state is valid.
        file.write(0, &newest.0.to_le_bytes()).and_then(|()| file.flush()).map_err(io::Error::other)?;
        states.newest.set(*newest);
        let now = js_sys::Date::now();
        states.saved.set((now, now - begun));
        Ok(())
    }
}
