//! The tokens that a tokenizer adds around a text by default.

use serde_json::Value;

/// The most tokens on each side of a text; known tokenizers add up to four.
const MOST: usize = 64;

type Found<T> = Result<T, String>;

/// Token ids before and after a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpecialTokens {
    pub(super) before: Vec<u32>,
    pub(super) after: Vec<u32>,
}

impl SpecialTokens {
    /// Those of the untrusted `post_processor` of a `tokenizer.json`; none for a kind that adds none or is not known.
    pub(super) fn of(processor: &Value) -> Found<Self> {
        let mut found = Self::default();
        found.add(processor)?;
        Ok(found)
    }

    /// Puts those of a later step around these.
    fn add(&mut self, processor: &Value) -> Found<()> {
        match processor["type"].as_str() {
            Some("TemplateProcessing") => self.add_template(processor),
            Some("BertProcessing" | "RobertaProcessing") => {
                let id = |name: &str| token_id(&processor[name][1]);
                self.surround(id("cls").into_iter().collect(), id("sep").into_iter().collect())
            }
            Some("Sequence") => {
                let mut steps = processor["processors"].as_array().into_iter().flatten();
                steps.try_for_each(|step| self.add(step))
            }
            _ => Ok(()),
        }
    }

    /// `single` of a template: special tokens, and the text as a sequence.
    fn add_template(&mut self, template: &Value) -> Found<()> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut is_after = false;
        for part in template["single"].as_array().into_iter().flatten() {
            is_after |= !part["Sequence"].is_null();
            let ids = part["SpecialToken"]["id"].as_str().map(|name| &template["special_tokens"][name]["ids"]);
            let ids = ids.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let side = if is_after { &mut after } else { &mut before };
            fits(side.len() + ids.len())?;
            side.extend(ids.iter().filter_map(token_id));
        }
        self.surround(before, after)
    }

    fn surround(&mut self, mut before: Vec<u32>, after: Vec<u32>) -> Found<()> {
        fits(self.before.len() + before.len())?;
        fits(self.after.len() + after.len())?;
        before.append(&mut self.before);
        self.before = before;
        self.after.extend(after);
        Ok(())
    }
}

fn fits(count: usize) -> Found<()> {
    if count > MOST {
        Err(format!("post_processor adds more than {MOST} tokens on one side of a text"))
    } else {
        Ok(())
    }
}

fn token_id(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_step_says_what_it_adds() {
        let of = |processor: Value| {
            let SpecialTokens { before, after } = SpecialTokens::of(&processor).expect("few tokens");
            (before, after)
        };
        let token = |name: &str| json!({"SpecialToken": {"id": name, "type_id": 0}});
        let text = json!({"Sequence": {"id": "A", "type_id": 0}});
        let template = json!({
            "type": "TemplateProcessing", "single": [token("<s>"), text, token("</s>")],
            "special_tokens": {"<s>": {"ids": [1]}, "</s>": {"ids": [2, 3]}},
        });
        assert_eq!(of(template.clone()), (vec![1], vec![2, 3]));
        let roberta = json!({"type": "RobertaProcessing", "sep": ["</s>", 8], "cls": ["<s>", 7]});
        assert_eq!(of(roberta.clone()), (vec![7], vec![8]));
        let steps = json!({"type": "Sequence", "processors": [{"type": "ByteLevel"}, template, roberta]});
        assert_eq!(of(steps), (vec![7, 1], vec![2, 3, 8]));
        let hostile = json!({"type": "TemplateProcessing", "single": [token("x"), 7, null], "special_tokens": 3});
        assert_eq!(of(hostile), (vec![], vec![]));
        assert_eq!(of(Value::Null), (vec![], vec![]));
    }
}
