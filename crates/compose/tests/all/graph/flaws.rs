//! Every flaw of a description: its sentence, its place, and what is meant.

use stackwright_compose::graph::{
    Builder, Description, Erased, Flaw, Graph, NODES_MOST, Node, Parameter, ParameterKind,
    ParameterTable, ProtocolRegistry,
};
use stackwright_compose::{Beside, Over};
use stackwright_contract::rules::{self, Misfit};
use stackwright_contract::{Nothing, Protocol};
use stackwright_wire::BufferTree;

use crate::graph::chat::Wire;
use crate::toys::*;

type M = BufferTree;
type Described = Graph<M, Wire, Nothing>;

fn boxed<P>(protocol: P) -> Result<Box<dyn Node<M, Wire>>, Flaw>
where
    Erased<P>: Node<M, Wire>,
{
    Ok(Box::new(Erased(protocol)))
}

fn registry() -> ProtocolRegistry<M, Wire> {
    const TCP: &[Parameter] = &[
        Parameter::new("local", ParameterKind::Text, "the address from which it speaks"),
        Parameter::new("window", ParameterKind::Number, "how many octets it holds"),
    ];
    const DISK: &[Parameter] =
        &[Parameter::required("root", ParameterKind::Text, "the folder whose files it has")];
    ProtocolRegistry::new()
        .with("mail", "sends mail", &[], |_| boxed(Mail))
        .with("terminal", "a terminal", &[], |_| boxed(Terminal))
        .with("archive", "keeps files", &[], |_| boxed(Archive))
        .with("file server", "serves files", &[], |_| boxed(FileServer))
        .with("images", "shows pictures", &[], |_| boxed(Images))
        .with("sort", "puts octets in order", &[], |_| boxed(Sort))
        .with("resend", "sends again", &[], |_| boxed(Resend))
        .with("cipher", "hides octets", &[], |_| boxed(Cipher))
        .with("onion", "pushes much", &[], |_| boxed(Onion))
        .with("udp", "datagrams", &[], |_| boxed(Udp))
        .with("scratch", "forgets files", &[], |_| boxed(ScratchDisk))
        .with("disk", "files on a disk", DISK, |parameters| match parameters.text("root") {
            Some("") => Err(parameters.flaw("root", "a root has a name".to_owned())),
            _ => boxed(Disk),
        })
        .with("tcp", "streams of the system", TCP, |parameters| {
            parameters.parsed::<std::net::SocketAddr>("local", "an address and a port")?;
            boxed(Tcp)
        })
}

fn build(text: &str) -> Result<Described, Flaw> {
    Description::read(text)?.build(&registry())
}

fn refused(text: &str) -> String {
    build(text).map(|_| ()).expect_err("it has a flaw").to_string()
}

