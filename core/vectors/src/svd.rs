use crate::matrix::{Sparse, Tall, share};
use crate::random::Random;
use crate::{Cancelled, Progress, part};

/// Additional directions, which make the last ones of the result accurate.
const OVERSAMPLING: usize = 20;
/// One gives neighbours of equal quality; with two or more, the neighbours hardly depend on the seed, so they stay the same after
/// each training.
const ITERATIONS: usize = 2;
const PASSES: usize = 2 * ITERATIONS + 1;

/// Computes the left singular vectors of `matrix` times their singular values, the greatest first: at most `rank` columns.
/// Products with random vectors give the space of the rows; the small problem within that space is solved exactly. The result
/// depends only on the matrix and the seed. Only one matrix of this height is in memory at a time, because each product takes the
/// place of its factor. Source: Halko, Martinsson and Tropp, *Finding structure with randomness*, SIAM Review 53(2), 2011,
/// algorithms 4.4 and 5.1, of the transposed matrix.
pub(crate) fn truncated(
    matrix: &Sparse,
    rank: usize,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Tall, Cancelled> {
    let columns = (rank + OVERSAMPLING).min(matrix.size());
    if columns == 0 {
        return Ok(Tall::new(0, Vec::new()));
    }
    let mut random = Random::new(seed);
    let mut space = Tall::new(columns, (0..matrix.size() * columns).map(|_| random.uniform()).collect());
    for iteration in 0..ITERATIONS {
        matrix.times(&mut space, &mut pass(progress, 2 * iteration))?;
        matrix.transposed_times(&mut space, &mut pass(progress, 2 * iteration + 1))?;
        space = space.orthonormal();
    }
    matrix.times(&mut space, &mut pass(progress, PASSES - 1))?;
    let farthest: Vec<Vec<f64>> =
        space.gram().eigen().into_iter().take(rank).map(|(_, vector)| vector).collect();
    Ok(space.turn(&farthest))
}

/// Maps the progress of one of [`PASSES`], after `done` others, to the whole.
fn pass(progress: Progress<'_>, done: usize) -> impl FnMut(f64) -> Result<(), Cancelled> {
    part(progress, share(done, PASSES), share(done + 1, PASSES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ignore_progress;

    fn sparse(rows: &[Vec<f32>]) -> Sparse {
        let size = rows.len();
        Sparse {
            starts: (0..=size).map(|row| row * size).collect(),
            columns: (0..size).flat_map(|_| 0..u32::try_from(size).unwrap()).collect(),
            values: rows.concat(),
        }
    }

    #[test]
    fn a_matrix_of_low_rank_is_decomposed_exactly() {
        // Two blocks of 40: each word occurs with the words of its block, in the second block half as often.
        let block = |row: usize, column: usize| match (row < 40, column < 40) {
            (true, true) => 1.0,
            (false, false) => 0.5,
            _ => 0.0,
        };
        let rows: Vec<Vec<f32>> =
            (0..80).map(|row| (0..80).map(|column| block(row, column)).collect()).collect();
        let scaled = truncated(&sparse(&rows), 3, 7, &mut ignore_progress).unwrap();
        for (row, place) in scaled.rows().zip(0..) {
            let expected = if place < 40 { [40.0, 0.0, 0.0] } else { [0.0, 20.0, 0.0] };
            for (found, expected) in row.iter().zip(expected) {
                assert!((found.abs() - expected / 40_f32.sqrt()).abs() < 1e-3, "{row:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_result() {
        let rows: Vec<Vec<f32>> =
            (0..60_u8).map(|row| (0..60_u8).map(|column| f32::from(row ^ column) % 7.0).collect()).collect();
        let find = |seed| truncated(&sparse(&rows), 20, seed, &mut ignore_progress).unwrap();
        let bits = |found: &Tall| found.rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&find(1)), bits(&find(1)));
        assert_ne!(bits(&find(1)), bits(&find(2)));
    }
}
