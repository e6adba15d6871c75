//! What `Files` promises, and what may go wrong with a disk.

use std::cell::RefCell;
use std::rc::Rc;

use stackwright_contract::services::{
    Attribute, Failure, FileKind, FilesIndication as Told, FilesRequest as Ask, FolderEntry, Keep,
    Purpose, Status,
};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{DiskFaults, Heard, SimulatedDisk, StationId, Tree, World};
use stackwright_wire::{Leaf, Message, SingleBuffer};

type Station = StationId<SimulatedDisk<SingleBuffer>, Heard<Told<SingleBuffer>>>;

struct Disk {
    world: World<SingleBuffer>,
    station: Station,
    tree: Rc<RefCell<Tree>>,
    /// The latest name that a test did not choose itself.
    latest: u32,
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn octets(message: &SingleBuffer) -> Vec<u8> {
    message
        .leaves()
        .flat_map(|leaf| if let Leaf::Octets(octets) = leaf { octets.to_vec() } else { vec![] })
        .collect()
}

impl Disk {
    fn new(seed: u64) -> Self {
        let tree = Tree::shared();
        tree.borrow_mut().put("pub/songs.txt", "la la la");
        tree.borrow_mut().put("pub/old/tale.txt", "once");
        tree.borrow_mut().put_folder("empty");
        let mut world = World::new(seed);
        let station = world.add_at(&[], SimulatedDisk::new(Rc::clone(&tree)), Heard::default());
        Disk { world, station, tree, latest: 100 }
    }

    fn ask(&mut self, request: Ask<SingleBuffer>) {
        self.world.ask(self.station, request);
    }

    fn open(&mut self, file: u32, path: &str, purpose: Purpose) {
        self.ask(Ask::Open { file: name(file), path: path.into(), purpose });
    }

    fn write(&mut self, file: u32, offset: u64, octets: &[u8]) {
        let message = SingleBuffer::with_headroom(0, octets);
        self.ask(Ask::Write { file: name(file), offset, message });
    }

    /// The status of a file, and of the entry of that name in the root's list.
    fn status(&mut self, path: &str) -> (Status, Option<FolderEntry>) {
        self.latest += 2;
        let (folder, token) = (self.latest, name(self.latest + 1));
        self.open(folder, "", Purpose::List);
        for _ in 0..16 {
            self.ask(Ask::Next { file: name(folder) });
        }
        self.ask(Ask::Close { file: name(folder), keep: Keep::Nothing });
        self.ask(Ask::Stat { token, path: path.into(), part: false, is_file: false });
        self.world.run_for(Duration::from_secs(1));
        let (mut status, mut listed) = (None, None);
        for told in std::mem::take(&mut self.world.application_mut(self.station).0) {
            match told {
                Told::Stated { result, .. } => status = result.ok(),
                Told::Entries { entries, .. } => {
                    listed = listed.or(entries.into_iter().find(|entry| entry.name == path));
                }
                _ => {}
            }
        }
        (status.expect("it exists"), listed)
    }

    /// Writes one file, and says what was told.
    fn store(
        &mut self,
        path: &str,
        purpose: Purpose,
        from: u64,
        octets: &[u8],
        keep: Keep,
    ) -> String {
        self.latest += 2;
        let file = self.latest;
        self.open(file, path, purpose);
        self.write(file, from, octets);
        self.ask(Ask::Close { file: name(file), keep });
        self.said().join(", ").replace(&format!("{file} "), "")
    }

