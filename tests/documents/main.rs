//! The documents name what there is: files, headings, commands, options, report fields, link parameters.
//!
//! They are read as text, and held against the sources, against the program's own help, and against a report that has
//! every field.

mod commands;
mod dependencies;
mod fields;
mod markdown;
mod pages;
mod sources;
mod tables;
