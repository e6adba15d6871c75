//! Parses what annotates the fields: attributes, doc comments, and the types that have a width of
//! their own.

use syn::{Attribute, Error, Expr, Lit, Path, Result, Type};

use super::layout::Kind;

/// Returns the options of the struct: the path of `stackwright-wire`, and whether numbers are
/// little-endian.
pub(super) fn options(attributes: &[Attribute]) -> Result<(Path, bool)> {
    let mut wire = syn::parse_quote!(::stackwright_wire);
    let mut little_endian = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("header")) {
        attribute.parse_nested_meta(|option| {
            if option.path.is_ident("crate") {
                wire = option.value()?.call(Path::parse_mod_style)?;
                Ok(())
            } else if option.path.is_ident("little_endian") {
                little_endian = true;
                Ok(())
            } else {
                Err(option.error("this is neither `little_endian` nor `crate = path`"))
            }
        })?;
    }
    Ok((wire, little_endian))
}

/// Returns the width of a type that has one of its own.
pub(super) fn own_width(ty: &Type) -> Option<(usize, Kind)> {
    match ty {
        Type::Path(path) if path.qself.is_none() => {
            let bits = match path.path.get_ident()?.to_string().as_str() {
                "bool" => return Some((1, Kind::Flag)),
                "u8" => 8,
                "u16" => 16,
                "u32" => 32,
                "u64" => 64,
                "u128" => 128,
                _ => return None,
            };
            Some((bits, Kind::Integer))
        }
        Type::Array(array) if matches!(own_width(&array.elem), Some((8, Kind::Integer))) => {
            let Expr::Lit(literal) = &array.len else { return None };
            let Lit::Int(length) = &literal.lit else { return None };
            Some((8 * length.base10_parse::<usize>().ok()?, Kind::String))
        }
        Type::Group(group) => own_width(&group.elem),
        _ => None,
    }
}

/// Returns the value and the span of `#[bits(n)]`.
pub(super) fn stated_bits(attributes: &[Attribute]) -> Result<Option<(usize, proc_macro2::Span)>> {
    let Some(attribute) = attributes.iter().find(|attribute| attribute.path().is_ident("bits"))
    else {
        return Ok(None);
    };
    let stated: syn::LitInt = attribute.parse_args()?;
    match stated.base10_parse()? {
        0 => Err(Error::new(stated.span(), "a field has at least one bit")),
        bits => Ok(Some((bits, stated.span()))),
    }
}

/// Returns the value of `#[fixed(value)]`.
pub(super) fn fixed(attributes: &[Attribute]) -> Result<Option<Box<Expr>>> {
    let fixed = attributes.iter().find(|attribute| attribute.path().is_ident("fixed"));
    fixed.map(|attribute| attribute.parse_args().map(Box::new)).transpose()
}

/// Returns the first paragraph of a doc comment, on one line.
pub(super) fn first_paragraph(attributes: &[Attribute]) -> Option<String> {
    let mut paragraph: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { continue };
        for line in text.value().lines().map(str::trim) {
            match (line.is_empty(), paragraph.is_empty()) {
                (true, true) => {}
                (true, false) => return Some(paragraph.join(" ")),
                (false, _) => paragraph.push(line.to_owned()),
            }
        }
        // An empty `///` line is a text without lines.
        if text.value().trim().is_empty() && !paragraph.is_empty() {
            break;
        }
    }
    (!paragraph.is_empty()).then(|| paragraph.join(" "))
}
