//! `generate!`: a specification of features becomes a type, and a question to the feature model.
//!
//! ```text
//! SPECIFICATION := 'strict'? VISIBILITY NAME ('<' MESSAGE '>')? '{' FEATURES '}'
//! FEATURES      := (FEATURE ':' ALTERNATIVE),*
//! ```
//!
//! The model (`features` of the base) decides in a constant what is refused, and in which sentence;
//! only the span of the error is decided here.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Ident, Result, Token, Visibility};

/// A named specification.
pub(crate) struct Generate {
    /// The crate of the bases, as its macro knows it.
    base: TokenTree,
    attributes: Vec<Attribute>,
    strict: bool,
    visibility: Visibility,
    name: Ident,
    /// The type of messages, where the stack that is built on the base decides it.
    message: Option<Ident>,
    entries: Vec<Entry>,
}

struct Entry {
    feature: Ident,
    /// More than one is refused, and has to be parsed for that.
    alternatives: Punctuated<Ident, Token![+]>,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> Result<Self> {
        let feature = input.call(Ident::parse_any)?;
        input.parse::<Token![:]>()?;
        let mut alternatives = Punctuated::new();
        loop {
            alternatives.push_value(input.call(Ident::parse_any)?);
            if !input.peek(Token![+]) {
                return Ok(Entry { feature, alternatives });
            }
            alternatives.push_punct(input.parse()?);
        }
    }
}

impl Parse for Generate {
    fn parse(input: ParseStream) -> Result<Self> {
        let base = input.parse()?;
        let attributes = input.call(Attribute::parse_outer)?;
        let strict = input.fork().parse::<Ident>().is_ok_and(|word| word == "strict")
            && !input.peek2(syn::token::Brace);
        if strict {
            input.parse::<Ident>()?;
        }
        let visibility = input.parse()?;
        if !input.peek(Ident) {
            return Err(input.error("a base is written `pub Name { feature: Alternative, ... }`"));
        }
        let name = input.parse()?;
        let message = if input.peek(Token![<]) {
            input.parse::<Token![<]>()?;
            let message = input.parse()?;
            input.parse::<Token![>]>()?;
            Some(message)
        } else {
            None
        };
        let inner;
        syn::braced!(inner in input);
        let entries: Punctuated<Entry, Token![,]> = Punctuated::parse_terminated(&inner)?;
        if !input.is_empty() {
            return Err(input.error("expected the end of the specification"));
        }
        let entries = entries.into_iter().collect();
        Ok(Generate { base, attributes, strict, visibility, name, message, entries })
    }
}

impl Entry {
    fn text(&self) -> String {
        let words: Vec<String> = self.alternatives.iter().map(Ident::to_string).collect();
        format!("{}: {}", self.feature, words.join(" + "))
    }

    /// Returns the span of what the model does not know: the feature, or the alternative.
    fn span(&self) -> Span {
        let known = MODEL.iter().any(|(name, _)| self.feature == name);
        if known { self.alternatives[0].span() } else { self.feature.span() }
    }
}

const MODEL: [(&str, &[&str]); 5] = [
    ("message", &["SingleBuffer", "BufferTree"]),
    ("session", &["Absent", "Present"]),
    ("map", &["ChainedHash", "ChainedHashCached", "OpenAddressing"]),
    ("events", &["Absent", "Simple", "DeltaList", "TimingWheel"]),
    ("opening", &["Absent", "Active", "ActivePassive"]),
];

impl Generate {
    /// Returns the alternative that is selected, where it is one of the model.
    fn selected(&self, feature: &str) -> Option<&Ident> {
        let (_, alternatives) = MODEL.iter().find(|(name, _)| *name == feature)?;
        let entry = self.entries.iter().find(|entry| entry.feature == feature)?;
        entry.alternatives.first().filter(|word| alternatives.iter().any(|known| word == known))
    }

    /// Returns the span at which an error of the specification is shown: the first entry that the
    /// model does not know, or that is there twice; else the name.
    fn fault(&self) -> Span {
        for (index, entry) in self.entries.iter().enumerate() {
            let twice = self.entries[..index].iter().any(|before| before.feature == entry.feature);
            let feature = entry.feature.to_string();
            let known = MODEL.iter().any(|(name, alternatives)| {
                *name == feature
                    && entry.alternatives.len() == 1
                    && alternatives.iter().any(|known| entry.alternatives[0] == known)
            });
            if twice || !known {
                return entry.span();
            }
        }
        self.name.span()
    }

    pub(crate) fn expand(self) -> TokenStream {
        let Generate { base, attributes, strict, visibility, name, message, .. } = &self;
        let text: Vec<String> = self.entries.iter().map(Entry::text).collect();
        // A message that is left open counts as selected: to select one as well is to do so twice.
        let text = message
            .iter()
            .map(|_| "message: BufferTree".to_string())
            .chain(text)
            .collect::<Vec<_>>()
            .join(", ");
        let held = match (message, self.selected("message")) {
            (Some(open), _) => quote!(#open),
            (None, Some(message)) => quote!(#base::message::#message),
            (None, None) => quote!(#base::message::BufferTree),
        };
        let map = match self.selected("map") {
            Some(map) => quote!(#base::map::#map),
            None => quote!(#base::map::ChainedHashCached),
        };
        let session = match self.selected("session") {
            Some(word) if word == "Absent" => quote!(#base::session::Absent),
            _ => quote!(#base::session::Present<#map>),
        };
        let events = match self.selected("events") {
            Some(events) => quote!(#base::events::#events),
            None => quote!(#base::events::TimingWheel),
        };
        let opening = match self.selected("opening") {
            Some(opening) => quote!(#base::opening::#opening),
            None => quote!(#base::opening::ActivePassive),
        };
        let generics = message.iter().map(|open| quote!(<#open>));
        let generics = quote!(#(#generics)*);
        let fault = self.fault();
        let mut located = base.clone();
        located.set_span(located.span().located_at(fault));
        let ask = quote_spanned!(fault=> ::features::must_select(#text, #strict));
        quote! {
            #(#attributes)*
            #visibility type #name #generics = #base::Features<#held, #session, #events, #opening>;
            const _: () = #located #ask;
        }
    }
}
