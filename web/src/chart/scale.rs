//! Scales: map the values of an axis to positions between 0 and 1, and choose its grid lines.

/// Scale type of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Shares such as R²: always covers 0 to 1 and a strip below zero.
    #[default]
    Share,
    /// Linear over the range of the values.
    Linear,
    /// Linear, including zero.
    FromZero,
    /// Linear from zero for KL divergences in nats, with a minimum range so that tiny ones look tiny.
    Nats,
    /// Powers of ten; values must be above zero.
    Log,
    /// Linear from zero where that shows all values, else symmetric logarithmic away from zero.
    Wide,
    /// Positions 0, 1, 2 … up to this count, each centred in its column.
    Index(usize),
}

/// Lowest share on an axis; lower ones are drawn at the edge.
const LOWEST_SHARE: f64 = -0.5;
/// Sizes that an axis tells apart from infinity and from zero: beyond them its arithmetic would overflow.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;
/// Minimum range of a nats axis, and of the tallest bar.
pub const LEAST_NATS: f64 = 0.5;
/// A wide axis is logarithmic if the largest value is at least this many times the median, or [`WIDE_QUARTER`] times
/// the lower quartile: a linear axis would squeeze half, or a quarter, of the marks into 1/12, or 1/60, of it.
const WIDE: f64 = 12.0;
const WIDE_QUARTER: f64 = 60.0;

/// An axis fitted to its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    /// Value at which a wide scale turns from linear to logarithmic.
    unit: f64,
}

impl Scale {
    /// The scale of `kind` that covers `values`.
    pub fn over(kind: Kind, values: &[f64]) -> Self {
        let values: Vec<f64> = values.iter().copied().map(drawable).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = if least <= most { (least, most) } else { (0.0, 1.0) };
        match kind {
            Kind::Share => {
                let low = if least < -0.1 { (least * 4.0).floor() / 4.0 } else { -0.1 };
                Self::plain(kind, low.max(LOWEST_SHARE), 1.06)
            }
            Kind::Index(count) => Self::plain(kind, -0.5, count.max(1) as f64 - 0.5),
            Kind::Log => Self::logarithmic(least, most),
            Kind::Linear => Self::rounded(kind, least, most),
            Kind::FromZero => Self::rounded(kind, least.min(0.0), most.max(0.0)),
            Kind::Nats => Self::rounded(Kind::FromZero, 0.0, most.max(LEAST_NATS)),
            Kind::Wide => Self::wide(&values, least.min(0.0), most.max(0.0)),
        }
    }

    /// With room for the end of an interval, on axes whose ends follow from the values; shares are cut at the edge.
    pub fn reaching(self, end: f64) -> Self {
        let (low, high) = (self.low.min(drawable(end)), self.high.max(drawable(end)));
        match self.kind {
            Kind::Linear | Kind::FromZero if (low, high) != (self.low, self.high) => {
                Self::rounded(self.kind, low, high)
            }
            Kind::Wide => Self { low, high, ..self },
            _ => self,
        }
    }

    fn plain(kind: Kind, low: f64, high: f64) -> Self {
        Self { kind, low, high, unit: 1.0 }
    }

    /// A scale with round end values.
    fn rounded(kind: Kind, low: f64, high: f64) -> Self {
        let span = if high > low { high - low } else { high.abs().max(1e-9) };
        let step = step(span, 8.0);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Self::plain(kind, low, if high > low { high } else { low + step })
    }

    fn logarithmic(least: f64, most: f64) -> Self {
        let least = least.max(SMALLEST);
        let most = most.max(least * 2.0);
        let margin = (most / least).powf(0.03);
        Self::plain(Kind::Log, least / margin, most * margin)
    }

