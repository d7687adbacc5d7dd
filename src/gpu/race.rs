//! Which kernels a device runs fastest: they compete once, on small problems, when a device is first opened.
//!
//! Software adapters and real GPUs differ by a factor of ten in opposite directions: a barrier is ruinous for the one,
//! and neighbouring threads that read far apart for the other. The result is remembered for as long as the program (or
//! the page's worker) runs, and whoever has a place for it keeps which kernels won beyond that ([`recall`],
//! [`remembered`]). How fast they are is not kept: the winner alone runs again, for no note from outside may say how much
//! work a device is given at a time.

use std::cell::{Cell, RefCell};

use super::engine::Engine;
use super::kernels::{self, NormParams};
use super::matmul::{self, Pace, RACE_MS, VARIANTS, Variant};
use super::products::{Digits, Exact, Fast, Form, GramSums};
use super::rows::{LAYER_NORM, Reduction};
use super::sums::MAX_ROWS;
use crate::digest::Digest;
use crate::error::Result;
use crate::job::GramMode;

/// Rows and columns of the norm's race.
const NORM: [usize; 2] = [256, 768];
/// Rows of the second moments' race: those of a batch, for ways differ in what they do once per batch.
const GRAM_ROWS: usize = 1024;
/// Its columns, until a round takes long enough.
const GRAM_COLS: [usize; 4] = [128, 256, 512, 1024];

/// Most devices of which anything is kept.
const MOST: usize = 16;

/// Who won on a device.
#[derive(Clone, Debug)]
struct Winners {
    /// Adapter and driver.
    device: String,
    product: &'static Variant,
    reduction: Reduction,
    exact: Exact,
    fast: Fast,
}

impl Winners {
    /// One line of the notes.
    fn line(&self) -> String {
        let Self { device, product, reduction, exact, fast } = self;
        format!("{}\t{reduction:?}\t{exact:?}\t{fast:?}\t{device}\n", product.kernel.name)
    }

    /// `None` where the line names what is not there.
    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(5, '\t');
        let product = matmul::variant_named(words.next()?)?;
        let reduction = named(Reduction::ALL, words.next()?)?;
        let exact = named(&Exact::ALL, words.next()?)?;
        let fast = named(Fast::ALL, words.next()?)?;
        Some(Self { device: words.next()?.to_owned(), product, reduction, exact, fast })
    }

    /// The pace of a device on which the winner of the products takes so long.
    fn pace(&self, product: Pace) -> Pace {
        let Self { reduction, exact, fast, .. } = *self;
        Pace { reduction, exact, fast, ..product }
    }
}

/// The one of `known` that is written so.
fn named<T: Copy + std::fmt::Debug>(known: &[T], name: &str) -> Option<T> {
    known.iter().copied().find(|known| format!("{known:?}") == name)
}

thread_local! {
    /// The device opened last, and what the races came to.
    static OPENED: RefCell<Option<(String, Pace)>> = const { RefCell::new(None) };
    /// Who won in this program and in earlier ones, the oldest first.
    static WINNERS: RefCell<Vec<Winners>> = const { RefCell::new(Vec::new()) };
    /// Races held in this program.
    static HELD: Cell<usize> = const { Cell::new(0) };
    /// Those of which it was told what they came to.
    static TOLD: Cell<usize> = const { Cell::new(0) };
}

/// Takes in what an earlier program has [`remembered`]. What cannot be read, is of other shaders, or names what is not
/// there says nothing, and the kernels race again.
pub fn recall(notes: &[u8]) {
    let notes = String::from_utf8_lossy(notes);
    let Some((of, lines)) = notes.split_once('\n') else { return };
    if of != shaders() {
        return;
    }
    let mut known: Vec<Winners> = lines.lines().filter_map(Winners::from_line).collect();
    WINNERS.with_borrow_mut(|winners| {
        known.retain(|note| winners.iter().all(|own| own.device != note.device));
        known.append(winners);
        *winners = known;
    });
}

/// Who has won so far, as text for [`recall`]: the digest of the shaders, then a line for every device. `None` where no
/// race was held since it was last asked for, so that there is nothing new to keep.
pub fn remembered() -> Option<String> {
    if TOLD.replace(held()) == held() {
        return None;
    }
    let lines = WINNERS.with_borrow(|winners| {
        winners[winners.len().saturating_sub(MOST)..].iter().map(Winners::line).collect::<String>()
    });
    Some(shaders() + "\n" + &lines)
}

/// Races held in this program: one for every device that it did not know.
pub fn held() -> usize {
    HELD.get()
}

/// Holds all races, or remembers them.
pub(super) async fn race(engine: &Engine) -> Result<Pace> {
    let info = &engine.device.probe.info;
    // A device is the rest of a line.
    let said = format!("{:?}, {:?}", info.adapter, info.driver);
    let device = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let opened = OPENED.with_borrow(|last| last.as_ref().filter(|(name, _)| *name == device).map(|(_, pace)| *pace));
    if let Some(pace) = opened {
        return Ok(pace);
    }
    let known = WINNERS.with_borrow(|winners| winners.iter().rev().find(|winners| winners.device == device).cloned());
    let known = known.filter(|known| known.pace(Pace::new(known.product, 1.0)).runs(&engine.device));
    let pace = match known {
        Some(known) => known.pace(matmul::race(engine, vec![known.product]).await?),
        None => hold(engine, &device).await?,
    };
    OPENED.with_borrow_mut(|last| *last = Some((device, pace)));
    Ok(pace)
}