#[test]
fn none() {
    let graph = build(
        "top = \"mail\"\n[mail]\nover = [\"tcp\"]\n[tcp]\nlocal = \"127.0.0.1:25\"\nwindow = 0x1000\n",
    );
    assert_eq!(format!("{:?}", graph.expect("it fits")), r#"{"mail": "Mail", "tcp": "Tcp"}"#);
    build("top = \"server\"\n[server]\nprotocol = \"file server\"\nover = [\"tcp\", \"disk\"]\n[tcp]\n[disk]\nroot = \".\"\n")
        .expect("it fits");
}

#[test]
fn of_the_text() {
    for (text, says) in [
        (
            "top = \"mail\"\n[mail\n",
            "line 2, column 6: this cannot be read: unclosed table, expected `]`",
        ),
        (
            "top = \"mail\"\n[mail]\nover = \"tcp\"\nover = \"tcp\"\n[tcp]\n",
            "line 4, column 1: the key `over` stands there twice",
        ),
        ("top = \"mail\"\n[mail]\n[mail]\n", "line 3, column 2: the key `mail` stands there twice"),
        (
            "top = 3\n",
            "line 1, column 7: `top` is a node's name, or a list of them, and a number stands there",
        ),
        (
            "top = []\n",
            "line 1, column 7: `top` is a node's name, or a list of them, and an empty list stands there",
        ),
        (
            "speed = 3\n",
            "line 1, column 1: `speed` is no table; a graph has nothing of its own but `top`",
        ),
        (
            "[mail]\nover = [true]\n",
            "line 2, column 9: `over` of `mail` is a node's name, or a list of them, and true or false stands there",
        ),
        (
            "[mail]\nover = []\nx = [[]]\n[b]\nover = [[]]",
            "line 5, column 8: `over` of `b` is a node's name, or a list of them, and an empty list stands there",
        ),
        (
            "[mail]\nprotocol = 1.5\n",
            "line 2, column 12: `protocol` of `mail` is a protocol's name, and a fraction stands there",
        ),
    ] {
        assert_eq!(refused(text), says);
    }
    let long = "#".repeat(65_537);
    assert_eq!(refused(&long), "the description has 65537 octets; 65536 are the most");
}

#[test]
fn of_names_and_parameters() {
    for (text, says) in [
        (
            "top = \"mail\"\n[mail]\nover = \"tpc\"\n[tcp]\n",
            "line 3, column 8: `mail` stands on `tpc`, which is not in this graph; is `tcp` meant?",
        ),
        (
            "top = \"male\"\n[mail]\nover = \"tcp\"\n[tcp]\n",
            "line 1, column 7: the top is `male`, which is not in this graph; is `mail` meant?",
        ),
        (
            "top = \"x\"\n[x]\nprotocol = \"terminl\"\n",
            "line 3, column 12: there is no protocol called `terminl`; is `terminal` meant?",
        ),
        ("top = \"zzz\"\n[zzz]\n", "line 2, column 2: there is no protocol called `zzz`"),
        (
            "top = \"mail\"\n[mail]\nover = \"tcp\"\n[tcp]\nwindwo = 3\n",
            "line 5, column 1: `tcp` has no parameter `windwo`; is `window` meant?",
        ),
        (
            "top = \"mail\"\n[mail]\novre = \"tcp\"\n[tcp]\n",
            "line 3, column 1: `mail` has no parameter `ovre`; is `over` meant?",
        ),
        (
            "[tcp]\nwindow = \"big\"\n",
            "line 2, column 10: `window` of `tcp` is a number, and a text stands there",
        ),
        (
            "[tcp]\nwindow = 99999999999999999999\n",
            "line 2, column 10: `window` of `tcp` is a number, and a number that is too large stands there",
        ),
        (
            "[tcp]\nlocal = \"here\"\n",
            "line 2, column 9: `local` of `tcp` is an address and a port, and `here` is not",
        ),
        (
            "[disk]\n",
            "line 1, column 2: `disk` needs the parameter `root`: the folder whose files it has",
        ),
        ("[disk]\nroot = \"\"\n", "line 2, column 8: a root has a name"),
    ] {
        assert_eq!(refused(text), says);
    }
}

#[test]
fn of_the_shape() {
    for (text, says) in [
        ("[tcp]\n", "the graph does not say which node is its top"),
        (
            "top = \"mail\"\n[mail]\nover = \"sort\"\n[sort]\nover = \"a\"\n[a]\nprotocol = \"sort\"\nover = \"sort\"\n",
            "line 4, column 2: `sort` would stand on itself: `sort` over `a` over `sort`",
        ),
        (
            "top = \"mail\"\n[mail]\n",
            "line 2, column 2: `mail` uses Streams, and nothing stands below it there",
        ),
        (
            "top = \"mail\"\n[mail]\nover = [\"tcp\", \"udp\"]\n[tcp]\n[udp]\n",
            "line 3, column 16: `mail` stands on 2 lowers, and has ports for 1; several lowers of one port are a list in the list",
        ),
        (
            "top = \"mail\"\n[mail]\nover = \"tcp\"\n[tcp]\n[udp]\n",
            "line 5, column 2: nobody stands on `udp`, and it is not the top",
        ),
        ("top = [\"tcp\", \"tcp\"]\n[tcp]\n", "line 1, column 8: `tcp` is named as the top twice"),
        (
            "top = [\"tcp\", \"sort\"]\n[tcp]\n[sort]\nover = \"tcp\"\n",
            "line 1, column 8: `tcp` is the top, and `sort` stands on it",
        ),
        (
            "top = \"tcp\"\n[tcp]\n",
            "line 1, column 7: the top, `tcp`, provides Streams, and the application expects ",
        ),
        (
            "top = [\"tcp\", \"udp\"]\n[tcp]\n[udp]\n",
            "line 1, column 8: the tops, `tcp` and `udp`, provide Streams and Datagrams, and the application expects ",
        ),
        (
            "top = \"archive\"\n[archive]\nover = [[\"a\", \"b\"]]\n[a]\nprotocol=\"scratch\"\n[b]\nprotocol=\"scratch\"\n",
            "line 3, column 10: `archive` cannot stand on several lowers of Files: its words do not say which of them is meant",
        ),
    ] {
        assert_eq!(refused(text), says);
    }
    let mut many = String::from("top = \"n0\"\n");
    for node in 0..=NODES_MOST {
        many += &format!("[n{node}]\nprotocol = \"tcp\"\n");
    }
    assert_eq!(refused(&many), "line 1, column 7: the graph has 65 nodes; 64 are the most");
}

/// What the compiler says about a static stack is what the builder says about a graph.
fn same_sentence<U: Protocol, L: Protocol>(text: &str, at: &str) {
    let misfit: Misfit = rules::fits(&U::FACTS, &L::FACTS).expect_err("the rule book refuses");
    assert_eq!(refused(text), format!("{at}: {}", misfit.explain()));
}

#[test]
fn of_neighbours() {
    same_sentence::<Terminal, Over<Sort, Tcp>>(
        "top = \"terminal\"\n[terminal]\nover = \"sort\"\n[sort]\nover = \"tcp\"\n[tcp]\n",
        "line 2, column 2",
    );
    same_sentence::<Archive, ScratchDisk>(
        "top = \"archive\"\n[archive]\nover = \"scratch\"\n[scratch]\n",
        "line 2, column 2",
    );
    same_sentence::<Images, Over<Cipher, Tcp>>(
        "top = \"images\"\n[images]\nover = \"cipher\"\n[cipher]\nover = \"tcp\"\n[tcp]\n",
        "line 2, column 2",
    );
    same_sentence::<Onion, Over<Cipher, Tcp>>(
        "top = \"mail\"\n[mail]\nover = \"onion\"\n[onion]\nover = \"cipher\"\n[cipher]\nover = \"tcp\"\n[tcp]\n",
        "line 4, column 2",
    );
    assert_eq!(
        refused("top = \"mail\"\n[mail]\nover = \"udp\"\n[udp]\n"),
        "line 3, column 8: `Mail` does not fit on `Udp`: `Mail` uses Streams, and `Udp` provides Datagrams"
    );
    assert_eq!(
        refused(
            "top = \"s\"\n[s]\nprotocol = \"file server\"\nover = [\"disk\", \"tcp\"]\n[disk]\nroot = \".\"\n[tcp]\n"
        ),
        "line 4, column 9: `FileServer` does not fit on `Disk`: `FileServer` uses Streams, and `Disk` provides Files"
    );
}

#[test]
fn without_a_text_have_no_place() {
    let builder = Builder::<M, Wire>::new()
        .top("mail")
        .protocol("mail", Mail)
        .over("udp")
        .protocol("udp", Udp);
    let flaw = builder.build::<Nothing>().map(|_| ()).expect_err("they do not meet");
    assert_eq!(flaw.at(), None);
    assert!(matches!(flaw.misfit(), Some(Misfit::Service { upper: "Mail", lower: "Udp", .. })));
    let builder = Builder::<M, Wire>::new().top("a").protocol("a", Tcp).protocol("a", Tcp);
    let flaw = builder.build::<Nothing>().map(|_| ()).expect_err("two have one name");
    assert_eq!(flaw.to_string(), "two nodes are called `a`");
}

#[test]
fn a_graph_is_drawn_and_explained() {
    let text = "top = \"server\"\n[server]\nprotocol = \"file server\"\nover = [\"cipher\", \"disk\"]\n[cipher]\nover = \"tcp\"\n[tcp]\n[disk]\nroot = \".\"\n";
    let graph = build(text).expect("it fits");
    assert_eq!(
        graph.draw(),
        "\
┌────────────────────┐
│ server: FileServer │
└┬───────────────────┘
 ├─╮ Streams
 │ ┌────────────────┐
 │ │ cipher: Cipher │
 │ └┬───────────────┘
 │  │ Streams
 │ ┌──────────┐
 │ │ tcp: Tcp │
 │ └──────────┘
 │ Files
┌────────────┐
│ disk: Disk │
└────────────┘
"
    );
    assert_eq!(
        graph.dot(),
        r#"digraph graph_of_protocols {
    node [shape=box];
    edge [dir=both];
    n0 [label="server: FileServer"];
    n1 [label="cipher: Cipher"];
    n2 [label="tcp: Tcp"];
    n3 [label="disk: Disk"];
    n0 -> n1 [label="Streams"];
    n0 -> n3 [label="Files"];
    n1 -> n2 [label="Streams"];
}
"#
    );
    assert_eq!(
        graph.explain(),
        "\
`server` fits on `cipher`: it needs reliable delivery, and gets that there.
`server` fits on `disk`: it needs nothing more than Files.
`cipher` fits on `tcp`: it needs reliable delivery and delivery in order, and gets that there.
The whole promises nothing beyond its service.
It pushes at most 16 octets of header, of 256.
It reads payload: no region of a file passes it unread.
"
    );
    assert_eq!(graph.facts(), <Over<FileServer, Beside<Over<Cipher, Tcp>, Disk>>>::FACTS);
}

