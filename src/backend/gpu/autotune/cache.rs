//! The tuning cache: the winning kernels per device, as text that the program stores for later runs.
//!
//! The first line is the SHA-256 of all shaders; results for other shaders are ignored. Each further line is one
//! contest on one device: contest, kernel, margin in per cent, contests held, device. Rates are not stored, because
//! stored text is not trusted: the rate decides how much work one submission holds.

use std::cell::RefCell;
use std::sync::LazyLock;

use super::super::kernels;
use crate::platform::digest::Digest;

/// Maximum number of stored lines.
const MOST: usize = 64;
/// Contests won by a smaller margin are repeated in the next runs.
const CLEAR_PERCENT: u32 = 10;
/// Number of contests after which the last winner is used whatever its margin: kernels that are so often this close
/// differ by less than a contest costs.
const ENOUGH_CONTESTS: u32 = 3;

/// The result of one contest.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    contest: String,
    kernel: String,
    margin_percent: u32,
    /// Number of contests held on the device so far.
    held: u32,
    device: String,
    /// Whether this run found or adopted the result. It is then used whatever its margin, because the same kernels give
    /// the same digits.
    is_own: bool,
}

impl Entry {
    fn line(&self) -> String {
        let Self { contest, kernel, margin_percent, held, device, .. } = self;
        format!("{contest}\t{kernel}\t{margin_percent}\t{held}\t{device}\n")
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(5, '\t').map(str::to_owned);
        let (contest, kernel) = (words.next()?, words.next()?);
        let margin_percent = words.next()?.parse().ok()?;
        let held = words.next()?.parse().ok()?;
        Some(Self { contest, kernel, margin_percent, held, device: words.next()?, is_own: false })
    }

    /// Whether the contest need not be repeated.
    fn is_settled(&self) -> bool {
        self.is_own || self.margin_percent >= CLEAR_PERCENT || self.held >= ENOUGH_CONTESTS
    }

    fn is_of(&self, contest: &str, device: &str) -> bool {
        self.contest == contest && self.device == device
    }
}

#[derive(Default)]
struct Cache {
    /// Oldest first.
    entries: Vec<Entry>,
    /// Whether an entry was added since the last `to_save`.
    is_new: bool,
}

impl Cache {
    /// The shaders' hash and the newest entries.
    fn text(&self) -> String {
        let newest = &self.entries[self.entries.len().saturating_sub(MOST)..];
        [format!("{}\n", shaders())].into_iter().chain(newest.iter().map(Entry::line)).collect()
    }
}

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Loads the text that an earlier run got from [`to_save`]. Unreadable text, or text for other shaders, is ignored.
pub fn load(text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let Some((of, lines)) = text.split_once('\n') else { return };
    if of != shaders() {
        return;
    }
    let known = lines.split_terminator('\n').take(MOST).filter_map(Entry::from_line);
    CACHE.with_borrow_mut(|cache| {
        let own = std::mem::take(&mut cache.entries);
        cache.entries = known.filter(|known| own.iter().all(|own| !own.is_of(&known.contest, &known.device))).collect();
        cache.entries.extend(own);
    });
}

/// All known results, as text for [`adopt`].
pub fn snapshot() -> String {
    CACHE.with_borrow(Cache::text)
}

/// Uses the kernels of an earlier run as if they had won in this one, so that a resumed job gives the same digits.
pub fn adopt(text: &str) {
    load(text.as_bytes());
    CACHE.with_borrow_mut(|cache| cache.entries.iter_mut().for_each(|entry| entry.is_own = true));
}

/// The text for [`load`]; `None` if nothing was added since the last call.
pub fn to_save() -> Option<String> {
    CACHE.with_borrow_mut(|cache| std::mem::take(&mut cache.is_new).then(|| cache.text()))
}

/// Name of the winning kernel on a device, if it won by a clear margin, in this run, or in enough contests.
pub(super) fn winner(contest: &str, device: &str) -> Option<String> {
    CACHE.with_borrow(|cache| {
        let mut entries = cache.entries.iter().rev();
        let entry = entries.find(|entry| entry.is_of(contest, device))?;
        entry.is_settled().then(|| entry.kernel.clone())
    })
}

