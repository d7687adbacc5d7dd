//! Every kernel against an independent reference: f64 loops for the forward pass, i128 for exact Grams.
//!
//! Outputs are filled with NaN before a kernel writes them.

mod attention;
mod compare;
mod device;
mod exact;
mod forward;
mod gram;
mod operations;
mod rewrite;
mod storage;
mod training;
mod tuning;

#[test]
fn every_operation_gives_on_every_device_what_it_gives_on_the_cpu() {
    for (name, options) in operations::devices(device::poisoned()) {
        device::with_device(options, async |gpu| {
            if let Err(why) = operations::check(gpu).await {
                panic!("{name}: {why}");
            }
        });
    }
}
