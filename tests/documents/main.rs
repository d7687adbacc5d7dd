//! The documents match the project: files, headings, commands, options, report fields, link parameters.
//!
//! They are read as text and compared with the sources, the program's help, and a report that has every field.

mod commands;
mod dependencies;
mod faults;
mod fields;
mod markdown;
mod pages;
mod sources;
mod tables;
