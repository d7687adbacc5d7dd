//! The kernels in use on a device, and their rates.

use super::device::Device;
use super::kernels::exact::{Exact, Form};
use super::kernels::products::{VARIANTS, Variant};
use super::kernels::rows::{LAYER_NORM, Reduction};
use crate::job::GramMode;

/// The selected kernels and their rates.
#[derive(Clone, Copy, Debug)]
pub struct KernelChoice {
    /// The fastest matrix product, for the inner widths that it supports.
    pub variant: &'static Variant,
    /// Floating-point operations per millisecond; one multiply-add is two.
    pub flops_per_ms: f64,
    /// The fastest row reduction, for norms, softmax and log-likelihoods.
    pub reduction: Reduction,
    /// The fastest kernel for exact second moments.
    pub exact: Exact,
    /// Measured cost of one multiplication in exact second moments, in floating-point operations of a matrix product.
    pub exact_flops: Option<f64>,
}

impl KernelChoice {
    /// A matrix product with its rate, and otherwise the kernels that run on every device.
    pub(super) const fn new(variant: &'static Variant, flops_per_ms: f64) -> Self {
        Self { variant, flops_per_ms, reduction: Reduction::Workgroup, exact: Exact::FloatDigits, exact_flops: None }
    }

    /// Whether the device supports all selected kernels.
    pub(super) fn runs(&self, device: &Device) -> bool {
        [self.variant.kernel, self.reduction.of(&LAYER_NORM), self.exact.kernel()]
            .into_iter()
            .all(|kernel| device.runs(kernel))
    }

    /// The variant for an inner width.
    pub(super) fn variant(&self, inner: usize) -> &'static Variant {
        if inner.is_multiple_of(self.variant.inner) { self.variant } else { &VARIANTS[0] }
    }

    /// The digit layout of second moments.
    pub(super) fn form(&self, mode: GramMode) -> Form {
        match mode {
            GramMode::Exact => {
                let form = self.exact.form();
                Form { flops: self.exact_flops.unwrap_or(form.flops), ..form }
            }
            GramMode::Fast => Form::FAST,
        }
    }

    /// Milliseconds that `flops` operations take.
    pub(super) fn ms(&self, flops: f64) -> f64 {
        flops / self.flops_per_ms
    }
}
