//! Curves and points as inline SVG, coloured by the page's style.

use lethe_evaluate::sheet::{escape, svg};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;

/// What the page's style sheet lacks.
pub(super) const STYLE: &str = "\
svg .curve { fill: none; stroke-width: 2.2; }
svg .ink-pruned { stroke: var(--f1); } svg .dot-pruned { fill: var(--f1); }
svg .ink-all { stroke: var(--recall); stroke-dasharray: 6 4; } svg .dot-all { fill: var(--recall); }
svg .ink-best { stroke: var(--soft); stroke-dasharray: 2 4; } svg .dot-best { fill: none; }
svg .dot-chosen { fill: var(--bad); }
";

/// One curve, or points where `joined` is false.
pub(super) struct Series {
    pub(super) name: &'static str,
    /// `pruned`, `all`, `best` or `chosen`.
    pub(super) class: &'static str,
    pub(super) joined: bool,
    pub(super) points: Vec<Dot>,
}

/// One point.
pub(super) struct Dot {
    pub(super) x: f64,
    /// A share, 0 to 1.
    pub(super) y: f64,
    /// Shown where it is pointed at.
    pub(super) title: String,
}

/// What stands on the lower axis.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Of {
    /// Whole numbers, each of them written.
    Counts,
    /// µs.
    Micros,
    /// Shares, written in per cent.
    Shares,
}

/// How axes are written.
pub(super) struct Axes {
    pub(super) what: &'static str,
    pub(super) x: &'static str,
    pub(super) y: &'static str,
    pub(super) x_is: Of,
}

/// Series on axes that are as wide as they are. Nothing without a point.
pub(super) fn chart(axes: &Axes, series: &[Series]) -> String {
    let dots = || series.iter().flat_map(|one| &one.points);
    let (Some(across), Some(up)) = (
        Scale::over(dots().map(|dot| dot.x), LEFT, WIDTH - RIGHT),
        Scale::over(dots().map(|dot| dot.y), HEIGHT - BOTTOM, TOP),
    ) else {
        return String::new();
    };
    let across = match axes.x_is {
        Of::Counts => across.by_ones(),
        Of::Micros | Of::Shares => across,
    };
    let mut out = String::new();
    frame(&mut out, axes, &across, &up);
    let mut legend = LEFT;
    for one in series.iter().filter(|one| !one.points.is_empty()) {
        let class = one.class;
        if one.joined {
            let path: Vec<String> = one
                .points
                .iter()
                .map(|dot| format!("{:.1},{:.1}", across.at(dot.x), up.at(dot.y)))
                .collect();
            put(
                &mut out,
                format_args!(
                    "<polyline class=\"curve ink-{class}\" points=\"{}\"/>\n<line class=\"curve ink-{class}\" x1=\"{legend}\" x2=\"{}\" y1=\"12\" y2=\"12\"/>\n",
                    path.join(" "),
                    legend + 26.0
                ),
            );
        } else {
            put(
                &mut out,
                format_args!(
                    "<circle class=\"dot-{class}\" cx=\"{}\" cy=\"12\" r=\"4\"/>\n",
                    legend + 13.0
                ),
            );
        }
        put(
            &mut out,
            format_args!(
                "<text x=\"{}\" y=\"16\">{}</text>\n",
                legend + 32.0,
                escape(one.name)
            ),
        );
        legend += 56.0 + 7.0 * one.name.chars().count() as f64;
        for dot in &one.points {
            put(
                &mut out,
                format_args!(
                    "<g><title>{}</title><circle class=\"dot-{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/></g>\n",
                    escape(&dot.title),
                    across.at(dot.x),
                    up.at(dot.y)
                ),
            );
        }
    }
    svg(WIDTH, HEIGHT, axes.what, &out)
}

fn frame(out: &mut String, axes: &Axes, across: &Scale, up: &Scale) {
    let floor = HEIGHT - BOTTOM;
    for tick in across.ticks() {
        let written = match axes.x_is {
            Of::Shares => short(100.0 * tick),
            Of::Counts | Of::Micros => short(tick),
        };
        put(
            out,
            format_args!(
                "<text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{written}</text>\n",
                across.at(tick),
                floor + 17.0
            ),
        );
    }
    for tick in up.ticks() {
        let y = up.at(tick);
        put(
            out,
            format_args!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"soft\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 8.0,
                y + 4.0,
                short(100.0 * tick)
            ),
        );
    }
    put(
        out,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text x=\"{}\" y=\"16\" transform=\"rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escape(axes.x),
            -(TOP + floor) / 2.0,
            escape(axes.y),
        ),
    );
}

/// From values to px.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// A scale with round ends over these values; none without a value.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        // A range of no width would put every point nowhere.
        let wide = if high - low < 1e-9 {
            1.0_f64.max(high.abs())
        } else {
            high - low
        };
        let rough = wide / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|round| round * power)
            .find(|step| *step >= rough)
            .unwrap_or(10.0 * power);
        let low = (low / step).floor() * step;
        let high = ((high / step).ceil() * step).max(low + step);
        Some(Self {
            low,
            high,
            step,
            from,
            to,
        })
    }

    /// The same by ones.
    fn by_ones(self) -> Self {
        Self {
            step: 1.0,
            low: self.low.ceil(),
            high: self.high.ceil(),
            ..self
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.from + (value - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let many = ((self.high - self.low) / self.step).round() as u32;
        (0..=many).map(|i| self.low + f64::from(i) * self.step)
    }
}

/// Three digits after the point at most, none that say nothing.
fn short(value: f64) -> String {
    let written = format!("{value:.3}");
    written.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.push_str(&what.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_round_ends_around_all_values_even_of_one_value() {
        let scale = Scale::over([0.9487, 0.9761].into_iter(), 0.0, 100.0).unwrap();
        let ticks: Vec<String> = scale.ticks().map(|tick| short(100.0 * tick)).collect();
        assert_eq!(ticks, ["94.5", "95", "95.5", "96", "96.5", "97", "97.5", "98"]);
        let one = Scale::over([3.0].into_iter(), 0.0, 100.0).unwrap();
        assert!((0.0..=100.0).contains(&one.at(3.0)));
        assert!(Scale::over([].into_iter(), 0.0, 1.0).is_none());
    }
}
