-- The start of the day of the register of restrictions.
--
-- on (time): the start of the day; null if there are no controls
SELECT begins AS "on" FROM restricted_span
