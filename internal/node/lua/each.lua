-- answer: 1: all keys were ours    0: some were gone    -1: some are somebody else's
local answer, failure = 1, nil
for _, key in ipairs(KEYS) do
  local owner = redis.pcall('GET', key)
  if type(owner) == 'table' then
    failure = owner -- no string, so nothing of ours; the other keys are to be given up all the same
  elseif owner == ARGV[1] or owner == before then
    ours(key)
  elseif owner then
    answer = -1
  elseif answer == 1 then
    answer = 0
  end
end