/// Holds all races on a device that is not known.
async fn hold(engine: &Engine, device: &str) -> Result<Pace> {
    let products = VARIANTS.iter().filter(|variant| engine.device.runs(variant.kernel));
    let mut pace = matmul::race(engine, products.collect()).await?;
    pace.reduction = norms(engine).await?;
    pace.exact = second_moments(engine, GramMode::Exact, &Exact::ALL, |exact| Pace { exact, ..pace }).await?;
    let fast: Vec<Fast> = Fast::ALL.iter().copied().filter(|fast| fast.runs(&engine.device)).collect();
    pace.fast = second_moments(engine, GramMode::Fast, &fast, |fast| Pace { fast, ..pace }).await?;
    HELD.set(held() + 1);
    let Pace { variant, reduction, exact, fast, .. } = pace;
    let won = Winners { device: device.into(), product: variant, reduction, exact, fast };
    WINNERS.with_borrow_mut(|winners| {
        winners.retain(|winners| winners.device != device);
        winners.push(won);
    });
    Ok(pace)
}

/// SHA-256 of all shaders: what was found out about one set of kernels says nothing about another.
fn shaders() -> String {
    let mut digest = Digest::default();
    kernels::all().for_each(|kernel| digest.update(kernel.source.as_bytes()));
    digest.hex()
}

/// The fastest way to take rows that the device has.
async fn norms(engine: &Engine) -> Result<Reduction> {
    let [rows, cols] = NORM;
    let buffer = |values: usize| engine.zeros(4 * values as u64);
    let (x, weight, out) = (buffer(rows * cols), buffer(cols), buffer(rows * cols));
    let params = NormParams { rows: rows as u32, cols: cols as u32, eps: 1.0 };
    let ways: Vec<Reduction> = Reduction::ALL.iter().copied().filter(|way| way.runs(&engine.device)).collect();
    let best = fastest(engine, ways.len(), |index| {
        let (kernel, workgroups) = engine.by_rows(&LAYER_NORM, ways[index], rows);
        engine.dispatch(kernel, &params, &[&x, &weight, &weight, &out], workgroups, 0.0);
        Ok(())
    });
    Ok(ways[best.await?.1])
}

/// The fastest of some ways to make second moments.
async fn second_moments<W: Copy>(engine: &Engine, mode: GramMode, ways: &[W], pace: impl Fn(W) -> Pace) -> Result<W> {
    let mut best = ways[0];
    for width in GRAM_COLS {
        let sums = GramSums::new(engine, "Σxxᵀ", width, width, false)?;
        let (ms, index) = fastest(engine, ways.len(), |index| {
            let whole = Pace { flops_per_ms: f64::INFINITY, ..pace(ways[index]) };
            let digits = Digits::new(engine, Form::new(mode, &whole), GRAM_ROWS, width);
            sums.add(engine, &whole, &digits, &digits, MAX_ROWS);
            Ok(())
        })
        .await?;
        best = ways[index];
        if ms >= RACE_MS {
            break;
        }
    }
    Ok(best)
}

/// Milliseconds and index of the fastest of `count` ways to `record` the same work.
async fn fastest(engine: &Engine, count: usize, record: impl Fn(usize) -> Result<()>) -> Result<(f64, usize)> {
    let times = matmul::shortest_ms(engine, count, record).await?;
    let first = |best: (f64, usize), (index, ms): (usize, &f64)| if *ms < best.0 { (*ms, index) } else { best };
    Ok(times.iter().enumerate().fold((f64::INFINITY, 0), first))
}

#[cfg(test)]
mod tests {
    use super::super::engine::tests::with_engine;
    use super::*;

    /// Races as the next program does, which knows only `note`.
    async fn after(note: &str, engine: &Engine) -> Reduction {
        OPENED.take();
        WINNERS.take();
        recall(note.as_bytes());
        race(engine).await.expect("a race").reduction
    }

    #[test]
    fn no_note_gives_a_device_the_subgroups_that_it_has_not() {
        with_engine(async |mut engine| {
            engine.device.subgroups = None;
            let won = after("", &engine).await;
            assert_ne!(won, Reduction::Subgroup);
            let told = remembered().expect("something new");
            let note = told.replace(&format!("\t{won:?}\t"), "\tSubgroup\t");
            assert_ne!(after(&note, &engine).await, Reduction::Subgroup);
            assert_eq!(held(), 2, "the device is raced on as if it were not known");

            engine.device.subgroups = Some([8, 8]);
            assert_eq!(after(&note, &engine).await, Reduction::Subgroup, "a device that has them is believed to");
            assert_eq!(held(), 2);
        });
    }

    #[test]
    fn ways_take_turns_so_that_a_pause_of_the_machine_costs_all_of_them() {
        with_engine(async |engine| {
            let order = RefCell::new(Vec::new());
            let record = |index| {
                order.borrow_mut().push(index);
                Ok(())
            };
            fastest(&engine, 3, record).await.expect("times");
            let order = order.into_inner();
            assert!(order.len() > 3 && order.chunks(3).all(|round| round == [0, 1, 2]), "{order:?}");
        });
    }
}
