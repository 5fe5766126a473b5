-- Takes all the keys of a lock, or none, for a token that may have them already.
-- KEYS and ARGV as in acquire.lua
-- -i: the i-th key is somebody else's    otherwise as number.lua says
local locks = tonumber(ARGV[3])
for i = 1, locks do
  local owner = redis.call('GET', KEYS[i])
  if owner and owner ~= ARGV[1] then
    return -i
  end
end
for i = 1, locks do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
