#!lua flags=allow-oom
-- waiter wait.settle 2
-- The arguments are groups of items with one action and one fence, so that each
-- item has as few arguments as can be.
-- include partition.lua
-- include fence.lua
local lease, retain = tonumber(ARGV[1]), tonumber(ARGV[2])
if ARGV[3] ~= '0' then redis.call('HINCRBY', meta, 'polls', ARGV[3]) end
local fence = next_fence(lease)
local number, start, format = text(fence), even(now), string.format
local has_crashes, has_cancels, has_notifies = exists(crash), exists(cancel), exists(notify)
local widths = {r = 3, h = 2, f = 4, k = 2, e = 4}

-- Returns which of the waits are held under a fence. Their keys are arguments.
local function held_under(old, from, to, width)
  local is_held, size = {}, (to - from) / width
  if size > 3 and redis.call('ZCOUNT', due, old, old) <= 2 * size then
    -- Numbers as text cost more than a few keys too many.
    local ids = redis.call('ZRANGE', due, old, old, 'BYSCORE')
    for i = 1, #ids do is_held[ids[i]] = true end
    return is_held
  end
  local ids = {}
  for a = from, to - 1, width do ids[#ids + 1] = ARGV[a] end
  local scores = redis.call('ZMSCORE', due, unpack(ids))
  for i = 1, #ids do
    if scores[i] == old then is_held[ids[i]] = true end
  end
  return is_held
end

local lost, held, settled, gone, values, reasons = {}, {}, {}, {}, {}, {}
local moves, moved, records, recorded, count = {}, 0, {}, 0, 0
local holds_on, at = false, 4
while ARGV[at] do
  local action, old, from, width = ARGV[at], ARGV[at + 1], at + 3, widths[ARGV[at]]
  at = from + tonumber(ARGV[at + 2]) * width
  count = count + (at - from) / width
  local is_held = held_under(old, from, at, width)
  local is_release, ends = action == 'r', action == 'f' or action == 'e'
  local stays = is_release or action == 'h' or action == 'f'
  for a = from, at - 1, width do
    local id = ARGV[a]
    if not is_held[id] then
      lost[#lost + 1] = id
    else
      if has_crashes then settled[#settled + 1] = id end
      local record = ARGV[a + 1]
      if record ~= '' and (stays or retain > 0) then
        records[recorded + 1] = id
        records[recorded + 2] = record
        recorded = recorded + 2
      end
      if is_release then
        local time = start + ARGV[a + 2]
        if has_cancels and redis.call('SISMEMBER', cancel, id) == 1 then time = start end
        local notified = has_notifies and redis.call('HGET', notify, id)
        if notified == '1' then time = start end
        if notified == '2' then redis.call('HDEL', notify, id) end
        local micros = time % 1000000
        moves[moved + 1] = format('%d%06d', (time - micros) / 1000000, micros)
        moves[moved + 2] = id
        moved = moved + 2
      elseif stays then
        holds_on = true
        moves[moved + 1] = number
        moves[moved + 2] = id
        moved = moved + 2
        if action == 'h' then held[#held + 1] = id end
      else
        gone[#gone + 1] = id
      end
      if ends then
        local value, reason = ARGV[a + 2], ARGV[a + 3]
        reasons[reason] = (reasons[reason] or 0) + 1
        if value ~= '' and (stays or retain > 0) then
          values[#values + 1] = id
          values[#values + 1] = value
        end
      end
    end
  end
end
if #settled > 0 then redis.call('HDEL', crash, unpack(settled)) end
if holds_on then redis.call('ZADD', leases, number, number) end
if moved > 0 then redis.call('ZADD', due, 'XX', unpack(moves)) end
if recorded > 0 then redis.call('HSET', rec, unpack(records)) end
if #values > 0 then redis.call('HSET', res, unpack(values)) end
for reason, ends in pairs(reasons) do redis.call('HINCRBY', meta, reason, ends) end
if #gone > 0 then
  redis.call('ZREM', due, unpack(gone))
  if has_cancels then redis.call('SREM', cancel, unpack(gone)) end
  if has_notifies then redis.call('HDEL', notify, unpack(gone)) end
  if exists(mark) then redis.call('HDEL', mark, unpack(gone)) end
  if retain > 0 then
    local ends, forget_at = {}, text(now + retain)
    for i, id in ipairs(gone) do
      ends[2 * i - 1] = forget_at
      ends[2 * i] = id
    end
    redis.call('ZADD', done, unpack(ends))
  else
    redis.call('HDEL', rec, unpack(gone))
    redis.call('HDEL', args, unpack(gone))
    redis.call('HDEL', res, unpack(gone))
  end
end
local cancelled = {}
if #held > 0 and has_cancels then
  local wanted = redis.call('SMISMEMBER', cancel, unpack(held))
  for i, id in ipairs(held) do
    if wanted[i] == 1 then cancelled[#cancelled + 1] = id end
  end
end
-- Two for each that ends, so that the store keeps up.
local old = redis.call('ZRANGE', done, '-inf', now, 'BYSCORE', 'LIMIT', 0, 2 * count)
if #old > 0 then
  redis.call('ZREM', done, unpack(old))
  redis.call('HDEL', rec, unpack(old))
  redis.call('HDEL', args, unpack(old))
  redis.call('HDEL', res, unpack(old))
end
return {text(now), number, lost, cancelled}
