"""Many records at once: loads, streams, exports, pulls, samples, and the files they need."""
