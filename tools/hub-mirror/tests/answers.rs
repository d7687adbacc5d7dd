//! The stand-in answers as the hub does: redirects, headers, compression, pages, and what it refuses.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value;
use straightedge_hub_mirror::{Mirror, Options};

const CONFIG: &str = r#"{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4}"#;

/// Status, headers by lower-case name, and body of a response.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The bytes of a body in chunks.
    fn joined(&self) -> Vec<u8> {
        let (mut rest, mut joined) = (&self.body[..], Vec::new());
        loop {
            let end = rest.windows(2).position(|pair| pair == b"\r\n").expect("the length of a chunk");
            let len = usize::from_str_radix(std::str::from_utf8(&rest[..end]).expect("digits"), 16).expect("a length");
            if len == 0 {
                return joined;
            }
            joined.extend(&rest[end + 2..end + 2 + len]);
            rest = &rest[end + 4 + len..];
        }
    }
}

fn request(url: &str, method: &str, extra: &str) -> Answer {
    let rest = url.strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    write!(stream, "{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n").expect("the server reads");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server answers");
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("the end of the headers");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("UTF-8");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head, body: bytes[end + 4..].to_vec() }
}

/// A mirror of `a/b`, which was `a/old`.
fn mirror(test: &str) -> (Mirror, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("a/b/onnx")).expect("a folder");
    fs::write(folder.join("a/b/model.safetensors"), [7; 100]).expect("a file");
    fs::write(folder.join("a/b/config.json"), CONFIG.repeat(40)).expect("a file");
    fs::write(folder.join("a/b/onnx/model.onnx"), "x").expect("a file");
    fs::write(folder.join("a/old"), "a/b\n").expect("a file");
    (Mirror::start(Options::new(&folder)).expect("a free port"), folder)
}

