"""What operators need: doctor, embedded start, demo, rotation of keys, verification, monitoring."""
