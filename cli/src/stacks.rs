//! The stacks of this program, each an equation.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use stackwright::compose::{Beside, Over, stack};
use stackwright::contract::{Guarantees, Listener, Protocol};
use stackwright::copy::Copy;
use stackwright::ftp::{Client, Server, client, server};
use stackwright::wire::{BufferTree, Pool};
use stackwright_drivers::Driver;
use stackwright_drivers::files::{Disk, Options, Root};
use stackwright_drivers::tcp::Tcp;

/// The kind of message of all these stacks: it holds regions of files, so that the kernel can send them.
pub(crate) type Message = BufferTree;

stack! {
    /// An FTP server over the kernel's TCP, beside a disk.
    pub(crate) ServerStack = Server<Message> over (Tcp<Message> beside Disk<Message>)
}

stack! {
    /// A copy between an FTP server (on the left) and a disk (on the right).
    pub(crate) CopyStack = Copy<Message> over ((Client<Message> over Tcp<Message>) beside Disk<Message>)
}

/// Blocks for reading from sockets and disks. Larger ones save system calls and lose more by leaving the processor's
/// cache.
const BLOCK: usize = 64 << 10;
const BLOCKS_KEPT: usize = 256;

/// Regions of files are used where all that lies between the disk and the outside sends them.
const REGIONS: bool = <Tcp<Message> as Protocol>::FACTS.gives.has(Guarantees::REGIONS);

/// What a copy moves is written by the disk, and nobody in between reads it.
const UNREAD: bool = !<CopyStack as Protocol>::FACTS.reads_payload;

/// A driver, its pool, and the two adapters that every stack here stands on.
struct Ground {
    driver: Driver,
    tcp: Tcp<Message>,
    disk: Disk<Message>,
}

/// The blocks that all adapters of a stack share.
pub(crate) fn pool() -> Rc<Pool<Message>> {
    Rc::new(Pool::new(BLOCK, BLOCKS_KEPT))
}

fn ground(root: &Path, options: Options) -> io::Result<Ground> {
    let pool = pool();
    let driver = Driver::new(fastrand::u64(..))?;
    let tcp = Tcp::new(driver.registry()?, 0, pool.clone());
    let disk = Disk::new(Root::open(root)?, options, driver.registry()?, 1, pool);
    Ok(Ground { driver, tcp, disk })
}

/// Seconds since 1970, for the dates in listings.
pub(crate) fn epoch() -> Option<u64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// The disk below a server, beside TCP, which sends regions; where a file describes the stack, that is asked of the graph.
pub(crate) fn server_options(writable: bool, sync: bool) -> Options {
    Options { regions: REGIONS, writable, sync, ..Options::default() }
}

pub(crate) fn server(
    root: &Path,
    config: server::Config,
    options: Options,
) -> io::Result<(Driver, ServerStack)> {
    let Ground { driver, tcp, disk } = ground(root, options)?;
    let config = server::Config { epoch: epoch(), ..config };
    Ok((driver, Over::new(Server::new(config), Beside::new(tcp, disk))))
}

/// The disk below a copy.
///
/// A file that was fetched is not synced, like in every other program of its kind, for speed. And octets, not regions:
/// the two threads of one transfer read and send side by side, which is faster than the kernel alone (0.85 of the time
/// over loopback); a server has other associations for its second processor, and saves the copy.
pub(crate) fn copy_options() -> Options {
    Options { regions: false, writable: true, sync: false, at_once: 1 << 20, ..Options::default() }
}

pub(crate) fn copy(
    root: &Path,
    config: client::Config,
    listener: Box<dyn Listener>,
) -> io::Result<(Driver, CopyStack)> {
    let Ground { driver, tcp, disk } = ground(root, copy_options())?;
    let tcp = if UNREAD { tcp.splicing() } else { tcp };
    driver.context().listen(listener);
    Ok((driver, Over::new(Copy::default(), Beside::new(Over::new(Client::new(config), tcp), disk))))
}
