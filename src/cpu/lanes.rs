//! The processor's vectors: for products of panels, and for loops that compilers make vector code of. \[pulp\]

use bytemuck::Pod;

use super::products::Tile;

/// Vectors of numbers T that one instruction takes.
pub(super) trait Lanes<T: Pod>: Copy {
    type Vector: Pod;
    /// Numbers in a vector.
    const WIDTH: usize = size_of::<Self::Vector>() / size_of::<T>();

    /// The first numbers of `values`, wherever they lie.
    #[inline(always)]
    fn load(self, values: &[T]) -> Self::Vector {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(&values[..Self::WIDTH]))
    }

    /// The same number in every place.
    fn splat(self, value: T) -> Self::Vector;

    /// a·b + c, rounded once or twice.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// A number that panels hold.
pub(super) trait Element: Pod + Default + Into<f64> + Send + Sync {
    /// Rows whose products are summed up in this precision before they go to sums in f64.
    const BLOCK_ROWS: usize;

    /// [`Tile::add`] with the widest vectors that this processor has.
    fn add(tile: Tile<'_, Self>);
}

pub(super) use here::with_vectors;

/// Blocks that the first cache holds.
const EXACT_BLOCK_ROWS: usize = 64;
/// The rows after which f32 sums have lost as much as they may.
const FAST_BLOCK_ROWS: usize = 64;

#[cfg(not(target_arch = "wasm32"))]
mod here {
    use pulp::{Arch, Simd, WithSimd};

    use super::{EXACT_BLOCK_ROWS, Element, FAST_BLOCK_ROWS, Lanes, Tile};

    macro_rules! element {
        ($number:ty, $rows:expr, $vector:ident, $splat:ident, $mul_add:ident) => {
            impl<S: Simd> Lanes<$number> for S {
                type Vector = S::$vector;

                #[inline(always)]
                fn splat(self, value: $number) -> S::$vector {
                    self.$splat(value)
                }

                #[inline(always)]
                fn mul_add(self, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                    self.$mul_add(a, b, c)
                }
            }

            impl WithSimd for Tile<'_, $number> {
                type Output = ();

                #[inline(always)]
                fn with_simd<S: Simd>(self, simd: S) {
                    self.add(simd);
                }
            }

            impl Element for $number {
                const BLOCK_ROWS: usize = $rows;

                fn add(tile: Tile<'_, Self>) {
                    Arch::new().dispatch(tile);
                }
            }
        };
    }

    element!(f64, EXACT_BLOCK_ROWS, f64s, splat_f64s, mul_add_e_f64s);
    element!(f32, FAST_BLOCK_ROWS, f32s, splat_f32s, mul_add_e_f32s);

    /// Runs `f`, whose loops become code for the widest vectors that this processor has.
    pub(in crate::cpu) fn with_vectors<R>(f: impl FnOnce() -> R) -> R {
        Arch::new().dispatch(f)
    }
}

/// The 128 bits of WebAssembly 2.0. pulp keeps them in numbers, which takes three times as long.
#[cfg(target_arch = "wasm32")]
mod here {
    use std::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, f64x2_add, f64x2_mul, f64x2_splat, v128};

    use super::{EXACT_BLOCK_ROWS, Element, FAST_BLOCK_ROWS, Lanes, Tile};

    #[derive(Clone, Copy)]
    struct Simd128;

    macro_rules! element {
        ($number:ty, $rows:expr, $splat:ident, $mul:ident, $add:ident) => {
            impl Lanes<$number> for Simd128 {
                type Vector = v128;

                #[inline(always)]
                fn splat(self, value: $number) -> v128 {
                    $splat(value)
                }

                #[inline(always)]
                fn mul_add(self, a: v128, b: v128, c: v128) -> v128 {
                    $add($mul(a, b), c)
                }
            }

            impl Element for $number {
                const BLOCK_ROWS: usize = $rows;

                fn add(tile: Tile<'_, Self>) {
                    tile.add(Simd128);
                }
            }
        };
    }

    element!(f64, EXACT_BLOCK_ROWS, f64x2_splat, f64x2_mul, f64x2_add);
    element!(f32, FAST_BLOCK_ROWS, f32x4_splat, f32x4_mul, f32x4_add);

    /// Runs `f`: what vectors there are is known beforehand.
    pub(in crate::cpu) fn with_vectors<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}
