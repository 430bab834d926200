local function rows(ids)
  if #ids == 0 then return {} end
  local records = redis.call('HMGET', rec, unpack(ids))
  local all_args = redis.call('HMGET', args, unpack(ids))
  local values = redis.call('HMGET', res, unpack(ids))
  local scores = redis.call('ZMSCORE', due, unpack(ids))
  local wanted = redis.call('SMISMEMBER', cancel, unpack(ids))
  local all = {}
  for i, id in ipairs(ids) do
    all[i] = {id, records[i] or '', all_args[i] or '', values[i] or '',
      scores[i] and text(tonumber(scores[i])) or '', wanted[i] == 1 and '1' or '0'}
  end
  return all
end