    fn wide(values: &[f64], low: f64, high: f64) -> Self {
        let mut sizes: Vec<f64> = values.iter().map(|value| value.abs()).filter(|size| *size > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        let (Some(middle), Some(largest)) = (sizes.get(sizes.len() / 2), sizes.last()) else {
            return Self::rounded(Kind::FromZero, low, high);
        };
        let quarter = sizes[sizes.len() / 4];
        if largest / middle < WIDE && largest / quarter < WIDE_QUARTER {
            return Self::rounded(Kind::FromZero, low, high);
        }
        let unit = 10f64.powf(quarter.log10().floor());
        let mut scale = Self { kind: Kind::Wide, low, high, unit };
        let margin = (scale.spread(high) - scale.spread(low)) * 0.04;
        scale.low = scale.gather(scale.spread(low) - if low < 0.0 { margin } else { 0.0 });
        scale.high = scale.gather(scale.spread(high) + margin);
        scale
    }

    /// Position of a value: 0 at the low end, 1 at the high end; values beyond are clamped.
    pub fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.spread(self.low), self.spread(self.high));
        ((self.spread(drawable(value)) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Whether a value lies below the low end.
    pub fn is_below(&self, value: f64) -> bool {
        value < self.low
    }

    /// Scale type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Grid values, about `count` of them, ascending.
    pub fn ticks(&self, count: f64) -> Vec<f64> {
        match self.kind {
            Kind::Share => [-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0].into_iter().filter(|t| *t >= self.low).collect(),
            Kind::Index(marks) => {
                let every = (marks as f64 / count).ceil().max(1.0) as usize;
                (0..marks).step_by(every).map(|at| at as f64).collect()
            }
            Kind::Log => self.log_ticks(count),
            Kind::Wide => self.wide_ticks(count),
            Kind::Linear | Kind::FromZero | Kind::Nats => self.even_ticks(count),
        }
    }

    fn even_ticks(&self, count: f64) -> Vec<f64> {
        let step = step(self.high - self.low, count);
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }

    fn log_ticks(&self, count: f64) -> Vec<f64> {
        let (low, high) = (self.low.log10(), self.high.log10());
        let decades = high - low;
        let within = |value: &f64| (self.low..=self.high).contains(value);
        if decades * 3.0 <= count {
            let first = low.floor() as i32;
            let fine = (first..=high.ceil() as i32).flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(p)));
            let fine: Vec<f64> = fine.filter(within).collect();
            // A short axis may have none or one of these on it.
            return if fine.len() < 2 { self.even_ticks(count) } else { fine };
        }
        let every = (decades / count).ceil().max(1.0) as usize;
        let tens = (low.ceil() as i32..=high.floor() as i32).step_by(every);
        tens.map(|power| 10f64.powi(power)).collect()
    }

    fn wide_ticks(&self, count: f64) -> Vec<f64> {
        let decades = |end: f64| if end == 0.0 { 0.0 } else { (end.abs() / self.unit).log10().floor() + 1.0 };
        let all = decades(self.high) + decades(self.low);
        let every = (all / count).ceil().max(1.0) as usize;
        let powers = |end: f64| {
            let sign = end.signum();
            (0..decades(end).max(0.0) as i32).step_by(every).map(move |p| sign * self.unit * 10f64.powi(p))
        };
        let mut ticks: Vec<f64> = powers(self.low).chain([0.0]).chain(powers(self.high)).collect();
        ticks.sort_by(f64::total_cmp);
        ticks
    }

    fn spread(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Log => value.max(SMALLEST).log10(),
            Kind::Wide => value.signum() * (1.0 + value.abs() / self.unit).log10(),
            _ => value,
        }
    }

    /// The inverse of [`Self::spread`] on a wide scale.
    fn gather(&self, place: f64) -> f64 {
        place.signum() * self.unit * (10f64.powf(place.abs()) - 1.0)
    }
}

/// A value within the sizes of an axis.
fn drawable(value: f64) -> f64 {
    if value.abs() < SMALLEST { 0.0 } else { value.clamp(-LARGEST, LARGEST) }
}

