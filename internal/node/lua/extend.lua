-- Gives the keys of a lock a full TTL again where all still carry our token. It never shortens a life.
-- KEYS the lock's    ARGV[1] the token, [2] the TTL in milliseconds, [3] the retention in milliseconds, [4] the fence, and of a
-- fenced lock the counters: no KEYS, since a server that refuses us one of those would refuse the whole script
-- {1, the shortest life found, in milliseconds}: all are ours    {0}: some were gone    {-1}: some are somebody else's
local answer = 1
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner and owner ~= ARGV[1] then
    return {-1}
  elseif not owner then
    answer = 0
  end
end
if answer == 0 then
  return {0}
end
local ttl = tonumber(ARGV[2])
local shortest = ttl
for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left < ttl then
    redis.call('PEXPIRE', key, ARGV[2])
    if left >= 0 then -- -1: it had no end
      shortest = math.min(shortest, left)
    end
  end
end
for i = 5, #ARGV do
  local counter = redis.pcall('GET', ARGV[i])
  if type(counter) == 'string' and string.match(counter, '^%d+$') then -- else it is nothing of ours
    if (tonumber(counter) or math.huge) < tonumber(ARGV[4]) then
      redis.pcall('SET', ARGV[i], ARGV[4], 'PX', ARGV[3]) -- so that the fence outlives the nodes that stored it first
    else
      redis.pcall('PEXPIRE', ARGV[i], ARGV[3])
    end
  end
end
return {1, shortest}
