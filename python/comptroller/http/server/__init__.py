"""An HTTP/1.1 server for the application: connections, TLS, signals and worker processes."""
