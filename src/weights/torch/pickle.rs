//! Reads `data.pkl`, the pickle of a PyTorch file, as data: nothing that it names is executed.
//!
//! Only the opcodes that PyTorch writes are known. Time and memory are bounded by the number of opcodes, each of which
//! adds at most one value; values refer to each other by position, so that nesting costs no recursion. A general reader
//! of pickles, such as the one in candle, reserves whatever length a text claims, copies a value each time it is
//! referred to, and overflows the call stack on deep nesting.

use std::collections::HashMap;

use super::fault::{Fault, damaged, excerpt, unsupported};
use super::objects::{ElementStore, Global, Item, TensorView};

/// Most opcodes: about fifty thousand tensors.
const MAX_STEPS: usize = 2 << 20;
/// Most bytes of a text, such as a tensor's name.
const MAX_TEXT: usize = 4096;

/// A pickle being read.
pub(super) struct Pickle<'a> {
    rest: &'a [u8],
    stack: Vec<Item<'a>>,
    /// Lengths of the stack at the open marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Item<'a>>,
    /// Elements of all tuples.
    elements: Vec<Item<'a>>,
    dicts: Vec<Vec<(Item<'a>, Item<'a>)>>,
    storages: Vec<ElementStore<'a>>,
    tensors: Vec<TensorView<'a>>,
}

impl<'a> Pickle<'a> {
    /// Reads a pickle and returns the tensors of its dictionary by name: the top one, or the one that it holds as
    /// `state_dict` or `model`.
    pub(super) fn tensors(bytes: &'a [u8]) -> Result<Vec<(&'a str, TensorView<'a>)>, Fault> {
        let mut pickle = Self {
            rest: bytes,
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            elements: Vec::new(),
            dicts: Vec::new(),
            storages: Vec::new(),
            tensors: Vec::new(),
        };
        for _ in 0..MAX_STEPS {
            if pickle.step()? {
                return pickle.named();
            }
        }
        Err(unsupported(format!("its data.pkl has more than {MAX_STEPS} steps")))
    }

    fn named(mut self) -> Result<Vec<(&'a str, TensorView<'a>)>, Fault> {
        let Item::Dict(top) = self.pop()? else { return Err(unsupported("it holds no dictionary of tensors")) };
        let inner = |key: &str| {
            self.dicts[top].iter().find_map(|pair| match pair {
                (Item::Text(name), Item::Dict(inner)) if *name == key => Some(*inner),
                _ => None,
            })
        };
        let dicts = [Some(top), inner("state_dict"), inner("model")];
        let tensors = dicts.into_iter().flatten().map(|dict| self.tensors_of(dict)).find(|found| !found.is_empty());
        tensors.ok_or_else(|| unsupported("it holds no tensors by name"))
    }

    fn tensors_of(&self, dict: usize) -> Vec<(&'a str, TensorView<'a>)> {
        let named = |pair: &(Item<'a>, Item<'a>)| match pair {
            (Item::Text(name), Item::Tensor(tensor)) => Some((*name, self.tensors[*tensor].clone())),
            _ => None,
        };
        self.dicts[dict].iter().filter_map(named).collect()
    }