#[test]
fn a_small_file_lies_in_a_cache_and_comes_compressed_without_a_length() {
    let (mirror, _) = mirror("small");
    let url = format!("{}/a/b/resolve/main/config.json", mirror.url());
    let redirect = request(&url, "GET", "");
    let to = redirect.header("location").expect("an address").to_owned();
    assert!(redirect.status == 307 && to.starts_with("/api/resolve-cache/models/a/b/"), "{}", redirect.head);
    let url = format!("{}{to}", mirror.url());
    let answer = request(&url, "GET", "Accept-Encoding: gzip, br\r\n");
    assert_eq!((answer.header("content-encoding"), answer.header("content-length")), (Some("gzip"), None));
    let mut text = String::new();
    GzDecoder::new(&answer.joined()[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, CONFIG.repeat(40));
    let plain = request(&url, "GET", "");
    assert_eq!((plain.header("content-encoding"), plain.body.len()), (None, text.len()));
    let part = request(&url, "GET", "Accept-Encoding: gzip\r\nRange: bytes=2-11\r\n");
    assert_eq!(
        (part.status, part.header("content-encoding"), &part.body[..]),
        (206, None, &b"model_type"[..]),
        "a part"
    );
}

#[test]
fn a_large_file_lies_on_another_origin_with_its_hashes() {
    let (mirror, _) = mirror("large");
    let answer = request(&format!("{}/a/b/resolve/main/model.safetensors", mirror.url()), "GET", "");
    assert_eq!(answer.status, 302);
    let to = answer.header("location").expect("an address");
    assert!(to.starts_with("http://127.0.0.1:") && !to.starts_with(mirror.url()), "{to}");
    assert_eq!(request(to, "GET", "").body, [7; 100]);
    let url = format!("{}/a/b/resolve/main/model.safetensors", mirror.url());
    let behind_a_proxy = request(&url, "GET", "X-Forwarded-Proto: https\r\n");
    assert_eq!(behind_a_proxy.header("location"), Some(&*to.replace("http://", "https://")));
    let listed = request(&format!("{}/api/models/a/b/tree/main", mirror.url()), "GET", "").json();
    let weights = listed.as_array().expect("a list").iter().find(|line| line["path"] == "model.safetensors");
    let weights = weights.expect("the weights");
    assert_eq!(answer.header("x-linked-etag"), Some(&*weights["lfs"]["oid"].to_string()));
    assert_eq!(answer.header("x-xet-hash"), weights["xetHash"].as_str());
    assert_ne!(weights["xetHash"], weights["lfs"]["oid"]);
    assert!(
        listed.as_array().expect("a list").iter().any(|line| line["type"] == "directory" && line["path"] == "onnx")
    );
}

#[test]
fn a_page_may_read_few_headers_and_send_none() {
    let (mirror, _) = mirror("headers");
    let url = format!("{}/api/models/a/b/revision/main", mirror.url());
    let answer = request(&url, "GET", "");
    let exposed = answer.header("access-control-expose-headers").expect("a list").to_ascii_lowercase();
    assert!(exposed.split(',').count() == 12 && exposed.contains("x-xet-hash"), "{exposed}");
    assert!(!exposed.contains("retry-after") && !exposed.contains("ratelimit"), "{exposed}");
    assert_eq!(answer.json()["gated"], false);
    let beforehand = request(&url, "OPTIONS", "Access-Control-Request-Headers: authorization\r\n");
    assert!(
        beforehand.status == 405 && beforehand.header("access-control-allow-origin").is_none(),
        "{}",
        beforehand.head
    );
    mirror.faults().add("gated:a/b:9".parse().expect("a fault"));
    assert_eq!(request(&url, "GET", "").json()["gated"], "manual");
    let refused = request(&format!("{}/a/b/resolve/main/config.json", mirror.url()), "GET", "");
    assert_eq!((refused.status, refused.header("x-error-code")), (401, Some("GatedRepo")));
    assert_eq!(refused.header("access-control-allow-origin"), None, "a page cannot read it");
    assert_eq!(
        request(&format!("{}/api/models/a/b/tree/main", mirror.url()), "GET", "").status,
        200,
        "the list is open"
    );
    for (fault, status, is_open) in [("unavailable", 503, false), ("timeout", 408, false), ("busy", 429, true)] {
        mirror.faults().add(format!("{fault}:/revision/:1").parse().expect("a fault"));
        let answer = request(&url, "GET", "");
        assert_eq!((answer.status, answer.header("access-control-allow-origin").is_some()), (status, is_open));
    }
}

#[test]
fn an_old_name_leads_to_the_new_one() {
    let (mirror, _) = mirror("renamed");
    let to = |path: &str| {
        let answer = request(&format!("{}{path}", mirror.url()), "GET", "");
        assert_eq!(answer.status, 307, "{path}");
        answer.header("location").expect("an address").to_owned()
    };
    assert_eq!(to("/api/models/a/old/revision/main"), "/api/models/a/b/revision/main");
    assert_eq!(to("/api/models/a/old/tree/main/onnx"), "/api/models/a/b/tree/main/onnx");
    assert_eq!(to("/a/old/resolve/main/config.json"), "/a/b/resolve/main/config.json");
}

#[test]
fn a_long_listing_comes_in_pages_that_name_the_hub() {
    let (mirror, folder) = mirror("pages");
    for at in 0..1000 {
        fs::write(folder.join(format!("a/b/f{at:04}")), "x").expect("a file");
    }
    let first = request(&format!("{}/api/models/a/b/tree/main", mirror.url()), "GET", "");
    assert_eq!(first.json().as_array().map(Vec::len), Some(1000));
    let next = "<https://huggingface.co/api/models/a/b/tree/main?cursor=1>; rel=\"next\"";
    assert_eq!(first.header("link"), Some(next));
    let second = request(&format!("{}/api/models/a/b/tree/main?cursor=1", mirror.url()), "GET", "");
    assert_eq!((second.json().as_array().map(Vec::len), second.header("link")), (Some(3), None));
}
