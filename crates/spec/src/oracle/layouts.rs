//! Random formats, and each with one thing changed: no changed layout is taken for the same, and
//! none is called changed where only names, comments and order are.

use super::programs;
use crate::{Compiled, compile, layout_differences};

#[derive(Clone, Debug)]
enum Kind {
    Bool,
    Uint(u64),
    Octets(u64),
    Enum(usize),
    Bytes(u64),
}

#[derive(Clone, Debug)]
struct Enum {
    name: String,
    bits: u64,
    values: Vec<(String, u64)>,
}

#[derive(Clone, Debug)]
struct Adu {
    name: String,
    code: u64,
    by_host: bool,
    fields: Vec<(String, Kind)>,
}

#[derive(Clone, Debug)]
struct Format {
    enums: Vec<Enum>,
    adus: Vec<Adu>,
}

struct Drawing {
    random: fastrand::Rng,
    names: usize,
}

impl Drawing {
    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    fn format(&mut self) -> Format {
        let enums = (0..self.random.usize(1..3)).map(|_| self.enumeration()).collect();
        let mut format = Format { enums, adus: Vec::new() };
        let mut codes: Vec<u64> = (0..256).collect();
        self.random.shuffle(&mut codes);
        for code in codes.into_iter().take(self.random.usize(1..5)) {
            let mut fields = Vec::new();
            for _ in 0..self.random.usize(1..5) {
                self.field(&format, &mut fields);
            }
            if self.random.u8(0..3) == 0 {
                fields.push((self.name("f"), Kind::Bytes(self.random.u64(1..2000))));
            }
            let by_host = self.random.u8(0..8) == 0;
            format.adus.push(Adu { name: self.name("A"), code, by_host, fields });
        }
        format
    }

    fn enumeration(&mut self) -> Enum {
        let mut values: Vec<u64> = (0..20).collect();
        self.random.shuffle(&mut values);
        values.truncate(self.random.usize(1..5));
        let values = values.into_iter().map(|value| (self.name("V"), value)).collect();
        Enum { name: self.name("E"), bits: self.any(&[8, 16, 32]), values }
    }

    /// A field of whole octets, or several that are together.
    fn field(&mut self, format: &Format, fields: &mut Vec<(String, Kind)>) {
        let kind = match self.random.u8(0..5) {
            0 => {
                let first = self.random.u64(1..7);
                fields.push((self.name("f"), Kind::Uint(first)));
                fields.push((self.name("f"), Kind::Bool));
                Kind::Uint(7 - first)
            }
            1 => Kind::Octets(self.random.u64(1..20)),
            2 => Kind::Enum(self.random.usize(0..format.enums.len())),
            _ => Kind::Uint(8 * self.random.u64(1..9)),
        };
        if !matches!(kind, Kind::Uint(0)) {
            fields.push((self.name("f"), kind));
        }
    }

    fn any(&mut self, of: &[u64]) -> u64 {
        of[self.random.usize(0..of.len())]
    }

    /// Changes one thing; `None` where the format has none of that kind.
    fn changed(&mut self, format: &Format) -> Option<Format> {
        let mut new = format.clone();
        let nth = self.random.usize(0..new.adus.len());
        let count = new.adus[nth].fields.len();
        let place = self.random.usize(0..count);
        let free = (0..=255).find(|code| new.adus.iter().all(|adu| adu.code != *code));
        match self.random.u8(0..14) {
            0 => match &mut new.adus[nth].fields[place].1 {
                Kind::Uint(bits) if *bits >= 8 => *bits = *bits % 64 + 8,
                Kind::Octets(length) => *length += 1,
                Kind::Bytes(most) => *most += 1,
                _ => return None,
            },
            1 => match new.adus[nth].fields[place].1 {
                Kind::Uint(bits) if bits >= 8 => {
                    new.adus[nth].fields[place].1 = Kind::Octets(bits / 8)
                }
                Kind::Octets(length) if length <= 8 => {
                    new.adus[nth].fields[place].1 = Kind::Uint(8 * length);
                }
                _ => return None,
            },
            2 => new.adus[nth].code = free?,
            3 => {
                let other = self.random.usize(0..new.adus.len());
                if other == nth {
                    return None;
                }
                (new.adus[nth].code, new.adus[other].code) =
                    (new.adus[other].code, new.adus[nth].code);
            }
            4 => {
                let is_last = |kind: &Kind| matches!(kind, Kind::Bytes(_));
                if place + 1 == count || is_last(&new.adus[nth].fields[place + 1].1) {
                    return None;
                }
                new.adus[nth].fields.swap(place, place + 1);
            }
            5 => new.adus[nth].fields.insert(0, (self.name("f"), Kind::Uint(8))),
            6 => match new.adus[nth].fields[place].1 {
                Kind::Bool => return None,
                Kind::Uint(bits) if bits < 8 => return None,
                _ if count == 1 => return None,
                _ => drop(new.adus[nth].fields.remove(place)),
            },
            7 => {
                let Kind::Bytes(_) = new.adus[nth].fields[count - 1].1 else {
                    new.adus[nth].fields.push((self.name("f"), Kind::Bytes(9)));
                    return Some(new);
                };
                new.adus[nth].fields[count - 1].1 = Kind::Uint(8);
            }
            8 => new.adus[nth].by_host ^= true,
            9 if new.adus.len() > 1 => drop(new.adus.remove(nth)),
            // Of an enum that is sent.
            kind @ 10..=13 => {
                let Kind::Enum(of) = new.adus[nth].fields[place].1 else { return None };
                let of = &mut new.enums[of];
                match kind {
                    10 => of.bits = 2 * of.bits % 48 + 8,
                    11 => of.values[0].1 += 20,
                    12 => of.values.push((self.name("V"), 50)),
                    _ => {
                        let [(_, one), .., (_, other)] = &mut of.values[..] else { return None };
                        std::mem::swap(one, other);
                    }
                }
            }
            _ => return None,
        }
        Some(new)
    }

