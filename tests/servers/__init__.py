"""The platform as separate processes: real Redis, real workers, real databases, real web server."""
