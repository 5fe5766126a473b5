-- Deletes the keys of the lock where they still carry our token, or the one that it took over, and nothing else.
-- KEYS the lock's    ARGV[1] the token, [2] of a lock that was taken over the one before, else nothing or ''    The answer is that
-- of each.lua.
if #KEYS == 1 and not ARGV[2] then -- nearly always; by the way of all it would take the server twice as long
  local owner = redis.call('GET', KEYS[1])
  if owner == ARGV[1] then
    return redis.call('DEL', KEYS[1])
  end
  return owner and -1 or 0
end
local before = ARGV[2] ~= '' and ARGV[2] or nil -- not false, which is what a key that is gone has
local function ours(key)
  redis.call('DEL', key)
end