/// Records the winner and its margin.
pub(super) fn note(contest: &str, kernel: &str, margin: f64, device: &str) {
    CACHE.with_borrow_mut(|cache| {
        let before = cache.entries.iter().filter(|old| old.is_of(contest, device)).map(|old| old.held).max();
        cache.entries.retain(|old| !old.is_of(contest, device));
        cache.entries.push(Entry {
            contest: contest.into(),
            kernel: kernel.into(),
            margin_percent: (100.0 * margin.clamp(0.0, 1.0)) as u32,
            held: before.unwrap_or(0).saturating_add(1),
            device: device.into(),
            is_own: true,
        });
        cache.is_new = true;
    });
}

/// SHA-256 of all shaders.
fn shaders() -> &'static str {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let mut digest = Digest::default();
        kernels::all().for_each(|kernel| digest.update(kernel.source.as_bytes()));
        digest.hex()
    });
    &HASH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `body` on a thread of its own, as a new run with the cache `text`.
    fn program<R: Send + 'static>(text: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
        let text = text.to_owned();
        let run = move || {
            load(text.as_bytes());
            body()
        };
        std::thread::spawn(run).join().expect("a program")
    }

    fn winner() -> Option<String> {
        super::winner("product", "gpu, driver 1")
    }

    #[test]
    fn what_one_program_keeps_the_next_one_goes_by() {
        let text = program("", || {
            assert_eq!((winner(), to_save()), (None, None));
            note("product", "slow", 0.5, "gpu, driver 1");
            note("product", "fast", 0.25, "gpu, driver 1");
            note("product", "other", 0.25, "gpu, driver 2");
            let text = to_save().expect("something new");
            assert_eq!(to_save(), None, "nothing is new");
            text
        });
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(program(&text, || (winner(), to_save())), (Some("fast".into()), None));
    }

    #[test]
    fn a_small_margin_is_noted_and_not_gone_by() {
        let text = program("", || {
            note("product", "fast", 0.04, "gpu, driver 1");
            assert_eq!(winner().as_deref(), Some("fast"), "this program goes by it");
            to_save().expect("something new")
        });
        assert!(text.contains("fast\t4\t1\t"), "{text}");
        assert_eq!(program(&text, winner), None);
        let adopted = program("", move || {
            adopt(&text);
            winner()
        });
        assert_eq!(adopted.as_deref(), Some("fast"), "what goes on keeps to it");
    }

    #[test]
    fn close_kernels_compete_in_three_runs_and_then_no_more() {
        let compete = || {
            assert_eq!(winner(), None);
            note("product", "fast", 0.04, "gpu, driver 1");
            to_save().expect("something new")
        };
        let other = || {
            note("product", "fast", 0.04, "gpu, driver 2");
            to_save().expect("something new")
        };
        let text = (0..2).fold(program("", other), |text, _| program(&text, compete));
        let text = program(&text, compete);
        assert_eq!(program(&text, winner).as_deref(), Some("fast"));
        let on_other = program(&text, || super::winner("product", "gpu, driver 2"));
        assert_eq!(on_other, None, "each device counts by itself");
    }

    #[test]
    fn a_damaged_note_says_nothing() {
        let text = program("", || {
            note("product", "fast", 0.5, "gpu, driver 1");
            to_save().expect("something new")
        });
        let (shaders, line) = text.split_once('\n').expect("two lines");
        let hostile = [
            format!("0{text}"),
            text[..text.len() - 4].to_owned(),
            format!("{shaders}\nproduct\tfast\t-5\t1\tgpu, driver 1"),
            format!("{shaders}\nproduct\tfast\t99999999999\t1\tgpu, driver 1"),
            format!("{shaders}\nproduct\tfast\t50\tmany\tgpu, driver 1"),
            format!("{shaders}\nproduct\tfast\t50\tgpu, driver 1"),
            "\u{0}\u{ffff}".into(),
            "\n\n\n".into(),
        ];
        for text in hostile {
            assert_eq!(program(&text, winner), None, "{text}");
        }
        let other_entry = format!("{shaders}\n\t\t\t\n1\n{line}");
        assert_eq!(program(&other_entry, winner), Some("fast".into()), "one line is not the other");
    }
}
