//! Which of the competing kernels a device uses, and how fast they are.

use super::device::Device;
use super::kernels::exact::{Exact, Form};
use super::kernels::products::{VARIANTS, Variant};
use super::kernels::rows::{LAYER_NORM, Reduction};
use crate::job::GramMode;

/// Which kernels to use, and how fast they are.
#[derive(Clone, Copy, Debug)]
pub struct KernelChoice {
    /// The fastest variant for inner widths that it can take.
    pub variant: &'static Variant,
    /// Floating-point operations per millisecond, two per product.
    pub flops_per_ms: f64,
    /// The fastest norms, softmax and log-likelihoods.
    pub reduction: Reduction,
    /// The fastest exact second moments.
    pub exact: Exact,
    /// Operations of a matrix product in whose time these multiply two values, where that was measured.
    pub exact_flops: Option<f64>,
}

impl KernelChoice {
    /// A product with its rate, and the kernels that run everywhere.
    pub(super) const fn new(variant: &'static Variant, flops_per_ms: f64) -> Self {
        Self { variant, flops_per_ms, reduction: Reduction::Workgroup, exact: Exact::FloatDigits, exact_flops: None }
    }

    /// Whether a device has what all of it takes.
    pub(super) fn runs(&self, device: &Device) -> bool {
        [self.variant.kernel, self.reduction.of(&LAYER_NORM), self.exact.kernel()]
            .into_iter()
            .all(|kernel| device.runs(kernel))
    }

    /// The variant for an inner width.
    pub(super) fn variant(&self, inner: usize) -> &'static Variant {
        if inner.is_multiple_of(self.variant.inner) { self.variant } else { &VARIANTS[0] }
    }

    /// The form of second moments.
    pub(super) fn form(&self, mode: GramMode) -> Form {
        match mode {
            GramMode::Exact => {
                let form = self.exact.form();
                Form { flops: self.exact_flops.unwrap_or(form.flops), ..form }
            }
            GramMode::Fast => Form::FAST,
        }
    }

    /// Milliseconds that so many operations take.
    pub(super) fn ms(&self, flops: f64) -> f64 {
        flops / self.flops_per_ms
    }
}
