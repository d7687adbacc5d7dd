//! The groups of views: four subjects, of which one is open at a time.

use crate::state::views::View;
use crate::text::groups::t;

/// A subject with its views, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// What was measured.
    Explore,
    /// What the model loses when blocks are replaced.
    Swap,
    /// What explains the profile.
    Why,
    /// Several measurements together.
    Compare,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 4] = [Self::Explore, Self::Swap, Self::Why, Self::Compare];

    /// Stable short name.
    pub fn id(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Swap => "swap",
            Self::Why => "why",
            Self::Compare => "compare",
        }
    }

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore => t().explore,
            Self::Swap => t().swap,
            Self::Why => t().why,
            Self::Compare => View::Compare.texts()[0],
        }
    }

    /// Its views.
    pub fn views(self) -> &'static [View] {
        match self {
            Self::Explore => &[View::Profile, View::Block, View::Continuation],
            Self::Swap => &[View::Losses, View::Ranks, View::Healing],
            Self::Why => &[View::Regimes, View::Probes, View::Baseline, View::Controls, View::Layers],
            Self::Compare => &[View::Compare],
        }
    }

    /// The group of a view.
    pub fn of(view: View) -> Self {
        Self::ALL.into_iter().find(|group| group.views().contains(&view)).unwrap_or(Self::Explore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_is_in_one_group_and_the_groups_follow_the_order_of_views() {
        let all: Vec<View> = Group::ALL.iter().flat_map(|group| group.views()).copied().collect();
        assert_eq!(all, View::ALL);
        for group in Group::ALL {
            assert!(
                !group.name().is_empty() && group.views().iter().all(|view| Group::of(*view) == group),
                "{group:?}"
            );
        }
    }
}
