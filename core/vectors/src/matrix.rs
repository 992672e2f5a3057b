use std::ops::Range;

use crate::{Cancelled, Progress};

pub(crate) const ROWS_A_TIME: usize = 1_024;
/// The number of rows whose products are summed in 32 bits, before the sum is added to one of 64 bits.
const SUMMED_IN_32_BITS: usize = 64;
const BLOCK: usize = 32;
/// Eigenvalues below this share of the greatest one are rounding errors, and their columns become zero.
const NEGLIGIBLE: f64 = 1e-10;

/// A square matrix that stores only its positive entries, row by row.
#[derive(Debug)]
pub(crate) struct Sparse {
    /// And the end of the last row.
    pub(crate) starts: Vec<usize>,
    pub(crate) columns: Vec<u32>,
    pub(crate) values: Vec<f32>,
}

impl Sparse {
    pub(crate) fn size(&self) -> usize {
        self.starts.len() - 1
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f32)> {
        let row = self.starts[row]..self.starts[row + 1];
        self.columns[row.clone()].iter().map(|column| *column as usize).zip(self.values[row].iter().copied())
    }

    /// Replaces `right` by the product of this matrix with it.
    pub(crate) fn times(&self, right: &mut Tall, progress: Progress<'_>) -> Result<(), Cancelled> {
        self.by_block(right, progress, |right, block, factors, row| {
            let sum = &mut right.row_mut(row)[block];
            sum.fill(0.0);
            for (column, value) in self.row(row) {
                add(sum, value, factors.row(column));
            }
        })
    }

    /// Replaces `right` by the product of the transposed matrix with it.
    pub(crate) fn transposed_times(&self, right: &mut Tall, progress: Progress<'_>) -> Result<(), Cancelled> {
        self.by_block(right, progress, |right, block, factors, row| {
            if row == 0 {
                right.rows_mut().for_each(|row| row[block.clone()].fill(0.0));
            }
            let factors = factors.row(row);
            for (column, value) in self.row(row) {
                add(&mut right.row_mut(column)[block.clone()], value, factors);
            }
        })
    }

    /// Calls `each` with each row number for each block of columns of `right`, which it overwrites, and with the values that the
    /// block had: a product takes only the memory of a block beside that of `right`.
    fn by_block(
        &self,
        right: &mut Tall,
        progress: Progress<'_>,
        mut each: impl FnMut(&mut Tall, Range<usize>, &Tall, usize),
    ) -> Result<(), Cancelled> {
        let blocks = right.columns.div_ceil(BLOCK);
        for number in 0..blocks {
            let block = number * BLOCK..((number + 1) * BLOCK).min(right.columns);
            let factors = right.rows().flat_map(|row| &row[block.clone()]).copied().collect();
            let factors = Tall::new(block.len(), factors);
            for row in 0..self.size() {
                if row % ROWS_A_TIME == 0 {
                    progress(share(number * self.size() + row, blocks * self.size()))?;
                }
                each(right, block.clone(), &factors, row);
            }
        }
        Ok(())
    }
}

pub(crate) fn share(done: usize, all: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an approximate progress suffices")]
    let share = done as f64 / all.max(1) as f64;
    share
}