    /// Executes an opcode; true at the end.
    fn step(&mut self) -> Result<bool, Fault> {
        match self.byte()? {
            0x80 => drop(self.byte()?),
            b'.' => return Ok(true),
            b'(' => self.marks.push(self.stack.len()),
            b'N' | b']' | 0x88 | 0x89 => self.push(Item::Other),
            b'G' => {
                self.take(8)?;
                self.push(Item::Other);
            }
            b'K' => self.integer(1)?,
            b'M' => self.integer(2)?,
            b'J' => self.signed(4)?,
            0x8a => {
                let len = self.byte()?;
                self.signed(len.into())?;
            }
            b'X' => {
                let len = self.word()? as usize;
                let text = self.text(len)?;
                self.push(Item::Text(text));
            }
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                let global = Global::named(module, name).ok_or_else(|| {
                    unsupported(format!("it needs {}.{}, which is no plain tensor", excerpt(module), excerpt(name)))
                })?;
                self.push(Item::Global(global));
            }
            b'q' => {
                let at = self.byte()?;
                self.memoise(at.into())?;
            }
            b'r' => {
                let at = self.word()?;
                self.memoise(at)?;
            }
            b'h' => {
                let at = self.byte()?;
                self.recall(at.into())?;
            }
            b'j' => {
                let at = self.word()?;
                self.recall(at)?;
            }
            b')' => self.tuple(0)?,
            0x85 => self.tuple(1)?,
            0x86 => self.tuple(2)?,
            0x87 => self.tuple(3)?,
            b't' => {
                let count = self.since_mark()?;
                self.tuple(count)?;
            }
            b'}' => self.dict(),
            b's' => self.set_items(2)?,
            b'u' => {
                let count = self.since_mark()?;
                self.set_items(count)?;
            }
            b'a' => self.append(1)?,
            b'e' => {
                let count = self.since_mark()?;
                self.append(count)?;
            }
            b'b' => self.build()?,
            b'Q' => self.storage()?,
            b'R' => self.reduce()?,
            other => return Err(unsupported(format!("its data.pkl has the unknown opcode {other:#04x}"))),
        }
        Ok(false)
    }

    fn push(&mut self, value: Item<'a>) {
        self.stack.push(value);
    }

    /// Takes the uppermost value above the last mark.
    fn pop(&mut self) -> Result<Item<'a>, Fault> {
        self.last()?;
        self.stack.pop().ok_or_else(unbalanced)
    }

    fn last(&self) -> Result<Item<'a>, Fault> {
        let floor = self.marks.last().copied().unwrap_or_default();
        self.stack[floor.min(self.stack.len())..].last().copied().ok_or_else(unbalanced)
    }

    /// Closes the last mark and returns the number of values above it.
    fn since_mark(&mut self) -> Result<usize, Fault> {
        let mark = self.marks.pop().ok_or_else(unbalanced)?;
        self.stack.len().checked_sub(mark).ok_or_else(unbalanced)
    }

    /// The uppermost `count` values, taken off the stack.
    fn pop_many(&mut self, count: usize) -> Result<Vec<Item<'a>>, Fault> {
        let floor = self.marks.last().copied().unwrap_or_default();
        let start = self.stack.len().checked_sub(count).filter(|start| *start >= floor).ok_or_else(unbalanced)?;
        Ok(self.stack.split_off(start))
    }

    fn tuple(&mut self, count: usize) -> Result<(), Fault> {
        let values = self.pop_many(count)?;
        let start = self.elements.len();
        self.elements.extend(values);
        self.push(Item::Tuple(start, self.elements.len()));
        Ok(())
    }

    fn dict(&mut self) {
        self.dicts.push(Vec::new());
        self.push(Item::Dict(self.dicts.len() - 1));
    }

    fn set_items(&mut self, count: usize) -> Result<(), Fault> {
        let values = self.pop_many(count)?;
        let (pairs, []) = values.as_chunks::<2>() else {
            return Err(damaged("its data.pkl has a key without a value"));
        };
        let Item::Dict(dict) = self.last()? else { return Err(damaged("its data.pkl adds keys to no dictionary")) };
        self.dicts[dict].extend(pairs.iter().map(|[key, value]| (*key, *value)));
        Ok(())
    }

    /// Adds values to a list, which no tensor depends on.
    fn append(&mut self, count: usize) -> Result<(), Fault> {
        self.pop_many(count)?;
        match self.last()? {
            Item::Other => Ok(()),
            _ => Err(damaged("its data.pkl adds elements to no list")),
        }
    }

    /// Sets attributes, such as the versions of a dictionary's modules; no tensor depends on them.
    fn build(&mut self) -> Result<(), Fault> {
        self.pop()?;
        match self.last()? {
            Item::Dict(_) | Item::Tensor(_) => Ok(()),
            _ => Err(unsupported("its data.pkl sets attributes of something else than tensors")),
        }
    }

    fn storage(&mut self) -> Result<(), Fault> {
        let id = self.pop()?;
        let storage = ElementStore::of_id(self.elements_of(id)?)?;
        self.storages.push(storage);
        self.push(Item::Storage(self.storages.len() - 1));
        Ok(())
    }

    fn reduce(&mut self) -> Result<(), Fault> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let Item::Global(function) = function else { return Err(damaged("its data.pkl calls no function")) };
        let arguments = self.elements_of(arguments)?;
        match (function, arguments) {
            (Global::OrderedDict, []) => self.dict(),
            (Global::RebuildTensor, arguments) => {
                let tensor = self.rebuilt(arguments)?;
                self.add(tensor);
            }
            (Global::RebuildParameter, [tensor @ Item::Tensor(_), ..]) => self.push(*tensor),
            // A tensor with attributes of its own: function, type, arguments, attributes.
            (Global::RebuildFromType, [Item::Global(Global::RebuildTensor), Item::Global(Global::Type), inner, _]) => {
                let tensor = self.rebuilt(self.elements_of(*inner)?)?;
                self.add(tensor);
            }
            _ => return Err(unsupported(format!("it uses {function:?} in a way that is no plain tensor"))),
        }
        Ok(())
    }

    fn add(&mut self, tensor: TensorView<'a>) {
        self.tensors.push(tensor);
        self.push(Item::Tensor(self.tensors.len() - 1));
    }

    /// Storage, offset, shape, strides, whether a gradient is needed, hooks, and flags of newer versions.
    fn rebuilt(&self, arguments: &[Item<'a>]) -> Result<TensorView<'a>, Fault> {
        let ([Item::Storage(storage), offset, shape, strides, _, _]
        | [Item::Storage(storage), offset, shape, strides, _, _, Item::Other]) = arguments
        else {
            return Err(unsupported(
                "it rebuilds a tensor from something else than storage, offset, shape and strides",
            ));
        };
        let [shape, strides] = [self.elements_of(*shape)?, self.elements_of(*strides)?];
        TensorView::new(self.storages[*storage], *offset, shape, strides)
    }

    fn elements_of(&self, tuple: Item<'a>) -> Result<&[Item<'a>], Fault> {
        match tuple {
            Item::Tuple(start, end) => Ok(&self.elements[start..end]),
            _ => Err(damaged("its data.pkl has something else in place of a tuple")),
        }
    }

    fn memoise(&mut self, at: u32) -> Result<(), Fault> {
        self.memo.insert(at, self.last()?);
        Ok(())
    }

    fn recall(&mut self, at: u32) -> Result<(), Fault> {
        let value = self.memo.get(&at).copied();
        self.push(value.ok_or_else(|| damaged(format!("its data.pkl refers to the missing value {at}")))?);
        Ok(())
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| damaged("its data.pkl is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?.try_into().map_err(|_| damaged("its data.pkl is cut off"))?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// A non-negative integer of `len` bytes.
    fn integer(&mut self, len: usize) -> Result<(), Fault> {
        let bytes = self.take(len)?;
        self.push(Item::Int(bytes.iter().rev().fold(0, |value, byte| value << 8 | i64::from(*byte))));
        Ok(())
    }

    /// A signed integer of `len` bytes.
    fn signed(&mut self, len: usize) -> Result<(), Fault> {
        if len > 8 {
            return Err(unsupported(format!("its data.pkl has an integer of {len} bytes")));
        }
        let bytes = self.take(len)?;
        let fill = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [fill; 8];
        wide[..len].copy_from_slice(bytes);
        self.push(Item::Int(i64::from_le_bytes(wide)));
        Ok(())
    }

    fn text(&mut self, len: usize) -> Result<&'a str, Fault> {
        if len > MAX_TEXT {
            return Err(unsupported(format!("its data.pkl has a text of {len} bytes, over the limit of {MAX_TEXT}")));
        }
        std::str::from_utf8(self.take(len)?).map_err(|_| damaged("its data.pkl has a text that is not UTF-8"))
    }

    fn line(&mut self) -> Result<&'a str, Fault> {
        let len = self.rest.iter().take(MAX_TEXT).position(|byte| *byte == b'\n');
        let line = self.text(len.ok_or_else(|| damaged("its data.pkl has a name without an end"))?)?;
        self.take(1)?;
        Ok(line)
    }
}

fn unbalanced() -> Fault {
    damaged("its data.pkl takes more values than it has")
}
