-- The Kaplan-Meier estimate over `timed`, where `took` is the duration of a row that has `ended`,
-- else a lower bound: for each key the numbers of ended and waiting rows, and the shortest times at
-- which at most a half, a tenth and a hundredth of the rows survive: the time p is the smallest t
-- with S(t) <= 1 - p + 1e-12, where S(t) is the share that takes longer than t.
--
-- For a key without waiting rows these times are the nearest ranks, for which an engine need not
-- sort; an engine without such an aggregate has no `ranks`. A key of waiting rows alone has none of
-- these times. For the other keys, survival is the product of 1 - 1 / at risk over the ended rows.
-- The product over all rows is (at risk - 1) / counted, so survival is that divided by the product
-- over the waiting rows, which are few. Keys are numbered because windows sort a number in half the
-- time.
WITH counted_keys AS (
  SELECT
    keys,
    count(*) AS counted,
    count(*) FILTER (WHERE ended) AS ended,
    count(*) FILTER (WHERE NOT ended) AS waiting,
    ranks(took) AS ranks
  FROM timed
  WHERE took IS NOT NULL
  GROUP BY keys
), numbered_keys AS (
  SELECT *, row_number() OVER (ORDER BY counted, keys) AS number
  FROM counted_keys
  WHERE ended > 0 AND (waiting > 0 OR ranks IS NULL)
), at_risk_rows AS (
  SELECT
    number, counted, took, timed.ended,
    counted + 1 - row_number() OVER (PARTITION BY number ORDER BY took, timed.ended DESC)
      AS at_risk,
    sum(CASE WHEN timed.ended THEN 0 ELSE 1 END)
      OVER (PARTITION BY number ORDER BY took, timed.ended DESC) AS waiting_before
  FROM timed JOIN numbered_keys ON timed.keys IS NOT DISTINCT FROM numbered_keys.keys
  WHERE took IS NOT NULL
), products AS (
  SELECT
    number,
    waiting_before,
    exp(sum(sum(ln(1 - 1 / at_risk))) OVER (PARTITION BY number ORDER BY waiting_before)) AS product
  FROM at_risk_rows
  WHERE NOT ended AND at_risk > 1
  GROUP BY number, waiting_before
), surviving_rows AS (
  SELECT at_risk_rows.number, took, (at_risk - 1) / counted / coalesce(product, 1) AS survivors
  FROM at_risk_rows
  LEFT JOIN products USING (number, waiting_before)
  WHERE ended
), times AS (
  SELECT
    number,
    min(took) FILTER (WHERE survivors <= 0.5 + 1e-12) AS p50,
    min(took) FILTER (WHERE survivors <= 0.1 + 1e-12) AS p90,
    min(took) FILTER (WHERE survivors <= 0.01 + 1e-12) AS p99
  FROM surviving_rows
  GROUP BY number
)
SELECT keys, ended, waiting, p50, p90, p99
FROM numbered_keys LEFT JOIN times USING (number)
UNION ALL
SELECT
  keys,
  ended,
  waiting,
  CASE WHEN waiting = 0 THEN ranks[1] END AS p50,
  CASE WHEN waiting = 0 THEN ranks[2] END AS p90,
  CASE WHEN waiting = 0 THEN ranks[3] END AS p99
FROM counted_keys
WHERE (waiting = 0 AND ranks IS NOT NULL) OR (waiting > 0 AND ended = 0)
