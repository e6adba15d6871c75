//! Queues of devices, past the kernel's IP.

use stackwright::compose::graph::{Parameter, ParameterKind};
use stackwright_drivers::xdp::XdpQueue;

use super::*;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::required("device", ParameterKind::Text, "the device's name, such as eth1"),
    Parameter::new("queue", ParameterKind::Number, "which of its queues; 0 by default"),
];

pub(super) fn make(table: &Parameters<'_>, setting: Option<&Setting>) -> Made {
    let lane = lane(table)?;
    let queue = u32::try_from(table.number("queue").unwrap_or(0));
    let queue = queue.map_err(|_| table.flaw("queue", "queues are numbered from 0 on".into()))?;
    let Some(setting) = setting else { return shown::<XdpQueue<Message>>() };
    let device = table.text("device").unwrap_or_default();
    let (registry, pool) = (setting.driver.registry(), setting.pool.clone());
    let opened = XdpQueue::<Message>::open(device, queue, &registry, lane, pool);
    opened.map(Part::boxed).map_err(|why| {
        let says = format!("queue {queue} of the device `{device}` cannot be opened: {why}");
        table.flaw("device", says)
    })
}
