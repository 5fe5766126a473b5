-- Sets the keys of a lock that is held elsewhere where they are missing, all or none, and its fence.
-- KEYS the lock's    ARGV[1] the token, [2] the TTL in milliseconds, [3] the fence, [4] the retention in milliseconds, and of a
-- fenced lock the counters: no KEYS, since a server that refuses us one of those would refuse the whole script
-- 1: all are ours    0: a key is somebody else's
for _, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if owner and owner ~= ARGV[1] then
    return 0
  end
end
for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) < tonumber(ARGV[2]) then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
  end
end
for i = 5, #ARGV do
  local counter = redis.pcall('GET', ARGV[i])
  local number = type(counter) == 'string' and string.match(counter, '^%d+$') and (tonumber(counter) or math.huge)
  if not counter or number and number < tonumber(ARGV[3]) then
    redis.pcall('SET', ARGV[i], ARGV[3], 'PX', ARGV[4])
  elseif number then -- else it is nothing of ours
    redis.pcall('PEXPIRE', ARGV[i], ARGV[4])
  end
end
return 1
