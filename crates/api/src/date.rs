//! Points in time as reports write them: `2026-11-25T02:34:05Z`.

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A point in time, given in seconds since 1970, in UTC; leap seconds are ignored.
pub fn written(seconds: f64) -> String {
    let seconds = seconds.floor() as i64;
    let (days, time) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", time / 3600, time / 60 % 60, time % 60)
}

/// The day of an untrusted date; `None` if it is malformed.
pub fn day(date: &str) -> Option<&str> {
    let day = date.get(..10)?;
    let has_form = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    has_form.then_some(day)
}

/// Seconds since 1970 of an untrusted date in the form of [`written`]; `None` if it is malformed.
pub fn seconds(date: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<i64>().ok();
    let midnight = days(number(0..4)?, number(5..7)?, number(8..10)?) * DAY;
    let found = midnight + number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
    (written(found as f64) == date).then_some(found)
}

/// Seconds since 1970 of a date in an HTTP header, such as `Sun, 06 Nov 1994 08:49:37 GMT`; `None` if it is malformed.
pub fn of_http(date: &str) -> Option<f64> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = date.trim().split_once(", ")?;
    let words: Vec<&str> = date.split(' ').collect();
    let &[day, month, year, time, "GMT"] = &words[..] else { return None };
    let number = |text: &str, digits: usize| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok()).flatten()
    };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let clock: Option<Vec<i64>> = time.split(':').map(|part| number(part, 2)).collect();
    let &[hours, minutes, seconds] = &clock?[..] else { return None };
    let days = days(number(year, 4)?, month, number(day, 2)?);
    Some((days * DAY + hours * 3600 + minutes * 60 + seconds) as f64)
}

/// The inverse of [`civil`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of the calendar, `days` days after 1 January 1970. Years begin with March here, so that the leap
/// day is the last of its year.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0.0, "1970-01-01T00:00:00Z"),
            (951_782_400.0, "2000-02-29T00:00:00Z"),
            (1_709_210_096.9, "2024-02-29T12:34:56Z"),
            (4_107_542_400.0, "2100-03-01T00:00:00Z"),
            (-1.0, "1969-12-31T23:59:59Z"),
        ];
        for (seconds, date) in cases {
            assert_eq!(written(seconds), date);
        }
    }

    #[test]
    fn dates_of_headers_are_read() {
        assert_eq!(of_http(" Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777.0));
        for date in [-1_000_000, 0, 11_016, 19_782, 47_541] {
            let (year, month, day) = civil(date);
            assert_eq!(days(year, month, day), date);
        }
        for other in ["", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT"]
        {
            assert_eq!(of_http(other), None, "{other}");
        }
    }

    #[test]
    fn only_what_has_the_form_of_a_day_is_one() {
        assert_eq!(day("2024-02-29T12:34:56Z"), Some("2024-02-29"));
        for other in ["", "now", "2024/02/29", "<b>2024-02", "2024-02-2", "２０２４-02"] {
            assert_eq!(day(other), None, "{other}");
        }
    }
}
