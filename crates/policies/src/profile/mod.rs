//! From wishes to a plan: what an application asks, what the path is like and what a format can carry decide which policies
//! make its transport, and why (UTS's functionality selector; "profile" and "plan" are its words).
//!
//! ```
//! use stackwright_policies::profile::{Order, Path, Wishes, plan};
//! use stackwright_transport::rules::Property;
//! let format = Property::SPANS.and(Property::FRAGMENTS).and(Property::CREDIT).and(Property::COUNTS_PACKETS);
//! let wishes = Wishes { reliable: true, order: Order::Any, ..Wishes::default() };
//! let plan = plan(&wishes, &Path::default(), format).unwrap();
//! assert!(plan.choices().any(|choice| choice.name == "recovery by individual timeouts"));
//! println!("{plan}");
//! ```

mod build;
mod choice;
mod path;
mod select;
mod wishes;

pub use build::Bounds;
pub use choice::{Choice, Plan};
pub use path::Path;
pub use select::plan;
pub use wishes::{Order, Unmet, Wishes};
