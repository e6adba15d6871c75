//! What a protocol declares.

use super::branches;
use super::lex::Token;
use super::reader::{Read, Reader};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::tree::{AduItem, EnumItem, File, Ident, Param, PhaseItem, ServiceItem, TypeName};

const ITEMS: &[&str] =
    &["enum", "adu", "phase", "fence", "role", "property", "model", "binding", "accepts"];

/// Reads a text; also gives what is wrong with its form.
pub(crate) fn read(text: &str) -> (File, Vec<Diagnostic>) {
    let mut reader = Reader::new(text);
    let mut file = File::default();
    // What is wrong was told.
    let _ = reader.file(&mut file);
    if reader.told.is_empty() {
        branches::arrange(&mut file, text, reader.tokens);
    }
    (file, reader.told)
}

impl Reader<'_> {
    fn file(&mut self, file: &mut File) -> Read<()> {
        if !self.takes("protocol") {
            return self.expected("`protocol NAME version NUMBER { … }`");
        }
        file.name = Some(self.name("the name of the protocol")?);
        if !self.takes("version") {
            return self.expected("`version` and a number");
        }
        file.version = self.number("the number of the version")?.0;
        self.braced(|reader| reader.item(file))?;
        if self.is_end() { Ok(()) } else { self.expected("the end of the text") }
    }

    fn item(&mut self, file: &mut File) -> Read<()> {
        if self.takes("enum") {
            file.enums.push(self.enumeration()?);
        } else if self.takes("adu") {
            file.adus.push(self.adu()?);
        } else if self.takes("phase") {
            file.phases.push(self.phase()?);
        } else if self.takes("fence") {
            let before = self.name("a phase")?;
            self.want("->")?;
            let after = self.name("a phase")?;
            self.want(";")?;
            file.fences.push((before, after));
        } else if self.takes("role") {
            file.roles.push(self.role()?);
        } else if self.takes("property") {
            file.properties.push(self.property()?);
        } else if self.takes("model") {
            self.braced(|reader| {
                file.models.push(reader.model()?);
                Ok(())
            })?;
        } else if self.takes("binding") {
            let at = self.here();
            if !["static", "phased", "adaptive"].iter().any(|word| self.sees(word)) {
                return self.expected("`static`, `phased` or `adaptive`");
            }
            self.step();
            file.binding = Some(Ident { name: self.said(at).to_owned(), at });
            self.want(";")?;
        } else if self.takes("accepts") {
            loop {
                file.accepts.push(self.hash()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.want(";")?;
        } else {
            return self.unknown_word("a declaration", ITEMS);
        }
        Ok(())
    }

    fn hash(&mut self) -> Read<Ident> {
        let at = self.here();
        let said = self.said(at);
        let is_hash = said.len() == 16 && said.chars().all(|digit| digit.is_ascii_hexdigit());
        if !is_hash || matches!(self.token(), Token::Sign(_) | Token::End) {
            return self.expected("a hash of 16 hexadecimal digits");
        }
        self.step();
        Ok(Ident { name: said.to_lowercase(), at })
    }

    fn enumeration(&mut self) -> Read<EnumItem> {
        let name = self.name("the name of an enum")?;
        self.want(":")?;
        let at = self.here();
        let TypeName::Uint(bits) = self.kind()? else {
            let says = "an enum is carried in an unsigned number";
            let flaw = Diagnostic::new(DiagnosticCode::Type, at, says);
            return self.tell(flaw.help("write `u8`, `u16` or `bits<4>`"));
        };
        let mut values = Vec::new();
        self.want("{")?;
        loop {
            let value = self.name("the name of a value")?;
            self.want("=")?;
            values.push((value, self.number("a number")?.0));
            if !self.takes(",") || self.sees("}") {
                break;
            }
        }
        self.want("}")?;
        Ok(EnumItem { name, bits, values })
    }

    fn adu(&mut self) -> Read<AduItem> {
        let name = self.name("the name of an ADU")?;
        let code = if self.takes("=") { Some(self.number("its code")?) } else { None };
        let by_host = self.takes("by");
        if by_host {
            self.want("host")?;
        }
        let mut fields = Vec::new();
        self.braced(|reader| {
            let at = reader.here();
            let name = reader.name("the name of a field")?;
            reader.want(":")?;
            let kind = reader.kind()?;
            fields.push(Param { name, kind, at: at.to(reader.before()) });
            reader.want(";")
        })?;
        Ok(AduItem { name, code, by_host, fields })
    }

    fn phase(&mut self) -> Read<PhaseItem> {
        let name = self.name("the name of a phase")?;
        let mut services = Vec::new();
        self.braced(|reader| {
            let at = reader.here();
            let name = reader.name("a service")?;
            let mut arguments = Vec::new();
            if reader.takes("(") {
                while !reader.takes(")") {
                    if !arguments.is_empty() {
                        reader.want(",")?;
                    }
                    let at = reader.here();
                    // What is kept is the value, and not how it is written: it is in the hash.
                    let argument = match reader.token() {
                        Token::Number(number) => number.to_string(),
                        Token::Name => reader.said(at).to_owned(),
                        _ => return reader.expected("a number or a word"),
                    };
                    reader.step();
                    arguments.push((argument, at));
                }
            }
            services.push(ServiceItem { name, arguments, at: at.to(reader.before()) });
            reader.want(";")
        })?;
        Ok(PhaseItem { name, services })
    }
}
