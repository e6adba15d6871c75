//! Procedural macros. Use them through the crates that export them: `Header` through
//! `stackwright-wire`, `stack!` through `stackwright-compose`, `generate!` through
//! `stackwright-base`.

mod generate;
mod header;
mod stack;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Derives a header from its layout: a struct whose named, documented fields are in the order of
/// the wire.
///
/// ```
/// use stackwright_wire::Header;
///
/// /// The beginning of a VLAN tag (IEEE 802.1Q).
/// #[derive(Header, PartialEq, Debug)]
/// struct Tag {
///     /// Says that a tag follows.
///     #[bits(16)]
///     #[fixed(0x8100)]
///     protocol: (),
///     /// Priority, 0 to 7.
///     #[bits(3)]
///     priority: u8,
///     /// Whether the frame may be dropped first.
///     may_drop: bool,
///     /// The VLAN's number.
///     #[bits(12)]
///     vlan: u16,
/// }
///
/// let tag = Tag { protocol: (), priority: 5, may_drop: false, vlan: 42 };
/// let mut octets = [0; Tag::LENGTH];
/// tag.encode(&mut octets);
/// assert_eq!(octets, [0x81, 0x00, 0xa0, 0x2a]);
/// assert_eq!(Tag::decode(&octets), Ok(tag));
/// ```
///
/// Bits are counted from the most significant one, numbers are big-endian. The box diagram of the
/// layout appears on the type's page, beside the implementation, and as `DIAGRAM`.
///
/// | attribute | of | meaning |
/// | --- | --- | --- |
/// | `#[bits(n)]` | a field | its width in bits, where it is not the type's own: 1 for `bool`, 8 to 128 for `u8` to `u128`, 8 per octet for `[u8; N]` |
/// | `#[fixed(value)]` | a field of type `()` | always has this value; anything else does not decode |
/// | `#[header(little_endian)]` | the struct | numbers are little-endian; all fields are whole octets |
/// | `#[header(crate = path)]` | the struct | the path of `stackwright-wire` where it has another name, as `stackwright::wire` |
///
/// A field of any other type implements `FieldValue`, has at most 64 bits, and states its width.
///
/// # Panics
/// The generated `encode` panics in debug builds where a number has more bits than its field;
/// release builds write the lower bits.
#[proc_macro_derive(Header, attributes(header, bits, fixed))]
pub fn header(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    header::derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Expands `stackwright_compose::stack!`, which documents it.
#[doc(hidden)]
#[proc_macro]
pub fn __stack(input: TokenStream) -> TokenStream {
    parse_macro_input!(input as stack::Stack).expand().into()
}

/// Expands `stackwright_base::generate!`, which documents it.
#[doc(hidden)]
#[proc_macro]
pub fn __generate(input: TokenStream) -> TokenStream {
    parse_macro_input!(input as generate::Generate).expand().into()
}
