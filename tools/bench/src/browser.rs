//! The benchmarks in a browser's worker: receives settings as JSON, posts progress and results.

#[cfg(target_arch = "wasm32")]
fn main() {
    worker::start();
}

/// The program is for browsers only.
#[cfg(not(target_arch = "wasm32"))]
fn main() {}

#[cfg(target_arch = "wasm32")]
mod worker {
    use straightedge_bench::results::Host;
    use straightedge_bench::suite;
    use straightedge_worker::helpers::{help, is_helper, workers};
    use wasm_bindgen::prelude::*;
    use wasm_bindgen_futures::spawn_local;
    use web_sys::{DedicatedWorkerGlobalScope, MessageEvent};

    /// Waits for the settings. Every message is `{"progress": …}`, `{"results": …}` or `{"failure": …}`.
    pub(crate) fn start() {
        if is_helper() {
            return help();
        }
        std::panic::set_hook(Box::new(|panic| post("failure", &panic.to_string())));
        let listen = Closure::<dyn FnMut(MessageEvent)>::new(|message: MessageEvent| {
            let json = message.data().as_string().unwrap_or_default();
            match serde_json::from_str(&json) {
                Ok(settings) => spawn_local(async move {
                    let workers = workers(scope().navigator().hardware_concurrency() as u32);
                    let results = suite::run(&settings, host(), workers, &|what| post("progress", &what)).await;
                    post("results", &results);
                }),
                Err(why) => post("failure", &why.to_string()),
            }
        });
        scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
        post("progress", &"ready");
    }

    fn host() -> Host {
        let navigator = scope().navigator();
        Host {
            system: navigator.user_agent().unwrap_or_default(),
            threads: 1,
            version: env!("CARGO_PKG_VERSION").into(),
            ..Host::default()
        }
    }

    fn post(kind: &str, content: &impl serde::Serialize) {
        let message = serde_json::json!({ kind: content }).to_string();
        // Posting a string fails only after the page has closed.
        let _ = scope().post_message(&message.into());
    }

    fn scope() -> DedicatedWorkerGlobalScope {
        js_sys::global().unchecked_into()
    }
}