    /// Everything that is told until the disk is silent, in words.
    fn said(&mut self) -> Vec<String> {
        self.world.run_for(Duration::from_secs(60));
        let heard = std::mem::take(&mut self.world.application_mut(self.station).0);
        heard
            .iter()
            .map(|told| match told {
                Told::Opened { file, size, .. } => format!("{} opened {size:?}", file.index),
                Told::Read { file, offset, message } => {
                    format!(
                        "{} read {offset} {}",
                        file.index,
                        String::from_utf8_lossy(&octets(message))
                    )
                }
                Told::Entries { file, entries, .. } => {
                    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
                    format!("{} entries {}", file.index, names.join(" "))
                }
                Told::Written { file, octets } => format!("{} written {octets}", file.index),
                Told::Closed { file, result } => format!("{} closed {result:?}", file.index),
                Told::Stated { token, result } => {
                    format!(
                        "{} stated {:?}",
                        token.index,
                        result.map(|status| (status.kind, status.size))
                    )
                }
                Told::Digested { token, result } => {
                    format!("{} digested {:?}", token.index, result.map(|(_, octets)| octets))
                }
                Told::Room { token, result } => format!("{} room {result:?}", token.index),
                Told::Done { token, result } => format!("{} done {result:?}", token.index),
            })
            .collect()
    }
}

#[test]
fn a_file_is_read_in_order_and_short_only_at_its_end() {
    for seed in 0..50 {
        let mut disk = Disk::new(seed);
        disk.open(0, "/pub//./songs.txt", Purpose::Read { as_octets: false, versioned: false });
        for (offset, length) in [(0, 3), (6, 9), (3, 3), (8, 1), (u64::MAX, 1)] {
            disk.ask(Ask::Read { file: name(0), offset, length });
        }
        disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
        let end = format!("0 read {} ", u64::MAX);
        assert_eq!(
            disk.said(),
            [
                "0 opened Some(8)",
                "0 read 0 la ",
                "0 read 6 la",
                "0 read 3 la ",
                "0 read 8 ",
                &end,
                "0 closed Ok(())"
            ]
        );
        assert_eq!(disk.world.stack(disk.station).open_files(), 0);
    }
}

#[test]
fn files_answer_in_any_order() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let mut disk = Disk::new(seed);
        disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
        disk.open(1, "pub/old/tale.txt", Purpose::Read { as_octets: false, versioned: false });
        orders.insert(disk.said());
    }
    assert_eq!(orders.len(), 2);
}

#[test]
fn a_created_file_appears_whole_or_not_at_all() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Create { from: 0 });
    disk.write(0, 3, b"di");
    disk.write(0, 0, b"do ");
    assert_eq!(disk.said(), ["0 opened Some(0)", "0 written 2", "0 written 3"]);
    assert_eq!(disk.tree.borrow().octets("pub/songs.txt").unwrap(), b"la la la");
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    assert_eq!(disk.said(), ["0 closed Ok(())"]);
    assert_eq!(disk.tree.borrow().octets("pub/songs.txt").unwrap(), b"do di");

    disk.open(1, "new", Purpose::Create { from: 0 });
    disk.write(1, 0, b"given up");
    disk.ask(Ask::Close { file: name(1), keep: Keep::Nothing });
    assert_eq!(disk.said(), ["1 opened Some(0)", "1 written 8", "1 closed Ok(())"]);
    assert_eq!(disk.tree.borrow().octets("new"), None);
}

#[test]
fn writing_goes_on_behind_what_is_there() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Create { from: 6 });
    disk.write(0, 6, b"da");
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    assert_eq!(disk.said(), ["0 opened Some(6)", "0 written 2", "0 closed Ok(())"]);
    assert_eq!(disk.tree.borrow().octets("pub/songs.txt").unwrap(), b"la la da");
    disk.open(1, "pub/songs.txt", Purpose::Create { from: 9 });
    disk.open(2, "nothing", Purpose::Create { from: 1 });
    let mut said = disk.said();
    said.sort();
    assert_eq!(said, ["1 closed Err(Short)", "2 closed Err(Short)"]);
}

#[test]
fn what_is_appended_comes_behind_the_old_file() {
    let mut disk = Disk::new(1);
    let said = disk.store("pub/songs.txt", Purpose::Append, 8, b" la", Keep::Whole);
    assert_eq!(said, "opened Some(8), written 3, closed Ok(())");
    assert_eq!(disk.tree.borrow().octets("pub/songs.txt").unwrap(), b"la la la la");
    let said = disk.store("new", Purpose::Append, 0, b"first", Keep::Whole);
    assert_eq!(said, "opened Some(0), written 5, closed Ok(())");
    assert_eq!(disk.tree.borrow().octets("new").unwrap(), b"first");
}

