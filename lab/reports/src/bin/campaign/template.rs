//! A word of a command with places in it, such as `loss={loss}`.

/// A word, of which some pieces depend on the cell. `{{` and `}}` are braces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Place(String),
}

impl Template {
    /// Reads a word; the error is a sentence.
    pub(crate) fn read(word: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = word;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                text.push_str(&rest[..1]);
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}'))
            {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Place(name.to_owned()));
                rest = after;
            } else {
                return Err(format!(
                    "`{word}` has an unmatched brace; write {{{{ or }}}} for a literal brace"
                ));
            }
        }
        text.push_str(rest);
        if !text.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Template(pieces))
    }

    /// The names of its places.
    pub(crate) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The word, with `value` asked what stands at each place.
    pub(crate) fn fill(&self, value: impl Fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Place(name) => value(name),
        };
        self.0.iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_double_braces_are_braces() {
        let template = Template::read("{{a}}={a},{b}{a}").expect("it can be read");
        assert_eq!(template.places().collect::<Vec<_>>(), ["a", "b", "a"]);
        assert_eq!(template.fill(|name| name.repeat(2)), "{a}=aa,bbaa");
        assert_eq!(Template::read("").expect("an empty word is one").fill(|_| "x".into()), "");
    }

    #[test]
    fn a_brace_alone_is_refused() {
        for word in ["{", "}", "a{b", "a}b", "{a}}"] {
            assert!(Template::read(word).is_err(), "{word}");
        }
    }
}
