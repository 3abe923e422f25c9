-- The customer of a group whose jurisdiction changes, so that a list of one customer depends only on
-- the changes of this customer.
ALTER TABLE jurisdiction_changes ADD COLUMN customer_id INTEGER;
UPDATE jurisdiction_changes
SET customer_id = (SELECT customer_id FROM payout_groups WHERE id = group_id);
CREATE INDEX jurisdiction_changes_by_customer ON jurisdiction_changes (customer_id);
