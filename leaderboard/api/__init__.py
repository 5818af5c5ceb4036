"""API v1: thin views over queries, access and the pipeline; every error is a problem document."""
