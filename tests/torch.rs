//! PyTorch files as weights: the same bits as safetensors, and a sentence for every file that is damaged or holds more
//! than plain tensors.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;

use common::fixture;
use common::synthetic::{TestTensor, f32s, open, safetensors};
use common::torch::{
    FILE, Layout, ZipWriter, archive, bin, global, int, measured, numbers, pickle, reduce, storage, strides, tensors,
    text, torch, tuple, view, whole,
};
use futures::executor::block_on;
use straightedge::error::Error;
use straightedge::weights::{Files, FolderFiles, MemoryFiles, Weights};

/// An extra field may be as long as a descriptor.
const LAYOUTS: [Layout; 5] = [Layout::Torch, Layout::Bare, Layout::Extra(7), Layout::Extra(16), Layout::Extra(24)];

fn folder(name: &str) -> Rc<dyn Files> {
    Rc::new(FolderFiles::new(fixture(name)))
}

/// The file that PyTorch wrote, as a model's only weights.
fn written(name: &str) -> Vec<u8> {
    fs::read(fixture("torch").join(name)).expect(name)
}

/// Stored bytes of a tensor.
fn stored(weights: &Weights, name: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    block_on(weights.copy(name, &mut |piece| {
        bytes.extend(piece);
        Ok(())
    }))?;
    Ok(bytes)
}

#[test]
fn files_that_pytorch_wrote_hold_the_same_bits_as_safetensors() {
    let values = block_on(Weights::open_file(folder("torch"), "values.safetensors")).expect("safetensors");
    let names: Vec<&str> = values.names().collect();
    assert_eq!(names.len(), 16, "{names:?}");
    for (case, found) in [
        ("plain", open(bin(written("plain.bin")))),
        ("nested", open(bin(written("nested.bin")))),
        ("sharded", open(folder("torch/sharded"))),
    ] {
        let found = found.expect(case);
        assert!(found.names().eq(names.iter().copied()), "{case}");
        for name in &names {
            assert_eq!(found.shape(name), values.shape(name), "{case}: {name}");
            let strided = case != "sharded" && ["transposed", "column"].contains(name);
            match stored(&found, name) {
                Err(Error::TensorStrides { tensor, .. }) if strided => assert_eq!(tensor, *name),
                bytes => assert_eq!((bytes, strided), (stored(&values, name), false), "{case}: {name}"),
            }
        }
        for (name, shape) in [("matrix", &[6, 4][..]), ("rows", &[3, 4]), ("half", &[5, 2]), ("brain_row", &[3])] {
            let read = |weights: &Weights| block_on(weights.tensor(name, shape)).expect(name);
            assert_eq!(read(&found), read(&values), "{case}: {name}");
            assert_eq!(found.storage(name), values.storage(name), "{case}: {name}");
        }
        let wide = block_on(found.tensor("wide", &[3]));
        assert!(matches!(wide, Err(Error::TensorDtype { .. })), "{case}: {wide:?}");
    }
}

#[test]
fn safetensors_come_first_where_both_are_there() {
    let files = MemoryFiles::default()
        .with(FILE, torch(Layout::Torch, &[f32s("a", &[1], &[1.0])]))
        .with("model.safetensors", safetensors(&[f32s("a", &[1], &[2.0])]));
    let weights = open(Rc::new(files)).expect("weights");
    assert_eq!(block_on(weights.tensor("a", &[1])), Ok(vec![2.0]));
}

