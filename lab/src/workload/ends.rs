//! How conversations ended, as far as their client knows.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use stackwright_contract::services::Ended;

/// The end of one conversation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum End {
    /// Both sides finished.
    Well,
    /// For this reason, in words.
    Otherwise(String),
    /// It had not ended when the run did.
    Missing,
}

impl From<Ended> for End {
    fn from(why: Ended) -> Self {
        if why == Ended::Finished { End::Well } else { End::Otherwise(why.to_string()) }
    }
}

/// How many conversations of a flow ended how.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ends {
    pub(crate) well: u64,
    /// How many ended otherwise, by reason.
    pub(crate) otherwise: BTreeMap<String, u64>,
    /// How many had not ended when the run did.
    pub(crate) missing: u64,
}

impl Ends {
    /// How many ended otherwise.
    pub(crate) fn otherwise(&self) -> u64 {
        self.otherwise.values().sum()
    }
}

impl<'a> FromIterator<&'a End> for Ends {
    fn from_iter<I: IntoIterator<Item = &'a End>>(all: I) -> Self {
        let mut ends = Ends::default();
        for end in all {
            match end {
                End::Well => ends.well += 1,
                End::Otherwise(why) => *ends.otherwise.entry(why.clone()).or_default() += 1,
                End::Missing => ends.missing += 1,
            }
        }
        ends
    }
}

/// The reasons with their counts; nothing where all ended well.
impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = (self.missing > 0).then_some((TIME_RAN_OUT, &self.missing));
        let otherwise = self.otherwise.iter().map(|(why, count)| (why.as_str(), count));
        for (nth, (why, count)) in otherwise.chain(missing).enumerate() {
            write!(f, "{}{why}: {count}", if nth == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The reason of a conversation that had not ended when the run did.
pub(crate) const TIME_RAN_OUT: &str = "time ran out";