/// The round step that divides `span` into about `parts`.
fn step(span: f64, parts: f64) -> f64 {
    let raw = span / parts.max(1.0);
    let power = 10f64.powf(raw.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|round| raw <= round * power * 1.000_001);
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_values_have_a_place_and_few_grid_lines() {
        let extreme = [f64::MAX, f64::MIN, 5e-324, 0.0, 1.0, 1.0 + f64::EPSILON];
        for kind in [Kind::Share, Kind::Linear, Kind::FromZero, Kind::Nats, Kind::Log, Kind::Wide] {
            for values in [&extreme[..], &extreme[..1], &extreme[2..3], &extreme[4..]] {
                let scale = Scale::over(kind, values);
                assert!(values.iter().all(|value| (0.0..=1.0).contains(&scale.place(*value))), "{kind:?} {values:?}");
                assert!(scale.ticks(8.0).len() < 100, "{kind:?} {values:?}");
            }
        }
    }

    #[test]
    fn shares_always_show_zero_and_one_and_go_below_as_far_as_it_makes_sense() {
        let positive = Scale::over(Kind::Share, &[0.2, 0.9]);
        assert!(positive.place(0.0) > 0.0 && positive.place(1.0) < 1.0);
        let negative = Scale::over(Kind::Share, &[-0.3, 0.9]);
        assert!(!negative.is_below(-0.3) && negative.place(-0.3) < negative.place(0.0));
        assert!(Scale::over(Kind::Share, &[-40.0]).is_below(-40.0));
    }

    #[test]
    fn linear_axes_end_at_round_values_and_hold_all() {
        let scale = Scale::over(Kind::Linear, &[13.0, 87.0]);
        assert_eq!(scale.ticks(5.0), [20.0, 40.0, 60.0, 80.0].to_vec());
        assert_eq!((scale.place(10.0), scale.place(90.0)), (0.0, 1.0));
        for values in [&[][..], &[3.0, 3.0], &[0.0, 0.0]] {
            let place = Scale::over(Kind::FromZero, values).place(3.0);
            assert!((0.0..=1.0).contains(&place), "{values:?}");
        }
    }

    #[test]
    fn what_is_nearly_nothing_does_not_look_like_much_in_nats() {
        for values in [&[0.0, 0.0][..], &[1e-9], &[0.05]] {
            let scale = Scale::over(Kind::Nats, values);
            assert_eq!((scale.place(0.0), scale.place(LEAST_NATS)), (0.0, 1.0), "{values:?}");
        }
        assert!(Scale::over(Kind::Nats, &[1e-9]).place(1e-9) < 1e-6, "next to nothing looks like it");
        assert!(Scale::over(Kind::Nats, &[3.0]).place(2.9) < 1.0);
    }

    #[test]
    fn decades_are_equally_long_on_a_logarithmic_axis() {
        let scale = Scale::over(Kind::Log, &[1.0, 1000.0]);
        let [a, b, c] = [1.0, 10.0, 100.0].map(|value| scale.place(value));
        assert!((b - a - (c - b)).abs() < 1e-12);
        assert_eq!(scale.ticks(5.0), [1.0, 10.0, 100.0, 1000.0].to_vec());
        assert_eq!(Scale::over(Kind::Log, &[1.0, 64.0]).ticks(8.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].to_vec());
    }

    #[test]
    fn a_short_logarithmic_axis_has_ticks_as_well() {
        for values in [[21.0, 45.0], [100.5, 101.5], [0.3, 0.4]] {
            let ticks = Scale::over(Kind::Log, &values).ticks(5.0);
            assert!((2..=8).contains(&ticks.len()), "{values:?}: {ticks:?}");
        }
    }

    #[test]
    fn one_outlier_does_not_hide_the_rest_of_a_wide_axis() {
        // ΔPPL by block of a model that depends on its first one.
        let losses = [37.6, 0.9, 0.7, 1.1, 1.4, 2.0];
        let scale = Scale::over(Kind::Wide, &losses);
        let places = losses.map(|value| scale.place(value));
        let rest = &places[1..];
        let [low, high] = [f64::min, f64::max].map(|pick| rest.iter().copied().reduce(pick).unwrap());
        assert!(high - low > 0.1 && high > 0.2 && places[0] < 1.0, "{places:?}");
        // A block made linear, replaced by its mean, and removed.
        let scale = Scale::over(Kind::Wide, &[0.476, 2740.0, 6150.0]);
        assert!(scale.place(0.476) > 0.05 && scale.place(6150.0) - scale.place(2740.0) > 0.03);
    }

    #[test]
    fn a_wide_axis_spreads_outliers_of_either_sign_and_stays_linear_without_them() {
        let scale = Scale::over(Kind::Wide, &[-0.5, 0.2, 0.4, 1.0, 5000.0]);
        assert_eq!(scale.kind(), Kind::Wide);
        let places = [-0.5, 0.2, 0.4, 1.0, 5000.0].map(|value| scale.place(value));
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] > 0.02), "{places:?}");
        let ticks = scale.ticks(8.0);
        assert!(ticks.contains(&0.0) && ticks.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
        assert_eq!(Scale::over(Kind::Wide, &[1.0, 2.0, 3.0]).kind(), Kind::FromZero);
    }

    #[test]
    fn an_axis_has_room_for_intervals_and_keeps_its_kind() {
        let plain = Scale::over(Kind::FromZero, &[1.0, 2.0]);
        assert_eq!(plain.reaching(1.5), plain);
        assert!(
            plain.place(2.7) == 1.0 && plain.reaching(2.7).place(2.7) < 1.0 && plain.reaching(-0.4).place(-0.4) > 0.0
        );
        let wide = Scale::over(Kind::Wide, &[37.6, 0.9, 0.7, 1.1, 1.4, 2.0]);
        let reaching = wide.reaching(60.0).reaching(-0.2);
        assert!(reaching.kind() == Kind::Wide && reaching.place(60.0) == 1.0 && reaching.place(37.6) < 1.0);
        assert!(reaching.place(-0.2) == 0.0 && reaching.place(0.0) > 0.0);
        let share = Scale::over(Kind::Share, &[0.5]);
        assert_eq!(share.reaching(1.5), share);
    }

    #[test]
    fn columns_are_centred() {
        let scale = Scale::over(Kind::Index(4), &[]);
        assert_eq!([0.0, 3.0].map(|at| scale.place(at)), [0.125, 0.875]);
        assert_eq!(scale.ticks(2.0), [0.0, 2.0].to_vec());
    }
}
