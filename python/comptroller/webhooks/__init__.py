"""The delivery of the events of webhooks, as Standard Webhooks 1.0 defines it."""
