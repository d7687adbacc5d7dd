//! The parameters of a link, token ids, and names and addresses on the hub.

use crate::target::Refusal;
use straightedge::corpus::{check_ids, parse_token_ids};
use straightedge_api::hub::id::{Endpoint, HubId};
use straightedge_web::url::address::{Address, Read};

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let links = include_str!("../../../../tests/fixtures/before/links.txt").lines();
    links.map(|link| link.as_bytes().to_vec()).collect()
}

/// Names and values of a query, decoded as a browser does.
fn decoded(query: &[u8]) -> Vec<(String, String)> {
    let value = |text: &[u8]| {
        let (mut plain, mut at) = (Vec::new(), 0);
        while let Some(byte) = text.get(at) {
            let digits = text.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
            let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%');
            plain.push(escaped.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
            at += if escaped.is_some() { 3 } else { 1 };
        }
        String::from_utf8_lossy(&plain).into_owned()
    };
    let pair = |pair: &[u8]| {
        let cut = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        (value(&pair[..cut]), value(pair.get(cut + 1..).unwrap_or_default()))
    };
    query.split(|byte| *byte == b'&').map(pair).collect()
}

/// Reads a link; what is read is written, and read again as the same.
pub(super) fn link(input: &[u8]) -> Result<(), Refusal> {
    let Read { address, refused } = Address::read(&decoded(input));
    let pairs = address.pairs().into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let pairs: Vec<(String, String)> = pairs.collect();
    let again = Address::read(&pairs);
    assert!(again.refused.is_empty(), "{pairs:?}: {:?}", again.refused);
    assert_eq!(again.address.pairs(), address.pairs(), "written and read again");
    refused.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
}

pub(super) fn ids_seeds() -> Vec<Vec<u8>> {
    let seeds = [
        "[0, 1, 2, 59, 4294967295]",
        "\"openai-community/gpt2@607a30d783dfa663caf39e06633721c8d4cfcd7e\"",
        "\"https://huggingface.co/EleutherAI/pythia-70m/tree/step3000\"",
        "\"http://127.0.0.1:8081/hub\"",
        "\"gpt2\"",
    ];
    seeds.map(|seed| seed.as_bytes().to_vec()).to_vec()
}

/// Reads a list of ids, or a text as the name of a repository and as the address of a hub.
pub(super) fn ids(input: &[u8]) -> Result<(), Refusal> {
    let Ok(text) = serde_json::from_slice::<String>(input) else {
        let ids = parse_token_ids("ids.json", input)?;
        let refused = check_ids("ids.json", &ids, 60).is_err();
        assert_eq!(refused, ids.iter().any(|id| *id >= 60));
        return Ok(());
    };
    let hub: Endpoint = "https://huggingface.co".parse()?;
    let found = [HubId::model(&text), HubId::dataset(&text), HubId::pasted(&text, &hub)];
    for id in found.iter().flatten() {
        let named = id.to_string();
        let again = HubId::model(&named).map(|again| again.to_string());
        assert_eq!(again.ok().as_deref(), Some(&*named), "a name that is read again");
        let url = hub.file_url(id, id.revision_or_main(), "config.json");
        assert!(url.starts_with("https://huggingface.co/") && !url.contains("/../"), "{url}");
    }
    let endpoint = text.parse::<Endpoint>();
    if let Ok(endpoint) = &endpoint {
        assert_eq!(
            endpoint.as_str().parse::<Endpoint>().ok().as_ref(),
            Some(endpoint),
            "an address that is read again"
        );
    }
    match (found.into_iter().any(|id| id.is_ok()), endpoint) {
        (true, _) | (_, Ok(_)) => Ok(()),
        (false, Err(error)) => Err(error.into()),
    }
}
