-- Runs the function body where a fence is at least the highest seen, and remembers the fence, in one step.
-- KEYS[1] the highest fence seen    ARGV[1] the fence    the others: the body's own KEYS and ARGV
-- {'stale', highest}: refused    {'admitted', what the body returned}
--
-- Fences are compared as text, the longer one being the higher: as a Lua number one of 17 digits is not exact, and one of 16
-- loses digits as soon as it becomes text again.
local fence, seen = ARGV[1], redis.call('GET', KEYS[1])
if seen then
  if #seen > 19 or not string.find(seen, '^[1-9]%d*$') then
    return redis.error_reply('ERR what the key of the guard holds is no fence')
  end
  if #seen > #fence or (#seen == #fence and seen > fence) then
    return {'stale', seen}
  end
end
-- Before the body: where the server takes no writes, or the body fails half way, nobody older gets in behind it.
if seen ~= fence then
  redis.call('SET', KEYS[1], fence)
end
local function rest(all)
  local own = {}
  for i = 2, #all do
    own[i - 1] = all[i]
  end
  return own
end
return {'admitted', body(rest(KEYS), rest(ARGV))}
