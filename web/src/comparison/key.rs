//! Keys of what can be compared, for options and links.

use straightedge_api::atlas::SLUG_MOST;
use straightedge_api::fields::Field;

use crate::comparison::published::{CORPORA, MODELS};
use crate::text::controls::control_name;

/// Key of one result that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// The recording of a bundled model, by the model's name.
    Recorded(String),
    /// Measured here or opened, by the number of its first order.
    Measured(u32),
    /// Published values of a model on a corpus.
    Published(String, String),
    /// An atlas model measured with this build, by its slug.
    Atlas(String),
    /// Another key under a control, by the control's name in the report.
    Control(Box<Key>, String),
}

impl Key {
    /// The quantity to show first.
    pub fn main_quantity(&self) -> Field {
        if matches!(self, Self::Published(..)) { Field::R2LinScalar } else { Field::R2Lin }
    }

    /// The bundled model of a recording, which can be measured here.
    pub fn bundled(&self) -> Option<&str> {
        match self {
            Self::Recorded(name) => Some(name),
            Self::Control(base, _) => base.bundled(),
            Self::Measured(_) | Self::Published(..) | Self::Atlas(_) => None,
        }
    }

    /// The same key for the measurement that began with order `number`.
    pub fn measured_as(&self, number: u32) -> Self {
        match self {
            Self::Control(_, control) => Self::Control(Self::Measured(number).into(), control.clone()),
            _ => Self::Measured(number),
        }
    }

    /// Parses a [`Self::value`]; `None` if it is invalid or valid on this visit only.
    pub fn parse(value: &str) -> Option<Self> {
        let is_name = |name: &str, most: usize| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.len() <= most && name.chars().all(plain)
        };
        let (kind, rest) = value.split_once(':')?;
        match kind {
            "recorded" => is_name(rest, 60).then(|| Self::Recorded(rest.into())),
            "atlas" => is_name(rest, SLUG_MOST).then(|| Self::Atlas(rest.into())),
            "published" => {
                let (model, corpus) = rest.split_once(':')?;
                let is_known = MODELS.contains(&model) && CORPORA.contains(&corpus);
                is_known.then(|| Self::Published(model.into(), corpus.into()))
            }
            control => {
                control_name(control)?;
                let base = Self::parse(rest).filter(|base| matches!(base, Self::Recorded(_) | Self::Atlas(_)))?;
                Some(Self::Control(base.into(), control.into()))
            }
        }
    }

    /// A unique value for options and links.
    pub fn value(&self) -> String {
        match self {
            Self::Recorded(name) => format!("recorded:{name}"),
            Self::Control(base, control) => format!("{control}:{}", base.value()),
            Self::Measured(origin) => format!("measured:{origin}"),
            Self::Published(model, corpus) => format!("published:{model}:{corpus}"),
            Self::Atlas(slug) => format!("atlas:{slug}"),
        }
    }
}
