-- Kaplan-Meier over `timed`, each row of which `took` so long if it has `ended`, or longer if not:
-- `survivors` is the share that takes longer, the product of 1 - 1 / at risk over the ended rows.
WITH at_risk_rows AS (
  SELECT
    *,
    count(*) OVER (PARTITION BY keys) + 1
      - row_number() OVER (PARTITION BY keys ORDER BY took, ended DESC) AS at_risk
  FROM timed
  WHERE took IS NOT NULL
)
SELECT
  *,
  CASE
    WHEN at_risk = 1 THEN 0
    ELSE exp(
      sum(CASE WHEN ended AND at_risk > 1 THEN ln(1 - 1 / at_risk) ELSE 0 END)
        OVER (PARTITION BY keys ORDER BY at_risk DESC)
    )
  END AS survivors
FROM at_risk_rows
