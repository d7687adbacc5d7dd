//! What a pickle of plain tensors holds: functions and types of PyTorch, storages, and tensors as views of them.

use safetensors::tensor::Dtype;

use super::fault::{Fault, damaged, excerpt, unsupported};

/// Most dimensions of a tensor.
const MAX_RANK: usize = 16;

/// A value of a pickle. Tuples, dictionaries, storages and tensors are positions in the reader's lists.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'a> {
    /// `None`, a truth value, a float or a list: nothing that a tensor depends on.
    Other,
    Int(i64),
    Text(&'a str),
    Global(Global),
    /// First element and end (exclusive).
    Tuple(usize, usize),
    Dict(usize),
    Storage(usize),
    Tensor(usize),
}

/// A function or type that is known by name; it is never executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    RebuildFromType,
    /// A type of tensors.
    Type,
    /// A type of storages, with the format of their elements.
    Elements(Dtype),
}

impl Global {
    /// `None` for whatever a pickle of plain tensors does not need.
    pub(super) fn named(module: &str, name: &str) -> Option<Self> {
        Some(match (module, name) {
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Self::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Self::RebuildParameter,
            ("torch._tensor", "_rebuild_from_type_v2") => Self::RebuildFromType,
            ("torch", "Tensor") | ("torch.nn.parameter", "Parameter") => Self::Type,
            ("torch", storage) => Self::Elements(match storage.strip_suffix("Storage")? {
                "Float" => Dtype::F32,
                "Half" => Dtype::F16,
                "BFloat16" => Dtype::BF16,
                "Double" => Dtype::F64,
                "Long" => Dtype::I64,
                "Int" => Dtype::I32,
                "Short" => Dtype::I16,
                "Char" => Dtype::I8,
                "Byte" => Dtype::U8,
                "Bool" => Dtype::BOOL,
                _ => return None,
            }),
            _ => return None,
        })
    }
}

/// A storage: an entry of the archive with elements of one format.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementStore<'a> {
    /// Name of its entry below `data/`.
    pub(super) key: &'a str,
    pub(super) dtype: Dtype,
    /// Number of elements.
    pub(super) len: u64,
}

impl<'a> ElementStore<'a> {
    /// The storage of a persistent id: `storage`, type, key, device, number of elements.
    pub(super) fn of_id(id: &[Item<'a>]) -> Result<Self, Fault> {
        match id {
            [Item::Text("storage"), Item::Global(Global::Elements(dtype)), Item::Text(key), Item::Text(_), len] => {
                Ok(Self { key, dtype: *dtype, len: size(*len)? })
            }
            _ => Err(unsupported("it refers to something else than the storage of a tensor")),
        }
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> u64 {
        self.dtype.bitsize() as u64 / 8
    }
}

/// A tensor: a view of a storage.
#[derive(Clone, Debug)]
pub(super) struct TensorView<'a> {
    pub(super) storage: ElementStore<'a>,
    /// Its first element.
    pub(super) offset: u64,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<u64>,
    /// Number of elements.
    pub(super) len: u64,
}

impl<'a> TensorView<'a> {
    /// Checks that the view lies within its storage.
    pub(super) fn new(
        storage: ElementStore<'a>,
        offset: Item<'_>,
        shape: &[Item<'_>],
        strides: &[Item<'_>],
    ) -> Result<Self, Fault> {
        if shape.len() != strides.len() || shape.len() > MAX_RANK {
            let (rank, strides) = (shape.len(), strides.len());
            return Err(unsupported(format!("it has a tensor of {rank} dimensions with {strides} strides")));
        }
        let offset = size(offset)?;
        let shape = shape.iter().map(|side| size(*side)).collect::<Result<Vec<u64>, _>>()?;
        let strides = strides.iter().map(|stride| size(*stride)).collect::<Result<Vec<u64>, _>>()?;
        let outside = || {
            let (key, len) = (excerpt(storage.key), storage.len);
            damaged(format!("a tensor of shape {shape:?} exceeds the {len} elements of its storage {key}"))
        };
        let len = shape.iter().try_fold(1u64, |len, side| len.checked_mul(*side)).ok_or_else(outside)?;
        // The last element, if there is one.
        let reach = shape
            .iter()
            .zip(&strides)
            .try_fold(offset, |at, (side, stride)| at.checked_add(side.saturating_sub(1).checked_mul(*stride)?));
        if len > 0 && reach.is_none_or(|last| last >= storage.len) {
            return Err(outside());
        }
        let sides = shape.iter().map(|side| usize::try_from(*side)).collect::<Result<Vec<_>, _>>();
        let shape = sides.map_err(|_| unsupported("it has a tensor that is too large for this machine"))?;
        Ok(Self { storage, offset, shape, strides, len })
    }

    /// Whether the elements lie one after the other in row-major order.
    pub(super) fn is_contiguous(&self) -> bool {
        let mut next = 1;
        self.len == 0
            || self.shape.iter().zip(&self.strides).rev().all(|(&side, &stride)| {
                let expected = next;
                next *= side as u64;
                side == 1 || stride == expected
            })
    }
}

/// A size: an integer that is not negative.
fn size(item: Item<'_>) -> Result<u64, Fault> {
    match item {
        Item::Int(value) => u64::try_from(value).map_err(|_| damaged(format!("it has the size {value}"))),
        _ => Err(damaged("its data.pkl has something else in place of a size")),
    }
}