    /// The same with other names, in another order.
    fn renamed(&mut self, format: &Format) -> Format {
        let mut new = format.clone();
        for one in &mut new.enums {
            one.name = self.name("E");
            one.values.iter_mut().for_each(|(name, _)| *name = self.name("V"));
            self.random.shuffle(&mut one.values);
        }
        for adu in &mut new.adus {
            adu.name = self.name("A");
            adu.fields.iter_mut().for_each(|(name, _)| *name = self.name("f"));
        }
        self.random.shuffle(&mut new.adus);
        new
    }

    fn number(&mut self, number: u64) -> String {
        if self.random.bool() { format!("{number:#x}") } else { number.to_string() }
    }

    fn compiled(&mut self, format: &Format) -> Compiled {
        let mut text = String::from("protocol P version 1 {\n");
        for one in &format.enums {
            let values: Vec<String> = one
                .values
                .iter()
                .map(|(name, value)| format!("{name} = {}", self.number(*value)))
                .collect();
            text += &format!("enum {}: bits<{}> {{ {} }}\n", one.name, one.bits, values.join(", "));
        }
        for adu in &format.adus {
            let by_host = if adu.by_host { "by host " } else { "" };
            text += &format!("adu {} = {} {by_host}{{", adu.name, self.number(adu.code));
            for (name, kind) in &adu.fields {
                let kind = match kind {
                    Kind::Bool => "bool".into(),
                    Kind::Uint(bits @ (8 | 16 | 32 | 64)) if self.random.bool() => {
                        format!("u{bits}")
                    }
                    Kind::Uint(bits) => format!("bits<{bits}>"),
                    Kind::Octets(length) => format!("octets<{}>", self.number(*length)),
                    Kind::Enum(nth) => format!(" {}", format.enums[*nth].name),
                    Kind::Bytes(most) => format!("bytes <= {most}"),
                };
                let comment = if self.random.u8(0..8) == 0 { "// as before\n" } else { "" };
                text += &format!(" {name}: {kind}; {comment}");
            }
            text += "}\n";
        }
        let names: Vec<&str> = format.adus.iter().map(|adu| adu.name.as_str()).collect();
        let names = names.join(", ");
        text += &format!(
            "role One {{ sends {names}; halt; }} role Two {{ receives {names}; halt; }} }}"
        );
        compile(&text).unwrap_or_else(|told| panic!("{told:?}\n{text}"))
    }
}

#[test]
fn no_changed_layout_is_taken_for_the_same() {
    let mut drawing = Drawing { random: fastrand::Rng::with_seed(1), names: 0 };
    let mut pairs = 0;
    while pairs < programs(3_000) {
        let format = drawing.format();
        let Some(changed) = drawing.changed(&format) else { continue };
        pairs += 1;
        let renamed = drawing.renamed(&format);
        let [old, new, same] = [&format, &changed, &renamed].map(|one| drawing.compiled(one));
        for (one, other) in [(&new, &old), (&old, &new)] {
            let found = layout_differences(&one.program, &other.program);
            assert!(!found.is_empty(), "{format:#?} is not {changed:#?}");
        }
        for (one, other) in [(&same, &old), (&old, &same), (&old, &old)] {
            let found = layout_differences(&one.program, &other.program);
            assert!(found.is_empty(), "{found:?}: {format:#?} is {renamed:#?}");
        }
        assert_eq!(
            crate::hash(&same.program, &same.automata),
            crate::hash(&old.program, &old.automata)
        );
    }
}
