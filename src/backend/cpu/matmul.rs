//! Matrix products by the library `gemm`, on this program's threads.
//!
//! candle calls the same library, but determines the number of processors before every product. On Linux it reads
//! /proc/cpuinfo for that, which takes longer than a small product and makes concurrent threads wait for each other.

use candle_core::{CpuStorage, CustomOp2, D, DType, Layout, Result, Shape, Tensor};
use gemm::{Parallelism, gemm};

/// a·b of tensors (…, m, k) and (…, k, n) with the same leading dimensions, on so many threads.
pub(super) fn matmul(a: &Tensor, b: &Tensor, threads: usize) -> Result<Tensor> {
    let is_here = |tensor: &Tensor| tensor.dtype() == DType::F32 && tensor.device().is_cpu();
    if is_here(a) && is_here(b) { a.apply_op2(b, MatMul { threads }) } else { a.matmul(b) }
}

struct MatMul {
    threads: usize,
}

impl CustomOp2 for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        layout_a: &Layout,
        b: &CpuStorage,
        layout_b: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let ([outer @ .., m, k], [others @ .., rows, n]) = (layout_a.dims(), layout_b.dims()) else {
            return Err(unsuited(layout_a, layout_b));
        };
        if outer != others || k != rows {
            return Err(unsuited(layout_a, layout_b));
        }
        let shape = Shape::from([outer, &[*m, *n]].concat());
        let mut product = vec![0.0; shape.elem_count()];
        let (a, b) = (
            Matrices { values: a.as_slice()?, layout: layout_a },
            Matrices { values: b.as_slice()?, layout: layout_b },
        );
        for (index, product) in product.chunks_exact_mut((m * n).max(1)).enumerate() {
            a.at(index).times(b.at(index), product, self.threads);
        }
        Ok((CpuStorage::F32(product), shape))
    }

    fn bwd(&self, a: &Tensor, b: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let of_a = matmul(gradient, &b.transpose(D::Minus2, D::Minus1)?, self.threads)?;
        let of_b = matmul(&a.transpose(D::Minus2, D::Minus1)?, gradient, self.threads)?;
        Ok((Some(of_a), Some(of_b)))
    }
}

fn unsuited(a: &Layout, b: &Layout) -> candle_core::Error {
    candle_core::Error::Msg(format!("shapes {:?} and {:?} of a product", a.dims(), b.dims()))
}

/// A tensor (…, rows, cols).
struct Matrices<'t> {
    values: &'t [f32],
    layout: &'t Layout,
}

/// A matrix within `values`, from the first one on.
struct Matrix<'t> {
    values: &'t [f32],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'t> Matrices<'t> {
    /// The matrix at an index of all leading dimensions.
    fn at(&self, mut index: usize) -> Matrix<'t> {
        let (dims, strides) = (self.layout.dims(), self.layout.stride());
        let outer = dims.len() - 2;
        let mut first = self.layout.start_offset();
        for (dim, stride) in dims[..outer].iter().zip(&strides[..outer]).rev() {
            first += index % dim * stride;
            index /= dim;
        }
        Matrix {
            values: &self.values[first..],
            rows: dims[outer],
            cols: dims[outer + 1],
            row_stride: strides[outer],
            col_stride: strides[outer + 1],
        }
    }
}

