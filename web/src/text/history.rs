//! Texts of the results kept in this browser.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    title: "My results",
    none: "Every result that you measure is kept in this browser.",
    sum: "{count} kept in this browser, {size} of {most}. The oldest make room for new ones; pinned ones stay.",
    refused: "This browser cannot keep results ({why}), so download the reports you need.",
    full: "The latest result was not kept: pinned results take up the room. Unpin or delete some.",
    partial: "not finished · {about}",
    open: "Open",
    open_name: "Open {name}",
    rename: "Name of {name}",
    delete: "Delete",
    delete_name: "Delete {name}",
    compare: "Compare",
    compare_name: "Compare {name}",
    pin: "Pin",
    pin_name: "Pin {name}",
    export: "Export all",
    all: "List all {count}",
}
