"""OAuth 2.0: tokens, the clients and keys beside a store, and the token endpoint."""