#[test]
fn a_new_file_replaces_nothing() {
    let mut disk = Disk::new(1);
    disk.open(0, "new", Purpose::New);
    disk.open(1, "new", Purpose::New);
    disk.open(2, "pub", Purpose::New);
    disk.said();
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    assert_eq!(disk.said(), ["0 closed Ok(())"]);
    disk.write(1, 0, b"late");
    disk.ask(Ask::Close { file: name(1), keep: Keep::Whole });
    assert_eq!(disk.said(), ["1 written 4", "1 closed Err(Exists)"]);
    disk.open(3, "new", Purpose::New);
    assert_eq!(disk.said(), ["3 closed Err(Exists)"]);
    assert_eq!(disk.tree.borrow().octets("new").unwrap(), b"");
}

#[test]
fn a_part_is_resumed_by_one_at_a_time_until_it_is_whole() {
    let mut disk = Disk::new(1);
    let said = disk.store("new", Purpose::Create { from: 0 }, 0, b"ha", Keep::Part);
    assert_eq!(said, "opened Some(0), written 2, closed Ok(())");
    assert_eq!(disk.tree.borrow().octets("new"), None);
    disk.open(0, "new", Purpose::Resume);
    assert_eq!(disk.said(), ["0 opened Some(2)"]);
    disk.open(1, "new", Purpose::Resume);
    assert_eq!(disk.said(), ["1 closed Err(Denied)"]);
    let said = disk.store("new", Purpose::Create { from: 0 }, 0, b"other", Keep::Part);
    assert_eq!(said, "opened Some(0), written 5, closed Err(Denied)", "it is locked");
    // A disk that fails keeps what there is.
    disk.tree.borrow_mut().faults.full_after = Some(8);
    disk.write(0, 2, b"l");
    disk.write(0, 3, b"f");
    assert_eq!(disk.said(), ["0 written 1", "0 closed Err(Full)"]);
    assert_eq!(disk.tree.borrow().part("new").unwrap(), b"hal");
    disk.tree.borrow_mut().faults.full_after = None;
    disk.ask(Ask::Stat { token: name(2), path: "new".into(), part: true, is_file: false });
    disk.ask(Ask::Digest { token: name(3), path: "new".into(), octets: 1..9, part: true });
    let mut said = disk.said();
    said.sort();
    assert_eq!(said, ["2 stated Ok((File, 3))", "3 digested Ok(2)"]);
    let said = disk.store("new", Purpose::Resume, 3, b"f", Keep::Whole);
    assert_eq!(said, "opened Some(3), written 1, closed Ok(())");
    assert_eq!(disk.tree.borrow().octets("new").unwrap(), b"half");
    assert_eq!(disk.tree.borrow().part("new"), None);
}

#[test]
fn a_part_that_is_not_needed_goes() {
    let mut disk = Disk::new(1);
    disk.tree.borrow_mut().put_part("new", "old part");
    let said = disk.store("new", Purpose::Resume, 8, b"!", Keep::Nothing);
    assert_eq!(said, "opened Some(8), written 1, closed Ok(())");
    assert_eq!(disk.tree.borrow().part("new"), None);
    disk.tree.borrow_mut().put_part("new", "old part");
    disk.store("new", Purpose::Create { from: 0 }, 0, b"whole", Keep::Whole);
    assert_eq!(disk.tree.borrow().part("new"), None);
    assert_eq!(disk.store("new", Purpose::Resume, 0, b"", Keep::Part), {
        "opened Some(0), written 0, closed Ok(())"
    });
    assert_eq!(disk.tree.borrow().part("new"), None, "it would have no octets");
    disk.tree.borrow_mut().put_part("empty/file", "old part");
    disk.ask(Ask::Remove { token: name(0), path: "empty".into() });
    assert_eq!(disk.said(), ["0 done Ok(())"]);
    assert_eq!(disk.tree.borrow().part("empty/file"), None);
}

