//! What a program may ask of a graph: its lanes while it is made, and who is where when it is.

use std::cell::RefCell;
use std::rc::Rc;

use stackwright_compose::graph::{Description, Erased, Graph, ProtocolRegistry};
use stackwright_contract::Both;
use stackwright_wire::BufferTree;

use crate::graph::chat::{Chat, Log, Talk, Wire};

type M = BufferTree;
type Asked = Rc<RefCell<Vec<(String, usize)>>>;

/// Adapters that note the lane in which they were made, and who stands on one or two of something.
fn registry(asked: &Asked) -> ProtocolRegistry<M, Wire> {
    let (asked, log) = (asked.clone(), Log::default());
    let (one, two) = (log.clone(), log.clone());
    ProtocolRegistry::new()
        .with("adapter", "talks with the outside", &[], move |table| {
            asked.borrow_mut().push((table.node().into(), table.lane()));
            assert_eq!(
                table.lane(),
                asked.borrow().len() - 1,
                "it is the same however often it is asked"
            );
            Ok(Box::new(Erased(Chat::<Wire>::new(1, 1, &log))))
        })
        .with("one", "stands on one", &[], move |_| {
            Ok(Box::new(Erased(Chat::<Talk>::new(2, 2, &one))))
        })
        .with("two", "stands on two", &[], move |_| {
            Ok(Box::new(Erased(Chat::<Both<Talk, Talk>>::new(3, 3, &two))))
        })
}

/// The file's order is none of the lanes' order, and `shared` is stood on twice.
const TEXT: &str = "
top = \"a\"
[shared]
protocol = \"adapter\"
[last]
protocol = \"adapter\"
[b]
protocol = \"two\"
over = [\"shared\", \"last\"]
[first]
protocol = \"adapter\"
[c]
protocol = \"one\"
over = \"first\"
[d]
protocol = \"two\"
over = [\"c\", \"shared\"]
[a]
protocol = \"two\"
over = [\"d\", \"b\"]
";

#[test]
fn adapters_are_made_with_the_lanes_they_get() {
    let asked = Asked::default();
    let text = TEXT.replace(
        "over = [\"c\", \"shared\"]",
        "over = [\"c\", \"middle\"]\n[middle]\nprotocol = \"adapter\"",
    );
    let graph: Graph<M, Wire, Talk> =
        Description::read(&text).expect("it is TOML").build(&registry(&asked)).expect("it fits");
    let lanes = ["first", "middle", "shared", "last"]
        .into_iter()
        .zip(0..)
        .map(|(name, lane)| (name.into(), lane));
    assert_eq!(*asked.borrow(), lanes.collect::<Vec<_>>());
    assert_eq!(graph.lanes(), 4);
}

#[test]
fn a_graph_is_looked_at_whatever_it_provides() {
    let graph = Description::read(TEXT)
        .expect("it is TOML")
        .look(&registry(&Asked::default()))
        .expect("it fits");
    let lowers = [("a", 0, "d"), ("a", 1, "b"), ("c", 0, "first")];
    assert!(lowers.into_iter().all(|(name, port, lower)| graph.lower(name, port) == Some(lower)));
    // What stands between two nodes is passed.
    assert_eq!((graph.lower("d", 1), graph.lower("b", 0)), (Some("shared"), Some("shared")));
    let text = "top = [\"d\", \"last\"]\n[last]\nprotocol = \"adapter\"\n[d]\nprotocol = \"one\"\nover = \"e\"\n[e]\nprotocol = \"adapter\"\n";
    let asked = Asked::default();
    let graph =
        Description::read(text).expect("it is TOML").look(&registry(&asked)).expect("it fits");
    assert_eq!(graph.provides(), ["Talk", "Talk"]);
    assert_eq!(graph.tops().collect::<Vec<_>>(), ["d", "last"]);
    assert_eq!(
        (graph.lower("d", 0), graph.lower("d", 1), graph.lower("e", 0)),
        (Some("e"), None, None)
    );
    assert_eq!(*asked.borrow(), [("e".into(), 0), ("last".into(), 1)]);
}
