//! A compute shader as data: its file, bindings and parameters.

/// How a kernel uses a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Written, possibly also read.
    ReadWrite,
}

/// One storage buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `@binding` in the shader.
    pub slot: u32,
    /// Name of the variable in the shader.
    pub name: &'static str,
    /// How it is used.
    pub access: Access,
}

pub(in crate::backend::gpu) const fn read(slot: u32, name: &'static str) -> Binding {
    Binding { slot, name, access: Access::Read }
}

pub(in crate::backend::gpu) const fn read_write(slot: u32, name: &'static str) -> Binding {
    Binding { slot, name, access: Access::ReadWrite }
}

/// One member of a kernel's uniform structure; member `i` is at byte `4·i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name in the shader.
    pub name: &'static str,
    /// `u32`, `i32` or `f32`.
    pub kind: &'static str,
}

/// A compute shader and how it is bound.
#[derive(Debug)]
pub struct Kernel {
    /// Entry point.
    pub name: &'static str,
    /// File under `shaders/`.
    pub file: &'static str,
    /// Shared files under `shaders/` that precede it.
    pub shared: &'static [&'static str],
    /// Source text of these files without comments, preceded by the declarations that they leave open.
    pub source: &'static str,
    /// Members of its `Params`.
    pub params: &'static [Member],
    /// Storage buffers, in the order in which they are passed.
    pub bindings: &'static [Binding],
    /// Threads per workgroup.
    pub workgroup: [u32; 3],
    /// Values given to the shader's `override`s.
    pub overrides: &'static [(&'static str, f64)],
    /// Device features that it needs.
    pub needs: Needs,
}

/// A feature that a kernel needs beyond WebGPU's baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Subgroup operations, of any subgroup size.
    Subgroups,
    /// `dot4I8Packed`, a WGSL language feature that a browser may lack.
    PackedDots,
}

/// The uniform structure of a kernel: four-byte scalars in the shader's order.
pub trait Params {
    /// Its members.
    const MEMBERS: &'static [Member];
    /// The members' bits, in order.
    fn words(&self) -> Vec<u32>;
}

/// A four-byte scalar of a uniform structure.
pub(in crate::backend::gpu) trait Word: Copy {
    fn bits(self) -> u32;
}

impl Word for u32 {
    fn bits(self) -> u32 {
        self
    }
}

impl Word for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

macro_rules! params {
    ($(#[$doc:meta])* $name:ident { $($member:ident: $kind:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the shader explains its parameters")]
        pub struct $name {
            $(pub $member: $kind),+
        }

        impl Params for $name {
            const MEMBERS: &'static [Member] =
                &[$(Member { name: stringify!($member), kind: stringify!($kind) }),+];

            fn words(&self) -> Vec<u32> {
                vec![$(Word::bits(self.$member)),+]
            }
        }
    };
}

macro_rules! needs {
    () => {
        Needs::Nothing
    };
    ($needs:expr) => {
        $needs
    };
}

macro_rules! kernel {
    ($(#[$doc:meta])* $constant:ident = $file:literal
     $(after $($said:literal and)? [$($shared:literal),+])? $name:literal ($params:ty)
     bindings [$($binding:expr),* $(,)?] workgroup $workgroup:expr, overrides $overrides:expr $(, needs $needs:expr)?) => {
        $(#[$doc])*
        pub static $constant: Kernel = Kernel {
            name: $name,
            file: $file,
            shared: &[$($($shared),+)?],
            source: shader_text!(
                $($($said,)? $(include_str!(concat!("../../../../shaders/", $shared)),)+)?
                include_str!(concat!("../../../../shaders/", $file))
            ),
            params: <$params as Params>::MEMBERS,
            bindings: &[$($binding),*],
            workgroup: $workgroup,
            overrides: $overrides,
            needs: needs!($($needs)?),
        };
    };
}

pub(in crate::backend::gpu) use {kernel, needs, params};

/// Threads of a workgroup of element-wise kernels.
pub(in crate::backend::gpu) const ELEMENTS: [u32; 3] = [64, 1, 1];
/// Threads of a workgroup of kernels with one thread per row.
pub(in crate::backend::gpu) const ROWS: [u32; 3] = [32, 1, 1];
/// `ELEMENTS` as the shaders' override.
pub(in crate::backend::gpu) const ELEMENTS_OVERRIDE: &[(&str, f64)] = &[("WORKGROUP", ELEMENTS[0] as f64)];
pub(in crate::backend::gpu) const ROWS_OVERRIDE: &[(&str, f64)] = &[("WORKGROUP", ROWS[0] as f64)];

params!(
    /// Parameters of kernels that need only a shape.
    RowsParams { rows: u32, cols: u32 }
);
