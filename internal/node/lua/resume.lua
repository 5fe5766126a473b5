-- Takes the keys of a lock over from the token that has them all, or none, for a full TTL.
-- KEYS the lock's, then, for a fenced lock, as many counters    ARGV[1] our token, [2] the TTL in milliseconds, [3] how many
-- keys the lock has, [4] the seed, [5] the retention in milliseconds, [6] the token that has them
-- 0: a key is not that token's    otherwise as number.lua says
local locks = tonumber(ARGV[3])
for i = 1, locks do
  if redis.call('GET', KEYS[i]) ~= ARGV[6] then
    return 0
  end
end
for i = 1, locks do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
