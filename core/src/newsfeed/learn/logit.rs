//! The conditional logit: the weights that maximise the probability of the posts that members chose, minus a penalty for the
//! distance from the weights of the settings, which few choices cannot outweigh. No weight is negative.
//!
//! Source: `McFadden`, *Conditional logit analysis of qualitative choice behavior*, in Zarembka (ed.), *Frontiers in
//! econometrics*, 1974; the offsets of sampled options are from `McFadden`, *Modelling the choice of residential location*,
//! 1978. The maximum is found by Newton's method, projected as by Bertsekas, *Projected Newton methods for optimization
//! problems with simple constraints*, SIAM Journal on Control and Optimization 20(2), 1982.

use crate::newsfeed::signal::SIGNALS;

/// About ten are usual.
const STEPS: usize = 50;
/// Of a step.
const HALVINGS: usize = 30;
/// A smaller relative gain counts as the maximum.
const ENOUGH: f64 = 1e-9;
/// The minimum of [`scale`], by which weights are divided: members who choose against the weights would have a scale of 0.
const SCALE_MIN: f64 = 0.1;

pub(crate) type Vector = [f64; SIGNALS];
type Matrix = [Vector; SIGNALS];

pub(crate) struct Choices {
    /// The signals of one or more chosen posts.
    pub(crate) chosen: Vec<Vector>,
    /// The signals of the other posts, each with the logarithm of the number of posts that it stands for.
    pub(crate) others: Vec<(Vector, f64)>,
}

pub(crate) struct Prior {
    pub(crate) mean: Vector,
    /// The inverse of the variance of each weight; `None` for a weight that stays as it is.
    pub(crate) precision: [Option<f64>; SIGNALS],
}

#[derive(Clone)]
struct Point {
    value: f64,
    gradient: Vector,
    /// The negative second derivatives.
    curvature: Matrix,
}

