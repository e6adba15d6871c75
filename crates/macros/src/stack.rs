//! `stack!`: an equation of protocols becomes a type, and a check by the rule book for every joint.
//!
//! ```text
//! EQUATION := TERM ('over' EQUATION)?
//! TERM     := PRIMARY ('beside' TERM)?
//! PRIMARY  := a type | '(' EQUATION ')'
//! ```

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, Ident, Result, Token, Type, Visibility};

/// A named equation.
pub(crate) struct Stack {
    /// The crate of `Over` and `Beside`, as its macro knows it.
    compose: TokenTree,
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    equation: Equation,
}

enum Equation {
    Protocol(Box<Type>),
    Over(Box<Equation>, Box<Equation>),
    Beside(Box<Equation>, Box<Equation>),
}

impl Parse for Stack {
    fn parse(input: ParseStream) -> Result<Self> {
        let compose = input.parse()?;
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        if !input.peek(Ident) || !input.peek2(Token![=]) {
            return Err(input.error("a stack is written `pub Name = Upper over Lower`"));
        }
        let name = input.parse()?;
        let equals: Token![=] = input.parse()?;
        let equation = Equation::parse(input, "=", equals.span)?;
        if !input.is_empty() {
            return Err(input.error("expected `over`, `beside` or the end of the stack"));
        }
        Ok(Stack { compose, attributes, visibility, name, equation })
    }
}

impl Equation {
    /// Parses an equation; `after` is the word before it.
    fn parse(input: ParseStream, after: &str, span: Span) -> Result<Self> {
        let upper = Self::term(input, after, span)?;
        Ok(match word(input, "over")? {
            Some(span) => {
                Equation::Over(Box::new(upper), Box::new(Self::parse(input, "over", span)?))
            }
            None => upper,
        })
    }

    fn term(input: ParseStream, after: &str, span: Span) -> Result<Self> {
        let left = Self::primary(input, after, span)?;
        Ok(match word(input, "beside")? {
            Some(span) => {
                Equation::Beside(Box::new(left), Box::new(Self::term(input, "beside", span)?))
            }
            None => left,
        })
    }

    fn primary(input: ParseStream, after: &str, span: Span) -> Result<Self> {
        // Reported at the word before, because the end of the input has no span of its own.
        if input.is_empty() || peek_word(input, "over") || peek_word(input, "beside") {
            return Err(Error::new(span, format!("a protocol is missing after `{after}`")));
        }
        if input.peek(syn::token::Paren) {
            let inner;
            let paren = syn::parenthesized!(inner in input);
            let equation = Self::parse(&inner, "(", paren.span.open())?;
            if !inner.is_empty() {
                return Err(inner.error("expected `over`, `beside` or `)`"));
            }
            return Ok(equation);
        }
        Ok(Equation::Protocol(input.parse()?))
    }

    /// Returns the type that the equation stands for.
    fn ty(&self, compose: &TokenTree) -> TokenStream {
        match self {
            Equation::Protocol(ty) => ty.to_token_stream(),
            Equation::Over(upper, lower) => {
                let (upper, lower) = (upper.ty(compose), lower.ty(compose));
                quote!(#compose::Over<#upper, #lower>)
            }
            Equation::Beside(left, right) => {
                let (left, right) = (left.ty(compose), right.ty(compose));
                quote!(#compose::Beside<#left, #right>)
            }
        }
    }

    /// Collects a constant for every joint, the innermost first: what is wrong below is wrong
    /// above, too, and is to be read first.
    fn joints(&self, compose: &TokenTree, joints: &mut Vec<TokenStream>) {
        match self {
            Equation::Protocol(_) => {}
            Equation::Beside(left, right) => {
                left.joints(compose, joints);
                right.joints(compose, joints);
            }
            Equation::Over(upper, lower) => {
                lower.joints(compose, joints);
                upper.joints(compose, joints);
                let (first, last) = upper.ends();
                let (upper, lower) = (upper.ty(compose), lower.ty(compose));
                // From the first token of the upper protocol to the last: the refusal underlines
                // these.
                let over = quote_spanned!(first=> ::Over::<#upper, #lower>);
                let fits = quote_spanned!(last=> ::fits());
                let mut compose = compose.clone();
                compose.set_span(compose.span().located_at(first));
                joints.push(quote!(const _: () = #compose #over #fits;));
            }
        }
    }

    /// Returns the spans of the first token and of the last.
    fn ends(&self) -> (Span, Span) {
        match self {
            Equation::Protocol(ty) => {
                let tokens: Vec<TokenTree> = ty.to_token_stream().into_iter().collect();
                let span =
                    |token: Option<&TokenTree>| token.map_or_else(Span::call_site, TokenTree::span);
                (span(tokens.first()), span(tokens.last()))
            }
            Equation::Over(one, other) | Equation::Beside(one, other) => {
                (one.ends().0, other.ends().1)
            }
        }
    }
}

fn peek_word(input: ParseStream, expected: &str) -> bool {
    input.fork().call(Ident::parse_any).is_ok_and(|ident| ident == expected)
}

/// Consumes the word `expected` where it comes next.
fn word(input: ParseStream, expected: &str) -> Result<Option<Span>> {
    Ok(if peek_word(input, expected) { Some(input.call(Ident::parse_any)?.span()) } else { None })
}

impl Stack {
    pub(crate) fn expand(self) -> TokenStream {
        let Stack { compose, attributes, visibility, name, equation } = self;
        let ty = equation.ty(&compose);
        let mut joints = Vec::new();
        equation.joints(&compose, &mut joints);
        quote! {
            #(#attributes)*
            #visibility type #name = #ty;
            #(#joints)*
        }
    }
}
