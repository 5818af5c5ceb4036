"""Where files are kept: on a disk, or in S3-compatible object storage."""
