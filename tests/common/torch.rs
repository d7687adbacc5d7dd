//! Synthetic PyTorch files: a pickle composed of its parts, and a zip archive around it, possibly with a hole of many
//! gigabytes.

use std::fs;
use std::ops::Range;
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use straightedge::error::Error;
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job};
use straightedge::report::{BlockReport, Report};
use straightedge::run::{self, Text};
use straightedge::weights::Files;

use super::synthetic::TestTensor;

pub(crate) const FILE: &str = "pytorch_model.bin";

/// How an archive is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// As PyTorch does: data at multiples of 64, followed by a descriptor.
    Torch,
    /// As most other programs do: nothing between header and data.
    Bare,
    /// With an extra field of so many bytes.
    Extra(u16),
}

/// A zip archive being written.
pub(crate) struct ZipWriter {
    layout: Layout,
    pieces: Vec<(u64, Vec<u8>)>,
    len: u64,
    directory: Vec<u8>,
    count: u64,
}

impl ZipWriter {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, pieces: Vec::new(), len: 0, directory: Vec::new(), count: 0 }
    }

    pub(crate) fn entry(&mut self, name: &str, data: &[u8]) {
        self.add(name, data, data.len() as u64);
    }

    /// Adds an entry of zeros that are not held in memory.
    pub(crate) fn hole(&mut self, name: &str, len: u64) {
        self.add(name, &[], len);
    }

    fn add(&mut self, name: &str, data: &[u8], size: u64) {
        let start = self.len;
        let wide = [size, start].iter().any(|value| *value >= u64::from(u32::MAX));
        let padding = match self.layout {
            Layout::Torch => {
                let least = start + 30 + name.len() as u64 + 4;
                (least.next_multiple_of(64) - least + 4) as usize
            }
            Layout::Bare => 0,
            Layout::Extra(len) => len.into(),
        };
        let narrow = |value: u64| (if wide { u32::MAX } else { value as u32 }).to_le_bytes();
        let mut header = [&0x0403_4b50u32.to_le_bytes()[..], &[0; 14], &narrow(size), &narrow(size)].concat();
        header.extend((name.len() as u16).to_le_bytes());
        header.extend((padding as u16).to_le_bytes());
        header.extend(name.as_bytes());
        header.extend(std::iter::repeat_n(0, padding));
        self.put(header);
        self.put(data.to_vec());
        self.len += size - data.len() as u64;
        if self.layout == Layout::Torch && size > 0 {
            self.put(vec![0xdd; if wide { 24 } else { 16 }]);
        }
        let extra = match wide {
            true => [&[1, 0, 24, 0][..], &size.to_le_bytes(), &size.to_le_bytes(), &start.to_le_bytes()].concat(),
            false => Vec::new(),
        };
        let flags = if self.layout == Layout::Torch && size > 0 { 8 } else { 0 };
        let head = [0, 0, 0, 0, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let record = [&0x0201_4b50u32.to_le_bytes()[..], &head, &narrow(size), &narrow(size)].concat();
        self.directory.extend(record);
        self.directory.extend((name.len() as u16).to_le_bytes());
        self.directory.extend((extra.len() as u16).to_le_bytes());
        self.directory.extend([0; 10]);
        self.directory.extend(narrow(start));
        self.directory.extend(name.as_bytes());
        self.directory.extend(extra);
        self.count += 1;
    }

    fn put(&mut self, bytes: Vec<u8>) {
        let at = self.len;
        self.len += bytes.len() as u64;
        self.pieces.push((at, bytes));
    }

    /// Writes the directory and its end records, the wide one as PyTorch always does.
    pub(crate) fn finish(mut self) -> SparseFile {
        let (start, directory) = (self.len, std::mem::take(&mut self.directory));
        let (count, len) = (self.count, directory.len() as u64);
        self.put(directory);
        let (count_16, start_32) = (count.min(0xffff) as u16, start.min(u64::from(u32::MAX)) as u32);
        if self.layout == Layout::Torch {
            let record = self.len;
            let wide = [&0x0606_4b50u32.to_le_bytes()[..], &44u64.to_le_bytes(), &[0; 12]].concat();
            self.put([wide, [count, count, len, start].map(u64::to_le_bytes).concat()].concat());
            let locator = [&0x0706_4b50u32.to_le_bytes()[..], &[0; 4], &record.to_le_bytes(), &[1, 0, 0, 0]].concat();
            self.put(locator);
        }
        let end = [&0x0605_4b50u32.to_le_bytes()[..], &[0; 4], &count_16.to_le_bytes(), &count_16.to_le_bytes()];
        self.put([&end.concat()[..], &(len as u32).to_le_bytes(), &start_32.to_le_bytes(), &[0; 2]].concat());
        SparseFile { pieces: self.pieces, len: self.len }
    }
}

/// The only file of a source: its pieces, with zeros between them.
pub(crate) struct SparseFile {
    pieces: Vec<(u64, Vec<u8>)>,
    pub(crate) len: u64,
}

impl SparseFile {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.range(0..self.len)
    }

    fn range(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        for (at, piece) in &self.pieces {
            let (from, to) = ((*at).max(range.start), (at + piece.len() as u64).min(range.end));
            if from < to {
                let source = &piece[(from - at) as usize..(to - at) as usize];
                bytes[(from - range.start) as usize..(to - range.start) as usize].copy_from_slice(source);
            }
        }
        bytes
    }
}

impl Files for SparseFile {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>, Error>> {
        Box::pin(async move { Ok((file == FILE).then_some(self.len)) })
    }

