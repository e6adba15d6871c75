//! Parses the layout from the struct, and refuses what is none, at the token that is wrong.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Fields, Ident, Path, Result, Type};

use super::attributes::{first_paragraph, fixed, options, own_width, stated_bits};

/// The most bits of fields that share octets: they are read together, in one integer.
const SHARED_BITS_MOST: usize = 128;

pub(super) struct Layout {
    pub(super) ident: Ident,
    /// The path of the crate `stackwright-wire`.
    pub(super) wire: Path,
    pub(super) little_endian: bool,
    pub(super) fields: Vec<Field>,
}

pub(super) struct Field {
    pub(super) ident: Ident,
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) kind: Kind,
    /// The distance from the first bit of the header, in bits.
    pub(super) offset: usize,
    pub(super) bits: usize,
    pub(super) doc: String,
}

pub(super) enum Kind {
    /// One of the primitive integers.
    Integer,
    /// A `bool`.
    Flag,
    /// Octets as they are.
    String,
    /// Implements `FieldValue`.
    Value,
    /// Always this.
    Fixed(Box<Expr>),
}

impl Layout {
    pub(super) fn of(input: &DeriveInput) -> Result<Self> {
        let fields = named_fields(input)?;
        let (wire, little_endian) = options(&input.attrs)?;
        let mut layout =
            Layout { ident: input.ident.clone(), wire, little_endian, fields: Vec::new() };
        let mut wrong: Option<Error> = None;
        let mut offset = 0;
        for field in fields {
            match Field::of(field, offset) {
                Ok(field) => {
                    offset += field.bits;
                    layout.fields.push(field);
                }
                Err(error) => match &mut wrong {
                    Some(errors) => errors.combine(error),
                    None => wrong = Some(error),
                },
            }
        }
        wrong.map_or_else(|| layout.checked(), Err)
    }

    pub(super) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    pub(super) fn bits(&self) -> usize {
        self.fields.iter().map(|field| field.bits).sum()
    }

    pub(super) fn octets(&self) -> usize {
        self.bits() / 8
    }

    /// Returns the fields, gathered into runs that begin and end between two octets.
    pub(super) fn runs(&self) -> impl Iterator<Item = &[Field]> {
        self.fields.chunk_by(|_, next| !next.offset.is_multiple_of(8))
    }

    fn checked(self) -> Result<Self> {
        let bits = self.bits();
        if !bits.is_multiple_of(8) {
            let says = format!("a header is whole octets, and these fields are {bits} bits");
            return Err(Error::new(self.ident.span(), says));
        }
        for run in self.runs() {
            let shared: usize = run.iter().map(|field| field.bits).sum();
            if run.len() > 1 && shared > SHARED_BITS_MOST {
                let says = format!(
                    "from here, fields that share octets are {shared} bits; at most 128 are read at once"
                );
                return Err(Error::new(run[0].ident.span(), says));
            }
            if self.little_endian && run.len() > 1 {
                let says = "the fields of a little-endian header are whole octets";
                return Err(Error::new(run[0].ident.span(), says));
            }
        }
        Ok(self)
    }
}

fn named_fields(input: &DeriveInput) -> Result<impl Iterator<Item = &syn::Field>> {
    if !input.generics.params.is_empty() {
        return Err(Error::new(
            input.generics.span(),
            "a header has one layout, and so no parameters",
        ));
    }
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter()),
            _ => Err(Error::new(input.ident.span(), "a header is a struct with named fields")),
        },
        Data::Enum(data) => {
            Err(Error::new(data.enum_token.span, "a header is a struct, not an enum"))
        }
        Data::Union(data) => {
            Err(Error::new(data.union_token.span, "a header is a struct, not a union"))
        }
    }
}

impl Field {
    fn of(field: &syn::Field, offset: usize) -> Result<Self> {
        let ident = field.ident.clone().expect("the fields are named");
        let own = own_width(&field.ty);
        let (bits, kind) = match (stated_bits(&field.attrs)?, fixed(&field.attrs)?) {
            (bits, Some(fixed)) => (bits.map(|bits| bits.0), Kind::Fixed(fixed)),
            (Some((bits, span)), None) => {
                let (most, kind) = own.unwrap_or((64, Kind::Value));
                if bits > most {
                    let says =
                        format!("this is wider than the type, which holds at most {most} bits");
                    return Err(Error::new(span, says));
                }
                if matches!(kind, Kind::String) && bits < most {
                    return Err(Error::new(span, format!("this octet string has {most} bits")));
                }
                (Some(bits), kind)
            }
            (None, None) => own.map_or((None, Kind::Value), |(bits, kind)| (Some(bits), kind)),
        };
        let is_unit = matches!(&field.ty, Type::Tuple(tuple) if tuple.elems.is_empty());
        match kind {
            Kind::Fixed(_) if !is_unit => {
                let says = "a fixed field holds nothing: its type is `()`";
                return Err(Error::new(field.ty.span(), says));
            }
            Kind::Fixed(_) if bits.is_some_and(|bits| bits > 64) => {
                return Err(Error::new(ident.span(), "a fixed field has at most 64 bits"));
            }
            Kind::Value if is_unit => {
                return Err(Error::new(
                    field.ty.span(),
                    "a field that holds nothing is `#[fixed(value)]`",
                ));
            }
            Kind::String if !offset.is_multiple_of(8) => {
                let says =
                    format!("an octet string begins with an octet, and this is bit {offset}");
                return Err(Error::new(ident.span(), says));
            }
            _ => {}
        }
        let Some(bits) = bits else {
            return Err(Error::new(
                field.ty.span(),
                "how wide this is cannot be known: say `#[bits(n)]`",
            ));
        };
        let Some(doc) = first_paragraph(&field.attrs) else {
            return Err(Error::new(ident.span(), "a field says in a doc comment what it is"));
        };
        Ok(Field {
            name: ident.unraw().to_string(),
            ident,
            ty: field.ty.clone(),
            kind,
            offset,
            bits,
            doc,
        })
    }

    /// Returns whether it is a primitive integer that begins and ends with an octet and fills its
    /// type.
    pub(super) fn fills_its_type(&self) -> bool {
        matches!(self.kind, Kind::Integer)
            && own_width(&self.ty).is_some_and(|(bits, _)| bits == self.bits)
    }
}
