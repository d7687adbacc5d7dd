//! The rotary position embedding of a configuration, from old fields and from `rope_parameters`.

use serde::{Deserialize, Serialize};

use super::fields::{Fields, MAX_ROWS, unsupported};
use crate::error::{Error, Result};

/// Rotary position embedding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rope {
    /// Base of the frequencies.
    pub theta: f64,
    /// Leading features of every head that are rotated; even.
    pub rotary_dim: usize,
    /// How frequencies are scaled for longer windows than in training.
    pub scaling: RopeScaling,
}

/// How frequencies are scaled, by `rope_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum RopeScaling {
    /// Not at all.
    #[default]
    None,
    /// `linear`: divided by a factor.
    Linear(f64),
    /// `llama3`: low frequencies are divided by a factor, high ones stay, and those in between are interpolated.
    Llama3 {
        /// `factor`.
        factor: f64,
        /// `low_freq_factor`.
        low: f64,
        /// `high_freq_factor`.
        high: f64,
        /// `original_max_position_embeddings`.
        positions: f64,
    },
}

impl Rope {
    /// The frequency θ^(−2i/rotary_dim) of the pair i, scaled and rounded to f32, as in training.
    pub fn frequency(&self, i: usize) -> f32 {
        let plain = self.theta.powf(-2.0 * i as f64 / self.rotary_dim as f64) as f32;
        match self.scaling {
            RopeScaling::None => plain,
            RopeScaling::Linear(factor) => (f64::from(plain) / factor) as f32,
            RopeScaling::Llama3 { factor, low, high, positions } => {
                let plain = f64::from(plain);
                let turns = positions * plain / (2.0 * std::f64::consts::PI);
                let share = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                ((1.0 - share) * plain / factor + share * plain) as f32
            }
        }
    }
}

/// A family's field names and defaults.
pub(super) struct RopeNames {
    /// Old names of `rope_theta`.
    pub(super) theta: &'static [&'static str],
    /// Default of `rope_theta`.
    pub(super) default_theta: f64,
    /// Old names of `partial_rotary_factor`.
    pub(super) partial: &'static [&'static str],
    /// Default rotated share of a head.
    pub(super) default_partial: f64,
    /// The member of `rope_parameters` that describes these layers, if they differ.
    pub(super) layers: Option<&'static str>,
    /// Whether `rope_scaling` applies to these layers.
    pub(super) is_scaled: bool,
}

impl RopeNames {
    /// The names that most families use.
    pub(super) const COMMON: Self = Self {
        theta: &["rope_theta"],
        default_theta: 10_000.0,
        partial: &["partial_rotary_factor"],
        default_partial: 1.0,
        layers: None,
        is_scaled: true,
    };
}

/// The rotary embedding for heads of width `head_dim`.
///
/// # Errors
/// For a kind of scaling that is not supported, and for fields that contradict each other.
pub(super) fn rope(fields: &Fields, names: &RopeNames, head_dim: usize) -> Result<Rope> {
    let mut theta = AgreeingFields::new("rope_theta");
    let mut partial = AgreeingFields::new("partial_rotary_factor");
    let mut scaling = RopeScaling::None;
    for object in objects(fields, names)? {
        let found = scaling_of(&object)?;
        if scaling != RopeScaling::None && found != scaling {
            let hint = "rope_scaling and rope_parameters must agree";
            return Err(unsupported(&object.name("rope_type"), "another scaling", hint));
        }
        scaling = found;
        theta.receive(&object, "rope_theta")?;
        partial.receive(&object, "partial_rotary_factor")?;
    }
    for name in names.theta {
        theta.receive(fields, name)?;
    }
    for name in names.partial {
        partial.receive(fields, name)?;
    }
    let theta = theta.value.unwrap_or(names.default_theta);
    let partial = partial.value.unwrap_or(names.default_partial);
    Ok(Rope { theta, rotary_dim: rotary_dim(partial, head_dim)?, scaling })
}

