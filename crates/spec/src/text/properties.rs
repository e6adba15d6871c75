//! What a protocol promises, and the model in which that is checked.

use super::lex::Token;
use super::reader::{Read, Reader};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::tree::{ClaimItem, DeedItem, Ident, ModelItem, PropertyItem};

/// The most values of a range of a model.
const VALUES_MOST: u64 = 256;

impl Reader<'_> {
    /// Reads a property behind its word.
    pub(super) fn property(&mut self) -> Read<PropertyItem> {
        let name = self.name("the name of a property")?;
        self.want(":")?;
        let claim = if self.takes("never") {
            let what = self.deed()?;
            let before = if self.takes("before") { Some(self.deed()?) } else { None };
            ClaimItem::Never { what, before }
        } else if self.takes("always") {
            let expression = self.expression()?;
            self.want("in")?;
            ClaimItem::Always(expression, self.name("a role")?)
        } else if self.takes("ordered") {
            ClaimItem::Ordered(self.deed()?)
        } else if self.takes("eventually") {
            let what = self.deed()?;
            let mut way = Vec::new();
            if self.takes("when") {
                loop {
                    let word = self.name("`loses` or `doubles`")?;
                    way.push((word, self.number("a number")?.0));
                    if !self.takes(",") {
                        break;
                    }
                }
            }
            ClaimItem::Eventually { what, way }
        } else {
            return self.expected("`never`, `always`, `ordered` or `eventually`");
        };
        self.want(";")?;
        Ok(PropertyItem { name, claim })
    }

    /// Reads `[ROLE.] [call|emit|send] NAME`.
    fn deed(&mut self) -> Read<DeedItem> {
        let role = if self.sees_ahead(1, ".") {
            let role = self.name("a role")?;
            self.step();
            Some(role)
        } else {
            None
        };
        let at = self.here();
        let is_verb = ["call", "emit", "send"].iter().any(|verb| self.takes(verb));
        let verb = if is_verb { self.said(at) } else { "emit" };
        let verb = Ident { name: verb.to_owned(), at };
        let name = self.name("what it calls, emits or sends")?;
        Ok(DeedItem { role, verb, name })
    }

    /// Reads a line of a model: `NAME = 0..3;`, `NAME = {1, 4};`, `NAME means …;`, `NAME told 3;`,
    /// `way loses 2;`.
    pub(super) fn model(&mut self) -> Read<ModelItem> {
        let item = if self.takes("way") {
            let word = self.name("`loses`, `doubles`, `reorders` or `holds`")?;
            let number = match self.token() {
                Token::Number(_) => Some(self.number("a number")?.0),
                _ => None,
            };
            ModelItem::Way(word, number)
        } else {
            let name = self.name("a host function, an input or one of its values")?;
            if self.takes("means") {
                ModelItem::Means { name, value: self.expression()? }
            } else if self.takes("told") {
                ModelItem::Tells { name, times: self.number("a number of times")?.0 }
            } else {
                self.want("=")?;
                ModelItem::Values { name, values: self.values()? }
            }
        };
        self.want(";")?;
        Ok(item)
    }

    fn values(&mut self) -> Read<Vec<u64>> {
        let mut values = Vec::new();
        if self.takes("{") {
            loop {
                values.push(self.number("a number")?.0);
                if !self.takes(",") {
                    break;
                }
            }
            self.want("}")?;
            return Ok(values);
        }
        let (least, at) = self.number("a number")?;
        self.want("..")?;
        let (most, end) = self.number("a number")?;
        if most < least || most - least >= VALUES_MOST {
            let says = format!("a range of a model goes up, over at most {VALUES_MOST} values");
            return self.tell(Diagnostic::new(DiagnosticCode::Property, at.to(end), says));
        }
        Ok((least..=most).collect())
    }
}
