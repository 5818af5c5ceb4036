"""What any site needs: logs, cache, broker, storage, middleware, outages."""
