//! From requirements to a plan: what an application asks, what the path is like and what a format
//! can carry decide which policies make its transport, and why (UTS's functionality selector;
//! "profile" and "plan" are its words).
//!
//! ```
//! use stackwright_policies::profile::{DeliveryOrder, Path, Requirements, plan};
//! use stackwright_transport::rules::Property;
//! let format = Property::SPANS.and(Property::FRAGMENTS).and(Property::CREDIT).and(Property::COUNTS_PACKETS);
//! let requirements = Requirements { reliable: true, order: DeliveryOrder::Any, ..Requirements::default() };
//! let plan = plan(&requirements, &Path::default(), format).unwrap();
//! assert!(plan.choices().any(|choice| choice.name == "recovery by individual timeouts"));
//! println!("{plan}");
//! ```

mod build;
mod choice;
mod path;
mod requirements;
mod select;

pub use build::Bounds;
pub use choice::{Choice, Plan};
pub use path::Path;
pub use requirements::{DeliveryOrder, Requirements, Unmet};
pub use select::plan;
