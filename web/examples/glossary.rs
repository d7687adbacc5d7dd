//! Prints docs/glossary.md, which follows from the page's glossary.

fn main() {
    print!("{}", straightedge_web::text::glossary::document());
}
