//! The swap tables of `show`: cost and savings of replaced blocks, one by one, one after another, and by thirds.

use std::collections::{BTreeMap, BTreeSet};

use straightedge::paired::Ranking;
use straightedge::report::{BlockReport, HealedTogether, Interval, OrderStep, Report, orders};
use straightedge::thirds::{Third, Thirds};
use straightedge::visible::visible;

use super::grid::{Column, change, change_within, column, grid, short, times};

/// All swap tables; empty if no block was swapped.
pub(super) fn swaps(report: &Report) -> String {
    let names = replacements(&report.blocks);
    let mut text = String::new();
    if !names.is_empty() {
        text += &format!("\n{}", grid(&delta_columns(&names), &report.blocks));
        text += &format!("\n{}", grid(&cost_columns(), &costs(&names, &report.blocks)));
        text += &rankings(&report.blocks);
    }
    for (name, steps) in &report.orders {
        text += &format!("\n{}", grid(&order_columns(name), steps));
    }
    if !report.healed_together.is_empty() {
        text += &format!("\n{}", grid(&healed_columns(), &healed_maps(report)));
    }
    if names.is_empty() {
        return text;
    }
    if let Some(thirds) = Thirds::new(report) {
        text += &format!("\n{}", grid(&third_columns(&thirds), &named(thirds.thirds)));
    }
    text
}

/// Each block's replacements in ascending order of their loss, as far as their differences can be judged.
fn rankings(blocks: &[BlockReport]) -> String {
    let ranked = blocks.iter().map(|block| (block.block, Ranking::of_replacements(block)));
    let lines: Vec<String> = ranked
        .filter(|(_, ranking)| ranking.0.len() > 1)
        .map(|(block, ranking)| format!("block {block}: {}\n", visible(&ranking.written())))
        .collect();
    match lines.is_empty() {
        true => String::new(),
        false => {
            format!("\nΔppl, replacements ascending (≈: no difference beyond its 95 % interval)\n{}", lines.concat())
        }
    }
}

/// Names of all replacements, ranks last and ascending.
fn replacements(blocks: &[BlockReport]) -> Vec<String> {
    let names: BTreeSet<&String> = blocks.iter().flat_map(|block| block.delta_ppl.keys()).collect();
    let mut names: Vec<String> = names.into_iter().cloned().collect();
    names.sort_by_key(|name| name.strip_prefix("rank_").and_then(|rank| rank.parse::<usize>().ok()));
    names
}

fn delta_columns(names: &[String]) -> Vec<Column<BlockReport>> {
    let of = |name: &String| {
        let key = name.clone();
        let of_block = move |block: &BlockReport| {
            change_within(block.delta_ppl.get(&key).copied().flatten(), block.loss_interval(&key))
        };
        column(format!("Δppl {name}"), of_block)
    };
    let block = column("block", |block: &BlockReport| block.block.to_string());
    std::iter::once(block).chain(names.iter().map(of)).collect()
}

/// Savings of a replacement, averaged over blocks.
struct Cost {
    name: String,
    compression: Option<f64>,
    microseconds: Option<f64>,
    speedup: Option<f64>,
}

fn costs(names: &[String], blocks: &[BlockReport]) -> Vec<Cost> {
    let mean = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let known = |map: &BTreeMap<String, Option<f64>>, name: &str| map.get(name).copied().flatten();
    let cost = |name: &String| {
        let time = |block: &BlockReport| known(&block.row_microseconds, name);
        let speedup = |block: &BlockReport| Some(known(&block.row_microseconds, "original")? / time(block)?);
        Cost {
            name: name.clone(),
            compression: mean(blocks.iter().filter_map(|block| known(&block.compression, name)).collect()),
            microseconds: mean(blocks.iter().filter_map(time).collect()),
            speedup: mean(blocks.iter().filter_map(speedup).collect()),
        }
    };
    std::iter::once(&"original".to_owned()).chain(names).map(cost).collect()
}

