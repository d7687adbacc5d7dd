//! Whether and when a request is sent again: after a broken connection, and after a server asked to wait.

use web_time::{SystemTime, UNIX_EPOCH};

use super::http::Response;
use crate::date;
use crate::error::{Error, Result};
use crate::event::Wait;

/// Seconds that a server is waited for, all waits in a row together: the window in which the hub counts requests.
const LONGEST_WAIT: f64 = 300.0;
/// Most seconds of one wait where the server does not say how long.
const STEP: f64 = 60.0;
/// Retries in a row after the server asked to wait.
const REFUSALS: u32 = 20;
/// Most minutes that an error names; a server that asks for more is as good as gone.
const LONGEST_REPORTED: f64 = 24.0 * 60.0;

/// Counts retries and decides when to give up.
pub(super) struct RetryPolicy {
    tries: u32,
    failures: u32,
    refusals: u32,
    waited: f64,
}

impl RetryPolicy {
    fn new(tries: u32) -> Self {
        Self { tries, failures: 0, refusals: 0, waited: 0.0 }
    }

    /// For the first requests: without a network, fail soon.
    pub(super) fn for_documents() -> Self {
        Self::new(1)
    }

    /// For downloads, which are worth some waiting.
    pub(super) fn for_downloads() -> Self {
        Self::new(5)
    }

    /// Resets the counts after progress.
    pub(super) fn restore(&mut self) {
        *self = Self::new(self.tries);
    }

    /// The wait before the next try after a broken connection, twice as long each time.
    ///
    /// # Errors
    /// It broke too often.
    pub(super) fn broken(&mut self, what: &str, why: String) -> Result<Wait> {
        self.failures += 1;
        if self.failures > self.tries {
            return Err(Error::Network { what: what.into(), why });
        }
        let seconds = f64::from(1 << (self.failures - 1));
        Ok(Wait { seconds, why: format!("the connection broke ({why}), the download will continue") })
    }

    /// The wait that the server requests. If it names none, or a browser may not read it, every wait is twice the one
    /// before.
    ///
    /// # Errors
    /// It has been waited for long enough, or asks for more.
    pub(super) fn busy(&mut self, what: &str, response: &Response) -> Result<Wait> {
        let left = LONGEST_WAIT - self.waited;
        let requested = requested_wait(response, now());
        let seconds = requested.unwrap_or_else(|| f64::from(2 << self.refusals.min(5)).min(STEP).min(left)).max(1.0);
        let why = match response.status {
            429 => "too many requests from this address".to_owned(),
            status => format!("it answered {status}"),
        };
        self.refusals += 1;
        if self.refusals > REFUSALS || seconds > left {
            let minutes = (requested.unwrap_or(LONGEST_WAIT) / 60.0).ceil().clamp(1.0, LONGEST_REPORTED) as u64;
            return Err(Error::HubBusy { what: what.into(), why, minutes });
        }
        self.waited += seconds;
        Ok(Wait { seconds, why: format!("requested by the server ({why})") })
    }
}

/// Whether a status means that the same request may succeed later.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=504)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Seconds to wait, by `Retry-After: 30`, `Retry-After: Wed, 25 Nov 2026 10:00:00 GMT` or `RateLimit: "api";r=0;t=30`.
/// A date is compared with the server's own clock if it tells it.
fn requested_wait(response: &Response, now: f64) -> Option<f64> {
    let now = response.header("date").and_then(date::of_http).unwrap_or(now);
    let after = response.header("retry-after");
    let after = after.and_then(|value| seconds(value).or_else(|| Some((date::of_http(value)? - now).max(0.0))));
    let limit = response
        .header("ratelimit")
        .and_then(|value| value.split([';', ',']).find_map(|part| seconds(part.trim().strip_prefix("t=")?)));
    after.or(limit)
}

/// A number of seconds in digits, however many.
fn seconds(value: &str) -> Option<f64> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| value.parse().unwrap_or(u32::MAX)).map(f64::from)
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures::future::LocalBoxFuture;

    use super::super::http::{Body, Failure};
    use super::*;

    struct Nothing;

    impl Body for Nothing {
        fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
            Box::pin(ready(Ok(None)))
        }
    }

    fn answer(status: u16, headers: &[(&str, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Response { status, headers, body: Box::new(Nothing) }
    }

    /// The waits until the policy gives up, and its error.
    fn waits(headers: &[(&str, &str)]) -> (Vec<f64>, String) {
        let (mut policy, response, mut waits) = (RetryPolicy::for_documents(), answer(429, headers), Vec::new());
        loop {
            match policy.busy("a/b", &response) {
                Ok(wait) => waits.push(wait.seconds),
                Err(error) => return (waits, error.to_string()),
            }
        }
    }

    #[test]
    fn without_a_readable_header_the_whole_window_is_waited_out() {
        let (waits, error) = waits(&[]);
        assert_eq!(waits, [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 58.0]);
        assert!(error.contains("wait 5 minutes"), "{error}");
    }

    #[test]
    fn what_the_server_asks_for_is_kept_to_and_bounded() {
        let (waited, error) = waits(&[("retry-after", "140")]);
        assert_eq!(waited, [140.0, 140.0]);
        assert!(error.contains("wait 3 minutes"), "{error}");
        for absurd in ["18446744073709551615", "99999999999999999999999", "301"] {
            let (waited, error) = waits(&[("retry-after", absurd)]);
            let minutes = if absurd == "301" { "wait 6 minutes" } else { "wait 1440 minutes" };
            assert!(waited.is_empty() && error.contains(minutes), "{absurd}: {waited:?} {error}");
        }
        let (waited, _) = waits(&[("retry-after", "0")]);
        assert_eq!(waited, [1.0; REFUSALS as usize], "never without a pause");
    }

    #[test]
    fn seconds_dates_and_limits_are_read() {
        let requested = |headers: &[(&str, &str)]| requested_wait(&answer(429, headers), 784_111_777.0);
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(requested(&[("retry-after", " 30 ")]), Some(30.0));
        assert_eq!(requested(&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")]), Some(30.0));
        assert_eq!(requested(&[("retry-after", date), ("date", "Sun, 06 Nov 1994 08:49:30 GMT")]), Some(7.0));
        assert_eq!(requested(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")]), Some(0.0), "past");
        assert_eq!(requested(&[("ratelimit", "\"api\";r=0;t=12")]), Some(12.0));
        for wrong in ["", "-1", "inf", "NaN", "1e9", "soon", "0x10"] {
            assert_eq!(requested(&[("retry-after", wrong)]), None, "{wrong}");
        }
        assert_eq!(requested(&[("ratelimit", "t=-3")]), None);
    }

    #[test]
    fn some_refusals_pass() {
        let passing: Vec<u16> = (400..600).filter(|status| is_passing(*status)).collect();
        assert_eq!(passing, [408, 429, 500, 502, 503, 504]);
    }
}
