//! `heal-together`: the first half of an order with refitted maps, networks or layers, all of whose maps are fine-tuned
//! together, towards the original model's streams or the next tokens (docs/measures.md, section 4).

use super::heal::{HealingContext, OBJECTIVES};
use super::pass::Pass;
use crate::backend::Backend;
use crate::error::Result;
use crate::event::Event;
use crate::platform::random::Random;
use crate::replacement::replaced::Replaced;
use crate::replacement::swap::Replacement;
use crate::report::{HealedTogether, Warning, WarningKind, finite};
use crate::training::heal::{CpuParts, Healing, Objective};

/// Names this use of the job's seed.
const STREAM: u64 = 0x746f_6765_7468;

impl HealingContext<'_> {
    /// Heals the replaced `parts` of the order `name`.
    pub(super) async fn heal_together<B: Backend>(
        &self,
        pass: &Pass<'_, B>,
        name: &str,
        parts: &CpuParts,
    ) -> Result<()> {
        let train = |objective| Healing::together(self.backend, self.model, parts, objective);
        let unhealed = train(Objective::Streams)?;
        let text = self.text(unhealed.first(), &self.training).await?;
        let heldout = self.text(unhealed.first(), &self.heldout).await?;
        let schedule = text.schedule(self.steps, Random::stream(self.seed, &[STREAM]));
        let before = self.loss(&unhealed).await?;
        let mut healed = HealedTogether {
            blocks: parts.keys().copied().collect(),
            steps: self.steps,
            delta_ppl_before: self.base.change(Some(&before))?,
            stream_error_before: finite(unhealed.stream_error(&heldout).await?),
            ..HealedTogether::default()
        };
        healed.add_interval(HealedTogether::BEFORE, self.base.interval(Some(&before)));
        for (learned, objective) in OBJECTIVES {
            let mut healing = train(objective)?;
            for windows in &schedule {
                self.step(&mut healing, &text, windows).await?;
            }
            let loss = self.loss(&healing).await?;
            let delta = self.base.change(Some(&loss))?;
            if delta.is_none() {
                let replacement = format!("{name} towards {learned}");
                pass.out.warn(Warning::new(&WarningKind::HealDiverged { replacement }));
            }
            healed.delta_ppl.insert(learned.into(), delta);
            healed.add_interval(learned, self.base.interval(Some(&loss)));
            healed.stream_error.insert(learned.into(), finite(healing.stream_error(&heldout).await?));
            pass.out.emit(Event::HealedTogether { name: name.into(), healed: healed.clone() }).await;
            if pass.job.dump_maps {
                self.dump(pass, learned, &healing.parts()?).await?;
            }
        }
        Ok(())
    }

    /// Sends the maps of networks that have `learned` something together. Those of layers belong to no network.
    async fn dump<B: Backend>(&self, pass: &Pass<'_, B>, learned: &str, parts: &CpuParts) -> Result<()> {
        for (block, part) in parts {
            if let Replaced::Network(Replacement::Affine(map)) = &**part
                && let Some(map) = map.downloaded(self.backend).await?
            {
                pass.out.send(Event::Map(Box::new(map.dump(*block, Some(learned)))));
            }
        }
        Ok(())
    }
}