impl Matrix<'_> {
    /// Writes the product with `other` into row-major `product`.
    fn times(&self, other: Self, product: &mut [f32], threads: usize) {
        let (m, k, n) = (self.rows, self.cols, other.cols);
        assert!(other.rows == k && product.len() == m * n && self.is_inside() && other.is_inside(), "sizes fit");
        let parallelism = if threads > 1 { Parallelism::Rayon(threads) } else { Parallelism::None };
        let [rows, cols] = [self.row_stride as isize, self.col_stride as isize];
        let [other_rows, other_cols] = [other.row_stride as isize, other.col_stride as isize];
        let (a, b, product) = (self.values.as_ptr(), other.values.as_ptr(), product.as_mut_ptr());
        #[allow(unsafe_code, reason = "the library takes pointers")]
        // SAFETY: all elements of the three matrices lie within their slices, as asserted above.
        unsafe {
            gemm(
                m,
                n,
                k,
                product,
                1,
                n as isize,
                false,
                a,
                cols,
                rows,
                b,
                other_cols,
                other_rows,
                0.0,
                1.0,
                false,
                false,
                false,
                parallelism,
            );
        }
    }

    /// Whether the last element lies within the values.
    fn is_inside(&self) -> bool {
        let last = |count: usize, stride: usize| count.saturating_sub(1).saturating_mul(stride);
        let last = last(self.rows, self.row_stride).saturating_add(last(self.cols, self.col_stride));
        self.rows == 0 || self.cols == 0 || last < self.values.len()
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;
    use crate::platform::random::Random;

    fn drawn(dims: &[usize], random: &mut Random) -> Tensor {
        let values = random.values(dims.iter().product());
        Tensor::from_vec(values, dims, &Device::Cpu).expect("a tensor")
    }

    fn numbers(tensor: &Tensor) -> Vec<f64> {
        let flat = tensor.to_dtype(DType::F64).and_then(|tensor| tensor.flatten_all());
        flat.and_then(|flat| flat.to_vec1()).expect("numbers")
    }

    /// The same product by candle in double precision.
    fn expected(a: &Tensor, b: &Tensor) -> Vec<f64> {
        let wide = |tensor: &Tensor| tensor.contiguous().and_then(|tensor| tensor.to_dtype(DType::F64)).expect("f64");
        numbers(&wide(a).matmul(&wide(b)).expect("a product"))
    }

    fn check(a: &Tensor, b: &Tensor, found: &Tensor) {
        let (found, expected) = (numbers(found), expected(a, b));
        assert!(found.len() == expected.len() && !found.is_empty());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() <= 1e-5, "{a:?} {b:?}: {found} for {expected}");
        }
    }

    #[test]
    fn products_of_any_layout_are_those_in_f64() {
        let mut random = Random::new(7);
        let matrix =
            |a: Tensor, b: Tensor| (1..4).for_each(|threads| check(&a, &b, &matmul(&a, &b, threads).expect("y")));
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (70, 33, 129), (256, 96, 200)] {
            let (a, b) = (drawn(&[m, k], &mut random), drawn(&[k, n], &mut random));
            matrix(a.clone(), b.clone());
            // The transpose of a stored weight, and rows in the middle of a larger tensor.
            matrix(a, drawn(&[n, k], &mut random).t().expect("a transpose"));
            matrix(drawn(&[m + 4, k], &mut random).narrow(0, 3, m).expect("rows"), b);
        }
        // Heads of a window, as attention reads them in place, and windows of heads.
        let heads = |random: &mut Random| drawn(&[8, 3, 4], random).transpose(0, 1).expect("heads");
        matrix(heads(&mut random), heads(&mut random).transpose(1, 2).expect("keys"));
        let windows = |random: &mut Random| drawn(&[2, 8, 3, 4], random).transpose(1, 2).expect("heads");
        matrix(windows(&mut random), windows(&mut random).transpose(2, 3).expect("keys"));
    }

    #[test]
    fn gradients_are_those_of_candle() {
        let mut random = Random::new(8);
        let (a, b) = (drawn(&[2, 5, 3], &mut random), drawn(&[2, 3, 4], &mut random));
        let gradients = |product: fn(&Tensor, &Tensor) -> Result<Tensor>| {
            let (a, b) = (Var::from_tensor(&a).expect("a"), Var::from_tensor(&b).expect("b"));
            let loss = product(a.as_tensor(), b.as_tensor()).and_then(|y| y.sqr()?.sum_all()).expect("a loss");
            let store = loss.backward().expect("gradients");
            [a, b].map(|var| numbers(store.get(var.as_tensor()).expect("a gradient")))
        };
        let (found, expected) = (gradients(|a, b| matmul(a, b, 2)), gradients(|a, b| a.matmul(b)));
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() <= 1e-5, "{found} for {expected}");
        }
        assert_eq!(found.iter().flatten().count(), 2 * 5 * 3 + 2 * 3 * 4);
    }

    #[test]
    fn unsuited_shapes_are_refused() {
        let mut random = Random::new(9);
        let mut drawn = |dims: &[usize]| drawn(dims, &mut random);
        for (a, b) in
            [(drawn(&[2, 3]), drawn(&[2, 3])), (drawn(&[2, 2, 3]), drawn(&[3, 3, 2])), (drawn(&[3]), drawn(&[3]))]
        {
            assert!(matmul(&a, &b, 1).is_err(), "{a:?} {b:?}");
        }
    }
}
