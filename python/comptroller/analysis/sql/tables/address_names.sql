-- The names of reward addresses; the first of those that several records give to an address.
SELECT fold_address(a.address) AS address, min(a.name) AS address_name
FROM main.reward_addresses AS a
GROUP BY fold_address(a.address)
