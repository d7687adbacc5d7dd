//! Where a key moves to: among tabs, blocks and tokens.

/// The tab a key moves to within `all`, which go round.
pub fn next_tab<T: Copy + PartialEq>(key: &str, from: T, all: &[T]) -> Option<T> {
    let at = all.iter().position(|tab| *tab == from)?;
    let to = match key {
        "ArrowRight" => (at + 1) % all.len(),
        "ArrowLeft" => (at + all.len() - 1) % all.len(),
        "Home" => 0,
        "End" => all.len() - 1,
        _ => return None,
    };
    Some(all[to])
}

/// The block a key moves to, or that none is highlighted; `None` for keys without effect.
pub fn next_block(key: &str, focus: Option<usize>, blocks: usize) -> Option<Option<usize>> {
    let last = blocks.checked_sub(1)?;
    Some(match key {
        "ArrowRight" | "ArrowUp" => Some(focus.map_or(0, |block| (block + 1).min(last))),
        "ArrowLeft" | "ArrowDown" => Some(focus.map_or(last, |block| block.saturating_sub(1))),
        "Home" => Some(0),
        "End" => Some(last),
        "Escape" => None,
        _ => return None,
    })
}

/// The token a key moves to.
pub fn next_token(key: &str, from: Option<usize>, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    match key {
        "ArrowRight" => Some(from.map_or(0, |at| (at + 1).min(last))),
        "ArrowLeft" => Some(from.map_or(0, |at| at.saturating_sub(1))),
        "Home" => Some(0),
        "End" => Some(last),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::Group;
    use super::super::views::View;
    use super::*;

    #[test]
    fn keys_go_round_the_tabs_of_a_level() {
        let explore = Group::Explore.views();
        assert_eq!(next_tab("ArrowRight", View::Profile, explore), Some(View::Block));
        assert_eq!(next_tab("ArrowLeft", View::Profile, explore), Some(View::Continuation));
        assert_eq!(next_tab("ArrowRight", View::Block, &explore[..2]), Some(View::Profile));
        assert_eq!(next_tab("End", Group::Swap, &Group::ALL), Some(Group::Compare));
        assert_eq!(next_tab("Enter", Group::Swap, &Group::ALL), None);
        assert_eq!(next_tab("Home", View::Losses, explore), None, "a view of another group");
    }

    #[test]
    fn keys_walk_along_the_blocks_and_stop_at_the_ends() {
        assert_eq!(next_block("ArrowRight", None, 3), Some(Some(0)));
        assert_eq!(next_block("ArrowRight", Some(2), 3), Some(Some(2)));
        assert_eq!(next_block("ArrowLeft", None, 3), Some(Some(2)));
        assert_eq!(next_block("ArrowLeft", Some(0), 3), Some(Some(0)));
        assert_eq!(next_block("End", Some(0), 3), Some(Some(2)));
        assert_eq!(next_block("Escape", Some(0), 3), Some(None));
        assert_eq!(next_block("Tab", Some(0), 3), None);
        assert_eq!(next_block("ArrowRight", None, 0), None);
    }

    #[test]
    fn keys_go_from_token_to_token_and_stay_within_the_text() {
        assert_eq!(next_token("ArrowRight", None, 3), Some(0));
        assert_eq!(next_token("ArrowRight", Some(2), 3), Some(2));
        assert_eq!(next_token("ArrowLeft", Some(0), 3), Some(0));
        assert_eq!((next_token("End", Some(0), 3), next_token("Home", Some(2), 3)), (Some(2), Some(0)));
        assert_eq!((next_token("Enter", Some(1), 3), next_token("End", None, 0)), (None, None));
    }
}
