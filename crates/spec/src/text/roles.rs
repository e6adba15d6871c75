//! What a role declares.

use super::reader::{Read, Reader};
use crate::tree::{FunctionItem, RoleItem, SignalItem, VariableItem};

impl Reader<'_> {
    /// Reads a role behind the word `role`.
    pub(super) fn role(&mut self) -> Read<RoleItem> {
        let mut role = RoleItem {
            name: self.name("the name of a role")?,
            sends: Vec::new(),
            receives: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            together: Vec::new(),
            functions: Vec::new(),
            variables: Vec::new(),
            hold: None,
            body: Vec::new(),
        };
        self.braced(|reader| {
            if !reader.declaration(&mut role)? {
                role.body.push(reader.statement()?);
            }
            Ok(())
        })?;
        Ok(role)
    }

    /// Reads a declaration, if one stands here.
    fn declaration(&mut self, role: &mut RoleItem) -> Read<bool> {
        if self.takes("sends") {
            role.sends.extend(self.names("an ADU")?);
        } else if self.takes("receives") {
            role.receives.extend(self.names("an ADU")?);
        } else if self.takes("together") {
            role.together.extend(self.names("an input")?);
        } else if self.takes("input") {
            self.signals(&mut role.inputs)?;
        } else if self.takes("output") {
            self.signals(&mut role.outputs)?;
        } else if self.takes("host") {
            role.functions.push(self.function()?);
        } else if self.takes("var") {
            role.variables.push(self.variable()?);
        } else if self.takes("hold") {
            role.hold = Some(self.number("a number of ADUs")?);
        } else {
            return Ok(false);
        }
        self.want(";")?;
        Ok(true)
    }

    fn signals(&mut self, all: &mut Vec<SignalItem>) -> Read<()> {
        loop {
            let name = self.name("a signal")?;
            let params = if self.sees("(") { self.params()? } else { Vec::new() };
            all.push(SignalItem { name, params });
            if !self.takes(",") {
                return Ok(());
            }
        }
    }

    fn function(&mut self) -> Read<FunctionItem> {
        let pure = self.takes("pure");
        let name = self.name("the name of a host function")?;
        let params = self.params()?;
        let result = if self.takes("->") { Some(self.kind()?) } else { None };
        Ok(FunctionItem { name, pure, params, result })
    }

    fn variable(&mut self) -> Read<VariableItem> {
        let name = self.name("the name of a variable")?;
        self.want(":")?;
        let kind = self.kind()?;
        let range = if self.takes("in") {
            let (least, at) = self.number("the least value")?;
            self.want("..")?;
            let (most, end) = self.number("the greatest value")?;
            Some((least, most, at.to(end)))
        } else {
            None
        };
        let initial = if self.takes("=") { Some(self.expression()?) } else { None };
        Ok(VariableItem { name, kind, range, initial })
    }
}
