"""Bulk operations: loads, streams, exports, pulls, samples, and the files they write."""
