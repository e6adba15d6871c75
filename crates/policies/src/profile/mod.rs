//! From requirements to a plan: what an application requires, what the path is like and what a
//! format can carry decide which policies fill the slots, and why. (“Profile” and “plan” are the
//! words of UTS's functionality selector.)
//!
//! | type | what |
//! | --- | --- |
//! | [`Requirements`] | what the application requires |
//! | [`Path`] | what is known about the path |
//! | [`plan`] | selects a policy for each slot, or says what is [`Unmet`] |
//! | [`Plan`] | the [`Choice`]s, with their reasons; builds the policies within [`Bounds`] |
//! | [`PolicyValues`] | what policies need to know beyond their types; makes those that a program names |
//!
//! ```
//! use stackwright_policies::profile::{DeliveryOrder, Path, Requirements, plan};
//! use stackwright_transport::rules::Property;
//! let format = Property::SPANS.and(Property::FRAGMENTS).and(Property::CREDIT);
//! let format = format.and(Property::COUNTS_PACKETS);
//! let order = DeliveryOrder::Any;
//! let requirements = Requirements { reliable: true, order, ..Requirements::default() };
//! let plan = plan(&requirements, &Path::default(), format).unwrap();
//! assert!(plan.choices().any(|choice| choice.name == "recovery by RACK-TLP"));
//! println!("{plan}");
//! ```

mod build;
mod choice;
mod path;
mod requirements;
mod select;
mod values;

pub use build::Bounds;
pub use choice::{Choice, Plan};
pub use path::Path;
pub use requirements::{
    AssociationStart, CheckKind, CongestionKind, DeliveryOrder, FixedRate, Repetition,
    Requirements, Unmet,
};
pub use select::plan;
pub use values::{FromValues, PolicyValues};
