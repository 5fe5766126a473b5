-- Behind a lock that was granted: the fence of a fenced one. Nothing here may cost the lock, so every call may fail.
-- 1: granted, not fenced    {1, counter, TIME in microseconds, 1 where the seed was taken, else 0}: granted
-- {1, text}: granted, but the counter is none
if #KEYS == locks then
  return 1
end
local now = redis.pcall('TIME')
if now.err then
  return {1, now.err}
end
local micros = now[1] * 1000000 + now[2]
local seed, taken = tonumber(ARGV[4]), 1
if math.abs(seed - micros) > 250000 then
  seed, taken = 0, 0 -- a client with a mad clock must not raise the counter for a year
end
local highest = 0
for i = locks + 1, #KEYS do
  local counter = redis.pcall('GET', KEYS[i])
  if type(counter) == 'table' then
    return {1, counter.err}
  end
  if counter then
    -- 15 to 16 digits: beyond 2^53 a number here is no longer exact.
    if not string.match(counter, '^%d+$') or (tonumber(counter) or math.huge) > 9007199254740000 then
      return {1, 'ERR the counter of the fence is not a number'}
    end
    highest = math.max(highest, tonumber(counter))
  end
end
local fence = math.max(highest + 1, seed)
for i = locks + 1, #KEYS do
  local set = redis.pcall('SET', KEYS[i], string.format('%.0f', fence), 'PX', ARGV[5])
  if set.err then
    return {1, set.err}
  end
end
return {1, fence, micros, taken}
