//! Where on the server a name leads.

use crate::client::{Session, manage};
use crate::problem::Problem;
use crate::remote::Remote;

/// Returns what `name` leads to from the folder `here`: `..` is the folder above, a name that
/// begins with `/` begins at the top.
pub(super) fn resolve(here: &Remote, name: &str) -> Remote {
    let whole =
        if name.starts_with('/') { name.to_owned() } else { format!("{}{name}", here.path) };
    // Two at the beginning lead to the root of the server's files (RFC 1738 §3.2.2).
    let top = if whole.starts_with("//") { "//" } else { "/" };
    let mut names = Vec::new();
    for name in whole.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    let is_folder = matches!(whole.rsplit('/').next(), None | Some("" | "." | ".."));
    let end = if is_folder && !names.is_empty() { "/" } else { "" };
    Remote { path: format!("{top}{}{end}", names.join("/")), ..here.clone() }
}

/// Makes sure that `here` is a folder, and has its path end in `/`.
pub(super) fn enter(session: &mut Session<'_>, here: &mut Remote) -> Result<(), Problem> {
    manage::check_folder(session, here)?;
    if !here.path.ends_with('/') {
        here.path.push('/');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_from_a_folder() {
        let here = Remote::parse("ftp://ann@host/a/b/").unwrap();
        for (name, path) in [
            ("c", "/a/b/c"),
            ("c/", "/a/b/c/"),
            ("../c", "/a/c"),
            ("..", "/a/"),
            ("../../../..", "/"),
            (".", "/a/b/"),
            ("", "/a/b/"),
            ("/x//y", "/x/y"),
            ("/", "/"),
            ("//etc/x", "//etc/x"),
        ] {
            let there = resolve(&here, name);
            assert_eq!((there.path.as_str(), there.user.as_deref()), (path, Some("ann")), "{name}");
        }
    }
}
