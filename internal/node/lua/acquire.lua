-- Takes all the keys of a lock, or none.
-- KEYS the lock's, then, for a fenced lock, as many counters    ARGV[1] the token, [2] the TTL in milliseconds, [3] how many
-- keys the lock has, [4] the seed, [5] the retention in milliseconds
-- -i: the i-th key is somebody else's    otherwise as number.lua says
local locks = tonumber(ARGV[3])
if locks == 1 then -- nearly always; by the way of all it would take the server one call more
  if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    redis.call('GET', KEYS[1]) -- which says so where it is no text
    return -1
  end
else
  for i = 1, locks do
    if redis.call('GET', KEYS[i]) then
      return -i
    end
  end
  for i = 1, locks do
    redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
  end
end