/// Whatever stands there: a graph or a sentence, never a panic.
#[test]
fn any_text_is_a_graph_or_a_flaw() {
    const PIECES: [&str; 24] = [
        "top = \"mail\"\n",
        "top = [\"mail\", \"tcp\"]\n",
        "[mail]\n",
        "[tcp]\n",
        "[sort]\n",
        "[x]\n",
        "protocol = \"tcp\"\n",
        "protocol = \"mail\"\n",
        "protocol = \"file server\"\n",
        "over = \"tcp\"\n",
        "over = [\"tcp\", \"disk\"]\n",
        "over = [[\"tcp\", \"x\"]]\n",
        "over = \"sort\"\n",
        "over = []\n",
        "[disk]\n",
        "root = \".\"\n",
        "window = 1\n",
        "\"",
        "[",
        "]",
        "=",
        "\u{e9}\n",
        "# remark\n",
        "over = [[], 3]\n",
    ];
    let mut random = fastrand::Rng::with_seed(1);
    let mut built = 0;
    for _ in 0..30_000 {
        let mut pieces = vec![
            "top = \"mail\"\n",
            "[mail]\n",
            "over = \"sort\"\n",
            "[sort]\n",
            "over = \"tcp\"\n",
            "[tcp]\n",
        ];
        for _ in 0..random.usize(..6) {
            let piece = PIECES[random.usize(..PIECES.len())];
            let place = random.usize(..pieces.len());
            match random.u8(..3) {
                0 => pieces[place] = piece,
                1 => pieces.insert(place, piece),
                _ => drop(pieces.remove(place)),
            }
        }
        let text = pieces.concat();
        match build(&text) {
            Ok(graph) => {
                built += 1;
                assert!(
                    !graph.draw().is_empty()
                        && !graph.dot().is_empty()
                        && !graph.explain().is_empty()
                );
            }
            Err(flaw) => assert!(!flaw.to_string().is_empty()),
        }
    }
    assert!((1000..29_000).contains(&built), "{built} were built");
    let deep = format!("x = {}", "[".repeat(60_000));
    assert!(refused(&deep).starts_with("line 1, column "));
}