#[test]
fn a_model_measures_the_same_from_either_format_whole_or_in_shards() {
    let model = "tiny-gpt2";
    let whole = tensors(model);
    let other_files =
        ["config.json", "tokenizer.json"].map(|file| (file, fs::read(fixture(model).join(file)).expect(file)));
    let with = |weights: &[(&str, Vec<u8>)]| {
        let files = other_files.iter().chain(weights).cloned();
        measured(Rc::new(files.fold(MemoryFiles::default(), |files, (name, bytes)| files.with(name, bytes))))
    };
    let expected = with(&[("model.safetensors", safetensors(&whole))]);
    assert_eq!(expected.blocks.len(), 4);
    let (first, second) = whole.split_at(whole.len() / 2);
    let placed = [("one.bin", first), ("two.bin", second)]
        .into_iter()
        .flat_map(|(shard, tensors)| tensors.iter().map(move |tensor| (tensor.name.clone(), shard)));
    let index = serde_json::json!({"weight_map": placed.collect::<BTreeMap<_, _>>()});
    let shards = [
        ("pytorch_model.bin.index.json", index.to_string().into_bytes()),
        ("one.bin", torch(Layout::Torch, first)),
        ("two.bin", torch(Layout::Bare, second)),
    ];
    for (case, weights) in [("whole", &[(FILE, torch(Layout::Torch, &whole))][..]), ("in shards", &shards)] {
        assert_eq!(numbers(&with(weights)), numbers(&expected), "{case}");
    }
}

/// A small file with every kind of entry.
fn small() -> Vec<u8> {
    torch(Layout::Torch, &[f32s("a", &[2], &[1.0, 2.0]), f32s("b", &[1, 1], &[3.0])])
}