fn cost_columns() -> [Column<Cost>; 4] {
    [
        column("network", |cost: &Cost| cost.name.clone()),
        column("parameters", |cost: &Cost| times(cost.compression)),
        column("µs/row", |cost: &Cost| short(cost.microseconds)),
        column("speed", |cost: &Cost| times(cost.speedup)),
    ]
}

fn order_columns(name: &str) -> [Column<OrderStep>; 4] {
    let then = match name {
        orders::BY_COST => "then block",
        orders::GREEDY => "cheapest block",
        orders::GREEDY_REFITTED => "cheapest, refitted",
        orders::LAYERS_REMOVED => "layer removed",
        orders::LAYERS_LINEAR => "layer linear",
        other => other,
    };
    [
        column(then, |step: &OrderStep| step.block.to_string()),
        column("ppl", |step: &OrderStep| short(step.ppl)),
        column("Δppl", |step: &OrderStep| change_within(step.delta_ppl, step.interval)),
        column("parameters", |step: &OrderStep| times(step.compression)),
    ]
}

/// Maps of the first half of an order, before or after healing.
struct HealedMaps {
    of: String,
    learned: String,
    delta_ppl: Option<f64>,
    interval: Option<Interval>,
    stream_error: Option<f64>,
}

fn healed_maps(report: &Report) -> Vec<HealedMaps> {
    let of_order = |(order, healed): (&String, &HealedTogether)| {
        let what = if order == orders::LAYERS_LINEAR { "layers" } else { "blocks" };
        let blocks: Vec<String> = healed.blocks.iter().map(usize::to_string).collect();
        let of = format!("{what} {}", blocks.join(","));
        let row = |(learned, key, delta_ppl, stream_error): (&str, &str, Option<f64>, Option<f64>)| HealedMaps {
            of: of.clone(),
            learned: learned.into(),
            delta_ppl,
            interval: healed.intervals.get(key).copied(),
            stream_error,
        };
        let error = |learned| healed.stream_error.get(learned).copied().flatten();
        let after = healed.delta_ppl.iter().map(|(learned, loss)| (&**learned, &**learned, *loss, error(learned)));
        let before = ("not healed", HealedTogether::BEFORE, healed.delta_ppl_before, healed.stream_error_before);
        std::iter::once(before).chain(after).map(row).collect::<Vec<_>>()
    };
    report.healed_together.iter().flat_map(of_order).collect()
}

fn healed_columns() -> [Column<HealedMaps>; 4] {
    [
        column("healed together", |maps: &HealedMaps| maps.of.clone()),
        column("towards", |maps: &HealedMaps| maps.learned.clone()),
        column("Δppl", |maps: &HealedMaps| change_within(maps.delta_ppl, maps.interval)),
        column("stream error", |maps: &HealedMaps| short(maps.stream_error)),
    ]
}

/// The thirds with measured blocks, by name.
fn named(thirds: [Third; 3]) -> Vec<(&'static str, Third)> {
    ["lower", "middle", "upper"].into_iter().zip(thirds).filter(|(_, third)| !third.blocks.is_empty()).collect()
}

fn third_columns(thirds: &Thirds) -> Vec<Column<(&'static str, Third)>> {
    type Row = (&'static str, Third);
    let mut columns = vec![
        column("third", |(name, _): &Row| (*name).into()),
        column("blocks", |(_, third): &Row| third.blocks.len().to_string()),
        column("Δppl removed", |(_, third): &Row| change(third.removed)),
        column("Δppl linear", |(_, third): &Row| change(third.linear)),
        column("speed linear", |(_, third): &Row| times(third.linear_speedup)),
    ];
    if let Some(rank) = thirds.rank {
        columns.push(column(format!("Δppl rank_{rank}"), |(_, third): &Row| change(third.low_rank)));
        columns.push(column(format!("speed rank_{rank}"), |(_, third): &Row| times(third.low_rank_speedup)));
    }
    columns
}
