//! Typed access to the fields of `config.json`; null counts as absent, as in the reference implementation.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

const FILE: &str = "config.json";

/// Limits above any published model, so that products of sizes cannot overflow.
pub(super) const MAX_WIDTH: usize = 1 << 20;
pub(super) const MAX_LAYERS: usize = 1 << 10;
pub(super) const MAX_HEADS: usize = 1 << 12;
pub(super) const MAX_ROWS: usize = 1 << 28;

/// A JSON object in the configuration.
pub(super) struct Fields {
    map: Map<String, Value>,
    /// Prefix of field names in errors: empty, or the object's name and a dot.
    prefix: String,
}

impl Fields {
    /// The outermost object.
    pub(super) fn parse(json: &str) -> Result<Self> {
        match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(Self { map, prefix: String::new() }),
            Ok(_) => Err(malformed("it is not an object".into())),
            Err(error) => Err(malformed(error.to_string())),
        }
    }

    /// A nested object.
    pub(super) fn object(&self, field: &str) -> Result<Option<Self>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Self { map: map.clone(), prefix: format!("{}.", self.name(field)) })),
            Some(found) => Err(self.wrong(field, "an object", found)),
        }
    }

    /// Name of a field as errors show it.
    pub(super) fn name(&self, field: &str) -> String {
        format!("{}{field}", self.prefix)
    }

    /// Whether a field is present, possibly null.
    pub(super) fn mentions(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    /// Names of all fields present.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.map.keys().map(String::as_str)
    }

    fn get(&self, field: &str) -> Option<&Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    fn wrong(&self, field: &str, expected: &str, found: &Value) -> Error {
        malformed(format!("field {} must be {expected}, found {found}", self.name(field)))
    }

    /// The error for an absent field.
    pub(super) fn missing(&self, field: &str) -> Error {
        Error::MissingField { field: self.name(field) }
    }

    /// A size from 1 to `limit`, if present.
    pub(super) fn size(&self, field: &str, limit: usize) -> Result<Option<usize>> {
        let Some(found) = self.get(field) else { return Ok(None) };
        let number = found.as_u64().ok_or_else(|| self.wrong(field, "a whole number of at least 1", found))?;
        match usize::try_from(number) {
            Ok(size) if (1..=limit).contains(&size) => Ok(Some(size)),
            _ => Err(unsupported(&self.name(field), number, format!("it must be between 1 and {limit}"))),
        }
    }

    /// A required size from 1 to `limit`.
    pub(super) fn needed_size(&self, field: &str, limit: usize) -> Result<usize> {
        self.size(field, limit)?.ok_or_else(|| self.missing(field))
    }

    /// A whole number from 0 to `limit`, if present.
    pub(super) fn count(&self, field: &str, limit: usize) -> Result<Option<usize>> {
        match self.get(field).and_then(Value::as_u64) {
            Some(0) => Ok(Some(0)),
            _ => self.size(field, limit),
        }
    }

    /// A Boolean.
    pub(super) fn flag(&self, field: &str, default: bool) -> Result<bool> {
        match self.get(field) {
            None => Ok(default),
            Some(found) => found.as_bool().ok_or_else(|| self.wrong(field, "true or false", found)),
        }
    }

    /// A positive finite number.
    pub(super) fn positive(&self, field: &str) -> Result<Option<f64>> {
        let Some(found) = self.get(field) else { return Ok(None) };
        let number = found.as_f64().ok_or_else(|| self.wrong(field, "a number", found))?;
        if number.is_finite() && number > 0.0 {
            Ok(Some(number))
        } else {
            Err(unsupported(&self.name(field), number, "it must be above 0"))
        }
    }

    /// Standard deviation of initial weights. Every family has the same default. It also replaces 0, because a network
    /// with all weights 0 is no control.
    pub(super) fn initializer_range(&self, field: &str) -> Result<f32> {
        let is_zero = self.get(field).and_then(Value::as_f64) == Some(0.0);
        let given = if is_zero { None } else { self.positive(field)? };
        Ok(given.unwrap_or(0.02) as f32)
    }

    /// Epsilon of a norm: positive in f32 and below 1.
    pub(super) fn epsilon(&self, field: &str, default: f64) -> Result<f32> {
        let eps = self.positive(field)?.unwrap_or(default);
        if (f64::from(f32::MIN_POSITIVE)..1.0).contains(&eps) {
            Ok(eps as f32)
        } else {
            Err(unsupported(&self.name(field), eps, "it must be a small positive number"))
        }
    }

    /// A string.
    pub(super) fn text(&self, field: &str) -> Result<Option<&str>> {
        let Some(found) = self.get(field) else { return Ok(None) };
        found.as_str().map(Some).ok_or_else(|| self.wrong(field, "a string", found))
    }

    /// The strings of a list; empty if absent.
    pub(super) fn texts(&self, field: &str) -> Result<Vec<&str>> {
        let Some(found) = self.get(field) else { return Ok(Vec::new()) };
        found
            .as_array()
            .and_then(|list| list.iter().map(Value::as_str).collect())
            .ok_or_else(|| self.wrong(field, "a list of strings", found))
    }

    /// The strings of a list of pairs `[strings, times]`, each list of strings repeated so many times; at most one more
    /// than `limit`. Empty if absent.
    pub(super) fn repeated_texts(&self, field: &str, limit: usize) -> Result<Vec<&str>> {
        let Some(found) = self.get(field) else { return Ok(Vec::new()) };
        let wrong = || self.wrong(field, "a list of patterns and how often each is repeated", found);
        let mut texts = Vec::new();
        for pair in found.as_array().ok_or_else(wrong)? {
            let (pattern, times) = (pair.get(0).and_then(Value::as_array), pair.get(1).and_then(Value::as_u64));
            let (Some(pattern), Some(times)) = (pattern, times) else { return Err(wrong()) };
            let pattern: Vec<&str> = pattern.iter().map(Value::as_str).collect::<Option<_>>().ok_or_else(wrong)?;
            let times = (times as usize).min(limit + 1);
            texts.extend(pattern.iter().cycle().take((pattern.len() * times).min(limit + 1)));
        }
        texts.truncate(limit + 1);
        Ok(texts)
    }

    /// The first string of a list.
    pub(super) fn first_text(&self, field: &str) -> Result<Option<&str>> {
        Ok(self.texts(field)?.into_iter().next())
    }

    /// Refuses every value of `field` but `supported` or none.
    pub(super) fn only(&self, field: &str, supported: impl Into<Value>) -> Result<()> {
        let supported = supported.into();
        match self.get(field) {
            Some(found) if *found != supported => {
                Err(unsupported(&self.name(field), plain(found), format!("only {} is supported", plain(&supported))))
            }
            _ => Ok(()),
        }
    }

    /// Refuses fields by which derived classes and later models of any family change the arithmetic; `known` are those
    /// that the family reads itself.
    pub(super) fn refuse_foreign_arithmetic(&self, known: &[&str]) -> Result<()> {
        for (field, hint) in SWITCHES.iter().filter(|(field, _)| !known.contains(field)) {
            match self.get(field) {
                Some(found) if !is_off(found) => return Err(unsupported(field, plain(found), *hint)),
                _ => {}
            }
        }
        for field in FACTORS {
            match self.get(field) {
                Some(found) if found.as_f64() != Some(1.0) => {
                    return Err(unsupported(field, plain(found), "only a factor of 1 is supported"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a switch is off: false, zero, or empty.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// A value for messages: strings without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// Fields that must be absent or off, each with a hint.
const SWITCHES: &[(&str, &str)] = &[
    ("quantization_config", QUANTIZED),
    ("compression_config", QUANTIZED),
    ("pruned_heads", "use the model without pruned heads"),
    ("add_cross_attention", "use a model without cross-attention"),
    ("is_encoder_decoder", "use an encoder or a decoder alone"),
    ("attn_logit_softcapping", VARIANT),
    ("final_logit_softcapping", VARIANT),
    ("clip_qkv", VARIANT),
    ("qk_layernorm", VARIANT),
    ("use_qk_norm", VARIANT),
    ("alibi", VARIANT),
    ("use_alibi", VARIANT),
    ("rope_interleaved", VARIANT),
    ("rope_interleave", VARIANT),
    ("use_mrope", VARIANT),
    ("no_rope_layers", VARIANT),
    ("attention_chunk_size", VARIANT),
    ("norm_type", VARIANT),
    ("layer_norm_type", VARIANT),
    ("num_experts", VARIANT),
    ("num_local_experts", VARIANT),
];

/// Multipliers that must be absent or 1.
const FACTORS: &[&str] =
    &["embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling", "logit_scale"];

const QUANTIZED: &str = "use the unquantised model in F32, F16 or BF16";
const VARIANT: &str = "this variant of the architecture is not implemented, use a model without it";

fn malformed(why: String) -> Error {
    Error::MalformedJson { file: FILE.into(), why }
}

/// The error for a value that would change the arithmetic.
pub(super) fn unsupported(field: &str, value: impl ToString, hint: impl Into<String>) -> Error {
    Error::UnsupportedConfig { field: field.into(), value: value.to_string(), hint: hint.into() }
}
