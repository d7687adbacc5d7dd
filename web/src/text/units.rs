//! Texts around numbers: amounts, rates, sizes and times.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    bytes: "{n} bytes",
    amount: "{done} of {total}",
    amount_of: "{done} of {total} {unit}",
    rate: "{amount}/s",
    rate_of: "{amount} {unit}/s",
    seconds: "{s} s",
    minutes: "{min} min {s} s",
    hours: "{h} h {min} min",
}