#[test]
fn links_are_listed_as_links_and_followed_elsewhere() {
    let mut disk = Disk::new(1);
    for (link, target) in
        [("in", "pub/songs.txt"), ("up", "pub/../empty"), ("out", "../x"), ("dead", "nowhere")]
    {
        disk.tree.borrow_mut().put_link(link, target);
        let (_, listed) = disk.status(link);
        let listed = listed.unwrap();
        assert_eq!((listed.status.kind, listed.target.as_deref()), (FileKind::Link, Some(target)));
    }
    for (path, kind) in [
        ("in", FileKind::File),
        ("up", FileKind::Folder),
        ("out", FileKind::Other),
        ("dead", FileKind::Other),
    ] {
        assert_eq!(disk.status(path).0.kind, kind, "{path}");
    }
    let create = Purpose::Create { from: 0 };
    assert_eq!(disk.store("out", create, 0, b"x", Keep::Whole), "closed Err(Denied)");
    assert_eq!(disk.store("dead", create, 0, b"x", Keep::Whole), "closed Err(Denied)");
    disk.store("in", create, 0, b"new song", Keep::Whole);
    disk.store("up/file", create, 0, b"through", Keep::Whole);
    assert_eq!(disk.tree.borrow().octets("pub/songs.txt").unwrap(), b"new song");
    assert_eq!(disk.tree.borrow().octets("empty/file").unwrap(), b"through");
    disk.ask(Ask::Remove { token: name(0), path: "in".into() });
    assert_eq!(disk.said(), ["0 done Ok(())"]);
    assert!(disk.tree.borrow().octets("pub/songs.txt").is_some());
}

#[test]
fn folders_are_made_and_attributes_set() {
    let mut disk = Disk::new(1);
    let mut token = 0;
    let mut asked = |disk: &mut Disk, request: fn(Handle) -> Ask<SingleBuffer>| {
        token += 1;
        disk.ask(request(name(token)));
        disk.said().pop().unwrap().split_once(' ').unwrap().1.to_owned()
    };
    for (request, answer) in [
        (
            (|token| Ask::MakeFolder { token, path: "made".into() })
                as fn(Handle) -> Ask<SingleBuffer>,
            "done Ok(())",
        ),
        (|token| Ask::MakeFolder { token, path: "made".into() }, "done Err(Exists)"),
        (|token| Ask::MakeFolder { token, path: "no/where".into() }, "done Err(NotFound)"),
        (
            |token| Ask::Set { token, path: "made".into(), attribute: Attribute::Modified(7) },
            "done Ok(())",
        ),
        (
            |token| Ask::Set { token, path: "made".into(), attribute: Attribute::Mode(0o700) },
            "done Ok(())",
        ),
        (
            |token| Ask::Set { token, path: "made".into(), attribute: Attribute::Mode(0o4755) },
            "done Err(Denied)",
        ),
        (
            |token| Ask::Set { token, path: "none".into(), attribute: Attribute::Modified(7) },
            "done Err(NotFound)",
        ),
    ] {
        assert_eq!(asked(&mut disk, request), answer);
    }
    let (status, listed) = disk.status("made");
    assert_eq!(Some(status), listed.map(|entry| entry.status));
    assert_eq!((status.modified, status.mode), (Some(7), Some(0o700)));
    assert_ne!(status.unique, disk.status("empty").0.unique);

    disk.tree.borrow_mut().set_mode("pub/songs.txt", 0o600);
    disk.store("pub/songs.txt", Purpose::Create { from: 0 }, 0, b"new", Keep::Whole);
    assert_eq!(disk.tree.borrow().mode("pub/songs.txt"), 0o600, "the old file's");
    disk.tree.borrow_mut().faults.full_after = Some(10);
    assert_eq!(asked(&mut disk, |token| Ask::Room { token, path: "pub".into() }), "room Ok(7)");
}

#[test]
fn a_digest_is_that_of_the_octets_there_are() {
    let mut disk = Disk::new(1);
    disk.tree.borrow_mut().put("abc", "xabcx");
    disk.ask(Ask::Digest { token: name(0), path: "abc".into(), octets: 1..4, part: false });
    disk.world.run_for(Duration::from_secs(1));
    let heard = std::mem::take(&mut disk.world.application_mut(disk.station).0);
    let [Told::Digested { result: Ok((digest, 3)), .. }] = heard[..] else { panic!("{heard:?}") };
    // FIPS 180-2, appendix B.1.
    assert_eq!((digest[0], digest[1], digest[30], digest[31]), (0xba, 0x78, 0x15, 0xad));
    for (token, octets, length) in [(1, 0..u64::MAX, 5), (2, 5..9, 0), (3, 7..9, 0)] {
        disk.ask(Ask::Digest { token: name(token), path: "abc".into(), octets, part: false });
        assert_eq!(disk.said(), [format!("{token} digested Ok({length})")]);
    }
}

