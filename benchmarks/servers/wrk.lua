-- What wrk requests and reports. Without arguments it requests the URL again and again; with a
-- payout group and eight hexadecimal digits, unlike those of any other run, each request creates
-- another reward address.
-- The last line of its output is JSON; latencies are in microseconds.
local created = 0
local body = '{"address":{"ledger":"ETHEREUM","address":"0x%s%032x","name":"Northgate","payout_group_id":"%s"}}'

function init(arguments)
  if #arguments == 0 then return end
  local group, run = arguments[1], arguments[2]
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  request = function()
    created = created + 1
    return wrk.format(nil, nil, nil, body:format(run, created, group))
  end
end

function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\n{"requests":%d,"seconds":%f,"failed":%d,"bytes":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration / 1e6, failed, summary.bytes, latency:percentile(50), latency:percentile(99)))
end
