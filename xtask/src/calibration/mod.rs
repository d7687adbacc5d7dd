//! `cargo xtask calibration`: a model whose linearity is known by construction, to check a device's measurements.
//!
//! A token carries six signs, and every window of the text holds every token equally often, so over any set of windows
//! the products of signs are exactly uncorrelated. The residual stream holds most of these products. A feed-forward
//! output composed of them is exactly linear, one of the others cannot be predicted by any affine map, and a mixture
//! has the R² of its linear share ([`design`]). What a block writes keeps the norm equal for every token, so that each
//! LayerNorm remains a division by one constant ([`weights`]).

mod design;
mod files;
mod text;
mod weights;

#[cfg(test)]
mod reference;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::command::root;

/// Writes the model and the list of bundled models into web/models.
pub(crate) fn write() -> Result<()> {
    for (name, bytes) in files::all()? {
        let file = models().join(name);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
        fs::write(&file, &bytes).with_context(|| format!("{} cannot be written", file.display()))?;
        println!("{} ({} bytes)", file.display(), bytes.len());
    }
    Ok(())
}

fn models() -> PathBuf {
    root().join("web/models")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_model_is_what_this_code_makes() {
        // The list of models contains other models too.
        let own = files::all().expect("the construction is sound").into_iter().filter(|(name, _)| name != "index.json");
        for (name, bytes) in own {
            let bundled = fs::read(models().join(&name)).expect("the model is in the repository");
            assert!(bundled == bytes, "{name} differs: run cargo xtask calibration");
        }
    }
}