fn add(sum: &mut [f32], factor: f32, row: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(row) {
        *sum += factor * value;
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Tall {
    pub(crate) columns: usize,
    /// Row by row.
    values: Vec<f32>,
}

impl Tall {
    pub(crate) fn new(columns: usize, values: Vec<f32>) -> Self {
        debug_assert_eq!(values.len() % columns.max(1), 0);
        Self { columns, values }
    }

    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.columns)
    }

    pub(crate) fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [f32]> {
        self.values.chunks_exact_mut(self.columns)
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.columns..][..self.columns]
    }

    /// The inner products of the columns with each other.
    pub(crate) fn gram(&self) -> Symmetric {
        let size = self.columns;
        let (mut sums, mut rough) = (vec![0.0; size * size], vec![0.0; size * size]);
        for rows in self.values.chunks(SUMMED_IN_32_BITS * size) {
            rough.fill(0.0);
            for row in rows.chunks_exact(size) {
                for (column, value) in row.iter().enumerate() {
                    add(&mut rough[column * size..=column * size + column], *value, row);
                }
            }
            sums.iter_mut().zip(&rough).for_each(|(sum, rough)| *sum += f64::from(*rough));
        }
        for row in 0..size {
            for column in 0..row {
                sums[column * size + row] = sums[row * size + column];
            }
        }
        Symmetric { size, values: sums }
    }

    /// In place. `columns` has at most as many elements as this matrix has columns.
    pub(crate) fn turn(mut self, columns: &[Vec<f64>]) -> Self {
        let (from, to) = (self.columns, columns.len());
        debug_assert!(to <= from);
        let mut right = vec![0.0; from * to];
        for (at, column) in columns.iter().enumerate() {
            for (row, value) in column.iter().enumerate() {
                #[expect(clippy::cast_possible_truncation, reason = "the product has 32 bits")]
                let value = *value as f32;
                right[row * to + at] = value;
            }
        }
        let mut product = vec![0.0; to];
        for row in 0..self.values.len() / from.max(1) {
            product.fill(0.0);
            for (value, right) in self.row(row).iter().zip(right.chunks_exact(to)) {
                add(&mut product, *value, right);
            }
            // The rows do not grow, so each is read before it is overwritten.
            self.values[row * to..][..to].copy_from_slice(&product);
        }
        self.values.truncate(self.values.len() / from.max(1) * to);
        self.columns = to;
        self
    }

    /// The columns are orthonormal and span the same space. A column that would consist of rounding errors is 0.
    pub(crate) fn orthonormal(self) -> Self {
        let mut basis = self.gram().eigen();
        let farthest = basis.first().map_or(0.0, |(value, _)| *value);
        for (value, vector) in &mut basis {
            let factor = if *value > farthest * NEGLIGIBLE { 1.0 / value.sqrt() } else { 0.0 };
            for x in vector {
                *x *= factor;
            }
        }
        let columns: Vec<Vec<f64>> = basis.into_iter().map(|(_, vector)| vector).collect();
        self.turn(&columns)
    }
}

#[derive(Debug)]
pub(crate) struct Symmetric {
    size: usize,
    values: Vec<f64>,
}

impl Symmetric {
    /// The greatest first, each with its eigenvector of length 1. Source: the cyclic Jacobi method, Golub and Van Loan, *Matrix
    /// Computations*, 4th edition, section 8.5.
    pub(crate) fn eigen(mut self) -> Vec<(f64, Vec<f64>)> {
        /// Approximately ten suffice; the rest is a safety margin.
        const SWEEPS_MAX: usize = 40;
        let size = self.size;
        let mut vectors: Vec<Vec<f64>> = (0..size)
            .map(|row| {
                let mut unit = vec![0.0; size];
                unit[row] = 1.0;
                unit
            })
            .collect();
        let norm: f64 = self.values.iter().map(|value| value * value).sum();
        // A smaller entry does not affect any eigenvalue.
        let negligible = norm.sqrt() * 1e-14;
        for _ in 0..SWEEPS_MAX {
            let mut is_diagonal = true;
            for p in 0..size {
                for q in p + 1..size {
                    if self.values[p * size + q].abs() > negligible {
                        self.rotate(p, q, &mut vectors);
                        is_diagonal = false;
                    }
                }
            }
            if is_diagonal {
                break;
            }
        }
        let values = (0..size).map(|row| self.values[row * size + row]);
        let mut pairs: Vec<_> = values.zip(vectors).collect();
        pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
        pairs
    }

