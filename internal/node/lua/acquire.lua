-- Takes all the keys of a lock, or none.
-- KEYS the lock's, then, for a fenced lock, as many counters    ARGV[1] the token, [2] the TTL in milliseconds, [3] how many
-- keys the lock has, [4] the seed, [5] the retention in milliseconds
-- 0: a key is somebody else's    otherwise as number.lua says
local locks = tonumber(ARGV[3])
for i = 1, locks do
  if redis.call('GET', KEYS[i]) then
    return 0
  end
end
for i = 1, locks do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
