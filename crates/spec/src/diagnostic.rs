//! What is wrong with a text: plain values with a place, and how they are shown.

use annotate_snippets::{AnnotationKind, Level, Patch, Renderer, Snippet};

/// A part of the text, in octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    /// Its first octet.
    pub start: u32,
    /// The octet behind its last.
    pub end: u32,
}

impl Span {
    /// Returns the part from the begin of `self` to the end of `last`.
    pub(crate) fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end.max(self.start) }
    }

    /// Returns the line on which it begins, counted from 1.
    #[must_use]
    pub fn line(self, text: &str) -> usize {
        1 + text.bytes().take(self.start as usize).filter(|octet| *octet == b'\n').count()
    }
}

macro_rules! codes {
    ($($name:ident $code:literal $doc:literal),* $(,)?) => {
        /// Which rule a text breaks.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum DiagnosticCode {
            $(#[doc = $doc] $name,)*
        }

        impl DiagnosticCode {
            /// All codes.
            pub const ALL: &[DiagnosticCode] = &[$(DiagnosticCode::$name),*];

            /// Returns the code as it is printed.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(DiagnosticCode::$name => $code),* }
            }

            /// Returns the rule in a sentence.
            #[must_use]
            pub fn rule(self) -> &'static str {
                match self { $(DiagnosticCode::$name => $doc),* }
            }
        }
    };
}

codes! {
    Character "S001" "A text has names, numbers, operators and `//` comments.",
    Syntax "S002" "A statement or declaration has the form that the grammar gives it.",
    Number "S003" "A number has at most 64 bits.",
    Depth "S004" "Blocks and expressions are nested at most 32 deep, and an expression has at most 256 operators.",
    Length "S005" "A text has at most 256 KiB.",
    Duplicate "S010" "A name, a code or a value is declared once.",
    UnknownName "S011" "A name is declared before it is used.",
    WrongKind "S012" "A name is used as what it was declared.",
    Unused "S013" "What is declared is used.",
    AduCode "S020" "An ADU has a code of its own, from 0 to 255.",
    BytesLast "S021" "A field of variable length is the last one.",
    FieldWidth "S022" "A field has 1 to 64 bits, and fixed fields fill whole octets.",
    EnumValue "S023" "A value of an enum fits its width.",
    AduLength "S024" "An ADU of a phase with `alf` fits one packet.",
    UnknownService "S030" "A service is one of those that policies implement.",
    Contradiction "S031" "The services of a phase do not contradict each other.",
    MissingService "S032" "A service that needs another is accompanied by it.",
    NoPolicy "S033" "A service has a policy in this version.",
    ServiceArgument "S034" "A service has the arguments that its policy takes.",
    Binding "S035" "What a receiver must know of its phases is the same in all of them.",
    Hold "S036" "Held ADUs have room for a whole flow window.",
    Type "S040" "An expression has the type that its place wants.",
    Arguments "S041" "A call gives as many arguments as are declared.",
    Fields "S042" "Each field of an ADU is given once when it is sent.",
    Gone "S043" "What came is used in the instant in which it came.",
    Impure "S044" "A condition calls only `host pure` functions.",
    EveryWaits "S045" "The block of `every` ends in the instant in which it begins.",
    Instantaneous "S046" "A loop waits for something in each turn, and a wait takes time.",
    NoTrap "S047" "`exit` names a trap around it.",
    Shared "S048" "A variable is written by one branch of `||` and then used by no other.",
    OutOfRange "S049" "A constant lies in the range of what it is for.",
    Cycle "S050" "Whether a signal is present does not depend on itself.",
    Twice "S051" "A signal with a value is emitted once in an instant.",
    TooMany "S052" "An automaton stays within its bounds.",
    Unreachable "S053" "Each statement can be reached.",
    Unheard "S054" "Each ADU that is received is awaited somewhere.",
    BytesVariable "S055" "A variable holds a number, a truth value or an enum.",
    NoRole "S056" "A protocol has a role.",
    Property "S057" "A property or a model speaks of what roles do.",
    Contract "S058" "On the contract ADUs have a layout, and one word is one instant.",
}

/// How grave it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// The text is accepted, and probably does not say what was meant.
    Warning,
}

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Which rule is broken.
    pub code: DiagnosticCode,
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in a sentence.
    pub says: String,
    /// Where.
    pub at: Span,
    /// What is written under the place; may be empty.
    pub label: String,
    /// Other places that it concerns, with what is written under them.
    pub also: Vec<(Span, String)>,
    /// What to do.
    pub help: Option<String>,
    /// What to write instead, and where.
    pub instead: Option<(Span, String)>,
}

impl Diagnostic {
    pub(crate) fn new(code: DiagnosticCode, at: Span, says: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            says: says.into(),
            at,
            label: String::new(),
            also: Vec::new(),
            help: None,
            instead: None,
        }
    }

    pub(crate) fn warning(code: DiagnosticCode, at: Span, says: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::new(code, at, says) }
    }

    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Diagnostic { label: label.into(), ..self }
    }

    pub(crate) fn also(mut self, at: Span, label: impl Into<String>) -> Self {
        self.also.push((at, label.into()));
        self
    }

    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        Diagnostic { help: Some(help.into()), ..self }
    }

    pub(crate) fn instead(self, at: Span, text: impl Into<String>) -> Self {
        Diagnostic { instead: Some((at, text.into())), ..self }
    }

    /// Shows it as rustc shows its own: the place underlined, and what to write instead.
    #[must_use]
    pub fn render(&self, path: &str, text: &str, colored: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let range = |span: Span| {
            let end = (span.end as usize).min(text.len());
            (span.start as usize).min(end)..end
        };
        let mut snippet = Snippet::source(text)
            .path(path)
            .fold(true)
            .annotation(AnnotationKind::Primary.span(range(self.at)).label(&self.label));
        for (at, label) in &self.also {
            snippet = snippet.annotation(AnnotationKind::Context.span(range(*at)).label(label));
        }
        let mut main = level.primary_title(&self.says).id(self.code.name()).element(snippet);
        let mut report = Vec::new();
        if let (Some(help), None) = (&self.help, &self.instead) {
            main = main.element(Level::HELP.message(help));
        }
        report.push(main);
        if let Some((at, written)) = &self.instead {
            let title = self.help.as_deref().unwrap_or("write this instead");
            let patch = Snippet::source(text).fold(true).patch(Patch::new(range(*at), written));
            report.push(Level::HELP.secondary_title(title).element(patch));
        }
        let renderer = if colored { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&report)
    }
}

/// Returns the name among `names` that `name` probably means.
pub(crate) fn similar<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &&str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let best = names.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)))?;
    (likeness(&best) > 0.8 && best != name).then_some(best)
}
