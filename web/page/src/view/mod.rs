//! What is seen: each view reads signals of the [`crate::session::Session`] and calls its actions.
//!
//! `board.rs` is the result, from which the views are found; `chart.rs` and `figure.rs` draw for all of them, and
//! `typeset.rs` sets texts.
//!
//! Browser tests find their way by `data-testid`. These names are kept:
//!
//! | name | what |
//! |---|---|
//! | `model-select` | choice of the model; option values are bundled names, `:hub:ID`, `:hub`, `:own` and `:rows` |
//! | `model-folder`, `model-files`, `rows-file` | file inputs for the user's own model, and for captured rows |
//! | `hub-id`, `hub-look` | `ID` or `ID@REVISION`, and the button that looks it up |
//! | `preflight` | what is known of a model on the hub; `data-state` is `unknown`, `looking`, `known`, `refused` or `failed` |
//! | `downloads` | the fold with `mirror`, `shelf-sum`, the list `shelf` and `shelf-clear` |
//! | `model-note` | what the chosen model is, or which files were taken |
//! | `text-select` | choice of the text; option values are bundled names, made texts, `:hub:NAME`, `:pasted` and `:file` |
//! | `extent` | how far the text goes towards the rows asked for |
//! | `text-input` | where a text is pasted |
//! | `text-file` | file input for a text |
//! | `protocol` | the fold with `rows`, `seq-len`, `folds`, `skip-positions`, `gram` and `backend` |
//! | `run`, `cancel` | the two buttons; one of them is there at a time |
//! | `device` | what measurements run on; `data-state` is `probing`, `gpu`, `software`, `cpu` or `broken` |
//! | `status` | where the measurement stands; `data-phase` is `idle`, `recorded`, `running`, `finished`, `cancelled` or `failed`, `data-run` is its number, `data-gpu-bytes` and `data-wasm-bytes` what the engine held when order or look `data-ended` was over |
//! | `about-result` | whose numbers are shown: model, text, day and device of the result itself |
//! | `progress` | amount, rate and time left, while it runs |
//! | `error` | what went wrong, a sentence each: what of a link was refused, and the one failure |
//! | `chart` | the chart, focusable; `readout` is the line with the exact values of the block singled out |
//! | `table` | the table; `row-N` is the row of block N; a cell's `data-column` is the report's field name |
//! | `warnings` | the list of warnings, a fold that is open while they are few |
//! | `download`, `trace` | download the report, and what ran when |
//! | `unfinished`, `resume`, `forget` | a measurement that was ended and can go on, and what becomes of it |
//! | `known`, `known-recorded`, `known-ID` | what is known before anything is measured: the recording, published figures |
//! | `measure-here` | measures what is shown as known, and lays it over |
//! | `replay`, `differences` | measures again what an opened report names, and what differs; `data-most` is the largest difference |
//! | `svg-AT`, `png-AT`, `csv-AT`, `json-AT` | save a chart: `AT` is `profile` or the number of the figure |
//! | `class`, `frame-PART`, `link-embed`, `link`, `link-copy` | the fold that makes links, what they hide or lock, and the link |
//! | `part-PART` | a part that a link can hide or lock; `embedded` and `link-back` are all there is where it is embedded |
//! | `measures-MEASURE` | what is measured beside the fit, in the fold `protocol` |
//! | `drop` | shown while files hover over the page |
//! | `tab-VIEW`, `panel` | the tabs (`profile`, `losses` …) and what is open |
//! | `chart-N`, `readout-N`, `facts-N`, `numbers-N` | the N-th figure of a view, its line of exact values, what follows, and its table, folded |
//! | `measure-MEASURE`, `cost-MEASURE`, `scope-MEASURE` | adds a measure to the report, what it takes, and of which blocks |
//! | `refused-MEASURE` | why there is no such button |
//! | `block-select` | the block that a view of one block shows |
//! | `strip`, `detail`, `block-title`, `formulas`, `block-numbers` | the blocks as bars, and all about the one shown; a number's `data-field` is the report's field name |
//! | `block-none`, `block-missing`, `block-older` | sentences on what is not there, and what to order |
//! | `preset-NAME`, `quantity-NUMBER` | the comparisons at hand, and the charts that they can have |
//! | `runs` | what is compared; in each item `show`, `measure` and `remove` |
//! | `front`, `play` | the slider that puts one of them in front, and the button that goes through them |
//! | `add` | choice of what else to compare; option values are kinds and names |
//! | `atlas`, `atlas-SLUG` | models measured by this build; in each `atlas-add` and `atlas-open` |
//! | `lesson-open`, `lesson`, `lesson-leave` | the way into the lesson, the lesson, and out of it |
//! | `step-N`, `lesson-next`, `lesson-back`, `step-title-N` | steps in the list (`data-done`), onwards and back, the open step’s heading |
//! | `do-N`, `done-N` | does what step N asks for, and says that it is done |
//! | `activation-NAME`, `handle-NAME`, `line-best`, `line-own`, `reading-N` | examples of the first steps; `reading-N` tells their numbers |
//! | `many-inputs`, `many-rows-N`, `trap-NAME`, `trap-slider`, `trap-switch`, `trap-reading` | examples of steps 3 and 4 |
//! | `answer-NAME`, `verdict-NAME` | an exercise’s answer, and whether it is right |
//! | `sides-prompt`, `sides-block-N`, `sides-best`, `sides-all`, `sides-none` | what is continued, and the blocks made linear |
//! | `sides-tokens`, `sides-sampling`, `sides-temperature`, `sides-seed` | how far, and the fold that says how |
//! | `sides-go`, `sides-stop`, `sides-status`, `sides-error` | the buttons, and where it stands; `data-phase` and the number `data-run` as of `status` |
//! | `original-N`, `linear-N`, `sides-detail`, `sides-long` | the N-th token of either text, its distributions, and that no link carries the prompt |
//! | `metric`, `overlay-select`, `report-file`, `agreement`, `overlay-note` | what the profile shows, what is laid over it, and how well they agree |

mod atlas;
mod board;
mod chart;
mod class;
mod compare;
mod controls;
mod detail;
mod differences;
mod drop;
mod exports;
mod figure;
mod head;
mod hub;
mod known;
mod lesson;
mod model;
mod notices;
mod overlay;
mod panel;
mod protocol;
mod sides;
mod status;
mod stepper;
mod table;
mod tabs;
mod text;
mod typeset;

pub(crate) use board::Board;
pub(crate) use class::{ForClass, Framed};
pub(crate) use controls::{Device, Go};
pub(crate) use drop::Drop;
pub(crate) use head::Head;
pub(crate) use hub::Downloads;
pub(crate) use lesson::Lesson;
pub(crate) use model::ModelChoice;
pub(crate) use notices::{Failure, Warnings};
pub(crate) use protocol::ProtocolChoice;
pub(crate) use text::TextChoice;
