//! Curves and points as inline SVG for the pages and pictures of all reports, with colours from the page's
//! style.

use crate::html::markup::escape;
use crate::html::svg;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;

/// The style that charts need in addition to the page's style sheet. Each series has its own colours:
/// `ink-CLASS` is the stroke of its curve, `dot-CLASS` the fill of its points and intervals.
pub const CHART_STYLE: &str = "\
svg .curve { fill: none; stroke-width: 2.2; }
svg .band { opacity: .16; stroke: none; }
svg .mark { stroke: var(--ink); stroke-dasharray: 5 4; }
";

/// One curve, or single points if `joined` is false.
pub struct Series {
    /// Its name in the legend.
    pub name: &'static str,
    /// The suffix of its style classes.
    pub class: &'static str,
    /// Whether a line runs through the points.
    pub joined: bool,
    /// The points, from left to right.
    pub points: Vec<Dot>,
}

/// One point.
#[derive(Default)]
pub struct Dot {
    /// The horizontal position.
    pub x: f64,
    /// A share, 0 to 1.
    pub y: f64,
    /// Its interval: a band along a curve, a bar at a single point.
    pub interval: Option<(f64, f64)>,
    /// Shown on hover.
    pub title: String,
}

/// The values of the horizontal axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Of {
    /// Whole numbers, each with a label.
    Counts,
    /// Numbers.
    Numbers,
    /// Shares, shown in per cent.
    Shares,
    /// Names, at 1, 2 and so on.
    Names(&'static [&'static str]),
}

/// The axes of a chart.
pub struct Axes {
    /// The title.
    pub what: &'static str,
    /// The horizontal axis' name.
    pub x: &'static str,
    /// The vertical axis' name.
    pub y: &'static str,
    /// The values of the horizontal axis.
    pub x_is: Of,
    /// The position of a vertical line, if any.
    pub mark: Option<f64>,
}

/// Draws series on axes that span their values; an empty string without points.
pub fn chart(axes: &Axes, series: &[Series]) -> String {
    let dots = || series.iter().flat_map(|one| &one.points);
    let reach = dots().flat_map(|dot| {
        let (low, high) = dot.interval.unwrap_or((dot.y, dot.y));
        [dot.y, low, high]
    });
    let (Some(across), Some(up)) = (
        Scale::over(dots().map(|dot| dot.x), LEFT, WIDTH - RIGHT),
        Scale::over(reach, HEIGHT - BOTTOM, TOP),
    ) else {
        return String::new();
    };
    let across = match axes.x_is {
        Of::Counts => across.by_ones(),
        Of::Names(names) => across.of_names(names.len()),
        Of::Numbers | Of::Shares => across,
    };
    let mut out = String::new();
    frame(&mut out, axes, &across, &up);
    if let Some(mark) = axes.mark {
        put(
            &mut out,
            format_args!(
                "<line class=\"mark\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{TOP}\" y2=\"{1}\"/>\n",
                across.at(mark),
                HEIGHT - BOTTOM
            ),
        );
    }
    let mut legend = LEFT;
    for one in series.iter().filter(|one| !one.points.is_empty()) {
        let class = one.class;
        intervals(&mut out, one, &across, &up);
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

/// Draws a band along a curve, or a bar at each single point, for points that have an interval.
fn intervals(out: &mut String, series: &Series, across: &Scale, up: &Scale) {
    let ends = series
        .points
        .iter()
        .filter_map(|dot| Some((across.at(dot.x), dot.interval?)));
    let ends: Vec<(f64, f64, f64)> = ends
        .map(|(x, (low, high))| (x, up.at(low), up.at(high)))
        .collect();
    let class = series.class;
    if series.joined && ends.len() > 1 {
        let there = ends.iter().map(|(x, _, high)| (x, high));
        let back = ends.iter().rev().map(|(x, low, _)| (x, low));
        let path: Vec<String> = there.chain(back).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        put(
            out,
            format_args!(
                "<polygon class=\"band dot-{class}\" points=\"{}\"/>\n",
                path.join(" ")
            ),
        );
    } else {
        for (x, low, high) in ends {
            put(
                out,
                format_args!(
                    "<line class=\"whisker\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>\n"
                ),
            );
        }
    }
}

fn frame(out: &mut String, axes: &Axes, across: &Scale, up: &Scale) {
    let floor = HEIGHT - BOTTOM;
    for tick in across.ticks() {
        let written = match axes.x_is {
            Of::Shares => short(100.0 * tick),
            Of::Counts | Of::Numbers => short(tick),
            // The positions left and right of the names have no label.
            Of::Names(names) => names
                .get((tick.round() as usize).wrapping_sub(1))
                .copied()
                .map_or_else(String::new, escape),
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

/// Converts values to px.
struct Scale {
    low: f64,
    high: f64,
    step: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Returns a scale with round ends over these values; `None` without values.
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        if low > high {
            return None;
        }
        // A range of zero width would divide by zero.
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

    /// Returns the same scale with steps of one.
    fn by_ones(self) -> Self {
        Self {
            step: 1.0,
            low: self.low.ceil(),
            high: self.high.ceil(),
            ..self
        }
    }

    /// Returns the same scale from 0 to one beyond the names.
    fn of_names(self, names: usize) -> Self {
        Self {
            step: 1.0,
            low: 0.0,
            high: names as f64 + 1.0,
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

/// Formats a value with at most three decimals and no trailing zeros.
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

    #[test]
    fn intervals_are_a_band_along_a_curve_and_bars_at_points_and_widen_the_axis() {
        let dot = |x: f64| Dot {
            x,
            y: 0.5,
            interval: Some((0.1, 0.9)),
            title: String::new(),
        };
        let axes = Axes {
            what: "w",
            x: "x",
            y: "y",
            x_is: Of::Names(&["one & two", "three"]),
            mark: Some(1.5),
        };
        let drawn = |joined| {
            let points = vec![dot(1.0), dot(2.0)];
            let series = [Series {
                name: "n",
                class: "c",
                joined,
                points,
            }];
            chart(&axes, &series)
        };
        let (curve, points) = (drawn(true), drawn(false));
        assert!(curve.contains("<polygon class=\"band dot-c\"") && !curve.contains("whisker"));
        assert_eq!(points.matches("class=\"whisker\"").count(), 2);
        assert!(curve.contains("one &amp; two") && curve.contains("class=\"mark\""));
        // The axis spans 10 to 90 %, in steps of 20, though every point is at 50.
        assert!(curve.contains(">0</text>") && curve.contains(">100</text>"));
    }
}