impl Choices {
    /// Adds the mean logarithm of the probabilities of the choices, with its derivatives.
    fn add(&self, weights: &Vector, point: &mut Point) {
        let utilities: Vec<f64> = self.others.iter().map(|(x, offset)| dot(weights, x) + offset).collect();
        let chosen: Vec<f64> = self.chosen.iter().map(|x| dot(weights, x)).collect();
        // With the greatest as the unit, nothing overflows.
        let unit = utilities.iter().chain(&chosen).copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut first, mut second) = (0.0, [0.0; SIGNALS], [[0.0; SIGNALS]; SIGNALS]);
        for ((x, _), utility) in self.others.iter().zip(utilities) {
            let odds = (utility - unit).exp();
            sum += odds;
            for i in 0..SIGNALS {
                let scaled = odds * x[i];
                first[i] += scaled;
                for j in 0..=i {
                    second[i][j] += scaled * x[j];
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a few posts")]
        let share = 1.0 / self.chosen.len() as f64;
        for (x, utility) in self.chosen.iter().zip(chosen) {
            let odds = (utility - unit).exp();
            let all = sum + odds;
            point.value += share * (utility - unit - all.ln());
            let mean: Vector = std::array::from_fn(|i| (first[i] + odds * x[i]) / all);
            for i in 0..SIGNALS {
                point.gradient[i] += share * (x[i] - mean[i]);
                for j in 0..=i {
                    let square = (second[i][j] + odds * x[i] * x[j]) / all;
                    point.curvature[i][j] += share * (square - mean[i] * mean[j]);
                }
            }
        }
    }
}

impl Point {
    fn zero() -> Self {
        Self { value: 0.0, gradient: [0.0; SIGNALS], curvature: [[0.0; SIGNALS]; SIGNALS] }
    }

    fn of<'c, I: Iterator<Item = &'c Choices>>(
        choices: impl Fn() -> I,
        prior: &Prior,
        weights: &Vector,
    ) -> Self {
        let mut point = Self::zero();
        choices().for_each(|choices| choices.add(weights, &mut point));
        for (i, (weight, mean)) in weights.iter().zip(prior.mean).enumerate() {
            let (distance, precision) = (weight - mean, prior.precision[i].unwrap_or_default());
            point.value -= 0.5 * precision * distance * distance;
            point.gradient[i] -= precision * distance;
            point.curvature[i][i] += precision;
            for j in 0..i {
                point.curvature[j][i] = point.curvature[i][j];
            }
        }
        point
    }
}

pub(crate) fn fit<'c, I: Iterator<Item = &'c Choices>>(choices: impl Fn() -> I, prior: &Prior) -> Vector {
    let mut weights = prior.mean;
    let mut point = Point::of(&choices, prior, &weights);
    for _ in 0..STEPS {
        let is_free: [bool; SIGNALS] = std::array::from_fn(|i| {
            prior.precision[i].is_some() && (weights[i] > 0.0 || point.gradient[i] > 0.0)
        });
        let direction = solve(&point.curvature, &point.gradient, &is_free);
        let before = point.value;
        let mut step = 1.0;
        let found = (0..HALVINGS).find_map(|_| {
            let moved: Vector = std::array::from_fn(|i| (weights[i] + step * direction[i]).max(0.0));
            step *= 0.5;
            let there = Point::of(&choices, prior, &moved);
            (there.value > before).then_some((moved, there))
        });
        let Some((moved, there)) = found else { break };
        (weights, point) = (moved, there);
        if point.value - before < ENOUGH * before.abs() {
            break;
        }
    }
    weights
}

/// Returns the factor of `weights` that maximises the probability of the choices: how consistently members choose by them.
pub(crate) fn scale<'c, I: Iterator<Item = &'c Choices>>(choices: impl Fn() -> I, weights: &Vector) -> f64 {
    let none = Prior { mean: [0.0; SIGNALS], precision: [None; SIGNALS] };
    let mut scale = 1.0;
    for _ in 0..STEPS {
        let point = Point::of(&choices, &none, &weights.map(|weight| scale * weight));
        let slope = dot(weights, &point.gradient);
        let bend: f64 =
            point.curvature.iter().zip(weights).map(|(row, weight)| weight * dot(row, weights)).sum();
        if bend <= 0.0 {
            break;
        }
        // A step far from the maximum would be too long.
        let next = (scale + slope / bend).clamp(0.25 * scale, 4.0 * scale).max(SCALE_MIN);
        let moved = (next - scale).abs();
        scale = next;
        if moved < 1e-6 * scale {
            break;
        }
    }
    scale
}

/// Solves the linear equations of the free components by a Cholesky decomposition; the other components are 0.
fn solve(matrix: &Matrix, vector: &Vector, is_free: &[bool; SIGNALS]) -> Vector {
    let (mut lower, mut solution) = ([[0.0; SIGNALS]; SIGNALS], [0.0; SIGNALS]);
    for i in (0..SIGNALS).filter(|i| is_free[*i]) {
        for j in (0..=i).filter(|j| is_free[*j]) {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - known;
            // Equivalent signals leave nothing but rounding errors.
            lower[i][j] = if i == j { rest.max(1e-9).sqrt() } else { rest / lower[j][j] };
        }
        let known: f64 = (0..i).map(|k| lower[i][k] * solution[k]).sum();
        solution[i] = (vector[i] - known) / lower[i][i];
    }
    for i in (0..SIGNALS).rev().filter(|i| is_free[*i]) {
        let known: f64 = (i + 1..SIGNALS).filter(|k| is_free[*k]).map(|k| lower[k][i] * solution[k]).sum();
        solution[i] = (solution[i] - known) / lower[i][i];
    }
    solution
}

fn dot(one: &Vector, other: &Vector) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns uniform numbers from 0 to 1.
    fn numbers(mut seed: u64) -> impl FnMut() -> f64 {
        move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(seed >> 32).unwrap()) / f64::from(u32::MAX)
        }
    }

    /// Members choose among 20 posts with three signals, by these weights and chance.
    fn choices(count: usize, weights: [f64; 3], seed: u64) -> Vec<Choices> {
        let mut number = numbers(seed);
        let mut one = || {
            let mut posts: Vec<(f64, Vector)> = (0..20)
                .map(|_| {
                    let x: Vector = std::array::from_fn(|i| if i < 3 { number() } else { 0.0 });
                    // The greatest sum with Gumbel noise has the probabilities of the logit.
                    let noise = -(-number().max(1e-12).ln()).max(1e-12).ln();
                    (x.iter().zip(weights).map(|(x, weight)| x * weight).sum::<f64>() + noise, x)
                })
                .collect();
            posts.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut posts = posts.into_iter().map(|(_, x)| x);
            Choices { chosen: posts.next().into_iter().collect(), others: posts.map(|x| (x, 0.0)).collect() }
        };
        (0..count).map(|_| one()).collect()
    }

    fn prior(mean: [f64; 3], precision: f64) -> Prior {
        let at = |i: usize| mean.get(i).copied().unwrap_or_default();
        Prior { mean: std::array::from_fn(at), precision: [Some(precision); SIGNALS] }
    }

    #[test]
    fn the_weights_of_many_choices_are_found_and_a_harmful_signal_gets_none() {
        let choices = choices(4_000, [4.0, 2.0, -3.0], 1);
        let weights = fit(|| choices.iter(), &prior([1.0, 1.0, 1.0], 0.01));
        assert!((weights[0] - 4.0).abs() < 0.3 && (weights[1] - 2.0).abs() < 0.3, "{weights:?}");
        assert!(weights[2] == 0.0 && weights[3..].iter().all(|weight| weight.abs() < 1e-9), "{weights:?}");
    }

    #[test]
    fn few_choices_leave_the_expected_weights_and_a_fixed_weight_stays() {
        let choices = choices(3, [9.0, 0.0, 0.0], 2);
        let mut prior = prior([2.0, 1.0, 0.0], 100.0);
        let weights = fit(|| choices.iter(), &prior);
        assert!(weights.iter().zip(prior.mean).all(|(weight, mean)| (weight - mean).abs() < 0.1));
        prior.precision = [None; SIGNALS];
        prior.precision[1] = Some(0.001);
        let weights = fit(|| choices.iter(), &prior);
        assert!((weights[0] - 2.0).abs() < 1e-12 && weights[2].abs() < 1e-12, "{weights:?}");
    }

    #[test]
    fn a_sampled_option_stands_for_many() {
        let mut number = numbers(5);
        let mut x = || -> Vector { std::array::from_fn(|_| number()) };
        let (chosen, other) = (x(), x());
        let alike = Choices { chosen: vec![chosen], others: vec![(other, 0.0); 7] };
        let sampled = Choices { chosen: vec![chosen], others: vec![(other, 7_f64.ln())] };
        let weights = x();
        let likelihood = |choices: &Choices| {
            let mut point = Point::zero();
            choices.add(&weights, &mut point);
            point.value
        };
        assert!((likelihood(&alike) - likelihood(&sampled)).abs() < 1e-9);
    }

    #[test]
    fn the_scale_says_how_surely_members_choose() {
        for sure in [0.5, 3.0, 12.0] {
            let choices = choices(3_000, [sure, 2.0 * sure, 0.0], 3);
            let mut weights = [0.0; SIGNALS];
            (weights[0], weights[1]) = (1.0, 2.0);
            assert!((scale(|| choices.iter(), &weights) / sure - 1.0).abs() < 0.1, "{sure}");
        }
    }

    #[test]
    fn members_who_choose_against_the_weights_have_the_least_scale() {
        let choices = choices(500, [-6.0, -6.0, 0.0], 4);
        let mut weights = [0.0; SIGNALS];
        (weights[0], weights[1]) = (1.0, 2.0);
        assert!((scale(|| choices.iter(), &weights) - SCALE_MIN).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_fit_is_a_maximum(weights in prop::array::uniform3(0.0..5.0_f64), seed: u64, at in 0..3_usize, by in -0.1..0.1_f64) {
            let choices = choices(40, weights, seed);
            let prior = prior([1.0; 3], 1.0);
            let fitted = fit(|| choices.iter(), &prior);
            prop_assert!(fitted.iter().all(|weight| *weight >= 0.0));
            let mut beside = fitted;
            beside[at] = (beside[at] + by).max(0.0);
            let value = |weights| Point::of(|| choices.iter(), &prior, weights).value;
            prop_assert!(value(&beside) <= value(&fitted) + 1e-6);
        }
    }
}
