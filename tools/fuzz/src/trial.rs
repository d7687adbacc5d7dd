//! One execution of a target: the input is read, and watched are panics (also caught ones), time, memory, and the form of
//! a refusal.

use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs, process};

use crate::target::{Refusal, Target, is_sentence};
use crate::{memory, own};

/// How often an execution over a limit is tried again: the machine may be busy, and another thread take memory.
const REPEATS: usize = 4;
/// How often the watchdog looks.
const GLANCE: Duration = Duration::from_millis(50);
/// Multiple of the time limit, and bytes beyond the memory limit, that end the program.
const HOPELESS: u32 = 40;
const HOPELESS_BYTES: usize = 1 << 30;

/// What no input may cause.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// A panic, with its place and message.
    Panic(String),
    /// More time than the limit: found and limit.
    Slow(Duration, Duration),
    /// More memory than the limit: found and limit.
    Memory(usize, usize),
    /// A refusal that is no sentence.
    Sentence(String),
    /// A refusal of a kind that the target does not document.
    Kind(String),
}

impl Failure {
    /// What two failures of one cause share.
    pub fn cause(&self) -> String {
        match self {
            Self::Panic(what) => what.lines().next().unwrap_or_default().to_owned(),
            Self::Slow(..) => "slow".into(),
            Self::Memory(..) => "memory".into(),
            Self::Sentence(_) => "sentence".into(),
            Self::Kind(kind) => kind.lines().next().unwrap_or_default().to_owned(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(what) => write!(f, "it panics at {what}"),
            Self::Slow(found, limit) => write!(f, "it takes {found:?}, over the limit of {limit:?}"),
            Self::Memory(found, limit) => write!(f, "it takes {found} bytes of memory, over the limit of {limit}"),
            Self::Sentence(text) => write!(f, "it is refused by what is no sentence: {text:?}"),
            Self::Kind(kind) => write!(f, "it is refused by an error of another parser: {kind}"),
        }
    }
}

/// Only one execution runs at a time, so that all memory of the program is its own.
static ALONE: Mutex<()> = Mutex::new(());
static PANIC: Mutex<Option<String>> = Mutex::new(None);
static WATCHED: Mutex<Option<Watched>> = Mutex::new(None);
static PREPARED: Once = Once::new();

/// What the watchdog knows of the running execution.
struct Watched {
    target: &'static str,
    input: Vec<u8>,
    started: Instant,
    time: Duration,
    memory: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads an input with a target; true if it is accepted, false if it is refused as documented.
///
/// # Errors
/// What no input may cause.
pub fn trial(target: &Target, input: &[u8]) -> Result<bool, Failure> {
    PREPARED.call_once(prepare);
    let _alone = lock(&ALONE);
    let (time, memory) = (target.limits.time_for(input), target.limits.memory_for(input));
    let (mut fastest, mut smallest) = (Duration::MAX, usize::MAX);
    for _ in 0..REPEATS {
        let (outcome, duration, taken) = watched(target, input);
        if let Some(what) = lock(&PANIC).take() {
            return Err(Failure::Panic(what));
        }
        let outcome = outcome.ok_or_else(|| Failure::Panic("an unknown place".into()))?;
        (fastest, smallest) = (fastest.min(duration), smallest.min(taken));
        if fastest <= time && smallest <= memory {
            return checked_outcome(target, outcome);
        }
    }
    Err(if smallest > memory { Failure::Memory(smallest, memory) } else { Failure::Slow(fastest, time) })
}

/// The outcome, `None` after a panic, with the time and memory taken.
fn watched(target: &Target, input: &[u8]) -> (Option<Result<(), Refusal>>, Duration, usize) {
    let base = memory::restart_peak();
    let (time, memory) = (target.limits.time_for(input) * HOPELESS, base + HOPELESS_BYTES);
    let started = Instant::now();
    *lock(&WATCHED) = Some(Watched { target: target.name, input: input.to_vec(), started, time, memory });
    let base = memory::restart_peak();
    let started = processor_time();
    own::set(true);
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    own::set(false);
    let duration = processor_time() - started;
    let memory = memory::peak().saturating_sub(base);
    *lock(&WATCHED) = None;
    (outcome.ok(), duration, memory)
}

/// Time that processors have worked for this program: other programs do not slow it down.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Time that has passed.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    STARTED.elapsed()
}

fn checked_outcome(target: &Target, outcome: Result<(), Refusal>) -> Result<bool, Failure> {
    let Err(Refusal { kind, sentence }) = outcome else { return Ok(true) };
    if !is_sentence(&sentence) {
        return Err(Failure::Sentence(sentence));
    }
    if !target.errors.contains(&&*kind) {
        return Err(Failure::Kind(format!("{kind}\n{sentence}")));
    }
    Ok(false)
}

/// Makes panics of executions silent and starts the watchdog.
fn prepare() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |what| {
        // A panic of another thread, such as that of another failing test, does not count for the execution.
        if !own::is_own() {
            return usual(what);
        }
        let place = what.location().map_or_else(String::new, |at| format!("{}:{}", at.file(), at.line()));
        let payload = what.payload();
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        lock(&PANIC).get_or_insert(format!("{place}\n{text}"));
    }));
    thread::spawn(|| {
        loop {
            thread::sleep(GLANCE);
            let watched = lock(&WATCHED);
            let Some(found) = &*watched else { continue };
            let what = if found.started.elapsed() > found.time {
                "takes no end"
            } else if memory::in_use() > found.memory {
                "takes all memory"
            } else {
                continue;
            };
            // The execution cannot be ended from outside, so that the program ends with it.
            let file = PathBuf::from(format!("straightedge-fuzz-{}-endless", found.target));
            let file = std::env::temp_dir().join(file);
            let kept = fs::write(&file, &found.input);
            let place = kept.map_or_else(|error| error.to_string(), |()| file.display().to_string());
            eprintln!("straightedge-fuzz: {}: an input of {} bytes {what}: {place}", found.target, found.input.len());
            process::exit(3);
        }
    });
}