fn refused(bytes: Vec<u8>) -> String {
    match open(bin(bytes)).map(|_| "accepted") {
        Err(error @ (Error::MalformedTorch { .. } | Error::UnsupportedTorch { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn data_lies_where_the_local_headers_say_in_every_layout() {
    let tensors = [f32s("a", &[2, 2], &[1.0, 2.0, 3.0, 4.0]), f32s("e", &[0, 3], &[]), f32s("s", &[], &[5.0])];
    for layout in LAYOUTS {
        let weights = open(bin(torch(layout, &tensors))).expect("weights");
        assert_eq!(block_on(weights.tensor("a", &[2, 2])), Ok(vec![1.0, 2.0, 3.0, 4.0]), "{layout:?}");
        assert_eq!(block_on(weights.tensor("e", &[0, 3])), Ok(vec![]), "{layout:?}");
        assert_eq!(block_on(weights.tensor("s", &[])), Ok(vec![5.0]), "{layout:?}");
    }
}

#[test]
fn a_tensor_beyond_4_gib_is_read_from_its_place() {
    let many = 5i64 << 30;
    let beyond = f32s("beyond", &[2], &[7.0, 8.0]);
    let before = view(storage("Float", "0", many / 4), 0, &[many / 4], &[1]);
    let mut zip = ZipWriter::new(Layout::Torch);
    zip.entry("m/data.pkl", &pickle(&[("before", before.clone()), ("beyond", whole(&beyond, "1"))]));
    zip.hole("m/data/0", many as u64);
    zip.entry("m/data/1", &beyond.bytes);
    let weights = open(Rc::new(zip.finish())).expect("weights");
    assert_eq!((weights.bytes("before"), weights.total_bytes()), (many as u64, many as u64 + 8));
    assert!(weights.parts(&["beyond".into()])[0].1.start > 5 << 30);
    assert_eq!(block_on(weights.tensor("beyond", &[2])), Ok(vec![7.0, 8.0]));
}

#[test]
fn a_directory_beyond_the_tail_is_read_too() {
    let tensors: Vec<TestTensor> = (0..3000).map(|at| f32s(&format!("tensor.{at}"), &[1], &[at as f32])).collect();
    let bytes = torch(Layout::Torch, &tensors);
    let directory = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("a directory");
    assert!(bytes.len() - directory > 128 << 10);
    let weights = open(bin(bytes)).expect("weights");
    assert_eq!(block_on(weights.tensor("tensor.17", &[1])), Ok(vec![17.0]));
    assert_eq!(block_on(weights.tensor("tensor.2999", &[1])), Ok(vec![2999.0]));
}

#[test]
fn files_of_other_kinds_are_refused_with_what_to_do() {
    let compressed = |field: usize, value: u8| {
        let mut bytes = torch(Layout::Bare, &[f32s("a", &[1], &[1.0])]);
        let at = bytes.windows(4).position(|window| window == b"PK\x01\x02").expect("a directory");
        bytes[at + field] = value;
        bytes
    };
    let torchscript = archive(Layout::Torch, &[&b"\x80\x02c__torch__\nNet\n)\x81."[..]].concat(), &[]).bytes();
    let mut tar = vec![0; 600];
    tar[257..262].copy_from_slice(b"ustar");
    let mut none = ZipWriter::new(Layout::Torch);
    none.entry("archive/version", b"3\n");
    let mut big = ZipWriter::new(Layout::Torch);
    big.hole("archive/data.pkl", 17 << 20);
    let cases = [
        (written("legacy.bin"), "format of PyTorch before version 1.6"),
        (written("namespace.bin"), "argparse.Namespace"),
        (tar, "format of PyTorch before version 0.2"),
        (compressed(10, 8), "data.pkl is compressed"),
        (compressed(8, 1), "encrypted"),
        (torchscript, "__torch__.Net"),
        (none.finish().bytes(), "without data.pkl"),
        (big.finish().bytes(), "over the limit"),
    ];
    for (bytes, why) in cases {
        let said = refused(bytes);
        assert!(said.starts_with(FILE) && said.contains(why), "{why}: {said}");
        assert!(said.contains("convert it to safetensors"), "{why}: {said}");
    }
    let byte_order = {
        let mut zip = ZipWriter::new(Layout::Torch);
        zip.entry("archive/data.pkl", &pickle(&[]));
        zip.entry("archive/byteorder", b"big");
        zip.finish().bytes()
    };
    assert!(refused(byte_order).contains("byte order"));
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let whole = small();
    for length in 0..whole.len() {
        let said = refused(whole[..length].to_vec());
        assert!(said.contains("not an intact PyTorch file"), "{length} of {} bytes: {said}", whole.len());
    }
}

#[test]
fn lying_directories_are_refused() {
    let whole = small();
    let at = whole.windows(4).position(|window| window == b"PK\x01\x02").expect("a directory");
    let wide = whole.windows(4).position(|window| window == b"PK\x06\x06").expect("an end record");
    let locator = whole.windows(4).position(|window| window == b"PK\x06\x07").expect("a locator");
    let patched = |at: usize, bytes: &[u8]| {
        let mut lying = whole.clone();
        lying[at..at + bytes.len()].copy_from_slice(bytes);
        lying
    };
    let huge = [0xfe, 0xff, 0xff, 0x7f];
    let sizes = |size: [u8; 4]| patched(at + 20, &[size, size].concat());
    let cases = [
        ("a size beyond the file", "overlaps what follows", sizes(huge)),
        ("a size into the next entry", "overlaps", sizes([0, 2, 0, 0])),
        ("wide sizes without their field", "lacks its size", sizes([0xff; 4])),
        ("an offset beyond the file", "overlaps", patched(at + 42, &huge)),
        ("an offset into the next entry", "overlaps", patched(at + 42, &[200, 0, 0, 0])),
        ("a name beyond the directory", "cut off", patched(at + 28, &[0xff, 0xff])),
        ("another signature", "something else than entries", patched(at, b"PK\x03\x04")),
        ("another count", "its end record says 9", patched(wide + 32, &[9])),
        ("a directory beyond the file", "outside the file", patched(wide + 48, &[0xff; 8])),
        ("a directory of any size", "outside the file", patched(wide + 40, &[0xff; 8])),
        ("a locator beyond the file", "outside the file", patched(locator + 8, &[0xff; 8])),
        ("a locator to elsewhere", "points to something else", patched(locator + 8, &[0; 8])),
    ];
    for (case, why, bytes) in cases {
        let said = refused(bytes);
        assert!(said.starts_with(FILE) && said.contains(why), "{case}: {said}");
    }
    let mut twice = ZipWriter::new(Layout::Torch);
    twice.entry("archive/data.pkl", &pickle(&[]));
    twice.entry("archive/data.pkl", &pickle(&[]));
    assert!(refused(twice.finish().bytes()).contains("two entries"));
    let mut many = ZipWriter::new(Layout::Torch);
    many.entry("one/data.pkl", &pickle(&[]));
    many.entry("two/data.pkl", &pickle(&[]));
    assert!(refused(many.finish().bytes()).contains("more than one data.pkl"));
}

#[test]
fn lying_descriptions_are_refused() {
    let four = || storage("Float", "0", 4);
    let a = |value: Vec<u8>| pickle(&[("a", value)]);
    let rebuild = |arguments: &[Vec<u8>]| a(reduce(&global("torch._utils", "_rebuild_tensor_v2"), arguments));
    let ranks = vec![1; 20];
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("beyond its storage", "exceeds the 4 elements", a(view(four(), 0, &[5], &[1]))),
        ("offset beyond its storage", "exceeds the 4", a(view(four(), 3, &[2], &[1]))),
        ("strides beyond its storage", "exceeds the 4", a(view(four(), 0, &[2, 2], &[3, 1]))),
        ("negative offset", "the size -1", a(view(four(), -1, &[1], &[1]))),
        ("negative size", "the size -2", a(view(four(), 0, &[-2], &[1]))),
        ("negative stride", "the size -1", a(view(four(), 3, &[2], &[-1]))),
        ("size that overflows", "exceeds the 4", a(view(four(), 0, &[i64::MAX, i64::MAX, 4], &[0, 0, 0]))),
        ("stride that overflows", "exceeds the 4", a(view(four(), 0, &[3, 3], &[i64::MAX, i64::MAX]))),
        ("many dimensions", "20 dimensions", a(view(four(), 0, &ranks, &ranks))),
        ("fewer strides than sizes", "2 dimensions with 1 strides", a(view(four(), 0, &[2, 2], &[1]))),
        ("storage larger than its bytes", "storage 0 has 16 bytes", a(view(storage("Float", "0", 5), 0, &[2], &[1]))),
        ("storage of another format", "storage 0 has 16 bytes", a(view(storage("Half", "0", 4), 0, &[2], &[1]))),
        (
            "storage of unlimited size",
            "storage 0 has 16 bytes",
            a(view(storage("Float", "0", i64::MAX), 0, &[2], &[1])),
        ),
        (
            "same storage, larger",
            "storage 0 has 16 bytes",
            pickle(&[("a", view(four(), 0, &[4], &[1])), ("b", view(storage("Float", "0", 400), 300, &[4], &[1]))]),
        ),
        ("missing storage", "it lacks archive/data/7", a(view(storage("Float", "7", 4), 0, &[2], &[1]))),
        (
            "storage elsewhere",
            "it lacks archive/data/../version",
            a(view(storage("Float", "../version", 4), 0, &[2], &[1])),
        ),
        ("function of its own", "os.system", a(reduce(&global("os", "system"), &[text("true")]))),
        ("function of a kind", "builtins.eval", a(reduce(&global("builtins", "eval"), &[text("1")]))),
        ("unknown storage", "torch.QuantizedStorage", a(view(storage("Quantized", "0", 4), 0, &[2], &[1]))),
        ("too few arguments", "something else than storage", rebuild(&[four(), int(0)])),
        (
            "no storage",
            "something else than storage",
            rebuild(&[int(0), int(0), tuple(&[]), tuple(&[]), int(0), int(0)]),
        ),
        ("no tensors", "no tensors by name", pickle(&[("a", int(1))])),
        ("no dictionary", "no dictionary of tensors", [&[0x80, 2][..], &int(1), b"."].concat()),
        ("nothing", "more values than it has", b".".to_vec()),
        ("no end", "cut off", b"\x80\x02".to_vec()),
        ("unknown opcode", "opcode 0xff", b"\x80\x02\xff.".to_vec()),
        ("missing memo", "missing value 5", b"\x80\x02h\x05.".to_vec()),
        ("no mark", "more values", b"\x80\x02t.".to_vec()),
        ("below a mark", "more values", b"\x80\x02N(\x85.".to_vec()),
        ("below a mark by a tuple", "more values", b"\x80\x02NN(\x86.".to_vec()),
        ("key without a value", "key without a value", b"\x80\x02}(Nu.".to_vec()),
        ("items of no dictionary", "no dictionary", b"\x80\x02N(NNu.".to_vec()),
        ("text of 4 GiB", "text of 4294967295 bytes", b"\x80\x02X\xff\xff\xff\xffa.".to_vec()),
        ("long integer", "integer of 255 bytes", [&[0x80, 2, 0x8a, 255][..], &[1; 255], b"."].concat()),
        ("name without an end", "name without an end", [&b"\x80\x02c"[..], &[b'a'; 9000]].concat()),
        ("name with control codes", "a?[31m.b", b"\x80\x02ca\x1b[31m\nb\n.".to_vec()),
        ("deep nesting", "no dictionary", [&b"\x80\x02)"[..], &vec![0x85; 1 << 20], b"."].concat()),
        ("itself inside", "no tensors by name", b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.".to_vec()),
        ("endless steps", "more than 2097152 steps", [&b"\x80\x02"[..], &vec![b')'; 3 << 20], b"."].concat()),
    ];
    for (case, why, description) in cases {
        let data: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let said = refused(archive(Layout::Torch, &description, &[&data]).bytes());
        assert!(said.starts_with(FILE) && said.contains(why) && said.len() < 400, "{case}: {said}");
    }
}

#[test]
fn one_value_in_many_places_takes_no_more_room() {
    // Each tuple holds the one before it twice: written out, 2⁴⁰ values.
    let doubled: Vec<u8> = (1..40u8).flat_map(|at| [b'h', at - 1, b'h', at - 1, 0x86, b'q', at]).collect();
    let bomb = [&b"\x80\x02)q\x00"[..], &doubled, b"."].concat();
    assert!(refused(archive(Layout::Torch, &bomb, &[]).bytes()).contains("no dictionary of tensors"));
    // The same name for a million tensors is one tensor.
    let named = text(&"n".repeat(4000));
    let tensor = view(storage("Float", "0", 1), 0, &[1], &[1]);
    let set = [&b"h\x00h\x01s"[..]].concat().repeat(300_000);
    let many = [&b"\x80\x02"[..], &named, b"q\x00", &tensor, b"q\x01\x86", b"}", &set, b"."].concat();
    let weights = open(bin(archive(Layout::Torch, &many, &[&1f32.to_le_bytes()]).bytes())).expect("weights");
    assert_eq!(weights.names().count(), 1);
}

#[test]
fn the_strides_of_a_contiguous_tensor_are_recognised() {
    let data: Vec<u8> = (0..24u8).flat_map(|at| f32::from(at).to_le_bytes()).collect();
    let all = || storage("Float", "0", 24);
    let cases: [(&[i64], Vec<i64>, bool); 6] = [
        (&[2, 3, 4], strides(&[2, 3, 4]), true),
        (&[1, 24], vec![7, 1], true),
        (&[24, 1], vec![1, 9], true),
        (&[4, 6], vec![1, 4], false),
        (&[4, 3], vec![6, 1], false),
        (&[3, 4], vec![0, 1], false),
    ];
    for (shape, strides, is_contiguous) in cases {
        let description = pickle(&[("a", view(all(), 0, shape, &strides))]);
        let weights = open(bin(archive(Layout::Torch, &description, &[&data]).bytes())).expect("weights");
        let sides: Vec<usize> = shape.iter().map(|&side| side as usize).collect();
        match block_on(weights.tensor("a", &sides)) {
            Ok(values) => assert!(is_contiguous && values.len() == 24, "{shape:?} {strides:?}"),
            Err(error) => {
                assert!(!is_contiguous && matches!(error, Error::TensorStrides { .. }), "{shape:?}: {error}");
            }
        }
    }
}