    fn read<'a>(&'a self, _: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>, Error>> {
        assert!(range.end <= self.len && range.end - range.start <= 32 << 20, "{range:?} was read");
        Box::pin(async move { Ok(self.range(range)) })
    }
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [&b"X"[..], &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

pub(crate) fn global(module: &str, name: &str) -> Vec<u8> {
    format!("c{module}\n{name}\n").into_bytes()
}

pub(crate) fn int(value: i64) -> Vec<u8> {
    [&[0x8a, 8][..], &value.to_le_bytes()].concat()
}

pub(crate) fn tuple(items: &[Vec<u8>]) -> Vec<u8> {
    [b"(", &items.concat()[..], b"t"].concat()
}

pub(crate) fn reduce(function: &[u8], arguments: &[Vec<u8>]) -> Vec<u8> {
    [function, &tuple(arguments), b"R"].concat()
}

fn ordered_dict() -> Vec<u8> {
    reduce(&global("collections", "OrderedDict"), &[])
}

/// A whole pickle: a dictionary.
pub(crate) fn pickle(pairs: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let pairs: Vec<u8> = pairs.iter().flat_map(|(name, value)| [text(name), value.clone()].concat()).collect();
    [&[0x80, 2][..], &ordered_dict(), b"(", &pairs, b"u."].concat()
}

pub(crate) fn storage(kind: &str, key: &str, len: i64) -> Vec<u8> {
    let id = [text("storage"), global("torch", &format!("{kind}Storage")), text(key), text("cpu"), int(len)];
    [tuple(&id), b"Q".to_vec()].concat()
}

pub(crate) fn view(storage: Vec<u8>, offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    let sizes = |sizes: &[i64]| tuple(&sizes.iter().copied().map(int).collect::<Vec<_>>());
    let arguments = [storage, int(offset), sizes(shape), sizes(strides), vec![0x89], ordered_dict()];
    reduce(&global("torch._utils", "_rebuild_tensor_v2"), &arguments)
}

/// Strides of a contiguous tensor.
pub(crate) fn strides(shape: &[i64]) -> Vec<i64> {
    (1..=shape.len()).map(|at| shape[at..].iter().product()).collect()
}

/// A tensor that fills its storage.
pub(crate) fn whole(tensor: &TestTensor, key: &str) -> Vec<u8> {
    let kind = match tensor.dtype {
        "F32" => "Float",
        "F16" => "Half",
        "BF16" => "BFloat16",
        "U8" => "Byte",
        other => panic!("no storage for {other}"),
    };
    let shape: Vec<i64> = tensor.shape.iter().map(|&side| side as i64).collect();
    view(storage(kind, key, shape.iter().product()), 0, &shape, &strides(&shape))
}

/// An archive with `data.pkl` and the storages `0`, `1`, …
pub(crate) fn archive(layout: Layout, pickle: &[u8], storages: &[&[u8]]) -> SparseFile {
    let mut zip = ZipWriter::new(layout);
    zip.entry("archive/data.pkl", pickle);
    zip.entry("archive/byteorder", b"little");
    for (key, bytes) in storages.iter().enumerate() {
        zip.entry(&format!("archive/data/{key}"), bytes);
    }
    zip.entry("archive/version", b"3\n");
    zip.finish()
}

/// A valid file with these tensors.
pub(crate) fn torch(layout: Layout, tensors: &[TestTensor]) -> Vec<u8> {
    let pairs: Vec<_> =
        tensors.iter().enumerate().map(|(at, tensor)| (&*tensor.name, whole(tensor, &at.to_string()))).collect();
    let storages: Vec<&[u8]> = tensors.iter().map(|tensor| &*tensor.bytes).collect();
    archive(layout, &pickle(&pairs), &storages).bytes()
}

pub(crate) fn bin(bytes: Vec<u8>) -> Rc<dyn Files> {
    Rc::new(straightedge::weights::MemoryFiles::default().with(FILE, bytes))
}

/// The tensors of a model among the fixtures.
pub(crate) fn tensors(model: &str) -> Vec<TestTensor> {
    let bytes = fs::read(super::fixture(model).join("model.safetensors")).expect(model);
    let file = safetensors::SafeTensors::deserialize(&bytes).expect(model);
    let tensor = |(name, view): (String, safetensors::tensor::TensorView<'_>)| TestTensor {
        name,
        dtype: "F32",
        shape: view.shape().to_vec(),
        bytes: view.data().to_vec(),
    };
    let mut tensors: Vec<TestTensor> = file.tensors().into_iter().map(tensor).collect();
    tensors.sort_by(|one, other| one.name.cmp(&other.name));
    tensors
}

/// A report about a model of the fixtures, from any source of its files.
pub(crate) fn measured(files: Rc<dyn Files>) -> Report {
    let text = fs::read(super::fixture("texts/encyclopedia.txt")).expect("a text");
    let mut job = Job::new("model", "text");
    (job.backend, job.protocol.rows, job.protocol.seq_len) = (BackendChoice::Cpu, 1280, 64);
    let (mut recorder, mut failure) = (Recorder::default(), None);
    block_on(async {
        let mut events = run::measure(job, files, Text::Plain(text));
        while let Some(event) = events.next().await {
            recorder.record(&event);
            if let Event::Failed(error) = event {
                failure = Some(error);
            }
        }
    });
    assert_eq!(failure, None);
    recorder.into_report().expect("a report")
}

/// What two reports about the same weights share, whatever the format of the files.
pub(crate) fn numbers(report: &Report) -> (Vec<BlockReport>, Option<String>, Option<String>) {
    let mut blocks = report.blocks.clone();
    // Times vary between runs.
    blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    assert!(!blocks.is_empty());
    (blocks, report.model.dtype.clone(), report.corpus.sha256.clone())
}
