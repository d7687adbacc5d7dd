//! The processor's vector instructions, for products of panels and for auto-vectorised loops. \[pulp\]

use bytemuck::Pod;

/// Vector instructions on numbers of type T.
pub(crate) trait Lanes<T: Pod>: Copy {
    type Vector: Pod;
    /// Numbers in a vector.
    const WIDTH: usize = size_of::<Self::Vector>() / size_of::<T>();

    /// Loads the first numbers of `values`, unaligned.
    #[inline(always)]
    fn load(self, values: &[T]) -> Self::Vector {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(&values[..Self::WIDTH]))
    }

    /// A vector with `value` in every lane.
    fn splat(self, value: T) -> Self::Vector;

    /// a·b + c, rounded once or twice, depending on the processor.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// Work to run with the widest vectors of T that the processor supports.
pub(crate) trait WithLanes<T: Pod> {
    fn with<L: Lanes<T>>(self, lanes: L);
}

pub(crate) use here::{with_f32s, with_f64s};

/// Defines a function whose loops are compiled for the widest vectors that the processor supports. Functions that it
/// calls must be `#[inline(always)]`, and closures must not be passed to it: both would be compiled for the baseline.
#[cfg(not(target_arch = "wasm32"))]
macro_rules! for_widest_vectors {
    ($(#[$about:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        $(#[$about])*
        #[inline(never)]
        $visible fn $name($($arg: $type),*) -> $result {
            struct Work<A>(A);

            impl pulp::WithSimd for Work<($($type,)*)> {
                type Output = $result;

                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) -> $result {
                    let ($($arg,)*) = self.0;
                    $body
                }
            }

            pulp::Arch::new().dispatch(Work(($($arg,)*)))
        }
    };
}

/// Defines a plain function: in WebAssembly the vector width is known at compile time.
#[cfg(target_arch = "wasm32")]
macro_rules! for_widest_vectors {
    ($(#[$about:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        $(#[$about])*
        #[inline(never)]
        $visible fn $name($($arg: $type),*) -> $result $body
    };
}

pub(crate) use for_widest_vectors;

#[cfg(not(target_arch = "wasm32"))]
mod here {
    use pulp::{Arch, Simd, WithSimd};

    use super::{Lanes, WithLanes};

    macro_rules! lanes {
        ($number:ty, $vector:ident, $splat:ident, $mul_add:ident, $with:ident) => {
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

            #[inline(always)]
            pub(crate) fn $with(work: impl WithLanes<$number>) {
                struct Work<W>(W);

                impl<W: WithLanes<$number>> WithSimd for Work<W> {
                    type Output = ();

                    #[inline(always)]
                    fn with_simd<S: Simd>(self, simd: S) {
                        self.0.with(simd);
                    }
                }

                Arch::new().dispatch(Work(work));
            }
        };
    }

    lanes!(f64, f64s, splat_f64s, mul_add_e_f64s, with_f64s);
    lanes!(f32, f32s, splat_f32s, mul_add_e_f32s, with_f32s);
}

/// WebAssembly's 128-bit vectors. pulp emulates them with scalars, which takes three times as long.
#[cfg(target_arch = "wasm32")]
mod here {
    use std::arch::wasm32::{f32x4_add, f32x4_mul, f32x4_splat, f64x2_add, f64x2_mul, f64x2_splat, v128};

    use super::{Lanes, WithLanes};

    #[derive(Clone, Copy)]
    struct Simd128;

    macro_rules! lanes {
        ($number:ty, $splat:ident, $mul:ident, $add:ident, $with:ident) => {
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

            #[inline(always)]
            pub(crate) fn $with(work: impl WithLanes<$number>) {
                work.with(Simd128);
            }
        };
    }

    lanes!(f64, f64x2_splat, f64x2_mul, f64x2_add, with_f64s);
    lanes!(f32, f32x4_splat, f32x4_mul, f32x4_add, with_f32s);
}