    /// Rotates the axes `p` and `q`, `p` < `q`, so that the entry in row `p` and column `q` becomes 0.
    fn rotate(&mut self, p: usize, q: usize, vectors: &mut [Vec<f64>]) {
        let size = self.size;
        let entry = self.values[p * size + q];
        let theta = (self.values[q * size + q] - self.values[p * size + p]) / (2.0 * entry);
        let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
        let across = 1.0 / tangent.hypot(1.0);
        let along = tangent * across;
        let turn = |a: &mut f64, b: &mut f64| (*a, *b) = (across * *a - along * *b, along * *a + across * *b);
        for row in self.values.chunks_exact_mut(size) {
            let (left, right) = row.split_at_mut(q);
            turn(&mut left[p], &mut right[0]);
        }
        let (upper, lower) = self.values.split_at_mut(q * size);
        upper[p * size..][..size].iter_mut().zip(lower).for_each(|(a, b)| turn(a, b));
        let (before, after) = vectors.split_at_mut(q);
        before[p].iter_mut().zip(&mut after[0]).for_each(|(a, b)| turn(a, b));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ignore_progress;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn a_sparse_matrix_multiplies_plain_and_transposed() {
        // 0 2 / 3 4
        let matrix = Sparse { starts: vec![0, 1, 3], columns: vec![1, 0, 1], values: vec![2.0, 3.0, 4.0] };
        // The columns are in two blocks.
        let row =
            |first: f32| (0..=BLOCK).map(move |column| first * if column == BLOCK { 10.0 } else { 1.0 });
        let right = Tall::new(BLOCK + 1, row(1.0).chain(row(5.0)).collect());
        let (mut plain, mut transposed) = (right.clone(), right);
        matrix.times(&mut plain, &mut ignore_progress).unwrap();
        matrix.transposed_times(&mut transposed, &mut ignore_progress).unwrap();
        let ends = |tall: &Tall| tall.rows().map(|row| [row[0], row[BLOCK]]).collect::<Vec<_>>();
        assert_eq!(ends(&plain), [[10.0, 100.0], [23.0, 230.0]]);
        assert_eq!(ends(&transposed), [[15.0, 150.0], [22.0, 220.0]]);
    }

    #[test]
    fn products_can_be_cancelled() {
        let matrix = Sparse { starts: vec![0, 1], columns: vec![0], values: vec![1.0] };
        let stop = &mut |_| Err(Cancelled);
        let mut right = Tall::new(1, vec![0.0]);
        assert!(matrix.times(&mut right, stop).is_err());
        assert!(matrix.transposed_times(&mut right, stop).is_err());
    }

    #[test]
    fn a_matrix_without_size_has_no_eigenvalues() {
        assert!(Symmetric { size: 0, values: vec![] }.eigen().is_empty());
        let zero = Symmetric { size: 2, values: vec![0.0; 4] }.eigen();
        assert!(
            zero.iter().all(|(value, vector)| close(*value, 0.0, 0.0) && vector.iter().sum::<f64>() > 0.9)
        );
    }

    #[test]
    fn a_dependent_column_becomes_zero() {
        let twice = Tall::new(2, vec![3.0, 6.0, 4.0, 8.0]).orthonormal();
        let rows: Vec<&[f32]> = twice.rows().collect();
        assert!(close(rows[0][0].abs().into(), 0.6, 1e-6) && close(rows[1][0].abs().into(), 0.8, 1e-6));
        assert!(rows.iter().all(|row| close(row[1].into(), 0.0, 1e-12)));
    }

    proptest! {
        #[test]
        fn the_matrix_scales_its_eigenvectors(size in 1_usize..12, seed in prop::collection::vec(-9.0..9.0_f64, 144)) {
            let entry = |row: usize, column: usize| seed[row.min(column) * 12 + row.max(column)];
            let values: Vec<f64> = (0..size * size).map(|at| entry(at / size, at % size)).collect();
            let pairs = Symmetric { size, values }.eigen();
            prop_assert!(pairs.windows(2).all(|pair| pair[0].0 >= pair[1].0));
            for (value, vector) in &pairs {
                prop_assert!(close(vector.iter().map(|x| x * x).sum::<f64>(), 1.0, 1e-9));
                for row in 0..size {
                    let product: f64 = vector.iter().enumerate().map(|(at, x)| entry(row, at) * x).sum();
                    prop_assert!(close(product, value * vector[row], 1e-8), "{product} {value}");
                }
            }
        }

        #[test]
        fn orthonormal_columns_have_length_1_and_are_orthogonal(values in prop::collection::vec(-1.0..1.0_f32, 40..400)) {
            let columns = 4;
            let rows = values.len() / columns;
            let tall = Tall::new(columns, values[..rows * columns].to_vec());
            let pairs = tall.orthonormal().gram();
            for row in 0..columns {
                for column in 0..columns {
                    let expected = if row == column { 1.0 } else { 0.0 };
                    let found = pairs.values[row * columns + column];
                    prop_assert!(close(found, expected, 1e-3), "{row} {column} {found}");
                }
            }
        }
    }
}
