//! The tokens that a tokenizer adds around a text by default.

use serde_json::Value;

/// Token ids before and after a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpecialTokens {
    pub(super) before: Vec<u32>,
    pub(super) after: Vec<u32>,
}

impl SpecialTokens {
    /// Those of the untrusted `post_processor` of a `tokenizer.json`; none for a kind that adds none or is not known.
    pub(super) fn of(processor: &Value) -> Self {
        match processor["type"].as_str() {
            Some("TemplateProcessing") => Self::of_template(processor),
            Some("BertProcessing" | "RobertaProcessing") => {
                let id = |name: &str| token_id(&processor[name][1]).into_iter().collect();
                Self { before: id("cls"), after: id("sep") }
            }
            Some("Sequence") => {
                let processors = processor["processors"].as_array().into_iter().flatten();
                processors.map(Self::of).fold(Self::default(), Self::around)
            }
            _ => Self::default(),
        }
    }

    /// `single` of a template: special tokens, and the text as a sequence.
    fn of_template(template: &Value) -> Self {
        let mut found = Self::default();
        let mut is_after = false;
        for part in template["single"].as_array().into_iter().flatten() {
            is_after |= !part["Sequence"].is_null();
            let ids = part["SpecialToken"]["id"].as_str().map(|name| &template["special_tokens"][name]["ids"]);
            let ids = ids.and_then(Value::as_array).into_iter().flatten().filter_map(token_id);
            if is_after { &mut found.after } else { &mut found.before }.extend(ids);
        }
        found
    }

    /// These tokens with those of a later step around them.
    fn around(self, outer: Self) -> Self {
        Self { before: [outer.before, self.before].concat(), after: [self.after, outer.after].concat() }
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
            let SpecialTokens { before, after } = SpecialTokens::of(&processor);
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