#[test]
fn what_cannot_be_opened_says_why() {
    for (path, purpose, why) in [
        ("nothing", Purpose::Read { as_octets: false, versioned: false }, Failure::NotFound),
        ("pub", Purpose::Read { as_octets: false, versioned: false }, Failure::BadName),
        ("../secret", Purpose::Read { as_octets: false, versioned: false }, Failure::Denied),
        ("no/where", Purpose::Create { from: 0 }, Failure::NotFound),
        ("pub/old", Purpose::Create { from: 0 }, Failure::BadName),
        ("/", Purpose::Create { from: 0 }, Failure::BadName),
        ("pub/songs.txt", Purpose::List, Failure::BadName),
        ("a\0b", Purpose::List, Failure::BadName),
    ] {
        let mut disk = Disk::new(1);
        disk.open(0, path, purpose);
        disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
        assert_eq!(disk.said(), [format!("0 closed Err({why:?})")], "{path}");
    }
}

#[test]
fn a_folder_is_listed_to_its_end() {
    let mut disk = Disk::new(1);
    for nth in 0..40 {
        disk.tree.borrow_mut().put(&format!("many/{nth:02}"), "x");
    }
    disk.open(0, "many", Purpose::List);
    let (mut names, mut answers) = (Vec::new(), 0);
    loop {
        disk.ask(Ask::Next { file: name(0) });
        let said = disk.said();
        let (_, entries) = said.last().unwrap().split_once("entries ").unwrap();
        if entries.is_empty() {
            break;
        }
        answers += 1;
        names.extend(entries.split(' ').map(str::to_owned));
    }
    assert_eq!(names, (0..40).map(|nth| format!("{nth:02}")).collect::<Vec<_>>());
    assert!(answers > 1);
    disk.open(1, "", Purpose::List);
    disk.ask(Ask::Next { file: name(1) });
    assert!(disk.said().last().unwrap().starts_with("1 entries empty"));
}

#[test]
fn names_are_asked_about_changed_and_removed() {
    let mut disk = Disk::new(1);
    let mut token = 0;
    let mut asked = |request: fn(Handle) -> Ask<SingleBuffer>| {
        token += 1;
        disk.ask(request(name(token)));
        disk.said().pop().unwrap().split_once(' ').unwrap().1.to_owned()
    };
    assert_eq!(
        asked(|token| Ask::Stat { token, path: "pub".into(), part: false, is_file: false }),
        "stated Ok((Folder, 0))"
    );
    assert_eq!(
        asked(|token| Ask::Stat { token, path: "/".into(), part: false, is_file: false }),
        "stated Ok((Folder, 0))"
    );
    assert_eq!(
        asked(|token| Ask::Stat { token, path: "nothing".into(), part: false, is_file: false }),
        "stated Err(NotFound)"
    );
    assert_eq!(
        asked(|token| Ask::Rename { token, from: "pub".into(), to: "pub/old/pub".into() }),
        "done Err(BadName)"
    );
    assert_eq!(
        asked(|token| Ask::Rename { token, from: "pub".into(), to: "all".into() }),
        "done Ok(())"
    );
    assert_eq!(
        asked(|token| Ask::Stat {
            token,
            path: "all/old/tale.txt".into(),
            part: false,
            is_file: false
        }),
        "stated Ok((File, 4))"
    );
    assert_eq!(
        asked(|token| Ask::Rename {
            token,
            from: "all/old/tale.txt".into(),
            to: "all/songs.txt".into()
        }),
        "done Ok(())"
    );
    assert_eq!(asked(|token| Ask::Remove { token, path: "all".into() }), "done Err(NotEmpty)");
    assert_eq!(asked(|token| Ask::Remove { token, path: "all/old".into() }), "done Ok(())");
    assert_eq!(asked(|token| Ask::Remove { token, path: "all/songs.txt".into() }), "done Ok(())");
    assert_eq!(
        asked(|token| Ask::Remove { token, path: "all/songs.txt".into() }),
        "done Err(NotFound)"
    );
    assert!(disk.tree.borrow().files().is_empty());
}

