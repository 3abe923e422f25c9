-- The end of the waiting times of a report.
--
-- as_of (time): the end; null if there are no claims
SELECT as_of FROM moment
