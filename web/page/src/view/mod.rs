//! The views: each reads signals of the [`crate::session::Session`], or of one part of it, and calls its actions.
//!
//! `board.rs` is the result and leads to the views; `chart.rs` and `figure.rs` draw for all of them, and `typeset.rs`
//! typesets texts.
//!
//! Browser tests find elements by `data-testid`. These names are stable:
//!
//! | name | what |
//! |---|---|
//! | `model-select` | choice of the model; option values are bundled names, `:hub:ID`, `:hub`, `:own` and `:rows` |
//! | `model-folder`, `model-files`, `rows-file` | file inputs for the user's own model, and for captured rows |
//! | `hub-id`, `hub-preview` | a name or the address of its page, and the button that requests its preview |
//! | `preflight` | the preview of a model on the hub; `data-state` is `unknown`, `previewing`, `known`, `refused` or `failed` |
//! | `downloads` | the fold with `mirror`, `storage-summary`, the list `storage-items` and `storage-clear` |
//! | `model-note` | description of the chosen model, or the files that were taken |
//! | `text-select` | choice of the text; option values are bundled names, generated texts, `:hub:NAME`, `:pasted` and `:file` |
//! | `extent` | the rows that the text yields, compared with those requested |
//! | `text-input` | input for a pasted text |
//! | `text-file` | file input for a text |
//! | `protocol` | the fold with `rows`, `seq-len`, `folds`, `skip-positions`, `gram` and `backend` |
//! | `run`, `cancel` | the two buttons; one of them is there at a time |
//! | `plan`, `cost` | the questions that the chosen measures answer, and the time they take |
//! | `finding` | what the profile shows, in plain words |
//! | `device` | what measurements run on; `data-state` is `probing`, `gpu`, `software`, `cpu` or `broken` |
//! | `status` | status of the measurement; `data-phase` is `idle`, `recorded`, `running`, `finished`, `cancelled` or `failed`, `data-run` is its number, `data-gpu-bytes` and `data-wasm-bytes` the engine's memory when order or preview `data-ended` ended |
//! | `about-result` | model, text, day and device of the result shown |
//! | `progress` | amount, rate and time left, while it runs |
//! | `error` | one sentence per refused value of a link, and the failure |
//! | `chart` | the chart, focusable; `readout` is the line with the exact values of the block singled out |
//! | `table` | the table; `row-N` is the row of block N; a cell's `data-column` is the report's field name |
//! | `warnings` | the list of warnings, a fold that is open if they are few |
//! | `download`, `trace` | download the report, and the trace of what ran when |
//! | `unfinished`, `resume`, `forget` | an unfinished measurement, and the buttons that resume or delete it |
//! | `known`, `known-recorded`, `known-ID` | results known before anything is measured: the recording, published figures |
//! | `fetching`, `claim-short` | the address that a report is fetched from, and what a result in a link lacks |
//! | `share-copy` | copies the link that holds the result |
//! | `share`, `share-link`, `share-embed`, `share-cite`, `share-KIND-copy` | the fold with link, frame and citation, each with its copy button |
//! | `history`, `history-sum`, `history-list`, `history-export` | the fold with the results kept in this browser |
//! | `kept-name`, `kept-about`, `kept-open`, `kept-compare`, `kept-pin`, `kept-delete` | in each: its name, what it is, and its buttons |
//! | `replay`, `differences` | repeats the measurement of an opened report, and shows the differences; `data-most` is the largest |
//! | `svg-AT`, `png-AT`, `csv-AT`, `json-AT` | save a chart: `AT` is `profile` or the number of the figure |
//! | `class`, `frame-PART`, `link-embed`, `link`, `link-copy` | the fold that builds links, the parts they hide or lock, and the link |
//! | `part-PART` | a part that a link can hide or lock; an embedded page has only `embedded` and `link-back` |
//! | `measures-MEASURE` | measures beyond the fit, in the fold `protocol` |
//! | `drop` | shown while files hover over the page |
//! | `group-GROUP`, `tab-VIEW`, `panel` | the tabs of the groups (`explore`, `swap`, `why`), of the views in the open one (`profile`, `losses` …) and of `compare`, and the open view |
//! | `chart-N`, `readout-N`, `facts-N`, `numbers-N` | the N-th figure of a view, its line of exact values, its conclusions, and its folded table |
//! | `asks-MEASURE`, `measure-MEASURE`, `cost-MEASURE`, `scope-MEASURE` | the question a measure answers, the button that adds it to the report, its cost, and its blocks |
//! | `refused-MEASURE` | why that button is missing |
//! | `block-select` | the block that a view of one block shows |
//! | `strip`, `detail`, `block-title`, `formulas`, `block-numbers` | the blocks as bars, and details of the one shown; a number's `data-field` is the report's field name |
//! | `mechanism`, `mechanism-drawing`, `mechanism-values`, `mechanism-previous`, `mechanism-next`, `mechanism-scatter` | the drawing of a block, the row that passes, and the buttons to another row and to the scatter |
//! | `block-none`, `block-missing`, `block-older` | sentences on what is missing, and what to order |
//! | `preset-NAME`, `quantity-NUMBER` | the presets, and the charts that are available |
//! | `runs` | the compared items; in each `show`, `measure` and `remove` |
//! | `front`, `play` | the slider that brings one item to the front, and the button that cycles through them |
//! | `add` | choice of another item to compare; option values are kinds and names |
//! | `atlas`, `atlas-SLUG` | models measured with this build; in each `atlas-add` and `atlas-open` |
//! | `definition` | what the term of the glossary that has the focus means |
//! | `languages`, `language-ID` | the languages of the page, and the link to the page in another one |
//! | `lesson-open`, `lesson`, `lesson-leave` | the link to the lesson, the lesson, and the button that leaves it |
//! | `step-N`, `lesson-next`, `lesson-back`, `step-title-N` | steps in the list (`data-done`), forwards and back, the open step’s heading |
//! | `task-N`, `do-N`, `done-N`, `look-N` | the task of step N, the button that does it, that it is done, and what to observe then |
//! | `lesson-summary`, `summary-N` | the summary behind the last step |
//! | `lesson-projector`, `print-handout`, `print-key`, `start-over`, `start-over-now` | the tools for a class |
//! | `handout`, `handout-address`, `handout-code` | the front of the printed lesson |
//! | `activation-NAME`, `handle-NAME`, `line-best`, `line-own`, `reading-N` | examples of the first steps; `reading-N` shows their numbers |
//! | `many-inputs`, `many-rows-N`, `trap-NAME`, `trap-slider-NAME`, `trap-switch-NAME`, `trap-reading-NAME` | examples of steps 3 and 4 |
//! | `answer-NAME`, `verdict-NAME` | an exercise’s answer, and whether it is correct |
//! | `sides-prompt`, `sides-block-N`, `sides-best`, `sides-all`, `sides-none` | the prompt, and the blocks to make linear |
//! | `sides-tokens`, `sides-sampling`, `sides-temperature`, `sides-seed` | number of tokens, and the fold with the sampling settings |
//! | `sides-go`, `sides-stop`, `sides-status`, `sides-error` | the buttons, and the status; `data-phase` and `data-run` as in `status` |
//! | `recorded-texts` | recorded texts of the chosen blocks: `recorded-original`, `recorded-linear`, `recorded-heading`, `recorded-kl`, `recorded-parting`; `web/public/early.js` changes them too |
//! | `original-N`, `linear-N`, `sides-detail`, `sides-long` | the N-th token of either text, its distributions, and the note that the prompt is too long for a link |
//! | `metric`, `overlay-select`, `report-file`, `agreement`, `overlay-note` | choice of R² and overlay of the profile, and how well they agree |

mod atlas;
mod board;
mod cards;
mod chart;
mod class;
mod compare;
mod continuation;
mod controls;
mod detail;
mod differences;
mod drop;
mod exports;
mod figure;
mod head;
mod history;
mod hub;
mod lesson;
mod mechanism;
mod model;
mod notices;
mod overlay;
mod panel;
mod protocol;
mod share;
mod sources;
mod status;
mod stepper;
mod table;
mod tabs;
mod terms;
mod text;
mod typeset;

pub(crate) use board::Board;
pub(crate) use class::{ForClass, Framed};
pub(crate) use controls::{Device, Go};
pub(crate) use drop::Drop;
pub(crate) use head::Head;
pub(crate) use history::History;
pub(crate) use hub::Downloads;
pub(crate) use lesson::Lesson;
pub(crate) use model::ModelChoice;
pub(crate) use notices::{Failure, Warnings};
pub(crate) use protocol::ProtocolChoice;
pub(crate) use terms::Defined;
pub(crate) use text::TextChoice;
