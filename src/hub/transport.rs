//! The network of the command line. \[ureq, url, futures-timer\]
//!
//! Each request runs in its own thread, so that waiting for it can be cancelled.

use std::future::poll_fn;
use std::io::Read;
use std::thread;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::{mpsc, oneshot};
use futures::future::LocalBoxFuture;
use futures_timer::Delay;
use ureq::tls::{RootCerts, TlsConfig};
use url::Url;

use super::http::{Body, Failure, Http, HttpRequest, Response};
use super::id::Endpoint;

/// Bytes per chunk.
const CHUNK: usize = 256 << 10;
/// Most chunks in the queue.
const WAITING: usize = 8;
/// Timeout of a connection whose receiver may have stopped waiting.
const PATIENCE: Duration = Duration::from_secs(90);
/// Most redirects followed.
const REDIRECTS: u32 = 10;

/// An HTTP client that sends the token to one hub only.
#[derive(Clone)]
pub struct Transport {
    agent: ureq::Agent,
    endpoint: Endpoint,
    token: Option<String>,
    withholds: bool,
    offline: bool,
}

impl Transport {
    /// A client for the hub at `endpoint`, with the user's token if any; `offline` refuses every request. The token is
    /// not sent where anybody on the way could read it.
    pub fn new(endpoint: Endpoint, token: Option<String>, offline: bool) -> Self {
        let withholds = token.is_some() && !endpoint.is_private();
        let token = token.filter(|_| !withholds);
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // Redirects are followed by hand, so that the token goes only to the hub.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("straightedge/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE))
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .build();
        Self { agent: config.into(), endpoint, token, withholds, offline }
    }

    /// Whether there is a token that is not sent, because the connection to the hub is open to readers.
    pub fn withholds_token(&self) -> bool {
        self.withholds
    }

    /// Sends a request and follows redirects.
    fn call(&self, request: &HttpRequest) -> Result<ureq::http::Response<ureq::Body>, Failure> {
        let mut url = Url::parse(&request.url).map_err(|error| Failure::Network(error.to_string()))?;
        for _ in 0..=REDIRECTS {
            let response = self.builder(&url, request).call().map_err(|error| Failure::Network(error.to_string()))?;
            let elsewhere = response.headers().get("location").filter(|_| response.status().is_redirection());
            let Some(elsewhere) = elsewhere.and_then(|location| url.join(location.to_str().ok()?).ok()) else {
                return Ok(response);
            };
            if !matches!(elsewhere.scheme(), "https" | "http") {
                return Err(Failure::Redirect("it redirects to an address that is not of the web"));
            }
            url = elsewhere;
        }
        Err(Failure::Redirect("it redirects without end"))
    }

    fn builder(&self, url: &Url, request: &HttpRequest) -> ureq::RequestBuilder<ureq::typestate::WithoutBody> {
        let mut builder = self.agent.get(url.as_str());
        if let Some(range) = request.range_header() {
            builder = builder.header("range", range);
        }
        let at_home = url.as_str().strip_prefix(self.endpoint.as_str()).is_some_and(|rest| rest.starts_with('/'));
        if let Some(token) = self.token.as_ref().filter(|_| at_home) {
            builder = builder.header("authorization", format!("Bearer {token}"));
        }
        builder
    }
}

impl Http for Transport {
    fn get<'a>(&'a self, request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        Box::pin(async move {
            if self.offline {
                return Err(Failure::Offline("HF_HUB_OFFLINE says to stay offline"));
            }
            let (client, request) = (self.clone(), request.clone());
            let (head, received) = oneshot::channel();
            let (chunks, body) = mpsc::channel(WAITING);
            thread::spawn(move || match client.call(&request) {
                Err(failure) => drop(head.send(Err(failure))),
                Ok(response) => {
                    let (parts, body) = response.into_parts();
                    if head.send(Ok(parts)).is_ok() {
                        pass_on(body.into_reader(), chunks);
                    }
                }
            });
            let ended = |_| Failure::Network("the request ended without an answer".into());
            let parts = received.await.map_err(ended)??;
            let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
            let headers = parts.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
            Ok(Response { status: parts.status.as_u16(), headers: headers.collect(), body: Box::new(Chunks(body)) })
        })
    }

    fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()> {
        Box::pin(Delay::new(Duration::from_secs_f64(seconds.clamp(0.0, 1e6))))
    }
}

/// Forwards a body in chunks until it ends or the receiver is dropped.
fn pass_on(mut body: impl Read, mut chunks: mpsc::Sender<Result<Vec<u8>, Failure>>) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match body.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => Ok(read),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(Failure::Network(error.to_string())),
        };
        let failed = read.is_err();
        let next = read.map(|read| {
            chunk.truncate(read);
            chunk
        });
        let ready = pollster::block_on(poll_fn(|context| chunks.poll_ready(context)));
        if ready.is_err() || chunks.start_send(next).is_err() || failed {
            return;
        }
    }
}

/// A body received by another thread; dropping it ends the request at its next chunk.
struct Chunks(mpsc::Receiver<Result<Vec<u8>, Failure>>);

impl Body for Chunks {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(async move { self.0.next().await.transpose() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_only_to_the_hub_and_never_in_the_open() {
        let sent = |endpoint: &str, to: &str| {
            let client = Transport::new(endpoint.parse().unwrap(), Some("secret".into()), false);
            let request = HttpRequest { url: to.into(), range: None };
            let builder = client.builder(&Url::parse(to).unwrap(), &request);
            assert_eq!(client.has_token(), !client.withholds_token());
            builder.headers_ref().is_some_and(|headers| headers.contains_key("authorization"))
        };
        for endpoint in ["https://huggingface.co", "http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert!(sent(endpoint, &format!("{endpoint}/api/x")), "{endpoint}");
            assert!(!sent(endpoint, "https://cdn.example/x"), "{endpoint}");
        }
        for endpoint in ["http://192.168.1.5:8090", "http://mirror.example", "http://127.0.0.1.example"] {
            assert!(!sent(endpoint, &format!("{endpoint}/api/x")), "{endpoint}");
        }
    }
}
