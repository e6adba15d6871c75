
-- What is seen of one packet: the values of the fields on which something depends.
local function value(seen, field)
  local values = seen[field]
  return values and values[#values] or 0
end

local function occurred(seen, field, wanted)
  for _, there in ipairs(seen[field] or {}) do
    if there == wanted then return 1 end
  end
  return 0
end

local function fault(packet, text)
  packet.tree:add_proto_expert_info(odd, text)
  packet.stopped = true
end

local function raw(packet, field, at, stop)
  if at < stop then packet.tree:add(field, packet.octets(at, stop - at)) end
  return math.max(at, stop)
end

local function header(packet, layout, at, stop)
  if stop - at < layout.octets then
    fault(packet, layout.name .. " has " .. layout.octets .. " octets, of which only " .. stop - at .. " are here")
    return at
  end
  local tree = packet.tree:add(proto, packet.octets(at, layout.octets), layout.name)
  for _, field in ipairs(layout.fields) do
    local range = packet.octets(at + field.at, field.octets)
    if field.little then
      tree:add_le(field.shown, range)
    elseif field.octets == 8 and field.bits < 64 then
      tree:add(field.shown, range, range:uint64():lshift(field.bit):rshift(64 - field.bits))
    else
      tree:add(field.shown, range)
    end
    if field.needed then
      local name = layout.name .. "." .. field.name
      local number = field.little and range:le_uint() or range:bitfield(field.bit, field.bits)
      packet.seen[name] = packet.seen[name] or {}
      table.insert(packet.seen[name], number)
    end
  end
  return at + layout.octets
end

local go

-- Each takes a step from `at`, to `stop` at most, and tells where it ended.
local steps = {
  header = function(packet, step, at, stop) return header(packet, step.layout, at, stop) end,
  part = function(packet, step, at, stop)
    local says = value(packet.seen, step.length)
    local length = says - step.less
    if length < 0 or length > stop - at then
      fault(packet, step.length .. " says " .. says .. ", which does not fit")
      return at
    end
    local after = go(packet, step.steps, at, at + length)
    if packet.stopped then return after end
    return raw(packet, unexplained, after, at + length)
  end,
  octets = function(packet, step, at, stop)
    return raw(packet, step.shown, at, math.min(stop, at + value(packet.seen, step.length)))
  end,
  rest = function(packet, step, at, stop) return raw(packet, step.shown, at, stop) end,
  choice = function(packet, step, at, stop)
    local found
    if step.ahead then
      found = at < stop and packet.octets(at, 1):uint() or -1
    else
      found = step.occurred and occurred(packet.seen, step.field, step.occurred) or value(packet.seen, step.field)
    end
    local case = step.cases[found]
    if case and case.name then table.insert(packet.names, case.name) end
    return go(packet, case and case.steps or step.otherwise, at, stop)
  end,
  again = function(packet, step, at, stop)
    local before
    while at < stop and at ~= before and not packet.stopped do
      before = at
      at = go(packet, step.steps, at, stop)
    end
    return at
  end,
}

go = function(packet, list, at, stop)
  for _, step in ipairs(list) do
    if packet.stopped then break end
    at = steps[step.kind](packet, step, at, stop)
  end
  return at
end

local function walk(octets, tree)
  local packet = { octets = octets, tree = tree:add(proto, octets()), seen = {}, names = {} }
  return packet, go(packet, syntax, 0, octets:len())
end

function proto.dissector(octets, pinfo, tree)
  pinfo.cols.protocol = title
  local packet, at = walk(octets, tree)
  pinfo.cols.info = table.concat(packet.names, " ")
  if at < octets:len() then
    Dissector.get("data"):call(octets(at):tvb(), pinfo, tree)
  end
end

-- UDP ports are a preference, and "Decode As" knows the protocol.
local udp = DissectorTable.get("udp.port")
local registered = ""

local function register()
  if registered ~= "" then udp:remove(registered, proto) end
  registered = proto.prefs.ports
  if registered ~= "" then udp:add(registered, proto) end
end

proto.prefs.ports = Pref.range("UDP ports", ports, "The UDP ports at which the protocol is found.", 65535)
proto.prefs_changed = register
register()
udp:add_for_decode_as(proto)

-- Of these links Wireshark knows the frames itself, and what they carry: the walk is shown behind.
if next(links) then
  local link = Field.new("frame.encap_type")
  local behind = Proto(proto.name .. ".frames", title .. ", header by header")
  function behind.dissector(octets, _, tree)
    local before = links[link().value]
    -- A frame of KISS that is a command carries no other.
    if not before or octets:len() <= before then return end
    if before > 0 and octets(0, 1):bitfield(4, 4) ~= 0 then return end
    local packet, at = walk(octets(before):tvb(), tree)
    if at < packet.octets:len() then raw(packet, unexplained, at, packet.octets:len()) end
  end
  register_postdissector(behind)
end
