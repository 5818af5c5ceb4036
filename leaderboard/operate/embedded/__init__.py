"""One command starts everything on one machine: Redis, a worker, beat and the web server."""
