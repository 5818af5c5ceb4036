"""What goes in and out: every field by name, so that nothing gets out or in by accident."""
