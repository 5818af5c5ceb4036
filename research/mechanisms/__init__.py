"""Published rules that no theorem covers; `scoring.mechanisms` refuses them by name."""