/// The most positions of a window at which `dynamic` scaling leaves frequencies as they are; `None` without it.
pub(super) fn unscaled_positions(fields: &Fields) -> Result<Option<usize>> {
    for object in objects(fields, &RopeNames::COMMON)? {
        if kind(&object)? == Some("dynamic") {
            return object.size("original_max_position_embeddings", MAX_ROWS);
        }
    }
    Ok(None)
}

/// The objects that describe the rotary embedding of these layers.
fn objects(fields: &Fields, names: &RopeNames) -> Result<Vec<Fields>> {
    let mut objects = Vec::new();
    if let Some(parameters) = fields.object("rope_parameters")? {
        let parts = ["full_attention", "sliding_attention"];
        match names.layers {
            Some(layers) if parts.iter().any(|part| parameters.mentions(part)) => {
                objects.extend(parameters.object(layers)?);
            }
            _ => objects.push(parameters),
        }
    }
    if names.is_scaled {
        objects.extend(fields.object("rope_scaling")?);
    }
    Ok(objects)
}

fn kind(object: &Fields) -> Result<Option<&str>> {
    Ok(object.text("rope_type")?.or(object.text("type")?))
}

/// The scaling that an object describes. Refuses parameters of another kind.
fn scaling_of(object: &Fields) -> Result<RopeScaling> {
    let kind = kind(object)?.unwrap_or("default");
    let (scaling, parameters): (_, &[&str]) = match kind {
        "default" => (RopeScaling::None, &[]),
        "dynamic" => (RopeScaling::None, &["factor", "original_max_position_embeddings"]),
        "linear" => (RopeScaling::Linear(needed(object, "factor")?), &["factor"]),
        "llama3" => (
            RopeScaling::Llama3 {
                factor: needed(object, "factor")?,
                low: needed(object, "low_freq_factor")?,
                high: needed(object, "high_freq_factor")?,
                positions: needed(object, "original_max_position_embeddings")?,
            },
            &["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
        ),
        _ => return Err(unsupported(&object.name("rope_type"), kind, KINDS)),
    };
    if let RopeScaling::Llama3 { low, high, .. } = scaling
        && low >= high
    {
        return Err(unsupported(&object.name("low_freq_factor"), low, "it must be below high_freq_factor"));
    }
    match object.names().find(|name| !COMMON.contains(name) && !parameters.contains(name)) {
        Some(name) => Err(unsupported(&object.name(name), "given", KINDS)),
        None => Ok(scaling),
    }
}

fn needed(object: &Fields, field: &str) -> Result<f64> {
    object.positive(field)?.ok_or_else(|| object.missing(field))
}

/// Fields of every kind.
const COMMON: [&str; 4] = ["rope_type", "type", "rope_theta", "partial_rotary_factor"];

const KINDS: &str = "supported are rotary embeddings of type default, linear, llama3 and, within the original windows, \
                     dynamic, each with its own fields only";

/// Leading features of a head that are rotated: the given share of its width, rounded down; must be even.
fn rotary_dim(partial: f64, head_dim: usize) -> Result<usize> {
    let rotary_dim = (partial * head_dim as f64) as usize;
    if partial <= 1.0 && rotary_dim >= 2 && rotary_dim.is_multiple_of(2) {
        return Ok(rotary_dim);
    }
    let hint = format!("the number of rotated features must be even, at least 2 and at most the {head_dim} of a head");
    Err(unsupported("partial_rotary_factor", partial, hint))
}

/// A number that several fields may specify; all must agree.
struct AgreeingFields {
    name: &'static str,
    value: Option<f64>,
}

impl AgreeingFields {
    fn new(name: &'static str) -> Self {
        Self { name, value: None }
    }

    fn receive(&mut self, fields: &Fields, field: &str) -> Result<(), Error> {
        match (self.value, fields.positive(field)?) {
            (Some(known), Some(found)) if known != found => {
                let hint = format!("another field gives {} = {known}, they must agree", self.name);
                Err(unsupported(&fields.name(field), found, hint))
            }
            (known, found) => {
                self.value = known.or(found);
                Ok(())
            }
        }
    }
}
