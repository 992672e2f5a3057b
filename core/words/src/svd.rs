//! The directions in which a large sparse matrix reaches farthest.

use crate::matrix::{Sparse, Tall, share};
use crate::random::Random;
use crate::{Go, Stopped, part};

/// How many more directions are followed than are kept, so that the last ones are found as well.
const OVERSAMPLING: usize = 20;
/// How often what was found so far is sent back and forth through the matrix, to turn it towards its range. The
/// neighbours that come of it are as good after one turn; from two on they are mostly the same whatever the seed,
/// and so after each training.
const TURNS: usize = 2;
/// How often all of the matrix is read.
const PASSES: usize = 2 * TURNS + 2;

/// A matrix as nearly as `rank` directions show it: for each of its rows the coordinates in these, before they are
/// made long, and how far it reaches in each, the farthest first.
pub(crate) struct Truncated {
    /// The left singular vectors, as columns.
    pub(crate) left: Tall,
    /// The singular values.
    pub(crate) values: Vec<f64>,
}

/// The truncated singular value decomposition of `matrix`, at most of this rank.
///
/// The range of the matrix is found by its products with random vectors; within that, the small problem is solved
/// exactly. The same seed gives the same result.
///
/// Source: Halko, Martinsson and Tropp, *Finding structure with randomness*, SIAM Review 53(2), 2011, algorithms
/// 4.4 and 5.1.
pub(crate) fn truncated(matrix: &Sparse, rank: usize, seed: u64, go: Go<'_>) -> Result<Truncated, Stopped> {
    let columns = (rank + OVERSAMPLING).min(matrix.size());
    if columns == 0 {
        return Ok(Truncated { left: Tall::new(0, Vec::new()), values: Vec::new() });
    }
    let mut random = Random::new(seed);
    let start = Tall::new(columns, (0..matrix.size() * columns).map(|_| random.uniform()).collect());
    let mut range = matrix.times(&start, &mut pass(go, 0))?.orthonormal();
    drop(start);
    for turn in 0..TURNS {
        let back = matrix.transposed_times(&range, &mut pass(go, 2 * turn + 1))?.orthonormal();
        range = matrix.times(&back, &mut pass(go, 2 * turn + 2))?.orthonormal();
    }
    let back = matrix.transposed_times(&range, &mut pass(go, PASSES - 1))?;
    let farthest = back.gram().eigen().into_iter().take(rank);
    let (values, vectors): (Vec<f64>, Vec<Vec<f64>>) =
        farthest.map(|(square, vector)| (square.max(0.0).sqrt(), vector)).unzip();
    Ok(Truncated { left: range.turn(&vectors), values })
}

/// One pass of [`PASSES`], after so many others.
fn pass(go: Go<'_>, done: usize) -> impl FnMut(f64) -> Result<(), Stopped> {
    part(go, share(done, PASSES), share(done + 1, PASSES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::go_on;

    /// A matrix with these entries, kept whole.
    fn sparse(rows: &[Vec<f32>]) -> Sparse {
        let size = rows.len();
        Sparse {
            starts: (0..=size).map(|row| row * size).collect(),
            columns: (0..size).flat_map(|_| 0..u32::try_from(size).unwrap()).collect(),
            values: rows.concat(),
        }
    }

    #[test]
    fn a_matrix_of_low_rank_is_found_whole() {
        // Two blocks of 40: every word goes with those of its own block, in the second one half as much.
        let block = |row: usize, column: usize| match (row < 40, column < 40) {
            (true, true) => 1.0,
            (false, false) => 0.5,
            _ => 0.0,
        };
        let rows: Vec<Vec<f32>> =
            (0..80).map(|row| (0..80).map(|column| block(row, column)).collect()).collect();
        let Truncated { left, values } = truncated(&sparse(&rows), 3, 7, &mut go_on).unwrap();
        assert!((values[0] - 40.0).abs() < 1e-3 && (values[1] - 20.0).abs() < 1e-3, "{values:?}");
        assert!(values[2].abs() < 0.1, "{values:?}");
        for (row, place) in left.rows().zip(0..) {
            let expected = if place < 40 { [1.0, 0.0] } else { [0.0, 1.0] };
            for (found, expected) in row.iter().zip(expected) {
                assert!((found.abs() - expected / 40_f32.sqrt()).abs() < 1e-4, "{row:?}");
            }
        }
    }

    #[test]
    fn the_seed_alone_decides() {
        let rows: Vec<Vec<f32>> =
            (0..60_u8).map(|row| (0..60_u8).map(|column| f32::from(row ^ column) % 7.0).collect()).collect();
        let find = |seed| truncated(&sparse(&rows), 20, seed, &mut go_on).unwrap();
        let bits = |found: &Truncated| found.left.rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&find(1)), bits(&find(1)));
        assert_ne!(bits(&find(1)), bits(&find(2)));
    }

    #[test]
    fn nothing_has_no_directions() {
        let nothing = truncated(&sparse(&[]), 10, 1, &mut go_on).unwrap();
        assert!(nothing.values.is_empty());
    }
}
