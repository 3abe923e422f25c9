-- CONFIRMED claims that have both times, and how long they took in microseconds.
SELECT *, date_diff('microsecond', submitted_at, confirmed_at) AS took
FROM claims
WHERE status = 'CONFIRMED' AND submitted_at IS NOT NULL AND confirmed_at IS NOT NULL
