//! Writes `decode` and `encode`.
//!
//! The slice becomes an array once; from then on every index is a constant, so that the compiler
//! leaves plain loads and stores. Fields that share octets are a *run*: one integer, read or put
//! together at once.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;

use super::layout::{Field, Kind, Layout};

/// Writes the checks at compile time: fixed values fit into their fields.
pub(super) fn checks(layout: &Layout) -> TokenStream {
    let checks = layout.fields.iter().filter_map(|field| {
        let Kind::Fixed(value) = &field.kind else { return None };
        let says = format!("the fixed value of `{}` has more bits than the field", field.name);
        let most = Literal::u64_suffixed(mask(field.bits) as u64);
        let check =
            quote_spanned!(value.span()=> ::core::assert!((#value) as u64 <= #most, #says););
        // The value may have the type of any integer, also this one.
        Some(quote!(#[allow(clippy::unnecessary_cast)] const _: () = #check))
    });
    quote!(#(#checks)*)
}

pub(super) fn decode(layout: &Layout) -> TokenStream {
    let wire = &layout.wire;
    let length = layout.octets();
    let mut runs = Vec::new();
    let mut values = Vec::new();
    for (number, run) in layout.runs().enumerate() {
        let bits: usize = run.iter().map(|field| field.bits).sum();
        let first = run[0].offset / 8;
        let local = format_ident!("run_{number}", span = proc_macro2::Span::mixed_site());
        if !matches!(run[0].kind, Kind::String) {
            let word = word_of(bits);
            let read = read(layout, first, bits);
            let check = check_fixed(layout, run, &local, bits);
            runs.push(quote!(let #local: #word = #read; #check));
        }
        let mut below = bits;
        for field in run {
            below -= field.bits;
            values.push(decode_field(layout, field, &local, bits, below));
        }
    }
    quote! {
        #[inline(always)]
        fn decode(octets: &[::core::primitive::u8]) -> ::core::result::Result<Self, #wire::Malformed> {
            let ::core::option::Option::Some(octets) = octets.first_chunk::<#length>() else {
                return ::core::result::Result::Err(#wire::Malformed::TooShort);
            };
            #(#runs)*
            ::core::result::Result::Ok(Self { #(#values),* })
        }
    }
}

/// Writes `field: value`, where `run` holds the octets that the field is in, and `below` bits of
/// them follow it.
fn decode_field(
    layout: &Layout,
    field: &Field,
    run: &syn::Ident,
    bits: usize,
    below: usize,
) -> TokenStream {
    let wire = &layout.wire;
    let Field { ident, name, ty, .. } = field;
    let shifted = if below == 0 { quote!(#run) } else { quote!((#run >> #below)) };
    let width = word_bits(bits);
    let fills = field.bits + below == width;
    let mask = Literal::u128_unsuffixed(mask(field.bits));
    let right = if fills { shifted } else { quote!((#shifted & #mask)) };
    let refuse = quote! {
        return ::core::result::Result::Err(#wire::Malformed::Field(#name))
    };
    match &field.kind {
        Kind::Integer => quote!(#ident: #right as #ty),
        Kind::Flag => quote!(#ident: #right != 0),
        Kind::String => {
            let (start, length) = (field.offset / 8, field.bits / 8);
            let end = start + length;
            quote! {
                #ident: {
                    let mut string = [0; #length];
                    string.copy_from_slice(&octets[#start..#end]);
                    string
                }
            }
        }
        Kind::Value => quote! {
            #ident: match <#ty as #wire::FieldValue>::from_bits(#right as u64) {
                ::core::option::Option::Some(value) => value,
                ::core::option::Option::None => #refuse,
            }
        },
        Kind::Fixed(_) => quote!(#ident: ()), // `check_fixed` has looked
    }
}

/// Compares all fixed fields of a run at once; which of them is wrong is only tested where one is.
fn check_fixed(layout: &Layout, run: &[Field], local: &syn::Ident, bits: usize) -> TokenStream {
    let wire = &layout.wire;
    let word = word_of(bits);
    let mut below = bits;
    let mut masks = Vec::new();
    let mut values = Vec::new();
    let mut wrong = quote!("");
    for field in run {
        below -= field.bits;
        let Kind::Fixed(value) = &field.kind else { continue };
        let mask = Literal::u128_unsuffixed(mask(field.bits) << below);
        let value = quote!((((#value) as #word) << #below));
        let name = &field.name;
        // The last one needs no test: if it is none of the others, it is this one.
        wrong = match masks.is_empty() {
            true => quote!(#name),
            false => {
                let (masks, values): (&Vec<_>, &Vec<_>) = (&masks, &values);
                quote!(if (#local & (#(#masks)|*)) != (#(#values)|*) { #wrong } else { #name })
            }
        };
        masks.push(quote!(#mask));
        values.push(value);
    }
    if masks.is_empty() {
        return TokenStream::new();
    }
    quote! {
        if (#local & (#(#masks)|*)) != (#(#values)|*) {
            return ::core::result::Result::Err(#wire::Malformed::Field(#wrong));
        }
    }
}

pub(super) fn encode(layout: &Layout) -> TokenStream {
    let length = layout.octets();
    let writes = layout.runs().map(|run| {
        let bits: usize = run.iter().map(|field| field.bits).sum();
        let (start, end) = (run[0].offset / 8, (run[0].offset + bits) / 8);
        let octets = encode_run(layout, run, bits);
        quote!(octets[#start..#end].copy_from_slice(#octets);)
    });
    let asserts = layout.fields.iter().filter_map(assert_narrow(layout));
    quote! {
        #[inline(always)]
        fn encode(&self, octets: &mut [::core::primitive::u8]) {
            #(#asserts)*
            let octets = octets.first_chunk_mut::<#length>().expect("there is room for the header");
            #(#writes)*
        }
    }
}

/// Writes the octets of a run into a slice of known length.
fn encode_run(layout: &Layout, run: &[Field], bits: usize) -> TokenStream {
    if let [Field { ident, kind: Kind::String, .. }] = run {
        return quote!(&self.#ident);
    }
    let word = word_of(bits);
    let mut below = bits;
    let parts = run.iter().map(|field| {
        below -= field.bits;
        let value = encode_field(layout, field, &word);
        let mask = Literal::u128_unsuffixed(mask(field.bits));
        let masked = if field.fills_its_type() || matches!(field.kind, Kind::Flag | Kind::Fixed(_))
        {
            value
        } else {
            quote!((#value & #mask))
        };
        if below == 0 { masked } else { quote!((#masked << #below)) }
    });
    let parts = quote!((#(#parts)|*));
    let (width, octets) = (word_bits(bits) / 8, bits / 8);
    let spare = width - octets;
    match (layout.little_endian, spare) {
        (true, 0) => quote!(&#word::to_le_bytes(#parts)),
        (true, _) => quote!(&#word::to_le_bytes(#parts)[..#octets]),
        (false, 0) => quote!(&#word::to_be_bytes(#parts)),
        (false, _) => quote!(&#word::to_be_bytes(#parts)[#spare..]),
    }
}

fn encode_field(layout: &Layout, field: &Field, word: &syn::Ident) -> TokenStream {
    let wire = &layout.wire;
    let Field { ident, ty, .. } = field;
    match &field.kind {
        Kind::Integer | Kind::Flag => quote!((self.#ident as #word)),
        Kind::Value => quote!((<#ty as #wire::FieldValue>::to_bits(&self.#ident) as #word)),
        Kind::Fixed(value) => quote!(((#value) as #word)),
        Kind::String => unreachable!("an octet string is a run of its own"),
    }
}

/// Writes the assertions of debug builds: that a value fits into its field is the caller's duty.
fn assert_narrow(layout: &Layout) -> impl Fn(&Field) -> Option<TokenStream> {
    |field| {
        let wire = &layout.wire;
        let Field { ident, ty, bits, name, .. } = field;
        let says = format!("`{name}` has more than its {bits} bits");
        let most = Literal::u128_unsuffixed(mask(*bits));
        match field.kind {
            Kind::Integer if !field.fills_its_type() => {
                Some(quote!(::core::debug_assert!(self.#ident <= #most, #says);))
            }
            Kind::Value if *bits < 64 => Some(quote! {
                ::core::debug_assert!(<#ty as #wire::FieldValue>::to_bits(&self.#ident) <= #most, #says);
            }),
            _ => None,
        }
    }
}

/// Reads the integer of `bits` bits from octet `first` on.
fn read(layout: &Layout, first: usize, bits: usize) -> TokenStream {
    let word = word_of(bits);
    let octets = octets_of(first, bits / 8);
    let spare = std::iter::repeat_n(Literal::u8_unsuffixed(0), (word_bits(bits) - bits) / 8);
    if layout.little_endian {
        quote!(#word::from_le_bytes([#(#octets,)* #(#spare),*]))
    } else {
        quote!(#word::from_be_bytes([#(#spare,)* #(#octets),*]))
    }
}

fn octets_of(first: usize, count: usize) -> impl Iterator<Item = TokenStream> {
    (first..first + count).map(|index| quote!(octets[#index]))
}

/// Returns the width of the smallest integer that has `bits` bits.
fn word_bits(bits: usize) -> usize {
    bits.next_power_of_two().max(8)
}

fn word_of(bits: usize) -> syn::Ident {
    format_ident!("u{}", word_bits(bits))
}

fn mask(bits: usize) -> u128 {
    u128::MAX >> 128_usize.saturating_sub(bits)
}
