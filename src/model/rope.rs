//! The rotary position embedding of a configuration, from old fields and from `rope_parameters`.

use super::config::Rope;
use super::fields::{Fields, unsupported};
use crate::error::{Error, Result};

/// A family's field names and defaults.
pub(super) struct RopeNames {
    /// Old names of `rope_theta`.
    pub(super) theta: &'static [&'static str],
    /// Old names of `partial_rotary_factor`.
    pub(super) partial: &'static [&'static str],
    /// Default rotated share of a head.
    pub(super) default_partial: f64,
}

/// Default base of the frequencies, in every family.
const DEFAULT_THETA: f64 = 10_000.0;

/// The rotary embedding for heads of width `head_dim`; refuses every kind of scaling.
pub(super) fn rope(fields: &Fields, names: &RopeNames, head_dim: usize) -> Result<Rope> {
    let mut theta = AgreeingFields::new("rope_theta");
    let mut partial = AgreeingFields::new("partial_rotary_factor");
    for object in ["rope_parameters", "rope_scaling"] {
        if let Some(object) = fields.object(object)? {
            check_unscaled(&object)?;
            theta.receive(&object, "rope_theta")?;
            partial.receive(&object, "partial_rotary_factor")?;
        }
    }
    for name in names.theta.iter().chain(&["rope_theta"]) {
        theta.receive(fields, name)?;
    }
    for name in names.partial.iter().chain(&["partial_rotary_factor"]) {
        partial.receive(fields, name)?;
    }
    let theta = theta.value.unwrap_or(DEFAULT_THETA);
    let partial = partial.value.unwrap_or(names.default_partial);
    Ok(Rope { theta, rotary_dim: rotary_dim(partial, head_dim)? })
}

/// Refuses scaled frequencies and their parameters.
fn check_unscaled(object: &Fields) -> Result<()> {
    let hint = "only the default rotary embedding is supported, use a model without rope scaling";
    for name in ["rope_type", "type"] {
        match object.text(name)? {
            None | Some("default") => {}
            Some(found) => return Err(unsupported(&object.name(name), found, hint)),
        }
    }
    match object.names().find(|name| !KNOWN.contains(name)) {
        Some(name) => Err(unsupported(&object.name(name), "given", hint)),
        None => Ok(()),
    }
}

const KNOWN: [&str; 4] = ["rope_type", "type", "rope_theta", "partial_rotary_factor"];

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
