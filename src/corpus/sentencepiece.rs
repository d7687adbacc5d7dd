//! Reads SentencePiece's `tokenizer.model` and gives the `tokenizer.json` that stands for it.
//!
//! The file is a protocol buffer, `sentencepiece_model.proto`. Merges are made from the pieces as the converter of
//! `transformers` makes them; blanks are treated as the file says.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Pieces of a vocabulary; Gemma has 262 144.
const MOST_PIECES: usize = 1 << 20;
/// Sum of the squared lengths of all pieces, to which the search for merges is proportional; Gemma's is below 2²⁶.
const MOST_WORK: usize = 1 << 30;
/// SentencePiece's mark for a space.
const MARK: &str = "▁";
/// Blanks that are dropped where a file says so: those at both ends, and all but one of a run.
pub(super) const EDGES: &str = "^ +| +$";
pub(super) const RUNS: &str = " {2,}";

type ReadResult<T> = Result<T, &'static str>;

/// The content of a `tokenizer.json` for a `tokenizer.model`.
pub(super) fn tree(file: &[u8]) -> ReadResult<Value> {
    let model = PieceModel::read(file)?;
    let unknown =
        model.pieces.iter().position(|piece| piece.kind == PieceKind::Unknown).ok_or("it has no unknown piece")?;
    let (inner, splits) = match model.algorithm {
        1 => (model.unigram(unknown), model.keeps_words()),
        2 => (model.byte_pairs(unknown)?, false),
        _ => return Err("it is of another type than BPE and Unigram"),
    };
    let mut steps = Vec::new();
    if !model.charsmap.is_empty() {
        steps.push(json!({"type": "Precompiled", "precompiled_charsmap": STANDARD.encode(model.charsmap)}));
    }
    if model.drops_blanks {
        steps.push(json!({"type": "Replace", "pattern": {"Regex": EDGES}, "content": ""}));
        steps.push(json!({"type": "Replace", "pattern": {"Regex": RUNS}, "content": " "}));
    }
    if model.adds_prefix {
        steps.push(json!({"type": "Prepend", "prepend": MARK}));
    }
    if !splits {
        steps.push(json!({"type": "Replace", "pattern": {"String": " "}, "content": MARK}));
    }
    let words = json!({"type": "Metaspace", "replacement": MARK, "prepend_scheme": "never", "split": true});
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": MARK}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if model.adds_prefix {
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    Ok(json!({
        "version": "1.0",
        "added_tokens": model.added(),
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": if splits { words } else { Value::Null },
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": inner,
    }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte,
}

struct ScoredPiece {
    text: String,
    score: f32,
    kind: PieceKind,
}

struct PieceModel<'a> {
    pieces: Vec<ScoredPiece>,
    /// 1 is Unigram, 2 is BPE.
    algorithm: u64,
    byte_fallback: bool,
    charsmap: &'a [u8],
    adds_prefix: bool,
    drops_blanks: bool,
}

impl<'a> PieceModel<'a> {
    fn read(file: &'a [u8]) -> ReadResult<Self> {
        let mut model = Self {
            pieces: Vec::new(),
            algorithm: 1,
            byte_fallback: false,
            charsmap: &[],
            adds_prefix: true,
            drops_blanks: true,
        };
        for field in WireFields(file) {
            match field? {
                (1, Wire::Bytes(piece)) => model.pieces.push(ScoredPiece::read(piece)?),
                (2, Wire::Bytes(trainer)) => model.read_trainer(trainer)?,
                (3, Wire::Bytes(normalizer)) => model.read_normalizer(normalizer)?,
                _ => {}
            }
            if model.pieces.len() > MOST_PIECES {
                return Err("it has more than a million pieces");
            }
        }
        Ok(model)
    }

    fn read_trainer(&mut self, trainer: &[u8]) -> ReadResult<()> {
        for field in WireFields(trainer) {
            match field? {
                (3, Wire::Number(algorithm)) => self.algorithm = algorithm,
                (24, Wire::Number(1)) => return Err("it puts blanks at the end of words, which is not supported"),
                (35, Wire::Number(fallback)) => self.byte_fallback = fallback != 0,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_normalizer(&mut self, normalizer: &'a [u8]) -> ReadResult<()> {
        for field in WireFields(normalizer) {
            match field? {
                (2, Wire::Bytes(table)) => self.charsmap = table,
                (3, Wire::Number(prefix)) => self.adds_prefix = prefix != 0,
                (4, Wire::Number(drops)) => self.drops_blanks = drops != 0,
                (5, Wire::Number(0)) => return Err("it does not mark blanks, which is not supported"),
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether no piece goes on after a blank within it, so that words are independent.
    fn keeps_words(&self) -> bool {
        self.pieces.iter().all(|piece| !piece.text.chars().skip(1).any(|letter| letter == '▁'))
    }

    fn unigram(&self, unknown: usize) -> Value {
        let vocab: Vec<_> = self.pieces.iter().map(|piece| json!([piece.text, f64::from(piece.score)])).collect();
        json!({"type": "Unigram", "unk_id": unknown, "vocab": vocab, "byte_fallback": self.byte_fallback})
    }

    fn byte_pairs(&self, unknown: usize) -> ReadResult<Value> {
        let vocab: serde_json::Map<_, _> =
            self.pieces.iter().enumerate().map(|(id, piece)| (piece.text.clone(), json!(id))).collect();
        if vocab.len() != self.pieces.len() {
            return Err("it has a piece twice");
        }
        Ok(json!({
            "type": "BPE",
            "unk_token": self.pieces[unknown].text,
            "fuse_unk": true,
            "byte_fallback": self.byte_fallback,
            "vocab": vocab,
            "merges": self.merges()?,
        }))
    }

    /// The pairs of pieces that together are a piece: those of the best score first, and longer ones first among equals.
    fn merges(&self) -> ReadResult<Vec<[&str; 2]>> {
        if self.pieces.iter().map(|piece| piece.text.len().pow(2)).sum::<usize>() > MOST_WORK {
            return Err("its pieces are too long");
        }
        let merged = |piece: &&ScoredPiece| matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined);
        let ids: HashMap<&str, usize> = self
            .pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| merged(piece))
            .map(|(id, piece)| (&*piece.text, id))
            .collect();
        let mut found = Vec::new();
        for piece in self.pieces.iter().filter(merged) {
            let splits = piece.text.char_indices().skip(1).map(|(at, _)| piece.text.split_at(at));
            let known = splits.filter_map(|(left, right)| Some((ids.get(left)?, ids.get(right)?, left, right)));
            let mut known: Vec<_> = known.collect();
            known.sort_unstable_by_key(|(left, right, ..)| (*left, *right));
            found.extend(known.into_iter().map(|(_, _, left, right)| (piece.score, left, right)));
        }
        let lens = |left: &str, right: &str| (left.chars().count(), right.chars().count());
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| lens(b.1, b.2).cmp(&lens(a.1, a.2))));
        Ok(found.into_iter().map(|(_, left, right)| [left, right]).collect())
    }

    /// The pieces that are found in a text before anything else.
    fn added(&self) -> Vec<Value> {
        let pieces = self.pieces.iter().enumerate();
        let added = pieces.filter(|(_, piece)| {
            matches!(piece.kind, PieceKind::Unknown | PieceKind::Control | PieceKind::UserDefined)
        });
        let token = |(id, piece): (usize, &ScoredPiece)| {
            let is_special = piece.kind != PieceKind::UserDefined;
            json!({"id": id, "content": piece.text, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": is_special})
        };
        added.map(token).collect()
    }
}

impl ScoredPiece {
    fn read(bytes: &[u8]) -> ReadResult<Self> {
        let mut piece = Self { text: String::new(), score: 0.0, kind: PieceKind::Normal };
        for field in WireFields(bytes) {
            match field? {
                (1, Wire::Bytes(text)) => {
                    piece.text = String::from_utf8(text.to_vec()).map_err(|_| "one of its pieces is not UTF-8")?;
                }
                (2, Wire::Four(bits)) => piece.score = f32::from_le_bytes(bits),
                (3, Wire::Number(kind)) => {
                    piece.kind = match kind {
                        1 => PieceKind::Normal,
                        2 => PieceKind::Unknown,
                        3 => PieceKind::Control,
                        4 => PieceKind::UserDefined,
                        5 => PieceKind::Unused,
                        6 => PieceKind::Byte,
                        _ => return Err("one of its pieces is of an unknown type"),
                    }
                }
                _ => {}
            }
        }
        if !piece.score.is_finite() { Err("the score of a piece is not finite") } else { Ok(piece) }
    }
}

/// The fields of a protocol buffer's message.
struct WireFields<'a>(&'a [u8]);

/// The content of a field.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Eight,
}

const CUT: &str = "it is damaged or cut short";

impl<'a> WireFields<'a> {
    fn number(&mut self) -> ReadResult<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(CUT)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(CUT)
    }

    fn take(&mut self, len: u64) -> ReadResult<&'a [u8]> {
        let (bytes, rest) = usize::try_from(len).ok().and_then(|len| self.0.split_at_checked(len)).ok_or(CUT)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn field(&mut self) -> ReadResult<(u64, Wire<'a>)> {
        let tag = self.number()?;
        let content = match tag & 7 {
            0 => Wire::Number(self.number()?),
            1 => self.take(8).map(|_| Wire::Eight)?,
            2 => {
                let len = self.number()?;
                Wire::Bytes(self.take(len)?)
            }
            5 => Wire::Four(self.take(4)?.try_into().map_err(|_| CUT)?),
            _ => return Err(CUT),
        };
        Ok((tag >> 3, content))
    }
}

impl<'a> Iterator for WireFields<'a> {
    type Item = ReadResult<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = (!self.0.is_empty()).then(|| self.field());
        if matches!(field, Some(Err(_))) {
            self.0 = &[];
        }
        field
    }
}
