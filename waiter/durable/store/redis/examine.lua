#!lua flags=allow-oom
-- waiter wait.examine 1
-- include partition.lua
local repairs, missing = ARGV[1] == '1', tonumber(ARGV[2])
-- Nobody knows any more how long a result was to be kept.
local day = 86400000000
local all = {}
local function report(id, fault) all[#all + 1] = {id, fault} end
local function repair(...)
  if repairs then redis.call(...) end
end
for i = 3, #ARGV do
  local id = ARGV[i]
  local record = redis.call('HGET', rec, id)
  local is_due = redis.call('ZSCORE', due, id) and true or false
  local is_kept = redis.call('ZSCORE', done, id) and true or false
  local is_over = not record or string.sub(record, 1, 1) == '2'
  if not record then
    if is_due then
      report(id, 'n')
      repair('ZREM', due, id)
      repair('HINCRBY', meta, 'orphans', 1)
    end
    if is_kept then
      report(id, 'k')
      repair('ZREM', done, id)
    end
  elseif is_over then
    if is_due then
      report(id, 'p')
      repair('ZREM', due, id)
    elseif not is_kept then
      report(id, 'a')
    end
    if not is_kept then repair('ZADD', done, now + day, id) end
  elseif is_kept then
    report(id, 'd')
    repair('ZREM', done, id)
    repair('ZADD', due, 'NX', even(now), id)
  elseif not is_due then
    report(id, 'a')
    repair('ZADD', due, 'NX', even(now), id)
  end
  local has_leftovers = false
  for _, leftovers in ipairs({args, res, crash, mark, notify}) do
    if (leftovers == args or leftovers == res) and not record or
        leftovers ~= args and leftovers ~= res and is_over then
      if redis.call('HEXISTS', leftovers, id) == 1 then
        has_leftovers = true
        repair('HDEL', leftovers, id)
      end
    end
  end
  if is_over and redis.call('SISMEMBER', cancel, id) == 1 then
    has_leftovers = true
    repair('SREM', cancel, id)
  end
  if has_leftovers then report(id, 'l') end
end
if missing > 0 then
  repair('HINCRBY', meta, 'orphans', missing)
elseif missing < 0 then
  repair('HINCRBY', meta, 'enqueued', -missing)
end
return all
