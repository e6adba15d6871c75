//! `#[derive(Header)]`: the layout is read once ([`layout`]), then written as code ([`codec`]) and
//! as a picture ([`diagram`]).

mod attributes;
mod codec;
mod diagram;
mod layout;

use layout::{Field, Kind, Layout};
use proc_macro2::TokenStream;
use quote::quote;

pub(crate) fn derive(input: &syn::DeriveInput) -> syn::Result<TokenStream> {
    let layout = Layout::of(input)?;
    let Layout { ident, wire, .. } = &layout;
    let name = layout.name();
    let length = layout.octets();
    let fields = layout.fields.iter().map(|field| field_row(&layout, field));
    let diagram = diagram::draw(&layout);
    let doc = format!("{length} octets:\n\n```text\n{diagram}```");
    let decode = codec::decode(&layout);
    let encode = codec::encode(&layout);
    let checks = codec::checks(&layout);
    Ok(quote! {
        #checks

        #[doc = #doc]
        #[automatically_derived]
        #[allow(clippy::unnecessary_cast)]
        impl #wire::Header for #ident {
            const NAME: &'static ::core::primitive::str = #name;
            const LENGTH: ::core::primitive::usize = #length;
            const FIELDS: &'static [#wire::Field] = &[#(#fields),*];
            const DIAGRAM: &'static ::core::primitive::str = #diagram;
            #decode
            #encode
        }
    })
}

/// One row of the table of fields.
fn field_row(layout: &Layout, field: &Field) -> TokenStream {
    let wire = &layout.wire;
    let Field { name, offset, bits, doc, .. } = field;
    let order = match field.kind {
        Kind::Integer | Kind::Value | Kind::Fixed(_) if layout.little_endian => {
            quote!(LittleEndian)
        }
        _ => quote!(Network),
    };
    quote! {
        #wire::Field { name: #name, offset: #offset, bits: #bits, order: #wire::ByteOrder::#order, doc: #doc }
    }
}