#[test]
fn the_time_of_a_change_is_told() {
    let mut disk = Disk::new(1);
    disk.tree.borrow_mut().set_modified("pub/songs.txt", 1_000_000_000);
    let (status, _) = disk.status("pub/songs.txt");
    assert_eq!((status.kind, status.size), (FileKind::File, 8));
    assert_eq!(status.modified, Some(1_000_000_000));
}

#[test]
fn a_full_disk_leaves_no_trace() {
    let mut disk = Disk::new(1);
    disk.tree.borrow_mut().faults.full_after = Some(10);
    disk.open(0, "new", Purpose::Create { from: 0 });
    disk.write(0, 0, b"12345678");
    disk.write(0, 8, b"123");
    disk.write(0, 11, b"123");
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    assert_eq!(disk.tree.borrow().held(), 14);
    assert_eq!(disk.said(), ["0 opened Some(0)", "0 written 8", "0 closed Err(Full)"]);
    assert_eq!(disk.tree.borrow().octets("new"), None);
    assert_eq!((disk.tree.borrow().held(), disk.tree.borrow().most_held()), (0, 14));
    // What crossed the last word is dropped.
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    assert!(disk.said().is_empty());
    assert_eq!(disk.world.context(disk.station).dropped_count(), 1);
}

#[test]
fn any_operation_may_be_the_one_that_fails() {
    for nth in 1..=5 {
        let mut disk = Disk::new(nth);
        disk.tree.borrow_mut().faults.breaks_at = Some(nth);
        disk.open(0, "new", Purpose::Create { from: 0 });
        disk.write(0, 0, b"1");
        disk.write(0, 1, b"2");
        disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
        let said = disk.said();
        let last = said.last().unwrap();
        assert_eq!(said.len() as u64, nth.min(4));
        assert_eq!(last, if nth <= 4 { "0 closed Err(Broken)" } else { "0 closed Ok(())" });
        assert_eq!(disk.tree.borrow().octets("new").is_some(), nth > 4);
    }
}

#[test]
fn a_file_may_shrink_or_vanish_while_it_is_open() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    assert_eq!(disk.said(), ["0 opened Some(8)"]);
    disk.tree.borrow_mut().shrink("pub/songs.txt", 4);
    disk.ask(Ask::Read { file: name(0), offset: 0, length: 8 });
    assert_eq!(disk.said(), ["0 read 0 la l"]);
    disk.tree.borrow_mut().put("pub/songs.txt", "another");
    disk.ask(Ask::Read { file: name(0), offset: 0, length: 8 });
    assert_eq!(disk.said(), ["0 read 0 la l"], "an open file is not another of that name");
    disk.open(1, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    disk.said();
    disk.tree.borrow_mut().vanish("pub/songs.txt");
    disk.ask(Ask::Read { file: name(1), offset: 0, length: 8 });
    assert_eq!(disk.said(), ["1 closed Err(Broken)"]);
}

#[test]
fn a_slow_disk_takes_its_time() {
    let mut disk = Disk::new(1);
    disk.tree.borrow_mut().faults = DiskFaults {
        delay: Duration::from_secs(30),
        jitter: Duration::ZERO,
        ..DiskFaults::default()
    };
    disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    disk.world.run_for(Duration::from_secs(29));
    assert!(disk.world.application(disk.station).0.is_empty());
    assert_eq!(disk.said(), ["0 opened Some(8)"]);
}

#[test]
#[should_panic(expected = "a name lives until its last word")]
fn to_give_a_living_name_again_is_a_bug() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    disk.ask(Ask::Stat { token: name(0), path: "pub".into(), part: false, is_file: false });
}

#[test]
#[should_panic(expected = "which was never given")]
fn a_word_for_a_name_that_was_never_given_is_a_bug() {
    Disk::new(1).ask(Ask::Next { file: name(0) });
}

#[test]
#[should_panic(expected = "comes after its Close")]
fn a_word_after_the_close_is_a_bug() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    disk.ask(Ask::Close { file: name(0), keep: Keep::Whole });
    disk.ask(Ask::Read { file: name(0), offset: 0, length: 1 });
}

#[test]
#[should_panic(expected = "which was opened for Read")]
fn to_write_what_is_open_to_be_read_is_a_bug() {
    let mut disk = Disk::new(1);
    disk.open(0, "pub/songs.txt", Purpose::Read { as_octets: false, versioned: false });
    disk.write(0, 0, b"1");
}
