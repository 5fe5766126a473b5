-- Deletes the lock's key where it still carries our token, and nothing else.
-- KEYS[1] the lock's key    ARGV[1] the token
-- 1: it was ours and is deleted    0: there is no key    -1: it is somebody else's
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
if owner then
  return -1
end
return 0
